//! Which calls are written down in the audit log, and what of them.

use std::sync::Arc;
use std::time::Instant;

use tensorfleet_security::audit::{Audit, Record};
use tensorfleet_transport::{Answer, Body, Call, Code, Identity, Peer};

/// Calls that change who has what: those are written down however they end. All others are when they are
/// refused.
const ALWAYS: &[&str] = &[
    "/tensorflow.MasterService/CreateSession",
    "/tensorflow.MasterService/CloseSession",
    "/tensorflow.MasterService/Reset",
    "/tensorflow.WorkerService/CreateWorkerSession",
    "/tensorflow.WorkerService/DeleteWorkerSession",
    "/tensorflow.WorkerService/CleanupAll",
    "/tensorflow.eager.EagerService/CreateContext",
    "/tensorflow.eager.EagerService/UpdateContext",
    "/tensorflow.eager.EagerService/CloseContext",
    "/tensorfleet.Admin/Drain",
    "/tensorfleet.Admin/Stop",
];

/// A call that may be written down when it ends.
pub(crate) struct Audited {
    audit: Arc<Audit>,
    path: &'static str,
    who: Identity,
    from: Peer,
    began: Instant,
    came: usize,
}

impl Audited {
    pub(crate) fn new(audit: &Arc<Audit>, call: &Call, came: usize) -> Audited {
        Audited {
            audit: Arc::clone(audit),
            path: call.path,
            who: call.identity.clone(),
            from: call.peer,
            began: Instant::now(),
            came,
        }
    }

    /// Writes the call down, if it is one of those.
    pub(crate) fn ended(&self, answer: &Answer) {
        let is_refused = matches!(answer, Err(status) if is_refusal(status.code));
        if !is_refused && !ALWAYS.contains(&self.path) {
            return;
        }
        let (outcome, went) = match answer {
            Ok(reply) => match &reply.body {
                Body::Message(parts) => ("OK", parts.iter().map(bytes::Bytes::len).sum()),
                Body::Messages(_) => ("OK", 0),
            },
            Err(status) => (status.message.as_str(), 0),
        };
        self.audit.record(Record {
            event: if is_refused { "refused" } else { "call" },
            who: Some(&self.who),
            from: Some(self.from),
            what: self.path,
            outcome,
            took: Some(self.began.elapsed()),
            bytes: Some((self.came, went)),
        });
    }
}

/// Whether somebody was told that it may not, or may not have more.
fn is_refusal(code: Code) -> bool {
    [Code::PERMISSION_DENIED, Code::UNAUTHENTICATED, Code::RESOURCE_EXHAUSTED].contains(&code)
}

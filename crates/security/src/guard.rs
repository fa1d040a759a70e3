//! Who is at the other end of a connection, and what that one may call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use http::{HeaderMap, header};
use tensorfleet_transport::{Code, Guard, Identity, Peer, Status};

use crate::Credentials;
use crate::audit::Record;
use crate::policy;
use crate::tokens::{Hash, Worthless, hash};

/// How many refusals of one connection are logged.
const LOGGED: u32 = 10;

/// The caller at the other end of a connection.
#[derive(Debug)]
pub struct Caller {
    credentials: Arc<Credentials>,
    peer: Peer,
    proof: Proof,
    refusals: AtomicU32,
}

/// What a connection as a whole says of its caller.
#[derive(Debug)]
enum Proof {
    /// It is not encrypted.
    Plaintext,
    /// The certificate that the authority signed, if one came, and the token that was said first.
    Encrypted { certificate: Option<Identity>, token: Option<Hash> },
    /// The system says who it is.
    Local(Identity),
}

impl Caller {
    /// Somebody who came without encryption.
    pub fn in_plaintext(credentials: Arc<Credentials>, peer: Peer) -> Caller {
        Caller::new(credentials, peer, Proof::Plaintext)
    }

    /// Somebody whose certificate was verified, if there was one.
    pub fn over_tls(
        credentials: Arc<Credentials>,
        peer: Peer,
        certificate: Option<Identity>,
        token: Option<Hash>,
    ) -> Caller {
        Caller::new(credentials, peer, Proof::Encrypted { certificate, token })
    }

    /// Somebody whom the system names.
    pub fn on_this_machine(credentials: Arc<Credentials>, peer: Peer, who: Identity) -> Caller {
        Caller::new(credentials, peer, Proof::Local(who))
    }

    /// Somebody at a port that is not the tasks' own, who has nothing to show but a token with each
    /// call. The port must be one that others cannot listen to, as one of this machine alone.
    pub fn by_token(credentials: Arc<Credentials>) -> Caller {
        let proof = Proof::Encrypted { certificate: None, token: None };
        Caller::new(credentials, Peer::Inside, proof)
    }

    fn new(credentials: Arc<Credentials>, peer: Peer, proof: Proof) -> Caller {
        Caller { credentials, peer, proof, refusals: AtomicU32::new(0) }
    }

    /// Who calls: a token of the call wins over one of the connection, and that over a certificate.
    fn identify(&self, metadata: &HeaderMap) -> Result<Identity, Status> {
        let said = bearer(metadata)?;
        let (certificate, token) = match &self.proof {
            Proof::Plaintext => {
                return Err(unauthenticated(
                    "this port speaks TLS: use a grpcs:// target, or `tensorfleet proxy` for a client \
                     that cannot",
                ));
            }
            Proof::Local(identity) => return Ok(identity.clone()),
            Proof::Encrypted { certificate, token } => (certificate, token),
        };
        if let Some(token) = said.as_ref().or(token.as_ref()) {
            return self.credentials.identify(token, SystemTime::now()).map_err(|why| match why {
                Worthless::Unknown => unauthenticated("the token is not known here"),
                Worthless::Expired(identity) => {
                    unauthenticated(format!("the token of {} has expired", identity.name))
                }
            });
        }
        certificate.clone().ok_or_else(|| {
            unauthenticated("a certificate of this cluster or a token is needed; neither came")
        })
    }

    fn refuse(&self, path: &str, who: Option<&Identity>, status: Status) -> Status {
        if self.refusals.fetch_add(1, Ordering::Relaxed) < LOGGED {
            tracing::warn!("{} may not call {path}: {}", self.peer, status.message);
            self.credentials.record(Record {
                event: "refused",
                who,
                from: Some(self.peer),
                what: path,
                outcome: &status.message,
                ..Record::default()
            });
        }
        status
    }
}

impl Guard for Caller {
    fn admit(&self, path: &str, metadata: &HeaderMap) -> Result<Identity, Status> {
        if policy::is_public(path) {
            return Ok(Identity::anybody());
        }
        let identity = self.identify(metadata).map_err(|status| self.refuse(path, None, status))?;
        if !policy::allows(path, identity.role) {
            let message = format!("{identity} may not call {path}");
            let status = Status::new(Code::PERMISSION_DENIED, message);
            return Err(self.refuse(path, Some(&identity), status));
        }
        Ok(identity)
    }
}

fn unauthenticated(message: impl Into<String>) -> Status {
    Status::new(Code::UNAUTHENTICATED, message)
}

/// The hash of a call's own token.
fn bearer(metadata: &HeaderMap) -> Result<Option<Hash>, Status> {
    let mut values = metadata.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let token = value.to_str().ok().and_then(|value| {
        let (kind, token) = value.split_once(' ')?;
        kind.eq_ignore_ascii_case("bearer").then_some(token)
    });
    match (token, values.next()) {
        (Some(token), None) => Ok(Some(hash(token))),
        _ => Err(unauthenticated("the metadata `authorization` is not `Bearer` and one token")),
    }
}

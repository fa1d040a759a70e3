//! The service by which operators see a task and end it: `tensorfleet.Admin`.
//!
//! Its messages are protobuf's own wrappers, and a status is JSON in one of them: what a newer server
//! has to tell is no riddle for an older command. `Status` tells what any client may know, `Logs` what an
//! operator may, `Scalars` takes what a program tells of its training, `Snapshot` has a task with a data
//! directory take one; `Examine` looks around before training, `Record` and `Graphs` tell what steps do;
//! `Drain` and `Stop` take callers of the same machine only.

mod client;
mod examine;
mod fleet;
mod inventory;
mod journal;
mod logs;
mod metrics;
mod record;
mod scalars;
mod status;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_transport::{Call, Peer};
use tonic::{Response, Status};

use crate::grpc::Services;
use crate::server::Ending;
use crate::status::to_status;

pub use client::AdminClient;
pub use fleet::{Fleet, Watching};
pub use logs::LogTail;
pub use metrics::MetricsFormat;
pub use scalars::Scalars;
pub use status::{Uses, View};

/// The paths of the methods, for both sides.
pub(crate) const STATUS: &str = "/tensorfleet.Admin/Status";
pub(crate) const DRAIN: &str = "/tensorfleet.Admin/Drain";
pub(crate) const STOP: &str = "/tensorfleet.Admin/Stop";
pub(crate) const LOGS: &str = "/tensorfleet.Admin/Logs";
pub(crate) const SNAPSHOT: &str = "/tensorfleet.Admin/Snapshot";
pub(crate) const SCALARS: &str = "/tensorfleet.Admin/Scalars";

pub(crate) const EXAMINE: &str = "/tensorfleet.Admin/Examine";
pub(crate) const RECORD: &str = "/tensorfleet.Admin/Record";
pub(crate) const GRAPHS: &str = "/tensorfleet.Admin/Graphs";

/// Serves an operator.
#[derive(Clone, Debug)]
pub(crate) struct AdminHandler {
    pub(crate) view: View,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) ending: Arc<Ending>,
}

impl AdminHandler {
    /// Adds the methods to a server's.
    pub(crate) fn add_methods(&self, services: &mut Services) {
        let handler = self.clone();
        services.unary(STATUS, move |_, (): ()| {
            let status = handler.view.json();
            async move { Ok(Response::new(status)) }
        });
        let handler = self.clone();
        services.unary(LOGS, move |_, since: u64| {
            let lines = handler.view.logs.since(since);
            async move { Ok(Response::new(lines)) }
        });
        let handler = self.clone();
        services.unary(SCALARS, move |_, told: String| {
            let outcome = handler.view.scalars.add_json(&told);
            async move { outcome.map(Response::new).map_err(|error| to_status(&error)) }
        });
        let handler = self.clone();
        services.unary(SNAPSHOT, move |_, (): ()| {
            let journal = handler.view.journal.upgrade();
            async move {
                journal::snapshot(journal).await.map(Response::new).map_err(|e| to_status(&e))
            }
        });
        let handler = self.clone();
        services.unary(EXAMINE, move |_, paths: String| {
            let fleet = Arc::clone(&handler.fleet);
            async move {
                let paths: Vec<String> = serde_json::from_str(&paths)
                    .map_err(|error| Status::invalid_argument(format!("no paths: {error}")))?;
                Ok(Response::new(fleet.examine(&paths).await))
            }
        });
        let handler = self.clone();
        services.unary(RECORD, move |_, request: String| {
            let outcome = handler.view.record(&request);
            async move { outcome.map(Response::new).map_err(|error| to_status(&error)) }
        });
        let handler = self.clone();
        services.unary(GRAPHS, move |_, session: String| {
            let outcome = handler.view.graphs(&session);
            async move { outcome.map(Response::new).map_err(|error| to_status(&error)) }
        });
        let handler = self.clone();
        services.unary(DRAIN, move |call, (): ()| {
            let outcome = handler.drain(&call);
            async move { outcome.map(Response::new) }
        });
        let handler = self.clone();
        services.unary(STOP, move |call, grace_seconds: u64| {
            let outcome = handler.stop(&call, Duration::from_secs(grace_seconds));
            async move { outcome.map(Response::new) }
        });
    }

    fn drain(&self, call: &Call) -> Result<(), Status> {
        check_near(call.peer)?;
        tracing::info!("{} wants this task to drain", call.peer);
        self.view.activity.drain();
        Ok(())
    }

    /// Begins to stop: steps under way have the time of grace to end.
    fn stop(&self, call: &Call, grace: Duration) -> Result<(), Status> {
        check_near(call.peer)?;
        tracing::info!("{} wants this task to stop", call.peer);
        let (ending, activity) = (Arc::clone(&self.ending), Arc::clone(&self.view.activity));
        activity.drain();
        tokio::spawn(async move {
            // Either way it is over.
            let _ = tokio::time::timeout(grace, activity.idle()).await;
            ending.begin();
        });
        Ok(())
    }
}

/// Refuses callers of other machines.
fn check_near(peer: Peer) -> Result<(), Status> {
    match peer {
        Peer::Address(address) if !address.ip().to_canonical().is_loopback() => {
            Err(Status::permission_denied(format!(
                "{peer} is another machine: a task is drained and stopped from its own, or by a signal"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_may_not_stop_a_task() {
        let peer = |text: &str| Peer::Address(text.parse().unwrap());
        assert!(check_near(peer("127.0.0.1:5")).is_ok());
        assert!(check_near(peer("[::ffff:127.0.0.1]:5")).is_ok());
        assert!(check_near(Peer::Inside).is_ok());
        let refused = check_near(peer("10.0.0.7:5")).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    }
}

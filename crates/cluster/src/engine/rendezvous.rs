//! The rendezvous of a step in a cluster: what other tasks send is fetched from them.

use std::sync::Arc;

use tensorfleet_framework::{
    BoxFuture, Collectives, Delivery, DeviceName, Parcel, ParsedKey, Rendezvous, StepId,
};
use tensorfleet_runtime::LocalRendezvous;
use tensorfleet_tensor::{Error, Result};

use crate::collective::StepCollectives;
use crate::task::Task;
use crate::view::View;

/// Meets senders of this task directly, and asks the tasks of others.
#[derive(Debug)]
pub(super) struct ClusterRendezvous {
    pub(super) step: StepId,
    pub(super) local: Arc<LocalRendezvous>,
    pub(super) view: Arc<View>,
    pub(super) task: Arc<Task>,
}

impl Rendezvous for ClusterRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        self.local.send(key, parcel)
    }

    fn recv(&self, key: &str) -> Result<Delivery> {
        let source = DeviceName::parse(ParsedKey::parse(key)?.src_device)?;
        if self.view.name.matches(&source) {
            return self.local.recv(key);
        }
        let client = self.view.peers.worker(&source.task_name())?;
        let parcel: BoxFuture<Result<Parcel>> = client.recv_tensor(self.step, key.to_owned());
        Ok(Delivery::Later(parcel))
    }

    fn abort(&self, error: Error) {
        self.local.abort(error);
    }

    fn collectives(&self) -> Option<Arc<dyn Collectives>> {
        let (task, view) = (Arc::clone(&self.task), Arc::clone(&self.view));
        Some(Arc::new(StepCollectives { task, view, step: self.step }))
    }
}

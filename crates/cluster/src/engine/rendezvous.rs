//! The rendezvous of a step in a cluster: what other tasks send is fetched from them.

use std::sync::{Arc, Weak};

use tensorfleet_framework::{
    BoxFuture, Collectives, Delivery, DeviceName, Parcel, ParsedKey, Rendezvous, StepId, Unit,
    Watched,
};
use tensorfleet_tensor::{Error, Result};

use crate::client::WorkerClient;
use crate::collective::StepCollectives;
use crate::held::HeldWorker;
use crate::steps::StepState;
use crate::task::Task;
use crate::view::View;

/// Meets senders of this task directly, and asks the tasks of others.
#[derive(Debug)]
pub(super) struct ClusterRendezvous {
    pub(super) step: StepId,
    pub(super) state: Arc<StepState>,
    /// What the step changes here, if that is kept.
    pub(super) unit: Option<Arc<dyn Unit>>,
    pub(super) view: Arc<View>,
    pub(super) task: Arc<Task>,
}

impl ClusterRendezvous {
    /// Keeps what is sent to other tasks where somebody may ask for it again. Returns whether nobody needs
    /// it in another way.
    fn keep(&self, key: &str, parcel: &Parcel) -> Result<bool> {
        let parsed = ParsedKey::parse(key)?;
        let to = DeviceName::parse(parsed.dst_device)?;
        let leaves = !self.view.name.matches(&to);
        // What is sent to the sender itself is for whoever called it.
        if let Some(unit) = &self.unit
            && (leaves || parsed.src_device == parsed.dst_device)
        {
            unit.sent(key, parcel);
        }
        let is_kept = leaves && self.view.durable.contains(&to.task_name());
        if is_kept {
            self.state.kept.keep(key, parcel.clone());
        }
        Ok(is_kept)
    }
}

impl Rendezvous for ClusterRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        if (self.unit.is_some() || !self.view.durable.is_empty()) && self.keep(key, &parcel)? {
            return Ok(());
        }
        self.state.rendezvous.send(key, parcel)?;
        if self.view.durable.contains(&self.view.name) {
            // Who waits for this task waits for a lost answer too, and must hear that it is lost.
            self.state.kept.has_sent(key);
        }
        Ok(())
    }

    fn recv(&self, key: &str) -> Result<Delivery> {
        let source = DeviceName::parse(ParsedKey::parse(key)?.src_device)?;
        if self.view.name.matches(&source) {
            return self.state.rendezvous.recv(key);
        }
        let name = source.task_name();
        let (step, key, peers) = (self.step, key.to_owned(), &self.view.peers);
        let parcel: BoxFuture<Result<Parcel>> = if self.view.durable.contains(&name) {
            HeldWorker::new(&self.task, &name, None, peers).recv_tensor(step, key)
        } else {
            peers.worker(&name)?.recv_tensor(step, key)
        };
        Ok(Delivery::Later(parcel))
    }

    fn abort(&self, error: Error) {
        self.state.rendezvous.abort(error);
    }

    fn watch(&self, run: Weak<dyn Watched>) {
        self.state.rendezvous.watch(run);
    }

    fn collectives(&self) -> Option<Arc<dyn Collectives>> {
        let (task, view) = (Arc::clone(&self.task), Arc::clone(&self.view));
        Some(Arc::new(StepCollectives { task, view, step: self.step }))
    }
}

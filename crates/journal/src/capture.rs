//! Takes snapshots while steps go on.
//!
//! To take one is to hold all values at one place of the log: storage is shared, and whoever writes to
//! it while the snapshot is being written copies it first. Steps that were under way at that place may
//! have made some of their changes before it. The snapshot counts only when all of these have ended and
//! are on the disk; with what the log has after it, they are whole.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};

use tensorfleet_framework::{Place, Resources};
use tensorfleet_tensor::{Result, Tensor, failed_precondition};

use crate::disk::Disk;
use crate::queue::Shared;
use crate::record::Description;
use crate::snapshot;
use crate::writer::failure;

/// The variables at one place of the log.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The last record that is in the values.
    pub(crate) number: u64,
    /// How many variables have got a number.
    pub(crate) numbered: u64,
    pub(crate) variables: Vec<(Description, Option<Tensor>)>,
    /// Units that were under way.
    open: BTreeSet<u64>,
}

/// Takes snapshots of the variables of devices.
#[derive(Debug)]
pub(crate) struct Snapshots {
    pub(crate) shared: Arc<Shared>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) devices: Vec<Weak<Resources>>,
    /// After so many bytes of log at the least.
    pub(crate) after: u64,
}

impl Snapshots {
    /// Takes a snapshot whenever the log has grown by as much as the last one was long.
    pub(crate) fn run(self) {
        let mut after = self.after;
        loop {
            let mut queue = self.shared.lock();
            while queue.logged < after && !queue.closing && queue.failed.is_none() {
                queue = self.shared.wait(queue);
            }
            if queue.closing || queue.failed.is_some() {
                return;
            }
            drop(queue);
            match self.take() {
                Ok(Some(len)) => after = self.after.max(len),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!("no snapshot could be taken, the log goes on: {error}");
                    after = self.shared.lock().logged + self.after;
                }
            }
        }
    }

    /// Takes a snapshot and returns its length; nothing if the journal was closed meanwhile.
    fn take(&self) -> Result<Option<u64>> {
        let captured = self.capture()?;
        let len = snapshot::write(&*self.disk, &captured)?;
        if !self.wait_for(&captured.open) {
            return Ok(None);
        }
        snapshot::publish(&*self.disk, captured.number).map_err(|error| failure(&error))?;
        let (number, variables) = (captured.number, captured.variables.len());
        tracing::info!("snapshot {number:016x}: {variables} variables in {len} bytes");
        Ok(Some(len))
    }

    fn capture(&self) -> Result<Captured> {
        let _alone = self.shared.gate.write().unwrap_or_else(PoisonError::into_inner);
        let (number, open) = {
            let mut queue = self.shared.lock();
            // Ops are told anew after the snapshot, in a file of their own.
            (queue.ops, queue.logged, queue.rotate) = (0, 0, true);
            queue.generation += 1;
            (queue.next - 1, queue.open.clone())
        };
        let mut variables = Vec::new();
        for (device, resources) in (0..).zip(&self.devices) {
            let stopped = || failed_precondition!("the task has stopped");
            let resources = resources.upgrade().ok_or_else(stopped)?;
            resources.for_each_variable(|variable, container, name, type_name| {
                if let Some(number) = variable.number() {
                    let place = Place { device, container, name, type_name };
                    let description = Description::new(number, variable, &place);
                    variables.push((description, variable.get()));
                }
            });
        }
        // Variables that were made after the look at the log are told again by it.
        let numbered = self.shared.lock().variables;
        Ok(Captured { number, numbered, variables, open })
    }

    /// Waits until units have ended and are on the disk; false if the journal was closed before.
    fn wait_for(&self, open: &BTreeSet<u64>) -> bool {
        let mut queue = self.shared.lock();
        while !queue.open.is_disjoint(open) {
            if queue.closing || queue.failed.is_some() {
                return false;
            }
            queue = self.shared.wait(queue);
        }
        let last = queue.next - 1;
        queue.ask_for_sync(&self.shared, last);
        while queue.durable < last {
            if queue.closing || queue.failed.is_some() {
                return false;
            }
            queue = self.shared.wait(queue);
        }
        true
    }
}

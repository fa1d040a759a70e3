//! Takes snapshots while steps go on.
//!
//! To take one is to hold all values at one place of the log: storage is shared, and whoever writes to
//! it while the snapshot is being written copies it first. Steps that were under way at that place may
//! have made some of their changes before it. The snapshot counts only when all of these have ended and
//! are on the disk; with what the log has after it, they are whole.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};

use tensorfleet_framework::{Event, Place, Resources};
use tensorfleet_tensor::{Result, Tensor, failed_precondition};

use crate::disk::Disk;
use crate::queue::Shared;
use crate::record::Description;
use crate::resource::Described;
use crate::snapshot;
use crate::writer::failure;

/// What the devices have at one place of the log.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The last record that is in the values.
    pub(crate) number: u64,
    /// How many variables and other resources have got a number.
    pub(crate) numbered: u64,
    pub(crate) variables: Vec<(Description, Option<Tensor>)>,
    /// Other resources, each with what makes it out of a new one.
    pub(crate) resources: Vec<(Described, Vec<Event>)>,
    /// Units that were under way.
    open: BTreeSet<u64>,
}

/// Takes snapshots of what devices have.
#[derive(Debug)]
pub(crate) struct Snapshots {
    pub(crate) shared: Arc<Shared>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) devices: Vec<Weak<Resources>>,
    /// After so many bytes of log at the least.
    pub(crate) after: u64,
}

impl Snapshots {
    /// Takes a snapshot whenever the log has grown by as much as the last one was long, or one is asked for.
    pub(crate) fn run(self) {
        let mut after = self.after;
        loop {
            let mut queue = self.shared.lock();
            while queue.logged < after
                && queue.asked == queue.answered
                && !queue.closing
                && queue.failed.is_none()
            {
                queue = self.shared.wait(queue);
            }
            if queue.closing || queue.failed.is_some() {
                return;
            }
            let asked = queue.asked;
            drop(queue);
            let outcome = match self.take() {
                Ok(Some((number, len))) => {
                    after = self.after.max(len);
                    Ok(number)
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!("no snapshot could be taken, the log goes on: {error}");
                    after = self.shared.lock().logged + self.after;
                    Err(error)
                }
            };
            let mut queue = self.shared.lock();
            (queue.answered, queue.answer) = (asked, Some(outcome));
            self.shared.progress.notify_all();
        }
    }

    /// Takes a snapshot and returns the last record in it, and its length; nothing if the journal was
    /// closed meanwhile.
    fn take(&self) -> Result<Option<(u64, u64)>> {
        let captured = self.capture()?;
        let len = snapshot::write(&*self.disk, &captured)?;
        if !self.wait_for(&captured.open) {
            return Ok(None);
        }
        snapshot::publish(&*self.disk, captured.number).map_err(|error| failure(&error))?;
        let (variables, resources) = (captured.variables.len(), captured.resources.len());
        tracing::info!(
            "snapshot {:016x}: {variables} variables, {resources} other resources in {len} bytes",
            captured.number
        );
        Ok(Some((captured.number, len)))
    }

    fn capture(&self) -> Result<Captured> {
        let _alone = self.shared.gate.write().unwrap_or_else(PoisonError::into_inner);
        let (number, open) = {
            let mut queue = self.shared.lock();
            // Ops are told anew after the snapshot, in a file of their own.
            (queue.ops, queue.logged, queue.rotate) = (0, 0, true);
            queue.generation += 1;
            let place = (queue.next - 1, queue.open.clone());
            queue.tell_outcomes(&self.shared);
            place
        };
        let (mut variables, mut others) = (Vec::new(), Vec::new());
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
            resources.for_each_durable(|resource, container, name, type_name| {
                if let Some(number) = resource.kept().number() {
                    let place = Place { device, container, name, type_name };
                    let described = Described::new(number, resource, &place);
                    others
                        .push(described.and_then(|described| Ok((described, resource.events()?))));
                }
            });
        }
        let resources = others.into_iter().collect::<Result<_>>()?;
        // What was made after the look at the log is told again by it.
        let numbered = self.shared.lock().numbered;
        Ok(Captured { number, numbered, variables, resources, open })
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

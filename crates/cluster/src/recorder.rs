//! What the steps of a task do, node by node, for as long as an operator wants to know.
//!
//! A client may have its own steps traced; this is for whoever looks at a cluster that others use. It is
//! asked once for each run, and costs nothing more while nobody records.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tensorfleet_framework::StepId;
use tensorfleet_runtime::NodeRecord;
use tensorfleet_tensor::{Result, failed_precondition};

/// Nodes are not kept beyond this.
const MOST_NODES: usize = 1_000_000;

/// Records the steps of a task.
#[derive(Debug, Default)]
pub struct Recorder {
    is_on: AtomicBool,
    recording: Mutex<Recording>,
}

#[derive(Debug, Default)]
struct Recording {
    wanted: usize,
    until: Option<Instant>,
    steps: BTreeSet<i64>,
    nodes: usize,
    parts: Vec<RecordedPart>,
}

/// What a step did on a device.
#[derive(Clone, Debug)]
pub struct RecordedPart {
    pub step: StepId,
    pub device: String,
    pub nodes: Vec<NodeRecord>,
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the next steps, up to a number and for a time.
    pub fn start(&self, steps: usize, now: Instant, limit: Duration) -> Result<()> {
        let mut recording = self.lock();
        let is_taken = recording.until.is_some_and(|until| until > now);
        if is_taken {
            return Err(failed_precondition!("somebody else records the steps of this task"));
        }
        *recording = Recording { wanted: steps, until: Some(now + limit), ..Recording::default() };
        self.is_on.store(true, Ordering::Release);
        Ok(())
    }

    /// How many steps there are so far.
    pub fn recorded(&self) -> usize {
        self.lock().steps.len()
    }

    /// Ends recording and hands out what there is.
    pub fn take(&self) -> Vec<RecordedPart> {
        let mut recording = self.lock();
        self.is_on.store(false, Ordering::Release);
        std::mem::take(&mut *recording).parts
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Keeps what a step did on devices of this task, unless there is enough.
    pub(crate) fn keep(&self, step: StepId, now: Instant, parts: &[(String, Vec<NodeRecord>)]) {
        let mut recording = self.lock();
        let is_late = recording.until.is_none_or(|until| until <= now);
        let is_new = !recording.steps.contains(&step.0);
        let is_full = is_new && recording.steps.len() >= recording.wanted;
        if is_late || is_full || recording.nodes > MOST_NODES {
            // The parts that other devices still add to steps of the record may come later.
            if is_late {
                self.is_on.store(false, Ordering::Release);
            }
            return;
        }
        recording.steps.insert(step.0);
        for (device, nodes) in parts {
            recording.nodes += nodes.len();
            let (device, nodes) = (device.clone(), nodes.clone());
            recording.parts.push(RecordedPart { step, device, nodes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(recorder: &Recorder, step: i64, now: Instant) {
        recorder.keep(StepId(step), now, &[("cpu".to_owned(), Vec::new())]);
    }

    #[test]
    fn so_many_steps_are_kept_as_are_wanted() {
        let (recorder, now) = (Recorder::default(), Instant::now());
        keep(&recorder, 1, now);
        assert!(recorder.take().is_empty());
        recorder.start(2, now, Duration::from_secs(9)).unwrap();
        assert!(recorder.is_on());
        assert!(recorder.start(2, now, Duration::from_secs(9)).is_err());
        // A step may have several parts.
        for step in [1, 2, 1, 3] {
            keep(&recorder, step, now);
        }
        assert_eq!(recorder.recorded(), 2);
        let steps: Vec<i64> = recorder.take().iter().map(|part| part.step.0).collect();
        assert_eq!(steps, [1, 2, 1]);
        assert!(!recorder.is_on());
    }

    #[test]
    fn a_record_that_nobody_takes_ends_by_itself() {
        let (recorder, now) = (Recorder::default(), Instant::now());
        recorder.start(2, now, Duration::from_secs(9)).unwrap();
        let later = now + Duration::from_secs(10);
        keep(&recorder, 1, later);
        assert!(!recorder.is_on());
        assert_eq!(recorder.recorded(), 0);
        recorder.start(2, later, Duration::from_secs(9)).unwrap();
    }
}

//! How far workers may run apart: who may start another step, given what all have done.

/// How workers go together.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// // Nobody is more than one step ahead: with a worker that is slow, the others wait for it.
/// let coordinator = Coordinator::new(vec![0u64, 0], Mode::Bounded(1), OnLoss::GoOn)?;
/// let counts: Vec<_> = (0..20)
///     .map(|_| {
///         coordinator.schedule(|steps: &mut u64| {
///             *steps += 1;
///             Ok(*steps)
///         })
///     })
///     .collect();
/// let most = counts.into_iter().map(|count| count.fetch()).collect::<Result<Vec<u64>>>()?;
/// assert!(most.iter().max() <= Some(&11));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each at its own speed.
    #[default]
    Async,
    /// In rounds: each worker takes one step, and what they found is applied together.
    Sync,
    /// Each at its own speed, but nobody starts a step who has finished more than so many more than
    /// the slowest. TensorFlow has no such mode.
    Bounded(u64),
}

impl Mode {
    /// How many steps more than the slowest a worker may have finished when it starts another.
    fn lead(self) -> Option<u64> {
        match self {
            Mode::Async => None,
            Mode::Sync => Some(0),
            Mode::Bounded(lead) => Some(lead),
        }
    }
}

/// What each worker has done since all were last together.
#[derive(Debug)]
pub(crate) struct Pace {
    mode: Mode,
    /// Finished steps of each worker; nothing for those that are lost, who hold nobody up.
    finished: Vec<Option<u64>>,
}

impl Pace {
    pub(crate) fn new(mode: Mode, workers: usize) -> Pace {
        Pace { mode, finished: vec![Some(0); workers] }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The number of workers that are not lost.
    pub(crate) fn alive(&self) -> usize {
        self.finished.iter().flatten().count()
    }

    /// Whether a worker may start a step now. The slowest always may.
    pub(crate) fn may_start(&self, worker: usize) -> bool {
        let Some(own) = self.finished[worker] else { return false };
        let slowest = self.finished.iter().flatten().min().copied().unwrap_or(own);
        self.mode.lead().is_none_or(|lead| own - slowest <= lead)
    }

    pub(crate) fn finish(&mut self, worker: usize) {
        if let Some(steps) = &mut self.finished[worker] {
            *steps += 1;
        }
    }

    pub(crate) fn is_alive(&self, worker: usize) -> bool {
        self.finished[worker].is_some()
    }

    /// The workers that are lost.
    pub(crate) fn lost(&self) -> Vec<usize> {
        (0..self.finished.len()).filter(|&worker| !self.is_alive(worker)).collect()
    }

    /// Puts a lost worker beside the slowest. Whether it was lost.
    pub(crate) fn revive(&mut self, worker: usize) -> bool {
        let slowest = self.finished.iter().flatten().min().copied().unwrap_or_default();
        match self.finished.get_mut(worker) {
            Some(steps @ None) => {
                *steps = Some(slowest);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn lose(&mut self, worker: usize) {
        self.finished[worker] = None;
    }

    /// All are together again.
    pub(crate) fn meet(&mut self) {
        self.finished.iter_mut().flatten().for_each(|steps| *steps = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets only worker 0 work, and says how many steps it may take.
    fn steps_ahead(mode: Mode) -> u64 {
        let mut pace = Pace::new(mode, 2);
        let mut steps = 0;
        while steps < 100 && pace.may_start(0) {
            pace.finish(0);
            steps += 1;
        }
        assert!(pace.may_start(1), "the slowest may always start");
        steps
    }

    #[test]
    fn a_worker_waits_for_the_slowest() {
        assert_eq!(steps_ahead(Mode::Sync), 1);
        assert_eq!(steps_ahead(Mode::Bounded(0)), 1);
        assert_eq!(steps_ahead(Mode::Bounded(3)), 4);
        assert_eq!(steps_ahead(Mode::Async), 100);
    }

    #[test]
    fn a_lost_worker_holds_nobody_up() {
        let mut pace = Pace::new(Mode::Sync, 2);
        pace.finish(0);
        assert!(!pace.may_start(0));
        pace.lose(1);
        assert!(pace.may_start(0) && !pace.may_start(1));
        assert_eq!(pace.alive(), 1);
    }

    #[test]
    fn a_revived_worker_starts_beside_the_slowest() {
        let mut pace = Pace::new(Mode::Bounded(1), 3);
        pace.lose(2);
        for worker in [0, 0, 0, 1, 1] {
            pace.finish(worker);
        }
        assert!(pace.revive(2) && !pace.revive(2) && !pace.revive(3));
        assert!(pace.lost().is_empty());
        // Two steps of the slowest allow a third and a fourth.
        assert!(pace.may_start(0) && pace.may_start(2));
        pace.finish(0);
        assert!(!pace.may_start(0));
    }

    #[test]
    fn all_start_anew_when_they_have_met() {
        let mut pace = Pace::new(Mode::Sync, 2);
        pace.finish(0);
        pace.meet();
        assert!(pace.may_start(0));
    }
}

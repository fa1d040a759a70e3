//! Training in each of the modes.

use std::sync::atomic::Ordering;

use tensorfleet_client::Result;

use crate::coordinator::Coordinator;
use crate::pace::Mode;

/// One worker's copy of a model whose variables all workers share.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_strategy::{Coordinator, Mode, OnLoss, Replica};
///
/// /// Counts what it is asked for.
/// #[derive(Default)]
/// struct Counter(u64);
///
/// impl Replica for Counter {
///     fn step(&mut self) -> Result<()> {
///         self.0 += 1;
///         Ok(())
///     }
///
///     fn contribute(&mut self, _: u64) -> Result<()> {
///         self.step()
///     }
///
///     fn apply(&mut self, contributions: usize) -> Result<()> {
///         assert_eq!(contributions, 2);
///         Ok(())
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let workers = vec![Counter::default(), Counter::default()];
/// let coordinator = Coordinator::new(workers, Mode::Sync, OnLoss::GoOn)?;
/// coordinator.train(6)?;
/// // Three rounds, in each of which both took part.
/// assert_eq!(coordinator.schedule(|worker| Ok(worker.0)).fetch()?, 3);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be trained",
    label = "not a replica",
    note = "implement `Replica`, or `Model` for what the workers of a `ParameterServerStrategy` have"
)]
pub trait Replica: Send + 'static {
    /// Takes a step alone: computes gradients and applies them at once.
    fn step(&mut self) -> Result<()>;

    /// Takes part in a synchronous step: computes gradients of the variables as they are in a round
    /// and leaves them with the parameter servers. Rounds count from 0, through all calls of
    /// [`Coordinator::train`].
    fn contribute(&mut self, round: u64) -> Result<()>;

    /// Ends a synchronous step: applies the mean of what so many workers contributed. Never done
    /// twice for one round: a worker that is lost here may have taken the gradients already, and
    /// then all contribute anew in the next round.
    fn apply(&mut self, contributions: usize) -> Result<()>;
}

impl<R: Replica> Coordinator<R> {
    /// Trains on a number of batches, all workers together, and waits for the end.
    ///
    /// Synchronously, each round takes a batch for each worker that is not lost.
    ///
    /// As in the example of [`Replica`].
    pub fn train(&self, batches: u64) -> Result<()> {
        if self.mode() == Mode::Sync {
            return self.train_in_rounds(batches);
        }
        for _ in 0..batches {
            drop(self.schedule(R::step));
        }
        self.join()
    }

    fn train_in_rounds(&self, batches: u64) -> Result<()> {
        let mut done = 0;
        while done < batches {
            let round = self.next_round.fetch_add(1, Ordering::Relaxed);
            let contributions = self.alive().max(1);
            for _ in 0..contributions {
                drop(self.schedule(move |replica: &mut R| replica.contribute(round)));
            }
            self.join()?;
            let mut is_tried = false;
            let applied = self.schedule(move |replica: &mut R| {
                if std::mem::replace(&mut is_tried, true) {
                    return Ok(false);
                }
                replica.apply(contributions).map(|()| true)
            });
            self.join()?;
            if applied.fetch()? {
                done += contributions as u64;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tensorfleet_client::{Code, Error};

    use super::*;
    use crate::OnLoss;

    /// Says what it is told to do, and is lost when it is told so in round `dies`.
    struct Diary {
        lines: Arc<Mutex<Vec<String>>>,
        dies: Option<u64>,
        /// Who is the first to apply is lost in doing so.
        dies_applying: bool,
    }

    impl Diary {
        fn write(&self, line: String) -> Result<()> {
            self.lines.lock().unwrap().push(line);
            Ok(())
        }
    }

    impl Replica for Diary {
        fn step(&mut self) -> Result<()> {
            self.write("step".to_owned())
        }

        fn contribute(&mut self, round: u64) -> Result<()> {
            if self.dies == Some(round) {
                return Err(Error::new(Code::Unavailable, "gone".to_owned()));
            }
            self.write(format!("contribute {round}"))
        }

        fn apply(&mut self, contributions: usize) -> Result<()> {
            if std::mem::take(&mut self.dies_applying) {
                return Err(Error::new(Code::Aborted, "gone".to_owned()));
            }
            self.write(format!("apply {contributions}"))
        }
    }

    fn diary(mode: Mode, batches: u64, dies: Option<u64>) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let replica = |dies| Diary { lines: Arc::clone(&lines), dies, dies_applying: false };
        let workers = vec![replica(None), replica(dies)];
        written(lines, workers, mode, batches)
    }

    fn written(
        lines: Arc<Mutex<Vec<String>>>,
        workers: Vec<Diary>,
        mode: Mode,
        batches: u64,
    ) -> Vec<String> {
        let coordinator = Coordinator::new(workers, mode, OnLoss::GoOn).unwrap();
        coordinator.train(batches).unwrap();
        // The replicas' handles go with the coordinator.
        drop(coordinator);
        Arc::into_inner(lines).unwrap().into_inner().unwrap()
    }

    #[test]
    fn alone_each_batch_is_a_step() {
        assert_eq!(diary(Mode::Async, 3, None), ["step"; 3]);
        assert_eq!(diary(Mode::Bounded(1), 3, None), ["step"; 3]);
    }

    #[test]
    fn together_a_round_ends_when_all_have_contributed() {
        let round = |n| [format!("contribute {n}"), format!("contribute {n}"), "apply 2".into()];
        assert_eq!(diary(Mode::Sync, 4, None), [round(0), round(1)].concat());
    }

    #[test]
    fn the_round_of_a_lost_worker_is_completed_and_later_ones_are_smaller() {
        let lines = diary(Mode::Sync, 3, Some(0));
        assert_eq!(lines, ["contribute 0", "contribute 0", "apply 2", "contribute 1", "apply 1"]);
    }

    #[test]
    fn a_round_whose_end_was_lost_is_done_again_as_another() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let one = || Diary { lines: Arc::clone(&lines), dies: None, dies_applying: true };
        let (first, second) = (one(), one());
        // Either may be asked to apply; the other then goes on alone.
        let third = Diary { dies_applying: false, ..one() };
        let written = written(lines, vec![first, second, third], Mode::Sync, 3);
        let rounds = written.iter().filter(|line| line.starts_with("apply")).count();
        let contributed = |round: u64| {
            written.iter().filter(|line| **line == format!("contribute {round}")).count()
        };
        assert_eq!(contributed(0), 3, "{written:?}");
        let applied: u64 = written
            .iter()
            .filter_map(|line| line.strip_prefix("apply "))
            .map(|count| count.parse::<u64>().unwrap())
            .sum();
        assert!(applied >= 3 && rounds >= 1, "{written:?}");
        // No round is ended twice, and each that ended had its contributions.
        let mut round = 0;
        let mut seen = 0;
        for line in &written {
            match line.strip_prefix("apply ") {
                Some(count) => assert_eq!(seen, count.parse::<usize>().unwrap(), "{written:?}"),
                None => {
                    let of: u64 = line.strip_prefix("contribute ").unwrap().parse().unwrap();
                    if of != round {
                        (round, seen) = (of, 0);
                    }
                    seen += 1;
                }
            }
        }
    }
}

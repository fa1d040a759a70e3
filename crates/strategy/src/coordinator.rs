//! A thread for each worker, and one queue of tasks for all of them.

use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use tensorfleet_client::{Code, Error, Result, invalid_argument, notice};

use crate::loss::{Loss, Lost};
use crate::pace::{Mode, Pace};
use crate::task::{Pending, Task, task};

/// What happens when a worker is lost.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Code, Error};
/// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// // A worker that is lost at once.
/// let gone = |_: &mut ()| Err::<(), Error>(Error::new(Code::Unavailable, "gone"));
/// let coordinator = Coordinator::new(vec![(), ()], Mode::Async, OnLoss::Stop)?;
/// drop(coordinator.schedule(gone));
/// // The other worker would have been there, but all was to stop.
/// assert_eq!(coordinator.join().unwrap_err().code(), Code::Unavailable);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// Another worker does its task, and all go on without it, until none is left.
    #[default]
    GoOn,
    /// All waiting tasks are given up, and `join` reports it.
    Stop,
}

/// Has workers do tasks. A worker is whatever tasks need, such as a session on its server.
///
/// A task that returns `UNAVAILABLE` or `ABORTED` has lost its worker or, if the error names one, a
/// parameter server. Without a worker the others go on; without a parameter server nobody can, as
/// after any other error, and the tasks that still wait are given up. A worker that has come back
/// takes part again after [`Coordinator::revive`]. Dropping the coordinator gives up waiting tasks too, and
/// waits for those under way.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let coordinator = Coordinator::new(vec![0, 0, 0], Mode::Async, OnLoss::GoOn)?;
/// let square = |n: i32| coordinator.schedule(move |_: &mut i32| Ok(n * n));
/// let squares: Vec<_> = (0..5).map(square).collect();
/// let sum: i32 = squares.into_iter().map(|square| square.fetch()).sum::<Result<i32>>()?;
/// assert_eq!(sum, 30);
/// # Ok(())
/// # }
/// ```
pub struct Coordinator<W> {
    shared: Arc<Shared<W>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The number of the next synchronous step. Numbers are never used again: what comes under an old
    /// one is dropped.
    pub(crate) next_round: AtomicU64,
}

/// Makes a worker usable again whose parameter server was lost, when that is back.
pub(crate) type Repair<W> = Box<dyn Fn(&mut W) -> Result<()> + Send + Sync>;

struct Shared<W> {
    on_loss: OnLoss,
    repair: Option<Repair<W>>,
    state: Mutex<State<W>>,
    changed: Condvar,
    listeners: Mutex<Vec<Listener>>,
}

type Listener = Arc<dyn Fn(&Loss) + Send + Sync>;

struct State<W> {
    waiting: VecDeque<Box<dyn Task<W>>>,
    under_way: usize,
    pace: Pace,
    /// The first failure since the last `join`.
    error: Option<Error>,
    losses: Vec<Loss>,
    /// Parameter servers that workers miss now.
    missed: Vec<String>,
    is_stopping: bool,
}

impl<W> fmt::Debug for Coordinator<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Coordinator")
            .field("workers", &format_args!("{} of {}", state.pace.alive(), type_name::<W>()))
            .field("mode", &state.pace.mode())
            .field("waiting", &state.waiting.len())
            .finish_non_exhaustive()
    }
}

impl<W: Send + 'static> Coordinator<W> {
    /// Starts a thread for each worker.
    ///
    /// ```
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec!["one", "two"], Mode::Async, OnLoss::GoOn)?;
    /// assert_eq!(coordinator.alive(), 2);
    /// assert!(Coordinator::<()>::new(vec![], Mode::Async, OnLoss::GoOn).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(workers: Vec<W>, mode: Mode, on_loss: OnLoss) -> Result<Coordinator<W>> {
        Coordinator::with_repair(workers, mode, on_loss, None)
    }

    pub(crate) fn with_repair(
        workers: Vec<W>,
        mode: Mode,
        on_loss: OnLoss,
        repair: Option<Repair<W>>,
    ) -> Result<Coordinator<W>> {
        if workers.is_empty() {
            return Err(invalid_argument!("a coordinator needs at least one worker"));
        }
        let state = State {
            waiting: VecDeque::new(),
            under_way: 0,
            pace: Pace::new(mode, workers.len()),
            error: None,
            losses: Vec::new(),
            missed: Vec::new(),
            is_stopping: false,
        };
        let shared = Arc::new(Shared {
            on_loss,
            repair,
            state: Mutex::new(state),
            changed: Condvar::new(),
            listeners: Mutex::default(),
        });
        // Threads that have been started stop with the coordinator if a later one cannot be.
        let coordinator =
            Coordinator { shared, threads: Mutex::default(), next_round: AtomicU64::new(0) };
        for (index, worker) in workers.into_iter().enumerate() {
            coordinator.start(index, worker)?;
        }
        Ok(coordinator)
    }

    fn start(&self, index: usize, worker: W) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new()
            .name(format!("worker-{index}"))
            .spawn(move || shared.work(index, worker))
            .map_err(|error| {
                Error::new(Code::Unavailable, format!("threads cannot be started: {error}"))
            })?;
        self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(thread);
        Ok(())
    }

    /// Has a worker that was lost take part again, with what its tasks need now: a session on its
    /// restarted server, as a rule. It begins beside the slowest of the others.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_client::{Code, Error};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec!["old"], Mode::Async, OnLoss::GoOn)?;
    /// let gone = || Err::<(), Error>(Error::new(Code::Aborted, "restarted"));
    /// let lost = coordinator.schedule(move |_| gone());
    /// assert!(coordinator.join().is_err() && lost.fetch().is_err());
    /// coordinator.revive(0, "new")?;
    /// assert_eq!(coordinator.schedule(|name| Ok(*name)).fetch()?, "new");
    /// # Ok(())
    /// # }
    /// ```
    pub fn revive(&self, index: usize, worker: W) -> Result<()> {
        if !self.shared.lock().pace.revive(index) {
            return Err(invalid_argument!("worker {index} is not one of the lost"));
        }
        self.start(index, worker).inspect_err(|_| self.shared.lock().pace.lose(index))
    }

    /// The numbers of the workers that are lost now.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_client::{Code, Error};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn)?;
    /// assert!(coordinator.lost().is_empty());
    /// drop(coordinator.schedule(|_| Err::<(), Error>(Error::new(Code::Unavailable, "gone"))));
    /// assert!(coordinator.join().is_err());
    /// assert_eq!(coordinator.lost(), [0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn lost(&self) -> Vec<usize> {
        self.shared.lock().pace.lost()
    }

    /// Has a task done by whichever worker is free first, and again by another if that one is lost.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![20, 20], Mode::Async, OnLoss::GoOn)?;
    /// let sum = coordinator.schedule(|worker: &mut i32| Ok(*worker + 1));
    /// assert_eq!(sum.fetch()?, 21);
    /// # Ok(())
    /// # }
    /// ```
    pub fn schedule<T: Send + 'static>(
        &self,
        function: impl FnMut(&mut W) -> Result<T> + Send + 'static,
    ) -> Pending<T> {
        let (task, pending) = task(function);
        self.shared.put(task);
        pending
    }

    /// Waits until no task is left. Returns the first failure since the last time.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_client::{Error, invalid_argument};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![(), ()], Mode::Async, OnLoss::GoOn)?;
    /// drop(coordinator.schedule(|_| Err::<(), Error>(invalid_argument!("wrong"))));
    /// assert_eq!(coordinator.join().unwrap_err().message(), "wrong");
    /// // It was told once; the workers are still there.
    /// coordinator.join()?;
    /// assert_eq!(coordinator.alive(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(&self) -> Result<()> {
        let mut state = self.shared.lock();
        while state.under_way > 0 || !state.waiting.is_empty() {
            state = self.shared.wait(state);
        }
        state.pace.meet();
        // What is missing still will be missed, and told, again.
        state.missed.clear();
        state.error.take().map_or(Ok(()), Err)
    }

    /// How workers go together.
    ///
    /// ```
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![()], Mode::Bounded(3), OnLoss::GoOn)?;
    /// assert_eq!(coordinator.mode(), Mode::Bounded(3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn mode(&self) -> Mode {
        self.shared.lock().pace.mode()
    }

    /// The number of workers that are not lost.
    ///
    /// ```
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![(), ()], Mode::Async, OnLoss::GoOn)?;
    /// assert_eq!(coordinator.alive(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn alive(&self) -> usize {
        self.shared.lock().pace.alive()
    }

    /// Has a function told of every loss from now on, by the thread of the worker that has noticed it.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use tensorfleet_client::{Code, Error};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn)?;
    /// let (sender, losses) = mpsc::channel();
    /// coordinator.watch_losses(move |loss| {
    ///     // The program may have stopped listening.
    ///     let _ = sender.send(loss.to_string());
    /// });
    /// drop(coordinator.schedule(|_| Err::<(), Error>(Error::new(Code::Unavailable, "gone"))));
    /// assert_eq!(losses.recv().as_deref(), Ok("worker 0 was lost: UNAVAILABLE: gone"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_losses(&self, listener: impl Fn(&Loss) + Send + Sync + 'static) {
        self.shared.listeners().push(Arc::new(listener));
    }

    /// The losses that there ever were, in their order.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_client::{Code, Error};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn)?;
    /// drop(coordinator.schedule(|_| Err::<(), Error>(Error::new(Code::Unavailable, "gone"))));
    /// assert!(coordinator.join().is_err());
    /// assert_eq!(coordinator.losses()[0].error.message(), "gone");
    /// # Ok(())
    /// # }
    /// ```
    pub fn losses(&self) -> Vec<Loss> {
        self.shared.lock().losses.clone()
    }
}

impl<W> Drop for Coordinator<W> {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.is_stopping = true;
            state.waiting.clear();
        }
        self.shared.changed.notify_all();
        let threads = self.threads.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        for thread in threads.drain(..) {
            // Tasks' panics have been caught; that of a worker's destructor has been printed.
            drop(thread.join());
        }
    }
}

impl<W> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<W>>) -> MutexGuard<'a, State<W>> {
        self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn put(&self, task: Box<dyn Task<W>>) {
        let mut state = self.lock();
        if state.pace.alive() == 0 {
            let error = state.all_lost();
            state.fail(error);
        }
        match &state.error {
            Some(cause) => task.give_up(cause),
            None => state.waiting.push_back(task),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// What a worker's thread does.
    fn work(&self, index: usize, mut worker: W) {
        while let Some(mut task) = self.next(index) {
            let outcome = self.try_until_repaired(index, &mut *task, &mut worker);
            if !self.finish(index, task, outcome) {
                break;
            }
        }
    }

    /// Does a task, and again for as long as parameter servers are lost and come back.
    fn try_until_repaired(
        &self,
        worker_index: usize,
        task: &mut dyn Task<W>,
        worker: &mut W,
    ) -> Result<()> {
        loop {
            let error = match attempt(task, worker) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let (Some(repair), Some(lost @ Lost::ParameterServer(_))) =
                (&self.repair, Lost::of(&error))
            else {
                return Err(error);
            };
            if self.lock().is_stopping {
                return Err(error);
            }
            self.lose(Loss { worker: worker_index, lost: lost.clone(), error: error.clone() });
            if let Err(late) = repair(worker) {
                let cause = error.message();
                return Err(
                    late.prefixed(format_args!("after the loss of a parameter server ({cause}): "))
                );
            }
            self.found(&lost);
        }
    }

    /// Waits for a task that the worker may start. There is none if it is lost or all shall stop.
    fn next(&self, index: usize) -> Option<Box<dyn Task<W>>> {
        let mut state = self.lock();
        loop {
            if state.is_stopping || !state.pace.is_alive(index) {
                return None;
            }
            if state.pace.may_start(index)
                && let Some(task) = state.waiting.pop_front()
            {
                state.under_way += 1;
                return Some(task);
            }
            state = self.wait(state);
        }
    }

    /// Notes how a task has ended, and says whether the worker may go on.
    fn finish(&self, index: usize, task: Box<dyn Task<W>>, outcome: Result<()>) -> bool {
        let lost = outcome.as_ref().err().and_then(Lost::of);
        // Listeners hear of it before `join` returns.
        if let (Some(lost), Err(error)) = (&lost, &outcome) {
            self.lose(Loss { worker: index, lost: lost.clone(), error: error.clone() });
        }
        let is_lost = lost == Some(Lost::Worker);
        let mut state = self.lock();
        state.under_way -= 1;
        match (outcome, lost) {
            (Ok(()), _) => state.pace.finish(index),
            (Err(error), Some(Lost::Worker)) => {
                state.pace.lose(index);
                if self.on_loss == OnLoss::Stop {
                    state.fail(error);
                } else if state.pace.alive() == 0 {
                    let error = state.all_lost();
                    state.fail(error);
                }
                match &state.error {
                    Some(cause) => task.give_up(cause),
                    None if state.is_stopping => {}
                    None => state.waiting.push_front(task),
                }
            }
            (Err(error), Some(Lost::ParameterServer(name))) => {
                let error = error.prefixed(format_args!("the parameter server {name} was lost: "));
                state.fail(error);
                if let Some(cause) = &state.error {
                    task.give_up(cause);
                }
            }
            (Err(error), None) => state.fail(error),
        }
        drop(state);
        self.changed.notify_all();
        !is_lost
    }

    /// Notes a loss and tells it, once for each parameter server however many workers miss it.
    fn lose(&self, loss: Loss) {
        {
            let mut state = self.lock();
            if let Lost::ParameterServer(name) = &loss.lost {
                if state.missed.contains(name) {
                    return;
                }
                state.missed.push(name.clone());
            }
            state.losses.push(loss.clone());
        }
        notice(&loss.to_string());
        let listeners = self.listeners().clone();
        for listener in listeners {
            listener(&loss);
        }
    }

    /// Notes that a parameter server has come back.
    fn found(&self, lost: &Lost) {
        if let Lost::ParameterServer(found) = lost {
            self.lock().missed.retain(|name| name != found);
        }
    }
}

fn attempt<W>(task: &mut dyn Task<W>, worker: &mut W) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| task.run(worker)))
        .unwrap_or_else(|_| Err(Error::new(Code::Internal, "a task panicked".to_owned())))
}

impl<W> State<W> {
    /// Keeps the first failure, and gives up what has not begun.
    fn fail(&mut self, error: Error) {
        let cause = self.error.get_or_insert(error);
        for task in self.waiting.drain(..) {
            task.give_up(cause);
        }
    }

    /// What is to be said when no worker is left: how it began.
    fn all_lost(&self) -> Error {
        let lost = self.pace.lost();
        // Of those that are lost now, the last loss of each; the first of these.
        let last_of = |worker: usize| {
            self.losses
                .iter()
                .enumerate()
                .rev()
                .find(|(_, loss)| loss.lost == Lost::Worker && loss.worker == worker)
        };
        match lost.iter().filter_map(|&worker| last_of(worker)).min_by_key(|(when, _)| *when) {
            Some((_, Loss { worker, error, .. })) => error
                .clone()
                .prefixed(format_args!("all workers are lost, worker {worker} was the first: ")),
            None => Error::new(Code::Unavailable, "all workers are lost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn gone() -> Error {
        Error::new(Code::Unavailable, "gone".to_owned())
    }

    #[test]
    fn every_task_is_done_once() {
        let coordinator = Coordinator::new(vec![(); 3], Mode::Async, OnLoss::GoOn).unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let done = Arc::clone(&done);
            drop(coordinator.schedule(move |()| {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
        }
        coordinator.join().unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn the_task_of_a_lost_worker_is_done_by_another() {
        let workers = vec!["dies", "lives"];
        let coordinator = Coordinator::new(workers, Mode::Bounded(1), OnLoss::GoOn).unwrap();
        let work = |name: &mut &'static str| if *name == "dies" { Err(gone()) } else { Ok(*name) };
        // One of two tasks that may be started at once, at the latest the third, meets worker 0.
        let pending: Vec<_> = (0..10).map(|_| coordinator.schedule(work)).collect();
        for task in pending {
            assert_eq!(task.fetch().unwrap(), "lives");
        }
        coordinator.join().unwrap();
        assert_eq!(coordinator.alive(), 1);
        assert_eq!(coordinator.losses()[0].worker, 0);
    }

    #[test]
    fn without_workers_there_is_an_error_and_no_hang() {
        let coordinator = Coordinator::new(vec![(); 2], Mode::Async, OnLoss::GoOn).unwrap();
        let pending: Vec<_> =
            (0..5).map(|_| coordinator.schedule(|()| Err::<(), _>(gone()))).collect();
        let error = coordinator.join().unwrap_err();
        let first = coordinator.losses()[0].worker;
        assert_eq!(error.code(), Code::Unavailable);
        let cause = format!("all workers are lost, worker {first} was the first: gone");
        assert_eq!(error.message(), cause);
        for task in pending {
            let error = task.fetch().unwrap_err();
            assert!(error.message().starts_with(&cause) && error.is_derived(), "{error}");
        }
        let late = coordinator.schedule(|()| Ok(()));
        assert!(late.fetch().unwrap_err().message().starts_with(&cause));
        assert_eq!(coordinator.join().unwrap_err().code(), Code::Unavailable);
        assert!(Coordinator::<()>::new(vec![], Mode::Async, OnLoss::GoOn).is_err());
    }

    #[test]
    fn a_lost_parameter_server_ends_training_but_costs_no_worker() {
        let coordinator = Coordinator::new(vec![(); 2], Mode::Async, OnLoss::GoOn).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        coordinator.watch_losses(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let ps = "/job:ps/replica:0/task:1";
        let missing = move |_: &mut ()| {
            Err::<(), _>(Error::new(Code::Unavailable, format!("From {ps}:\nit is gone")))
        };
        let pending: Vec<_> = (0..20).map(|_| coordinator.schedule(missing)).collect();
        let error = coordinator.join().unwrap_err();
        let cause = format!("the parameter server {ps} was lost: From {ps}:\nit is gone");
        assert_eq!((error.code(), error.message()), (Code::Unavailable, &*cause));
        for task in pending {
            let error = task.fetch().unwrap_err();
            assert!(error.message().starts_with(&cause), "{error}");
        }
        assert_eq!((coordinator.alive(), told.load(Ordering::Relaxed)), (2, 1));
        assert_eq!(coordinator.losses()[0].lost, Lost::ParameterServer(ps.to_owned()));
    }

    #[test]
    fn a_parameter_server_that_comes_back_is_waited_for() {
        // A worker misses its parameter server until it has been repaired.
        let repair: Repair<bool> = Box::new(|is_whole: &mut bool| {
            *is_whole = true;
            Ok(())
        });
        let coordinator =
            Coordinator::with_repair(vec![false; 2], Mode::Async, OnLoss::Stop, Some(repair))
                .unwrap();
        let step = |is_whole: &mut bool| match *is_whole {
            true => Ok(1),
            false => Err(Error::new(Code::Aborted, "/job:ps/replica:0/task:0 was restarted")),
        };
        let done: Vec<_> = (0..10).map(|_| coordinator.schedule(step)).collect();
        assert_eq!(done.into_iter().map(|task| task.fetch().unwrap()).sum::<i32>(), 10);
        coordinator.join().unwrap();
        assert_eq!(coordinator.alive(), 2);
    }

    #[test]
    fn a_loss_may_stop_all() {
        let coordinator = Coordinator::new(vec![(); 2], Mode::Async, OnLoss::Stop).unwrap();
        drop(coordinator.schedule(|()| Err::<(), _>(gone())));
        assert_eq!(coordinator.join().unwrap_err(), gone());
    }

    #[test]
    fn a_task_that_fails_or_panics_is_reported_and_others_may_follow() {
        let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn).unwrap();
        let wrong = coordinator.schedule(|()| Err::<(), _>(invalid_argument!("wrong")));
        assert_eq!(wrong.fetch().unwrap_err().message(), "wrong");
        assert_eq!(coordinator.join().unwrap_err().message(), "wrong");
        drop(coordinator.schedule(|()| -> Result<()> { panic!("on purpose") }));
        assert_eq!(coordinator.join().unwrap_err().code(), Code::Internal);
        assert_eq!(coordinator.schedule(|()| Ok(7)).fetch().unwrap(), 7);
        coordinator.join().unwrap();
        assert_eq!(coordinator.alive(), 1);
    }

    /// The most steps by which the first of two workers was ever ahead when it started one.
    fn greatest_lead(mode: Mode) -> usize {
        let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let lead = Arc::new(AtomicUsize::new(0));
        let coordinator = Coordinator::new(vec![0, 1], mode, OnLoss::GoOn).unwrap();
        for _ in 0..200 {
            let (counts, lead) = (Arc::clone(&counts), Arc::clone(&lead));
            drop(coordinator.schedule(move |worker: &mut usize| {
                let own = counts[*worker].load(Ordering::SeqCst);
                let other = counts[1 - *worker].load(Ordering::SeqCst);
                lead.fetch_max(own.saturating_sub(other), Ordering::SeqCst);
                for _ in 0..*worker * 20 {
                    thread::yield_now();
                }
                counts[*worker].fetch_add(1, Ordering::SeqCst);
                Ok(())
            }));
        }
        coordinator.join().unwrap();
        lead.load(Ordering::SeqCst)
    }

    #[test]
    fn nobody_runs_further_ahead_than_allowed() {
        assert_eq!(greatest_lead(Mode::Bounded(0)), 0);
        assert!(greatest_lead(Mode::Bounded(4)) <= 4);
    }
}

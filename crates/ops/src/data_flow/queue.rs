//! Queues: tuples of tensors that wait, and steps that wait for tuples or for room.
//!
//! Waiters stand in two lines, those who enqueue and those who dequeue, and are served strictly in
//! order. Whatever changes the queue serves the lines as far as possible. A waiter is a future;
//! dropping it leaves the line, and elements that it had taken go back to the front.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_channel::oneshot;
use tensorfleet_framework::Resource;
use tensorfleet_kernels::random::{Philox, Words, entropy};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, cancelled, internal, out_of_range};

/// One element of a queue: a tensor for each component.
pub(super) type Tuple = Vec<Tensor>;

/// In which order elements leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fifo,
    /// As they came; batches are padded to the largest element.
    Padding,
    /// At random, and not before so many others are there.
    Shuffle {
        min_after_dequeue: usize,
        seeds: (i64, i64),
    },
    /// By the first component, lowest first.
    Priority,
}

impl Kind {
    /// TensorFlow's name of the class.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Fifo => "FIFOQueue",
            Kind::Padding => "PaddingFIFOQueue",
            Kind::Shuffle { .. } => "RandomShuffleQueue",
            Kind::Priority => "PriorityQueue",
        }
    }
}

/// What a queue was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) kind: Kind,
    pub(super) capacity: i32,
    pub(super) dtypes: Vec<DType>,
    /// Empty when elements may have any shape.
    pub(super) shapes: Vec<PartialShape>,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) signature: Signature,
    state: Mutex<State>,
}

impl Resource for Queue {
    const TYPE_NAME: &'static str = "N10tensorflow14QueueInterfaceE";
}

/// How many elements a waiter wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Exactly(usize),
    /// Fewer, but not none, when the queue is closed.
    UpTo(usize),
}

#[derive(Debug)]
struct State {
    closed: bool,
    store: Store,
    enqueues: VecDeque<Enqueue>,
    dequeues: VecDeque<Dequeue>,
    next_id: u64,
}

#[derive(Debug)]
struct Enqueue {
    id: u64,
    /// Closing stands in line too; it has nothing to put.
    closes: bool,
    remaining: VecDeque<Tuple>,
    done: oneshot::Sender<Result<()>>,
}

#[derive(Debug)]
struct Dequeue {
    id: u64,
    missing: usize,
    small_batch: bool,
    taken: Vec<Tuple>,
    done: oneshot::Sender<Result<Vec<Tuple>>>,
}

/// A waiter and what it waited for.
type Answer<T> = (oneshot::Sender<Result<T>>, Result<T>);

/// Answers to waiters, given when the lock is released.
#[derive(Default)]
struct Answers {
    enqueues: Vec<Answer<()>>,
    dequeues: Vec<Answer<Vec<Tuple>>>,
}

impl Answers {
    /// A waiter that is gone does not mind.
    fn send(self) {
        for (waiter, answer) in self.enqueues {
            let _ = waiter.send(answer);
        }
        for (waiter, answer) in self.dequeues {
            let _ = waiter.send(answer);
        }
    }
}

impl Queue {
    pub(super) fn new(name: &str, signature: Signature) -> Queue {
        let store = Store::new(signature.kind);
        Queue {
            name: name.to_owned(),
            signature,
            state: Mutex::new(State {
                closed: false,
                store,
                enqueues: VecDeque::new(),
                dequeues: VecDeque::new(),
                next_id: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().store.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Adds elements, as soon as there is room.
    pub(super) fn enqueue(self: &Arc<Self>, tuples: VecDeque<Tuple>) -> Waiter<()> {
        self.line_up(tuples, false)
    }

    /// Closes the queue: at once and refusing those who wait to enqueue, or behind them.
    pub(super) fn close(self: &Arc<Self>, cancel_pending: bool) -> Waiter<()> {
        if !cancel_pending {
            return self.line_up(VecDeque::new(), true);
        }
        let (done, answer) = oneshot::channel();
        let mut answers = Answers::default();
        let mut state = self.lock();
        state.closed = true;
        for waiter in state.enqueues.drain(..) {
            answers
                .enqueues
                .push((waiter.done, Err(cancelled!("Enqueue operation was cancelled"))));
        }
        answers.enqueues.push((done, Ok(())));
        self.serve(&mut state, &mut answers);
        drop(state);
        answers.send();
        Waiter { queue: Arc::clone(self), id: u64::MAX, answer }
    }

    fn line_up(self: &Arc<Self>, remaining: VecDeque<Tuple>, closes: bool) -> Waiter<()> {
        let (done, answer) = oneshot::channel();
        let mut answers = Answers::default();
        let mut state = self.lock();
        let id = state.next_id();
        state.enqueues.push_back(Enqueue { id, closes, remaining, done });
        self.serve(&mut state, &mut answers);
        drop(state);
        answers.send();
        Waiter { queue: Arc::clone(self), id, answer }
    }

    /// Takes elements, as soon as they are there.
    pub(super) fn dequeue(self: &Arc<Self>, want: Want) -> Waiter<Vec<Tuple>> {
        let (done, answer) = oneshot::channel();
        let (missing, small_batch) = match want {
            Want::Exactly(count) => (count, false),
            Want::UpTo(count) => (count, true),
        };
        let mut answers = Answers::default();
        let mut state = self.lock();
        let id = state.next_id();
        state.dequeues.push_back(Dequeue { id, missing, small_batch, taken: Vec::new(), done });
        self.serve(&mut state, &mut answers);
        drop(state);
        answers.send();
        Waiter { queue: Arc::clone(self), id, answer }
    }

    /// Serves both lines until neither moves.
    fn serve(&self, state: &mut State, answers: &mut Answers) {
        while self.serve_enqueues(state, answers) | self.serve_dequeues(state, answers) {}
    }

    fn serve_enqueues(&self, state: &mut State, answers: &mut Answers) -> bool {
        let capacity = usize::try_from(self.signature.capacity).unwrap_or(usize::MAX);
        let mut moved = false;
        while let Some(first) = state.enqueues.front_mut() {
            let answer = if state.closed {
                Err(if first.closes {
                    cancelled!("Queue '{}' is already closed.", self.name)
                } else {
                    cancelled!("{} '{}' is closed.", self.signature.kind.name(), self.name)
                })
            } else if first.closes {
                state.closed = true;
                Ok(())
            } else {
                while state.store.len() < capacity
                    && let Some(tuple) = first.remaining.pop_front()
                {
                    state.store.put(tuple);
                    moved = true;
                }
                if !first.remaining.is_empty() {
                    break;
                }
                Ok(())
            };
            moved = true;
            let first = state.enqueues.pop_front().expect("the front was just looked at");
            answers.enqueues.push((first.done, answer));
        }
        moved
    }

    fn serve_dequeues(&self, state: &mut State, answers: &mut Answers) -> bool {
        let mut moved = false;
        while let Some(first) = state.dequeues.front_mut() {
            let size = state.store.len();
            if state.closed && size < first.missing {
                let requested = first.missing;
                let taken = std::mem::take(&mut first.taken);
                first.missing += taken.len();
                state.store.restore(taken);
                if !first.small_batch || state.store.len() == 0 {
                    let first = state.dequeues.pop_front().expect("the front was just looked at");
                    let error = out_of_range!(
                        "{} '{}' is closed and has insufficient elements (requested {requested}, \
                         current size {size})",
                        match self.signature.kind {
                            // A single element of a padding queue leaves as from its parent class.
                            Kind::Padding if first.missing == 1 => "FIFOQueue",
                            kind => kind.name(),
                        },
                        self.name
                    );
                    answers.dequeues.push((first.done, Err(error)));
                    moved = true;
                    continue;
                }
                first.missing = state.store.len();
            }
            let mut available = state.store.available(state.closed);
            while available > 0 && first.missing > 0 {
                let Some(tuple) = state.store.take() else { break };
                first.taken.push(tuple);
                first.missing -= 1;
                available -= 1;
                moved = true;
            }
            if first.missing > 0 {
                break;
            }
            let first = state.dequeues.pop_front().expect("the front was just looked at");
            answers.dequeues.push((first.done, Ok(first.taken)));
            moved = true;
        }
        moved
    }

    /// Takes a waiter that is no longer interested out of its line.
    fn leave(&self, id: u64) {
        let mut answers = Answers::default();
        let mut state = self.lock();
        state.enqueues.retain(|waiter| waiter.id != id);
        if let Some(place) = state.dequeues.iter().position(|waiter| waiter.id == id)
            && let Some(waiter) = state.dequeues.remove(place)
        {
            state.store.restore(waiter.taken);
        }
        self.serve(&mut state, &mut answers);
        drop(state);
        answers.send();
    }

    /// Gives back elements that were handed to a waiter who left before it looked.
    fn give_back(&self, tuples: Vec<Tuple>) {
        let mut answers = Answers::default();
        let mut state = self.lock();
        state.store.restore(tuples);
        self.serve(&mut state, &mut answers);
        drop(state);
        answers.send();
    }
}

impl State {
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

/// A place in one of a queue's lines, until its turn came.
#[derive(Debug)]
pub(super) struct Waiter<T: Unclaimed> {
    queue: Arc<Queue>,
    id: u64,
    answer: oneshot::Receiver<Result<T>>,
}

impl<T: Unclaimed> Waiter<T> {
    /// The answer, if it is there already.
    pub(super) fn now(&mut self) -> Result<Option<T>> {
        match self.answer.try_recv() {
            Ok(Some(answer)) => answer.map(Some),
            Ok(None) => Ok(None),
            Err(_) => Err(gone()),
        }
    }
}

fn gone() -> tensorfleet_tensor::Error {
    internal!("a queue forgot who waits for it")
}

impl<T: Unclaimed> Future for Waiter<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.answer)
            .poll(context)
            .map(|answer| answer.unwrap_or_else(|_| Err(gone())))
    }
}

impl<T: Unclaimed> Drop for Waiter<T> {
    fn drop(&mut self) {
        match self.answer.try_recv() {
            // Answered, and nobody took the answer.
            Ok(Some(Ok(answer))) => answer.give_back(&self.queue),
            Ok(None) => self.queue.leave(self.id),
            Ok(Some(Err(_))) | Err(_) => {}
        }
    }
}

/// What happens to an answer that its waiter did not take.
pub(super) trait Unclaimed {
    fn give_back(self, queue: &Queue);
}

impl Unclaimed for () {
    fn give_back(self, _: &Queue) {}
}

impl Unclaimed for Vec<Tuple> {
    fn give_back(self, queue: &Queue) {
        queue.give_back(self);
    }
}

#[derive(Debug)]
enum Store {
    InOrder(VecDeque<Tuple>),
    Shuffled { tuples: Vec<Tuple>, min_after_dequeue: usize, random: Words },
    ByPriority { tuples: BTreeMap<(i64, u64), Tuple>, arrivals: u64 },
}

impl Store {
    fn new(kind: Kind) -> Store {
        match kind {
            Kind::Fifo | Kind::Padding => Store::InOrder(VecDeque::new()),
            Kind::Shuffle { min_after_dequeue, seeds } => {
                let (first, second) = match seeds {
                    // No seed asks for another order in every run.
                    (0, 0) => (entropy(), entropy()),
                    (first, second) => (first as u64, second as u64),
                };
                let random = Philox::new(first, second).words();
                Store::Shuffled { tuples: Vec::new(), min_after_dequeue, random }
            }
            Kind::Priority => Store::ByPriority { tuples: BTreeMap::new(), arrivals: 0 },
        }
    }

    fn len(&self) -> usize {
        match self {
            Store::InOrder(tuples) => tuples.len(),
            Store::Shuffled { tuples, .. } => tuples.len(),
            Store::ByPriority { tuples, .. } => tuples.len(),
        }
    }

    /// How many may leave.
    fn available(&self, closed: bool) -> usize {
        match self {
            Store::Shuffled { tuples, min_after_dequeue, .. } if !closed => {
                tuples.len().saturating_sub(*min_after_dequeue)
            }
            _ => self.len(),
        }
    }

    fn put(&mut self, tuple: Tuple) {
        match self {
            Store::InOrder(tuples) => tuples.push_back(tuple),
            Store::Shuffled { tuples, .. } => tuples.push(tuple),
            Store::ByPriority { tuples, arrivals } => {
                let priority =
                    tuple.first().and_then(|first| first.scalar_value().ok()).unwrap_or_default();
                *arrivals += 1;
                tuples.insert((priority, *arrivals), tuple);
            }
        }
    }

    fn take(&mut self) -> Option<Tuple> {
        match self {
            Store::InOrder(tuples) => tuples.pop_front(),
            Store::Shuffled { tuples, random, .. } if !tuples.is_empty() => {
                let index = random.next_u32() as usize % tuples.len();
                Some(tuples.swap_remove(index))
            }
            Store::Shuffled { .. } => None,
            Store::ByPriority { tuples, .. } => tuples.pop_first().map(|(_, tuple)| tuple),
        }
    }

    /// Takes elements back as if they had not left.
    fn restore(&mut self, back: Vec<Tuple>) {
        match self {
            Store::InOrder(tuples) => {
                for tuple in back.into_iter().rev() {
                    tuples.push_front(tuple);
                }
            }
            _ => back.into_iter().for_each(|tuple| self.put(tuple)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(kind: Kind, capacity: i32) -> Arc<Queue> {
        let signature =
            Signature { kind, capacity, dtypes: vec![DType::Int64], shapes: Vec::new() };
        Arc::new(Queue::new("q", signature))
    }

    fn tuples(values: &[i64]) -> VecDeque<Tuple> {
        values.iter().map(|&value| vec![Tensor::scalar(value)]).collect()
    }

    fn numbers(tuples: Option<Vec<Tuple>>) -> Vec<i64> {
        tuples.unwrap().iter().map(|tuple| tuple[0].scalar_value().unwrap()).collect()
    }

    #[test]
    fn waiters_are_served_in_order() {
        let queue = queue(Kind::Fifo, 2);
        let mut first = queue.dequeue(Want::Exactly(2));
        let mut second = queue.dequeue(Want::Exactly(1));
        assert!(queue.enqueue(tuples(&[1])).now().unwrap().is_some());
        assert!(first.now().unwrap().is_none() && second.now().unwrap().is_none());
        assert!(queue.enqueue(tuples(&[2, 3])).now().unwrap().is_some());
        assert_eq!(numbers(first.now().unwrap()), [1, 2]);
        assert_eq!(numbers(second.now().unwrap()), [3]);
        let mut many = queue.enqueue(tuples(&[1, 2, 3]));
        assert!(many.now().unwrap().is_none());
        assert_eq!(numbers(queue.dequeue(Want::Exactly(3)).now().unwrap()), [1, 2, 3]);
        assert!(many.now().unwrap().is_some());
    }

    #[test]
    fn a_waiter_that_leaves_gives_back_what_it_took() {
        let queue = queue(Kind::Fifo, 10);
        assert!(queue.enqueue(tuples(&[1, 2])).now().unwrap().is_some());
        let waiter = queue.dequeue(Want::Exactly(3));
        assert_eq!(queue.len(), 0);
        let mut next = queue.dequeue(Want::Exactly(1));
        drop(waiter);
        assert_eq!(numbers(next.now().unwrap()), [1]);
        drop(queue.dequeue(Want::Exactly(1)));
        assert_eq!(queue.len(), 1);
    }

    /// Recorded from TensorFlow.
    #[test]
    fn a_seed_gives_tensorflow_s_order() {
        let kind = Kind::Shuffle { min_after_dequeue: 0, seeds: (87654321, 7) };
        let queue = queue(kind, 20);
        assert!(
            queue
                .enqueue((0..10).map(|value: i64| vec![Tensor::scalar(value)]).collect())
                .now()
                .unwrap()
                .is_some()
        );
        assert_eq!(numbers(queue.dequeue(Want::Exactly(7)).now().unwrap()), [7, 1, 5, 6, 4, 3, 2]);
    }

    #[test]
    fn closing_ends_all_waiting() {
        let queue = queue(Kind::Fifo, 1);
        assert!(queue.enqueue(tuples(&[1])).now().unwrap().is_some());
        let mut blocked = queue.enqueue(tuples(&[2]));
        let mut close = queue.close(false);
        assert!(close.now().unwrap().is_none());
        assert_eq!(numbers(queue.dequeue(Want::Exactly(1)).now().unwrap()), [1]);
        assert!(blocked.now().unwrap().is_some() && close.now().unwrap().is_some());
        let error = queue.dequeue(Want::Exactly(2)).now().unwrap_err();
        assert_eq!(
            error.message(),
            "FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 1)"
        );
        assert_eq!(numbers(queue.dequeue(Want::UpTo(5)).now().unwrap()), [2]);
        assert!(queue.dequeue(Want::UpTo(5)).now().is_err());
        let error = queue.enqueue(tuples(&[3])).now().unwrap_err();
        assert_eq!(error.message(), "FIFOQueue 'q' is closed.");
        let error = queue.close(false).now().unwrap_err();
        assert_eq!(error.message(), "Queue 'q' is already closed.");
    }

    #[test]
    fn closing_can_refuse_those_who_wait() {
        let queue = queue(Kind::Fifo, 0);
        let mut blocked = queue.enqueue(tuples(&[2]));
        assert!(queue.close(true).now().unwrap().is_some());
        let error = blocked.now().unwrap_err();
        assert_eq!(error.message(), "Enqueue operation was cancelled");
    }

    #[test]
    fn a_shuffling_queue_keeps_some_back_until_closed() {
        let queue = queue(Kind::Shuffle { min_after_dequeue: 2, seeds: (1, 2) }, 10);
        assert!(queue.enqueue(tuples(&[1, 2, 3])).now().unwrap().is_some());
        assert!(queue.dequeue(Want::Exactly(1)).now().unwrap().is_some());
        let mut next = queue.dequeue(Want::Exactly(1));
        assert!(next.now().unwrap().is_none());
        assert!(queue.close(false).now().unwrap().is_some());
        assert!(next.now().unwrap().is_some());
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn the_lowest_priority_leaves_first() {
        let queue = queue(Kind::Priority, 10);
        assert!(queue.enqueue(tuples(&[3, 1, 2])).now().unwrap().is_some());
        assert_eq!(numbers(queue.dequeue(Want::Exactly(3)).now().unwrap()), [1, 2, 3]);
    }
}

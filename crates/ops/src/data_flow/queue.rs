//! Queues: tuples of tensors that wait, and steps that wait for tuples or for room.
//!
//! Waiters stand in two lines, those who enqueue and those who dequeue, and are served strictly in
//! order. Whatever changes the queue serves the lines as far as possible. A waiter is a future;
//! dropping it leaves the line, and elements that it had taken go back to the front.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_channel::oneshot;
use tensorfleet_framework::{Durable, Kept, Measure, Resource, Telling, Unit};
use tensorfleet_tensor::account::Tally;
use tensorfleet_tensor::{
    Context as _, DType, Error, PartialShape, Result, Tensor, cancelled, internal, out_of_range,
};

use super::queue_kept::event;
use super::queue_store::Store;
use crate::kept::can_be_kept;

/// What an element of a queue holds: a tensor for each component.
pub(super) type Tuple = Vec<Tensor>;

/// An element of a queue.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// How many had been put before it, and itself.
    pub(super) number: u64,
    pub(super) tuple: Tuple,
}

/// In which step a waiter changes the queue, on a task with a journal.
pub(super) type Owner = Option<Arc<dyn Unit>>;

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

    /// TensorFlow's name of the class whose methods for single elements and for enqueueing it has.
    fn parent_name(self) -> &'static str {
        if self == Kind::Padding { Kind::Fifo.name() } else { self.name() }
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
    pub(super) kept: Kept,
    state: Mutex<State>,
}

impl Resource for Queue {
    const TYPE_NAME: &'static str = "N10tensorflow14QueueInterfaceE";

    fn durable(&self) -> Option<&dyn Durable> {
        self.signature.dtypes.iter().all(|&dtype| can_be_kept(dtype)).then_some(self)
    }

    fn measure(&self) -> Measure {
        let state = self.lock();
        let dtypes = self.signature.dtypes.iter().map(ToString::to_string);
        Measure {
            dtype: dtypes.collect::<Vec<_>>().join(","),
            entries: Some(state.store.len() as u64),
            capacity: u64::try_from(self.signature.capacity).ok(),
            bytes: state.store.bytes() as u64,
            reads: state.taken,
            updates: state.put,
            waiting: (state.enqueues.len() + state.dequeues.len()) as u64,
            ..Measure::default()
        }
    }
}

/// How many elements a waiter wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A single element, not a batch.
    One,
    Exactly(usize),
    /// Fewer, but not none, when the queue is closed.
    UpTo(usize),
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) closed: bool,
    pub(super) store: Store,
    /// What the elements cost beside memory that is charged by its block.
    tally: Tally,
    enqueues: VecDeque<Enqueue>,
    dequeues: VecDeque<Dequeue>,
    next_id: u64,
    /// How many elements have come and gone.
    pub(super) put: u64,
    taken: u64,
}

#[derive(Debug)]
struct Enqueue {
    id: u64,
    /// Closing stands in line too; it has nothing to put.
    closes: bool,
    remaining: VecDeque<Tuple>,
    owner: Owner,
    done: oneshot::Sender<Result<()>>,
}

#[derive(Debug)]
struct Dequeue {
    id: u64,
    want: Want,
    missing: usize,
    taken: Vec<Element>,
    owner: Owner,
    done: oneshot::Sender<Result<Vec<Element>>>,
}

/// A waiter and what it waited for.
type Answer<T> = (oneshot::Sender<Result<T>>, Result<T>);

/// Answers to waiters, given when the lock is released.
#[derive(Default)]
struct Answers {
    enqueues: Vec<Answer<()>>,
    dequeues: Vec<Answer<Vec<Element>>>,
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
            kept: Kept::default(),
            state: Mutex::new(State {
                closed: false,
                store,
                tally: Tally::new(),
                enqueues: VecDeque::new(),
                dequeues: VecDeque::new(),
                next_id: 0,
                put: 0,
                taken: 0,
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().store.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Adds elements, as soon as there is room. None at all need no room, nor a queue that is open.
    pub(super) fn enqueue(
        self: &Arc<Self>,
        owner: Owner,
        tuples: VecDeque<Tuple>,
    ) -> Result<Waiter<()>> {
        if tuples.is_empty() {
            return Ok(self.done());
        }
        self.line_up(owner, tuples, false)
    }

    /// Closes the queue: at once and refusing those who wait to enqueue, or behind them.
    pub(super) fn close(
        self: &Arc<Self>,
        owner: Owner,
        cancel_pending: bool,
    ) -> Result<Waiter<()>> {
        if !cancel_pending {
            return self.line_up(owner, VecDeque::new(), true);
        }
        let telling = self.kept.enter(owner.as_deref())?;
        let mut answers = Answers::default();
        let mut state = self.lock();
        state.closed = true;
        telling.tell(owner.as_deref(), false, event::closed);
        for waiter in state.enqueues.drain(..) {
            answers
                .enqueues
                .push((waiter.done, Err(cancelled!("Enqueue operation was cancelled"))));
        }
        self.serve(&mut state, &mut answers, &telling);
        drop(state);
        answers.send();
        Ok(self.done())
    }

    /// The place of one who need not wait.
    fn done(self: &Arc<Self>) -> Waiter<()> {
        let (done, answer) = oneshot::channel();
        Answers { enqueues: vec![(done, Ok(()))], ..Answers::default() }.send();
        Waiter { queue: Arc::clone(self), id: u64::MAX, owner: None, answer }
    }

    fn line_up(
        self: &Arc<Self>,
        owner: Owner,
        remaining: VecDeque<Tuple>,
        closes: bool,
    ) -> Result<Waiter<()>> {
        let (done, answer) = oneshot::channel();
        let telling = self.kept.enter(owner.as_deref())?;
        let mut answers = Answers::default();
        let mut state = self.lock();
        let id = state.next_id();
        state.enqueues.push_back(Enqueue { id, closes, remaining, owner: owner.clone(), done });
        self.serve(&mut state, &mut answers, &telling);
        drop(state);
        answers.send();
        drop(telling);
        Ok(Waiter { queue: Arc::clone(self), id, owner, answer })
    }

    /// Takes elements, as soon as they are there.
    pub(super) fn dequeue(
        self: &Arc<Self>,
        owner: Owner,
        want: Want,
    ) -> Result<Waiter<Vec<Element>>> {
        let (done, answer) = oneshot::channel();
        let missing = match want {
            Want::One => 1,
            Want::Exactly(count) | Want::UpTo(count) => count,
        };
        let telling = self.kept.enter(owner.as_deref())?;
        let mut answers = Answers::default();
        let mut state = self.lock();
        let (id, taken) = (state.next_id(), Vec::new());
        state.dequeues.push_back(Dequeue { id, want, missing, taken, owner: owner.clone(), done });
        self.serve(&mut state, &mut answers, &telling);
        drop(state);
        answers.send();
        drop(telling);
        Ok(Waiter { queue: Arc::clone(self), id, owner, answer })
    }

    /// Serves both lines until neither moves. Who is served changes the queue, whoever serves.
    fn serve(&self, state: &mut State, answers: &mut Answers, telling: &Telling<'_>) {
        while self.serve_enqueues(state, answers, telling)
            | self.serve_dequeues(state, answers, telling)
        {}
    }

    fn serve_enqueues(
        &self,
        state: &mut State,
        answers: &mut Answers,
        telling: &Telling<'_>,
    ) -> bool {
        let capacity = usize::try_from(self.signature.capacity).unwrap_or(usize::MAX);
        let mut moved = false;
        while let Some(first) = state.enqueues.front_mut() {
            let answer = if state.closed {
                Err(if first.closes {
                    cancelled!("Queue '{}' is already closed.", self.name)
                } else {
                    cancelled!("{} '{}' is closed.", self.signature.kind.parent_name(), self.name)
                })
            } else if first.closes {
                state.closed = true;
                telling.tell(first.owner.as_deref(), false, event::closed);
                Ok(())
            } else {
                let mut exhausted = Ok(());
                while state.store.len() < capacity
                    && let Some(tuple) = first.remaining.pop_front()
                {
                    exhausted = state.tally.add(&tuple);
                    if exhausted.is_err() {
                        break;
                    }
                    state.put += 1;
                    let element = Element { number: state.put, tuple };
                    telling.tell(first.owner.as_deref(), false, || event::put(&element));
                    state.store.put(element);
                    moved = true;
                }
                if exhausted.is_ok() && !first.remaining.is_empty() {
                    break;
                }
                exhausted.context(|| {
                    let (kind, count) = (self.signature.kind.name(), state.store.len());
                    format!("{kind} '{}' has {count} elements", self.name)
                })
            };
            moved = true;
            let first = state.enqueues.pop_front().expect("the front was just looked at");
            answers.enqueues.push((first.done, answer));
        }
        moved
    }

    fn serve_dequeues(
        &self,
        state: &mut State,
        answers: &mut Answers,
        telling: &Telling<'_>,
    ) -> bool {
        let mut moved = false;
        while let Some(first) = state.dequeues.front_mut() {
            if state.closed && state.store.len() < first.missing {
                if let Some(error) = self.too_few(&mut state.store, first, telling) {
                    let first = state.dequeues.pop_front().expect("the front was just looked at");
                    answers.dequeues.push((first.done, Err(error)));
                    moved = true;
                    continue;
                }
                first.missing = state.store.len();
            }
            // The lowest of so many are known only when so many are there.
            if self.signature.kind == Kind::Priority && state.store.len() < first.missing {
                break;
            }
            let mut available = state.store.available(state.closed);
            while available > 0 && first.missing > 0 {
                let Some(element) = state.store.take() else { break };
                state.tally.remove(&element.tuple);
                first.taken.push(element);
                state.taken += 1;
                first.missing -= 1;
                available -= 1;
                moved = true;
            }
            if first.missing > 0 {
                break;
            }
            let first = state.dequeues.pop_front().expect("the front was just looked at");
            // Only now: until here they would have gone back.
            telling.tell(first.owner.as_deref(), false, || event::took(&first.taken));
            answers.dequeues.push((first.done, Ok(first.taken)));
            moved = true;
        }
        moved
    }

    /// Why a waiter gets nothing of a closed queue with fewer elements than it lacks, if it gets
    /// nothing. What it had taken is back in the queue.
    fn too_few(
        &self,
        store: &mut Store,
        waiter: &mut Dequeue,
        telling: &Telling<'_>,
    ) -> Option<Error> {
        let (mut requested, mut size) = (waiter.missing, store.len());
        let taken = std::mem::take(&mut waiter.taken);
        waiter.missing += taken.len();
        store.restore(taken);
        if matches!(waiter.want, Want::UpTo(_)) {
            if self.signature.kind == Kind::Priority {
                // TensorFlow takes the last small batch out of a priority queue, and loses it.
                requested -= size;
                size = 0;
                let lost: Vec<Element> = std::iter::from_fn(|| store.take()).collect();
                telling.tell(waiter.owner.as_deref(), false, || event::took(&lost));
            } else if store.len() > 0 {
                return None;
            }
        }
        let kind = self.signature.kind;
        let name = if waiter.want == Want::One { kind.parent_name() } else { kind.name() };
        Some(out_of_range!(
            "{name} '{}' is closed and has insufficient elements (requested {requested}, current \
             size {size})",
            self.name
        ))
    }

    /// Takes a waiter that is no longer interested out of its line. If the journal has failed, nobody
    /// is served in its stead.
    fn leave(&self, owner: &Owner, id: u64) {
        let telling = self.kept.enter(owner.as_deref()).ok();
        let mut answers = Answers::default();
        let mut state = self.lock();
        state.enqueues.retain(|waiter| waiter.id != id);
        if let Some(place) = state.dequeues.iter().position(|waiter| waiter.id == id)
            && let Some(waiter) = state.dequeues.remove(place)
        {
            state.store.restore(waiter.taken);
        }
        if let Some(telling) = &telling {
            self.serve(&mut state, &mut answers, telling);
        }
        drop(state);
        answers.send();
    }

    /// Gives back elements that were handed to a waiter who left before it looked.
    fn give_back(&self, owner: &Owner, elements: Vec<Element>) {
        let telling = self.kept.enter(owner.as_deref()).ok();
        let mut answers = Answers::default();
        let mut state = self.lock();
        if let Some(telling) = &telling {
            for element in &elements {
                telling.tell(owner.as_deref(), false, || event::put(element));
            }
        }
        state.store.restore(elements);
        if let Some(telling) = &telling {
            self.serve(&mut state, &mut answers, telling);
        }
        drop(state);
        answers.send();
    }
}

impl State {
    /// All elements, with those that waiters have taken who wait for more.
    pub(super) fn elements(&self) -> Vec<&Element> {
        let taken = self.dequeues.iter().flat_map(|waiter| &waiter.taken);
        taken.chain(self.store.elements()).collect()
    }

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
    owner: Owner,
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

fn gone() -> Error {
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
            Ok(Some(Ok(answer))) => answer.give_back(&self.queue, &self.owner),
            Ok(None) => self.queue.leave(&self.owner, self.id),
            Ok(Some(Err(_))) | Err(_) => {}
        }
    }
}

/// What happens to an answer that its waiter did not take.
pub(super) trait Unclaimed {
    fn give_back(self, queue: &Queue, owner: &Owner);
}

impl Unclaimed for () {
    fn give_back(self, _: &Queue, _: &Owner) {}
}

impl Unclaimed for Vec<Element> {
    fn give_back(self, queue: &Queue, owner: &Owner) {
        queue.give_back(owner, self);
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

    fn enqueue(queue: &Arc<Queue>, tuples: VecDeque<Tuple>) -> Waiter<()> {
        queue.enqueue(None, tuples).unwrap()
    }

    fn dequeue(queue: &Arc<Queue>, want: Want) -> Waiter<Vec<Element>> {
        queue.dequeue(None, want).unwrap()
    }

    fn close(queue: &Arc<Queue>, cancel_pending: bool) -> Waiter<()> {
        queue.close(None, cancel_pending).unwrap()
    }

    fn numbers(elements: Option<Vec<Element>>) -> Vec<i64> {
        let first = |element: &Element| element.tuple[0].scalar_value().unwrap();
        elements.unwrap().iter().map(first).collect()
    }

    #[test]
    fn waiters_are_served_in_order() {
        let queue = queue(Kind::Fifo, 2);
        let mut first = dequeue(&queue, Want::Exactly(2));
        let mut second = dequeue(&queue, Want::Exactly(1));
        assert!(enqueue(&queue, tuples(&[1])).now().unwrap().is_some());
        assert!(first.now().unwrap().is_none() && second.now().unwrap().is_none());
        assert!(enqueue(&queue, tuples(&[2, 3])).now().unwrap().is_some());
        assert_eq!(numbers(first.now().unwrap()), [1, 2]);
        assert_eq!(numbers(second.now().unwrap()), [3]);
        let mut many = enqueue(&queue, tuples(&[1, 2, 3]));
        assert!(many.now().unwrap().is_none());
        assert_eq!(numbers(dequeue(&queue, Want::Exactly(3)).now().unwrap()), [1, 2, 3]);
        assert!(many.now().unwrap().is_some());
    }

    #[test]
    fn a_waiter_that_leaves_gives_back_what_it_took() {
        let queue = queue(Kind::Fifo, 10);
        assert!(enqueue(&queue, tuples(&[1, 2])).now().unwrap().is_some());
        let waiter = dequeue(&queue, Want::Exactly(3));
        assert_eq!(queue.len(), 0);
        let mut next = dequeue(&queue, Want::Exactly(1));
        drop(waiter);
        assert_eq!(numbers(next.now().unwrap()), [1]);
        drop(dequeue(&queue, Want::Exactly(1)));
        assert_eq!(queue.len(), 1);
    }

    /// Recorded from TensorFlow.
    #[test]
    fn a_seed_gives_tensorflow_s_order() {
        let kind = Kind::Shuffle { min_after_dequeue: 0, seeds: (87654321, 7) };
        let queue = queue(kind, 20);
        assert!(
            enqueue(&queue, (0..10).map(|value: i64| vec![Tensor::scalar(value)]).collect())
                .now()
                .unwrap()
                .is_some()
        );
        assert_eq!(
            numbers(dequeue(&queue, Want::Exactly(7)).now().unwrap()),
            [7, 1, 5, 6, 4, 3, 2]
        );
    }

    #[test]
    fn closing_ends_all_waiting() {
        let queue = queue(Kind::Fifo, 1);
        assert!(enqueue(&queue, tuples(&[1])).now().unwrap().is_some());
        let mut blocked = enqueue(&queue, tuples(&[2]));
        let mut closing = close(&queue, false);
        assert!(closing.now().unwrap().is_none());
        assert_eq!(numbers(dequeue(&queue, Want::Exactly(1)).now().unwrap()), [1]);
        assert!(blocked.now().unwrap().is_some() && closing.now().unwrap().is_some());
        let error = dequeue(&queue, Want::Exactly(2)).now().unwrap_err();
        assert_eq!(
            error.message(),
            "FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 1)"
        );
        assert_eq!(numbers(dequeue(&queue, Want::UpTo(5)).now().unwrap()), [2]);
        assert!(dequeue(&queue, Want::UpTo(5)).now().is_err());
        let error = enqueue(&queue, tuples(&[3])).now().unwrap_err();
        assert_eq!(error.message(), "FIFOQueue 'q' is closed.");
        let error = close(&queue, false).now().unwrap_err();
        assert_eq!(error.message(), "Queue 'q' is already closed.");
    }

    #[test]
    fn closing_can_refuse_those_who_wait() {
        let queue = queue(Kind::Fifo, 0);
        let mut blocked = enqueue(&queue, tuples(&[2]));
        assert!(close(&queue, true).now().unwrap().is_some());
        let error = blocked.now().unwrap_err();
        assert_eq!(error.message(), "Enqueue operation was cancelled");
    }

    #[test]
    fn a_shuffling_queue_keeps_some_back_until_closed() {
        let queue = queue(Kind::Shuffle { min_after_dequeue: 2, seeds: (1, 2) }, 10);
        assert!(enqueue(&queue, tuples(&[1, 2, 3])).now().unwrap().is_some());
        assert!(dequeue(&queue, Want::Exactly(1)).now().unwrap().is_some());
        let mut next = dequeue(&queue, Want::Exactly(1));
        assert!(next.now().unwrap().is_none());
        assert!(close(&queue, false).now().unwrap().is_some());
        assert!(next.now().unwrap().is_some());
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn the_lowest_priority_leaves_first() {
        let queue = queue(Kind::Priority, 10);
        assert!(enqueue(&queue, tuples(&[3, 1, 2])).now().unwrap().is_some());
        assert_eq!(numbers(dequeue(&queue, Want::Exactly(3)).now().unwrap()), [1, 2, 3]);
    }
}

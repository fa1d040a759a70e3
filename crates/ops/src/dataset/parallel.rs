//! Elements made by several calls at once, in the order of their inputs.
//!
//! A background task takes elements from the input and starts a call for each, each call being a
//! task of its own. The tasks wait in a buffer whose size limits how many calls are under way.

use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Error, Result, internal, invalid_argument};

use super::dataset::{Element, Elements, Inputs, Pending};
use super::scope::Scope;
use super::task::{Buffer, Task, buffer};

/// Lets the runtime choose a number.
pub(super) const AUTOTUNE: i64 = -1;

/// Reads the input that says how many calls may run at once.
pub(super) fn parallel_calls(inputs: &Inputs<'_, '_>, index: usize) -> Result<i64> {
    let calls = inputs.tensor(index)?;
    if !calls.shape().is_scalar() {
        return Err(invalid_argument!("num_parallel_calls must be a scalar"));
    }
    let calls = calls.to_i64_vec()?[0];
    if calls < 1 && calls != AUTOTUNE {
        return Err(invalid_argument!("num_parallel_calls must be greater than zero."));
    }
    Ok(calls)
}

/// How many calls a number means on this machine. More calls than this only cost memory.
pub(super) fn limit(calls: i64, scope: &Scope) -> usize {
    const MOST: usize = 1 << 12;
    match usize::try_from(calls) {
        Ok(calls) => calls.clamp(1, MOST),
        Err(_) => scope.parallelism().max(1),
    }
}

/// What one call makes of an element; `None` ends the sequence.
pub(super) type Call = Box<dyn Fn(Element) -> BoxFuture<Result<Option<Element>>> + Send>;

enum Item {
    Call(Task<Result<Option<Element>>>),
    Failure(Error),
    End,
}

/// An iterator that calls ahead.
pub(super) struct Parallel {
    state: State,
    scope: Scope,
}

enum State {
    /// Nobody has asked yet, so nothing is done ahead.
    New {
        input: Box<dyn Elements>,
        calls: usize,
        call: Call,
    },
    Running {
        items: Buffer<Item>,
        _caller: Task<()>,
    },
    Ended,
}

impl Parallel {
    pub(super) fn new(
        scope: &Scope,
        input: Box<dyn Elements>,
        calls: i64,
        call: impl Fn(Element) -> BoxFuture<Result<Option<Element>>> + Send + 'static,
    ) -> Parallel {
        let calls = limit(calls, scope);
        let state = State::New { input, calls, call: Box::new(call) };
        Parallel { state, scope: scope.clone() }
    }

    fn start(&mut self) {
        let State::New { mut input, calls, call } =
            std::mem::replace(&mut self.state, State::Ended)
        else {
            return;
        };
        let (mut filler, items) = buffer(calls);
        let scope = self.scope.clone();
        let caller = self.scope.spawn(async move {
            while filler.ready().await {
                match input.next().await {
                    Ok(Some(element)) => filler.put(Item::Call(scope.spawn(call(element)))),
                    Ok(None) => {
                        filler.put(Item::End);
                        return;
                    }
                    Err(error) => filler.put(Item::Failure(error)),
                }
            }
        });
        self.state = State::Running { items, _caller: caller };
    }
}

impl Elements for Parallel {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if matches!(self.state, State::New { .. }) {
                self.start();
            }
            let State::Running { items, .. } = &mut self.state else { return Ok(None) };
            let element = match items.take().await {
                Some(Item::Call(call)) => call.await??,
                Some(Item::Failure(error)) => return Err(error),
                Some(Item::End) => None,
                None => return Err(internal!("background work failed unexpectedly")),
            };
            if element.is_none() {
                self.state = State::Ended;
            }
            Ok(element)
        })
    }
}

//! Work of iterators that may block: reading and writing files.
//!
//! What the work needs goes along to a thread that may block, and comes back with the result. Whoever
//! asked may give up; what was made for it is then given to whoever asks next.

use std::collections::VecDeque;

use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Result, internal};

use super::dataset::{Element, Elements, Pending};
use super::scope::Scope;

/// A value that may be away for work.
pub(super) struct Aside<S, R> {
    scope: Scope,
    state: State<S, R>,
}

enum State<S, R> {
    Here(S),
    Away(BoxFuture<Result<(S, Result<R>)>>),
    /// The work failed unexpectedly, and the value with it.
    Lost,
}

impl<S: Send + 'static, R: Send + 'static> Aside<S, R> {
    pub(super) fn new(scope: &Scope, value: S) -> Aside<S, R> {
        Aside { scope: scope.clone(), state: State::Here(value) }
    }

    /// Whether somebody gave up whose work is not done, or whose result nobody has taken.
    pub(super) fn is_away(&self) -> bool {
        matches!(self.state, State::Away(_))
    }

    /// The result of work on the value; of the work that is under way already if there is any.
    pub(super) async fn run(
        &mut self,
        work: impl FnOnce(&mut S) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.state = match std::mem::replace(&mut self.state, State::Lost) {
            State::Here(mut value) => State::Away(self.scope.with_files(move || {
                let result = work(&mut value);
                Ok((value, result))
            })),
            other => other,
        };
        let State::Away(away) = &mut self.state else {
            return Err(internal!("work with files failed unexpectedly"));
        };
        let done = away.await;
        // Also when the work failed: it must not be awaited again.
        self.state = State::Lost;
        let (value, result) = done?;
        self.state = State::Here(value);
        result
    }
}

/// What reads elements from files.
pub(super) trait Source: Send + 'static {
    /// The next element; `None` at the end.
    fn read(&mut self) -> Result<Option<Element>>;
}

/// The elements of a source. Several are read at once, so that they cost few switches of threads.
pub(super) struct FileElements<S> {
    source: Aside<S, Vec<Result<Option<Element>>>>,
    ready: VecDeque<Result<Option<Element>>>,
    /// How many elements are read at once: more from time to time.
    at_once: usize,
}

/// Limits to what is read at once.
const MOST_ELEMENTS: usize = 256;
const MOST_BYTES: usize = 64 << 10;

impl<S: Source> FileElements<S> {
    pub(super) fn new(scope: &Scope, source: S) -> FileElements<S> {
        FileElements { source: Aside::new(scope, source), ready: VecDeque::new(), at_once: 1 }
    }
}

impl<S: Source> Elements for FileElements<S> {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.ready.is_empty() {
                let most = self.at_once;
                self.ready = self.source.run(move |source| Ok(read(source, most))).await?.into();
                self.at_once = (most * 2).min(MOST_ELEMENTS);
            }
            self.ready.pop_front().unwrap_or_else(|| Err(internal!("no element was read")))
        })
    }
}

/// Reads up to `most` elements, and no more after an end or an error.
fn read(source: &mut impl Source, most: usize) -> Vec<Result<Option<Element>>> {
    let mut elements = Vec::new();
    let mut bytes = 0;
    while elements.len() < most && bytes < MOST_BYTES {
        let element = source.read();
        let has_more = matches!(element, Ok(Some(_)));
        if let Ok(Some(tensors)) = &element {
            bytes += tensors.iter().map(|tensor| tensor.byte_len()).sum::<usize>();
        }
        elements.push(element);
        if !has_more {
            break;
        }
    }
    elements
}

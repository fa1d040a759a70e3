//! The iterator that lives between steps.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures_util::lock::Mutex as AsyncMutex;
use tensorfleet_framework::{BoxFuture, Resource, StepContext};
use tensorfleet_tensor::{Code, Result, failed_precondition, internal};

use crate::dataset::dataset::{DatasetRef, Element, Elements, Signature};
use crate::dataset::prefetch::Prefetched;
use crate::dataset::scope::Scope;
use crate::dataset::wire;

/// An iterator: of which elements it is, and the iteration if there is one.
#[derive(Debug)]
pub(crate) struct IteratorResource {
    /// Absent when a handle promised nothing about the elements.
    signature: Option<Signature>,
    running: Mutex<Option<Arc<Iteration>>>,
}

impl Resource for IteratorResource {
    const TYPE_NAME: &'static str = "tensorflow::data::IteratorResource";
}

/// One pass over a dataset.
pub(super) struct Iteration {
    pub(super) dataset: DatasetRef,
    pub(super) scope: Scope,
    pub(super) progress: AsyncMutex<Progress>,
}

/// How far an iteration is.
pub(super) struct Progress {
    elements: Box<dyn Elements>,
    /// How many elements it gave.
    pub(super) given: u64,
}

impl fmt::Debug for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iteration of {}", self.dataset.kind())
    }
}

/// What came of asking for an element.
pub(super) enum Asked {
    /// It was there already.
    Now(Option<Element>),
    Later(BoxFuture<Result<Option<Element>>>),
}

impl IteratorResource {
    /// An iterator over elements of a signature, without a dataset yet.
    pub(super) fn new(signature: Option<Signature>) -> IteratorResource {
        IteratorResource { signature, running: Mutex::new(None) }
    }

    /// Checks that the iterator's elements can stand for elements of `want`.
    pub(super) fn check(&self, want: &Signature) -> Result<()> {
        let iteration = self.current();
        match (&iteration, &self.signature) {
            (Some(iteration), _) => want.check(iteration.dataset.signature()),
            (None, Some(have)) => want.check(have),
            (None, None) => Ok(()),
        }
    }

    /// Starts to iterate over a dataset. An earlier iteration ends.
    pub(super) fn start(&self, dataset: DatasetRef, scope: Scope) -> Result<()> {
        if let Some(want) = &self.signature {
            want.check(dataset.signature())?;
        }
        let elements = scope.iterate(&*dataset)?;
        self.replace(Iteration::new(dataset, scope, elements, 0));
        Ok(())
    }

    pub(super) fn replace(&self, iteration: Iteration) {
        let earlier = self.lock().replace(Arc::new(iteration));
        // Dropped without the lock: it may end much background work.
        drop(earlier);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Iteration>>> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The iteration, if one was started.
    pub(super) fn current(&self) -> Option<Arc<Iteration>> {
        self.lock().clone()
    }

    /// Asks for the next element.
    pub(super) fn next(&self) -> Result<Asked> {
        let Some(iteration) = self.current() else {
            return Err(failed_precondition!(
                "GetNext() failed because the iterator has not been initialized. Ensure that you \
                 have run the initializer operation for this iterator before getting the next \
                 element."
            ));
        };
        if let Some(mut progress) = iteration.progress.try_lock()
            && let Some(element) = progress.elements.try_next()
        {
            let element = element?;
            progress.given += u64::from(element.is_some());
            return Ok(Asked::Now(element));
        }
        let scope = iteration.scope.clone();
        let task = scope.spawn(async move { iteration.next().await });
        Ok(Asked::Later(Box::pin(async move { task.await? })))
    }
}

impl Iteration {
    /// Goes on with `elements`, of which `given` were given. As TensorFlow does, it makes the next
    /// elements while the program is busy with the last one, unless the options forbid it.
    pub(super) fn new(
        dataset: DatasetRef,
        scope: Scope,
        mut elements: Box<dyn Elements>,
        given: u64,
    ) -> Iteration {
        const AHEAD: usize = 2;
        if !works_ahead(dataset.kind()) && wire::allows_prefetching(&dataset.options()) {
            elements = Box::new(Prefetched::new(&scope, elements, AHEAD));
        }
        Iteration { dataset, scope, progress: AsyncMutex::new(Progress { elements, given }) }
    }

    async fn next(&self) -> Result<Option<Element>> {
        let mut progress = self.progress.lock().await;
        let element = progress.elements.next().await.map_err(|error| {
            // An error of this code would look like the end of the elements.
            if error.code() == Code::OutOfRange {
                return internal!(
                    "Iterator \"{}::{}\" returned `OutOfRange`. This indicates an implementation \
                     error as `OutOfRange` errors are not expected to be returned here. Original \
                     message: {}",
                    self.scope.prefix(),
                    self.dataset.kind(),
                    error.message()
                );
            }
            error
        })?;
        progress.given += u64::from(element.is_some());
        Ok(element)
    }
}

/// Whether datasets of this kind make elements before they are asked for, or have them already.
fn works_ahead(kind: &str) -> bool {
    const KINDS: &[&str] = &["MapAndBatch", "Parallel", "Prefetch", "Range", "Tensor"];
    KINDS.iter().any(|start| kind.starts_with(start))
}

/// Finds the iterator whose handle is an input.
pub(super) fn lookup(
    step: &StepContext,
    handle: &tensorfleet_tensor::Tensor,
) -> Result<Arc<IteratorResource>> {
    step.resource(handle)
}

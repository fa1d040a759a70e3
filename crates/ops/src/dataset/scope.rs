//! Where an iterator runs: what it may call, and how messages name it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Background, BoxFuture, Function, FunctionRunner, StepContext};
use tensorfleet_graph::{Func, FunctionLibrary};
use tensorfleet_tensor::account::Account;
use tensorfleet_tensor::{Code, Error, Result, Tensor, invalid_argument};

use super::dataset::{Dataset, DatasetRef, Element, Elements, from_tensor, split_version};
use super::seed::{Position, SeedGenerator};
use super::task::{Pace, Task, spawn};

/// The surroundings of one iterator in a tree of iterators.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    shared: Arc<Shared>,
    /// What is left of the step that made the iterator, with the functions of its dataset.
    background: Background,
    /// The path of the iterator, as `Iterator::Root::Map`.
    prefix: Arc<str>,
}

#[derive(Debug)]
struct Shared {
    /// Runners of the functions of datasets that came from other graphs.
    others: Mutex<Vec<Arc<dyn FunctionRunner>>>,
    draws: Mutex<Draws>,
    /// Calls of functions are what endless loops are made of.
    pace: Pace,
}

/// The seeds that iterators drew. They are recorded so that an iteration can be repeated.
#[derive(Debug, Default)]
struct Draws {
    /// What an earlier iteration drew, in order.
    replay: VecDeque<Position>,
    drawn: Vec<Position>,
}

impl Scope {
    /// The scope of an iterator that `step` makes and that outlives it. What its functions keep is
    /// its own.
    pub(crate) fn root(step: &StepContext) -> Scope {
        Scope::new(Background::new(step).fork(), Vec::new(), "Iterator::Root")
    }

    /// The scope of an iterator that `step` makes and uses up, and that messages call `prefix`. It
    /// shares the step's functions, which are thus compiled once, however often the node runs.
    pub(crate) fn within(step: &StepContext, prefix: &str) -> Scope {
        Scope::new(Background::new(step), Vec::new(), prefix)
    }

    /// The scope of another iterator over the same dataset, which draws as an earlier one did.
    pub(crate) fn again(&self, draws: Vec<Position>) -> Scope {
        Scope::new(self.background.fork(), draws, &self.prefix)
    }

    fn new(background: Background, replay: Vec<Position>, prefix: &str) -> Scope {
        let draws = Mutex::new(Draws { replay: replay.into(), drawn: Vec::new() });
        Scope {
            shared: Arc::new(Shared { others: Mutex::default(), draws, pace: Pace::default() }),
            background,
            prefix: prefix.into(),
        }
    }

    /// The scope with functions of `library`, which is that of the dataset whose scope it is. Most
    /// datasets have the library of the graph in which the iterator was made.
    pub(super) fn with_library(&self, library: &Arc<FunctionLibrary>) -> Scope {
        let has_library =
            |runner: &Arc<dyn FunctionRunner>| Arc::ptr_eq(&runner.library(), library);
        let functions = self.background.functions();
        if has_library(functions) {
            return self.clone();
        }
        let mut others = self.shared.others.lock().unwrap_or_else(|p| p.into_inner());
        let known = others.iter().find(|runner| has_library(runner)).map(Arc::clone);
        let runner = known.unwrap_or_else(|| {
            let made = functions.with_library(Arc::clone(library));
            others.push(Arc::clone(&made));
            made
        });
        Scope { background: self.background.with_functions(runner), ..self.clone() }
    }

    /// Starts an iteration over an input of the dataset whose scope this is.
    pub(crate) fn iterate(&self, dataset: &dyn Dataset) -> Result<Box<dyn Elements>> {
        dataset.iterate(&self.child(dataset.kind()))
    }

    /// Starts an iteration over input number `index`, where there are several.
    pub(crate) fn iterate_nth(
        &self,
        dataset: &dyn Dataset,
        index: usize,
    ) -> Result<Box<dyn Elements>> {
        let prefix = format!("{}[{index}]::{}", self.prefix, dataset.kind());
        dataset.iterate(&Scope { prefix: prefix.into(), ..self.clone() })
    }

    /// The scope of an iterator over an input.
    pub(super) fn child(&self, kind: &str) -> Scope {
        let prefix = format!("{}::{kind}", self.prefix);
        Scope { prefix: prefix.into(), ..self.clone() }
    }

    /// The path of the iterator.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The files that the iterator sees.
    pub(crate) fn files(&self) -> Arc<dyn FileSystem> {
        self.background.files()
    }

    /// How many threads there are.
    pub(crate) fn parallelism(&self) -> usize {
        self.background.parallelism()
    }

    /// Makes a function runnable.
    pub(crate) fn function(&self, captured: &Captured) -> Result<UserFunction> {
        let function = self.background.functions().instantiate(&captured.function)?;
        Ok(UserFunction { function, captured: Arc::clone(&captured.inputs), scope: self.clone() })
    }

    /// Runs a future by itself. Dropping the task ends it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        let account = self.background.account().cloned();
        let mut future = Box::pin(future);
        // What is computed ahead is charged to whoever made the iterator.
        let charged = std::future::poll_fn(move |cx| {
            let _entered = account.as_ref().map(Account::enter);
            future.as_mut().poll(cx)
        });
        spawn(&**self.background.spawner(), charged)
    }

    /// The result of work with files, which may block.
    pub(super) fn with_files<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> BoxFuture<Result<T>> {
        self.background.spawner().with_files(Arc::clone(&self.prefix), work)
    }

    /// The seeds of an iterator: the next of `generator`, or those of an earlier iteration that is
    /// repeated.
    pub(crate) fn draw(&self, generator: &SeedGenerator) -> (u64, u64) {
        let mut draws = self.shared.draws.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let from = draws.replay.pop_front();
        let (position, seeds) = generator.next(from);
        draws.drawn.push(position);
        seeds
    }

    /// From where in their generators all seeds so far were drawn.
    pub(crate) fn drawn(&self) -> Vec<Position> {
        self.shared.draws.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).drawn.clone()
    }
}

/// A function and the tensors that it captured, which follow its other arguments.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    function: Func,
    inputs: Arc<[Tensor]>,
}

impl Captured {
    /// A function that was given `inputs` when its dataset was made.
    pub(crate) fn new(function: &Func, inputs: Vec<Tensor>) -> Captured {
        Captured { function: function.clone(), inputs: inputs.into() }
    }

    /// The name of the function.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }
}

/// A function of the user, ready to be called by an iterator.
#[derive(Clone)]
pub(crate) struct UserFunction {
    function: Arc<dyn Function>,
    captured: Arc<[Tensor]>,
    scope: Scope,
}

impl fmt::Debug for UserFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserFunction").field("scope", &self.scope.prefix).finish_non_exhaustive()
    }
}

/// The one dataset that a function returned.
pub(crate) fn sole_dataset(results: &[Tensor]) -> Result<DatasetRef> {
    match results {
        [dataset] => from_tensor(dataset),
        _ => Err(invalid_argument!("Function must return a single scalar of dtype DT_VARIANT.")),
    }
}

impl UserFunction {
    /// Calls the function.
    pub(crate) fn call(
        &self,
        mut args: Element,
    ) -> impl Future<Output = Result<Element>> + Send + 'static {
        args.extend(self.captured.iter().cloned());
        let outcome = self.scope.background.step().map(|step| self.function.call(&step, args));
        let shared = Arc::clone(&self.scope.shared);
        async move {
            shared.pace.turn().await;
            outcome?.await
        }
    }

    /// Calls a function that returns a dataset.
    pub(crate) async fn dataset(&self, args: Element) -> Result<DatasetRef> {
        let results = self.call(args).await.map_err(|error| self.explain(error))?;
        sole_dataset(&results)
    }

    /// Says in which transformation a function failed.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if error.code() == Code::Cancelled {
            return error;
        }
        let prefix = &*self.scope.prefix;
        let kind = prefix.rsplit("::").next().unwrap_or(prefix);
        let kind = kind.split('[').next().unwrap_or(kind);
        let (kind, version) = split_version(kind);
        error.prefixed(format_args!(
            "Error in user-defined function passed to {kind}Dataset{version} transformation with iterator: \
             {prefix}: "
        ))
    }
}

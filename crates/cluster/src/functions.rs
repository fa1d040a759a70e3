//! Functions of a session's graph, compiled when first called.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures_util::future::{Either, select};
use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, DeviceName, Function, FunctionRunner, Spawn, StepContext};
use tensorfleet_graph::{Func, FunctionLibrary};
use tensorfleet_planner::{Options, plan_function};
use tensorfleet_runtime::{ComputePool, Executable, NewKernels, Run};
use tensorfleet_tensor::{Result, Tensor, internal, resource_exhausted};
use tokio::sync::oneshot;

use crate::evaluate::Folding;
use crate::remote_function::RemoteFunction;
use crate::task::Task;
use crate::worker_session::WorkerSession;

/// Runs the functions of one graph on the device of the caller.
pub(crate) struct SessionFunctions {
    library: Arc<FunctionLibrary>,
    task: Arc<Task>,
    session: Arc<WorkerSession>,
    compiled: Mutex<FxHashMap<String, Arc<dyn Function>>>,
}

impl fmt::Debug for SessionFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFunctions").finish_non_exhaustive()
    }
}

impl SessionFunctions {
    pub(crate) fn new(
        library: &Arc<FunctionLibrary>,
        task: &Arc<Task>,
        session: &Arc<WorkerSession>,
    ) -> SessionFunctions {
        SessionFunctions {
            library: Arc::clone(library),
            task: Arc::clone(task),
            session: Arc::clone(session),
            compiled: Mutex::default(),
        }
    }

    fn compile(&self, function: &Func) -> Result<Arc<dyn Function>> {
        let registry = &self.task.registry;
        let (evaluate, options) = (Folding::new(registry), Options::default());
        let body = plan_function(function, &self.library, registry, &evaluate, &options)?;
        // Names of nodes repeat from function to function, so kernels are not the session's.
        let executable = Executable::new(&body, registry, "CPU", &NewKernels)?;
        Ok(Arc::new(CompiledFunction {
            executable: Arc::new(executable),
            pool: Arc::clone(&self.task.pool),
            inter_op: self.session.threads.inter_op,
        }))
    }

    /// The function of a name, made by the first who asks.
    fn find(
        &self,
        key: String,
        make: impl FnOnce() -> Result<Arc<dyn Function>>,
    ) -> Result<Arc<dyn Function>> {
        if let Some(known) = self.compiled.lock().unwrap_or_else(|p| p.into_inner()).get(&key) {
            return Ok(Arc::clone(known));
        }
        let made = make()?;
        let mut table = self.compiled.lock().unwrap_or_else(|p| p.into_inner());
        Ok(Arc::clone(table.entry(key).or_insert(made)))
    }
}

impl FunctionRunner for SessionFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        // Attributes are few and small; their printed form tells instances apart.
        let key = format!("{}{:?}", function.name, function.attrs);
        self.find(key, || self.compile(function))
    }

    fn remote(&self, device: &DeviceName, function: &Func) -> Result<Arc<dyn Function>> {
        let key = format!("{}{:?} on {device}", function.name, function.attrs);
        self.find(key, || {
            let (library, task, session) = (&self.library, &self.task, &self.session);
            let function = RemoteFunction::new(function, device, library, task, session)?;
            Ok(Arc::new(function))
        })
    }

    fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.library.describe(out)
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(SessionFunctions::new(&self.library, &self.task, &self.session))
    }
}

/// How many calls deep functions may call each other. A function that calls itself without end must
/// not take all memory.
const MAX_DEPTH: usize = 1000;

/// Of so many calls inside each other, the last one starts on a thread with an empty stack.
const CALLS_PER_STACK: usize = 16;

#[derive(Debug)]
struct CompiledFunction {
    executable: Arc<Executable>,
    pool: Arc<ComputePool>,
    inter_op: Option<usize>,
}

impl Function for CompiledFunction {
    fn num_outputs(&self) -> usize {
        self.executable.num_retvals()
    }

    fn call(&self, step: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        let depth = step.depth + 1;
        if depth > MAX_DEPTH {
            let error = resource_exhausted!("functions call each other more than {MAX_DEPTH} deep");
            return Box::pin(async move { Err(error) });
        }
        let step = Arc::new(StepContext { depth, ..StepContext::clone(step) });
        let (executable, pool) = (Arc::clone(&self.executable), Arc::clone(&self.pool));
        let run = Run::new(executable, step, pool, args, None).map(|run| match self.inter_op {
            Some(limit) => run.at_most_at_once(limit),
            None => run,
        });
        if depth.is_multiple_of(CALLS_PER_STACK) {
            return elsewhere(&self.pool, run);
        }
        Box::pin(async move { run?.await })
    }
}

/// Awaits a run on another thread. It is cancelled with the future.
fn elsewhere(pool: &Arc<ComputePool>, run: Result<Run>) -> BoxFuture<Result<Vec<Tensor>>> {
    let pool = Arc::clone(pool);
    Box::pin(async move {
        let run = run?;
        let (mut sender, receiver) = oneshot::channel();
        Spawn::spawn(
            &*pool,
            Box::pin(async move {
                let outcome = match select(run, std::pin::pin!(sender.closed())).await {
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(_) => return,
                };
                // Whoever has stopped waiting meanwhile needs no result.
                let _ = sender.send(outcome);
            }),
        );
        receiver.await.unwrap_or_else(|_| Err(internal!("a function ended without a result")))
    })
}

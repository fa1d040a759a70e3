//! Functions of a session's graph, compiled when first called.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, Function, FunctionRunner, StepContext};
use tensorfleet_graph::{Func, FunctionLibrary};
use tensorfleet_planner::{Options, plan_function};
use tensorfleet_runtime::{ComputePool, Executable, NewKernels, Run};
use tensorfleet_tensor::{Result, Tensor};

use crate::evaluate::Folding;
use crate::task::Task;

/// Runs the functions of one graph on the device of the caller.
pub(crate) struct SessionFunctions {
    library: Arc<FunctionLibrary>,
    task: Arc<Task>,
    compiled: Mutex<FxHashMap<String, Arc<CompiledFunction>>>,
}

impl fmt::Debug for SessionFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFunctions").finish_non_exhaustive()
    }
}

impl SessionFunctions {
    pub(crate) fn new(library: Arc<FunctionLibrary>, task: Arc<Task>) -> SessionFunctions {
        SessionFunctions { library, task, compiled: Mutex::default() }
    }

    fn compile(&self, function: &Func) -> Result<CompiledFunction> {
        let registry = &self.task.registry;
        let (evaluate, options) = (Folding::new(registry), Options::default());
        let body = plan_function(function, &self.library, registry, &evaluate, &options)?;
        // Names of nodes repeat from function to function, so kernels are not the session's.
        let executable = Executable::new(&body, registry, "CPU", &NewKernels)?;
        Ok(CompiledFunction { executable: Arc::new(executable), pool: Arc::clone(&self.task.pool) })
    }
}

impl FunctionRunner for SessionFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        // Attributes are few and small; their printed form tells instances apart.
        let key = format!("{}{:?}", function.name, function.attrs);
        if let Some(known) = self.compiled.lock().unwrap_or_else(|p| p.into_inner()).get(&key) {
            return Ok(Arc::clone(known) as _);
        }
        let compiled = Arc::new(self.compile(function)?);
        let mut table = self.compiled.lock().unwrap_or_else(|p| p.into_inner());
        Ok(Arc::clone(table.entry(key).or_insert(compiled)) as _)
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(SessionFunctions::new(Arc::clone(&self.library), Arc::clone(&self.task)))
    }
}

#[derive(Debug)]
struct CompiledFunction {
    executable: Arc<Executable>,
    pool: Arc<ComputePool>,
}

impl Function for CompiledFunction {
    fn num_outputs(&self) -> usize {
        self.executable.num_retvals()
    }

    fn call(&self, step: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        let run = Run::new(
            Arc::clone(&self.executable),
            Arc::clone(step),
            Arc::clone(&self.pool),
            args,
            None,
        );
        Box::pin(async move { run?.await })
    }
}

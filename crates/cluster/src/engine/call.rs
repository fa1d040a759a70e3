//! Calls of compiled functions.

use std::sync::Arc;

use futures_util::future::{Either, select};
use tensorfleet_framework::{BoxFuture, Function, FunctionRunner, Resources, Spawn, StepContext};
use tensorfleet_runtime::{ComputePool, Executable, Run};
use tensorfleet_tensor::{Result, Tensor, internal, resource_exhausted};
use tokio::sync::oneshot;

/// How many calls deep functions may call each other. A function that calls itself without end must
/// not take all memory.
const MAX_DEPTH: usize = 1000;

/// Of so many calls inside each other, the last one starts on a thread with an empty stack.
const CALLS_PER_STACK: usize = 16;

/// A function whose nodes are all on one device.
#[derive(Debug)]
pub(super) struct CompiledFunction {
    executable: Arc<Executable>,
    pool: Arc<ComputePool>,
    inter_op: Option<usize>,
}

impl CompiledFunction {
    pub(super) fn new(
        executable: Arc<Executable>,
        pool: Arc<ComputePool>,
        inter_op: Option<usize>,
    ) -> CompiledFunction {
        CompiledFunction { executable, pool, inter_op }
    }
}

impl Function for CompiledFunction {
    fn num_outputs(&self) -> usize {
        self.executable.retvals().len()
    }

    fn call(&self, step: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        let step = step.deeper();
        let depth = step.depth;
        if depth > MAX_DEPTH {
            let error = resource_exhausted!("functions call each other more than {MAX_DEPTH} deep");
            return Box::pin(async move { Err(error) });
        }
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

/// A function that runs on another device of the caller's task, and finds the resources there.
#[derive(Debug)]
pub(super) struct OnDevice {
    pub(super) function: Arc<dyn Function>,
    pub(super) device: Arc<str>,
    pub(super) resources: Arc<Resources>,
    pub(super) functions: Arc<dyn FunctionRunner>,
}

impl Function for OnDevice {
    fn num_outputs(&self) -> usize {
        self.function.num_outputs()
    }

    fn call(&self, step: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        let step = StepContext {
            device: Arc::clone(&self.device),
            resources: Arc::clone(&self.resources),
            functions: Arc::clone(&self.functions),
            ..StepContext::clone(step)
        };
        self.function.call(&Arc::new(step), args)
    }
}

//! A step: one run of a graph, and what its kernels share.

use std::fmt;
use std::sync::Arc;

use tensorfleet_files::FileSystem;
use tensorfleet_graph::{Func, FunctionLibrary, NodeDef};
use tensorfleet_tensor::account::{Account, Entered};
use tensorfleet_tensor::{
    Result, Tensor, invalid_argument, permission_denied, unimplemented_error,
};

use crate::policy::files_under;
use crate::{BoxFuture, DeviceName, OpPolicy, Rendezvous, Resource, Resources, Spawn, Unit};

/// Names a step, over all tasks of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepId(pub i64);

/// What kernels find on a device, in whatever step they run.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The full name of the device.
    pub device: Arc<str>,
    pub resources: Arc<Resources>,
    pub functions: Arc<dyn FunctionRunner>,
    /// Where kernels start what goes on when their step has ended.
    pub spawner: Arc<dyn Spawn>,
    /// How many threads one kernel may use.
    pub parallelism: usize,
    /// What ops may do, where not all may do everything.
    pub policy: Option<Arc<dyn OpPolicy>>,
    /// Whom memory is charged to.
    pub account: Option<Arc<Account>>,
}

impl Surroundings {
    /// What the kernels of a step share here: the only way to make it. `unit` is what the step
    /// changes, on a task with a journal.
    pub fn step(
        &self,
        id: StepId,
        step_resources: Arc<Resources>,
        rendezvous: Arc<dyn Rendezvous>,
        unit: Option<Arc<dyn Unit>>,
    ) -> Arc<StepContext> {
        Arc::new(StepContext {
            id,
            device: Arc::clone(&self.device),
            resources: Arc::clone(&self.resources),
            step_resources,
            rendezvous,
            unit,
            functions: Arc::clone(&self.functions),
            spawner: Arc::clone(&self.spawner),
            parallelism: self.parallelism,
            policy: self.policy.clone(),
            account: self.account.clone(),
            depth: 0,
        })
    }
}

/// The container of resources that end with their step.
const STEP_CONTAINER: &str = "_step";

/// Resources that end with a step.
pub fn step_resources() -> Arc<Resources> {
    Arc::new(Resources::new(STEP_CONTAINER))
}

/// What the kernels of one step on one device share.
#[derive(Clone, Debug)]
pub struct StepContext {
    pub id: StepId,
    /// The full name of the device.
    pub device: Arc<str>,
    /// What outlives the step.
    pub resources: Arc<Resources>,
    /// What ends with the step: tensor arrays, stacks. Shared by all partitions of the task.
    pub step_resources: Arc<Resources>,
    pub rendezvous: Arc<dyn Rendezvous>,
    /// What the step changes, on a task with a journal.
    pub unit: Option<Arc<dyn Unit>>,
    pub functions: Arc<dyn FunctionRunner>,
    /// Where kernels start what goes on when the step has ended.
    pub spawner: Arc<dyn Spawn>,
    /// How many threads one kernel may use.
    pub parallelism: usize,
    /// What ops may do, where not all may do everything.
    pub policy: Option<Arc<dyn OpPolicy>>,
    /// Whom memory is charged to.
    pub account: Option<Arc<Account>>,
    /// How many calls of functions deep the kernels run.
    pub depth: usize,
}

impl StepContext {
    /// The same step for the body of a function that it calls.
    #[must_use]
    pub fn deeper(&self) -> Arc<StepContext> {
        Arc::new(StepContext { depth: self.depth + 1, ..self.clone() })
    }

    /// Refuses an op that is about to touch files, if it may not. For ops that do so only with some
    /// inputs: others are refused before there is a kernel.
    pub fn check_files(&self, op: &str) -> Result<()> {
        match self.policy.as_ref().and_then(|policy| policy.refuse_files(op)) {
            Some(why) => Err(permission_denied!("{why}")),
            None => Ok(()),
        }
    }

    /// Lets this thread work for the step, as far as memory is concerned, until the result is dropped.
    #[inline]
    pub fn enter(&self) -> Option<Entered> {
        self.account.as_ref().map(Account::enter)
    }

    /// The files that ops see.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        files_under(self.policy.as_ref())
    }

    /// Finds the resource that a scalar handle tensor names, among the device's and the step's.
    pub fn resource<R: Resource>(&self, handle: &Tensor) -> Result<Arc<R>> {
        let [handle] = handle.resources()? else {
            return Err(invalid_argument!(
                "expected one resource handle, got shape {}",
                handle.shape()
            ));
        };
        if handle.container == self.step_resources.default_container() {
            self.step_resources.get(handle)
        } else {
            self.resources.get(handle)
        }
    }
}

/// Finds functions of the graph's library and makes them runnable.
pub trait FunctionRunner: fmt::Debug + Send + Sync {
    /// Prepares a function with values for its attributes. Repeated calls are cheap.
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>>;

    /// Prepares a function to run on another device, of this task or of another one.
    fn remote(&self, device: &DeviceName, function: &Func) -> Result<Arc<dyn Function>> {
        Err(unimplemented_error!("function {} cannot be called on {device}", function.name))
    }

    /// Prepares a graph of nodes that call functions of the library; its results are those of its
    /// `_Retval` nodes.
    fn graph(&self, _nodes: Vec<NodeDef>) -> Result<Arc<dyn Function>> {
        Err(unimplemented_error!("no graphs inside of graphs here"))
    }

    /// The functions.
    fn library(&self) -> Arc<FunctionLibrary> {
        Arc::default()
    }

    /// A runner of the functions of another library, with kernels of their own.
    fn with_library(&self, _library: Arc<FunctionLibrary>) -> Arc<dyn FunctionRunner> {
        self.fork()
    }

    /// A runner of the same functions with kernels of their own: what stateful nodes keep, as the
    /// position of a random generator, starts anew.
    fn fork(&self) -> Arc<dyn FunctionRunner>;
}

/// A function ready to run.
pub trait Function: fmt::Debug + Send + Sync {
    /// The number of results.
    fn num_outputs(&self) -> usize;

    /// Runs the body as part of `step`.
    fn call(&self, step: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>>;
}

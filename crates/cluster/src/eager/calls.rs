//! What is asked of eager contexts, free of any wire format.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_framework::{DeviceName, StepId};
use tensorfleet_graph::{AttrMap, FunctionDef, FunctionLibrary};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{DType, Shape, Tensor};

use crate::coordination::CoordinationOptions;
use crate::owner::Owner;
use crate::threads::Threads;
use tensorfleet_spec::ClusterSpec;

/// What a task must know of a new context.
#[derive(Clone, Debug)]
pub struct CreateContext {
    pub id: u64,
    /// Counts the changes of the cluster.
    pub view: u64,
    /// The name under which the cluster knows the task.
    pub task_name: DeviceName,
    pub cluster: Option<ClusterSpec>,
    /// All devices that the task may see, its own and others'.
    pub devices: Vec<Device>,
    /// The context ends when nothing is heard of its client for so long.
    pub keep_alive: Duration,
    pub isolate: bool,
    pub threads: Threads,
    /// Whether all other contexts end.
    pub clear_existing: bool,
    pub coordination: Option<CoordinationOptions>,
    /// Whose the context is.
    pub owner: Owner,
    /// From where it was opened, for operators.
    pub client: String,
}

/// A change of a context's cluster. Without devices only the view moves on.
#[derive(Clone, Debug)]
pub struct UpdateContext {
    pub id: u64,
    pub view: u64,
    pub cluster: Option<ClusterSpec>,
    pub devices: Vec<Device>,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub enum Item {
    Operation(Operation),
    SendTensor {
        op_id: i64,
        device: String,
        tensors: Vec<Tensor>,
    },
    SendPackedHandle {
        op_id: i64,
        members: Vec<Input>,
    },
    RegisterFunction(RegisterFunction),
    RemoveFunction(String),
    CleanupFunction(StepId),
    /// Lets go of a tensor.
    Decref(Handle),
    /// Waits for what was enqueued before, which is done by then.
    Sync,
}

/// A function for a context.
#[derive(Clone, Debug)]
pub struct RegisterFunction {
    pub function: Arc<FunctionDef>,
    /// Whether it is the part of a function that spans several tasks.
    pub is_component: bool,
    /// Other functions that this one needs.
    pub library: Arc<FunctionLibrary>,
}

/// A call of an op or of a function.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    /// Given by the client; outputs are found by it. No number means that they are returned.
    pub id: Option<i64>,
    pub name: String,
    pub inputs: Vec<Input>,
    pub attrs: AttrMap,
    pub device: String,
    pub is_function: bool,
    pub is_component: bool,
    /// In which step a component meets the others.
    pub step: i64,
}

/// An input, by value or by reference.
#[derive(Clone, Debug)]
pub enum Input {
    /// A tensor with its device, if it is said.
    Tensor(Tensor, String),
    Handle(Handle),
}

/// A tensor in the table of some task.
#[derive(Clone, Debug, Default)]
pub struct Handle {
    pub op_id: i64,
    pub output: i32,
    /// The device of the data.
    pub device: String,
    /// A device of the task whose table has the tensor.
    pub op_device: String,
    pub dtype: Option<DType>,
}

/// What is told of an output.
#[derive(Clone, Debug)]
pub struct Output {
    pub shape: Shape,
    /// Where the output of a function is, unless it is where the function was called.
    pub device: String,
    /// The value, for a caller who gave no number to find it by.
    pub value: Option<Tensor>,
}

/// What is told of an item.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub outputs: Vec<Output>,
    /// Whether the devices of the outputs are of interest.
    pub is_function: bool,
}

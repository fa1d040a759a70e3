//! Runs one op without an executor.

use std::sync::Arc;

use tensorfleet_framework::{
    Delivery, Function, FunctionRunner, Outcome, Parcel, Registry, Rendezvous, Resources, Started,
    StepContext, StepId, Surroundings, Value, Values, step_resources,
};
use tensorfleet_graph::{AttrMap, AttrValue, Func, FunctionLibrary, Node, signature};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{Error, Result, Tensor, internal, unimplemented_error};

use crate::local::{LocalTasks, finish};

/// One op with its attributes and inputs.
#[derive(Clone, Debug)]
pub struct OpRun {
    op: String,
    attrs: AttrMap,
    inputs: Vec<Value>,
}

impl OpRun {
    /// An op without attributes and inputs.
    pub fn new(op: &str) -> OpRun {
        OpRun { op: op.to_owned(), attrs: AttrMap::new(), inputs: Vec::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: AttrValue) -> OpRun {
        self.attrs.insert(name.to_owned(), value);
        self
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, value: impl Into<Value>) -> OpRun {
        self.inputs.push(value.into());
        self
    }

    /// Runs the op in a step of its own.
    pub fn run(&self, registry: &Registry) -> Result<Vec<Tensor>> {
        self.run_in(registry, &step_context())
    }

    /// Runs the op in a step, so that several ops can share its resources.
    pub fn run_in(&self, registry: &Registry, step: &Arc<StepContext>) -> Result<Vec<Tensor>> {
        self.run_values(registry, step)?
            .into_iter()
            .map(|value| match value {
                Value::Tensor(tensor) => Ok(tensor),
                Value::Ref(variable) => variable.read(),
                Value::Empty => Err(internal!("an output is empty")),
            })
            .collect()
    }

    /// Runs the op and returns its outputs, references as references.
    pub fn run_values(&self, registry: &Registry, step: &Arc<StepContext>) -> Result<Values> {
        let library = FunctionLibrary::default();
        let (attrs, signature) = signature(&self.op, self.attrs.clone(), &library, registry)?;
        let node = Node {
            name: "op".into(),
            op: self.op.as_str().into(),
            device: Arc::clone(&step.device),
            attrs,
            inputs: Vec::new(),
            control_inputs: Vec::new(),
            signature: Some(signature),
        };
        let operation = Operation::new(&node, registry, "CPU")?;
        // Who runs an op asks this first, whatever the inputs are.
        let _ = operation.takes_long(&self.inputs);
        let outcome = match operation.start(step, self.inputs.clone().into())? {
            Started::Done(outcome) => outcome,
            Started::Waiting(future) => finish(future)?,
        };
        match outcome {
            Outcome::Values(values) => Ok(values),
            Outcome::Dead => Err(internal!("the op is dead")),
        }
    }
}

/// A step with resources of its own, without peers and functions.
pub fn step_context() -> Arc<StepContext> {
    let surroundings = Surroundings {
        device: "/job:localhost/replica:0/task:0/device:CPU:0".into(),
        resources: Arc::new(Resources::new("localhost")),
        functions: Arc::new(NoFunctions),
        spawner: Arc::new(LocalTasks),
        parallelism: 2,
        policy: None,
        account: None,
    };
    surroundings.step(StepId(1), step_resources(), Arc::new(NoPeers), None)
}

#[derive(Debug)]
struct NoPeers;

impl Rendezvous for NoPeers {
    fn send(&self, _: &str, _: Parcel) -> Result<()> {
        Err(unimplemented_error!("a single op has no peers"))
    }

    fn recv(&self, _: &str) -> Result<Delivery> {
        Err(unimplemented_error!("a single op has no peers"))
    }

    fn abort(&self, _: Error) {}
}

#[derive(Debug)]
struct NoFunctions;

impl FunctionRunner for NoFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        Err(unimplemented_error!("a single op has no function {}", function.name))
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(NoFunctions)
    }
}

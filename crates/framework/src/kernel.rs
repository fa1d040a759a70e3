//! Kernels: how a node computes.

use std::fmt;
use std::sync::Arc;

use tensorfleet_tensor::{Result, Tensor, internal};

use crate::rendezvous::FrameIteration;
use crate::{
    Attrs, Awaited, BoxFuture, Change, Changer, Pointwise, RecordedOp, Resource, StepContext,
    Value, Values, Variable,
};

/// A node's computation. Made once when its graph is instantiated, then run in every step, possibly
/// by several steps at once.
pub trait Kernel: fmt::Debug + Send + Sync + 'static {
    /// Reads and checks the attributes.
    fn new(attrs: &Attrs<'_>) -> Result<Self>
    where
        Self: Sized;

    /// Computes the outputs from the inputs.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()>;

    /// Whether the node runs, by [`Kernel::compute_dead`], when its inputs are dead. Other nodes
    /// are skipped and their outputs are dead too.
    fn takes_dead_inputs(&self) -> bool {
        false
    }

    /// What happens when the inputs are dead, for kernels that take them.
    fn compute_dead(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether a reference goes through the node as it is, although the definition speaks of a
    /// value: whoever consumes the output reads the variable when it runs. TensorFlow's kernels
    /// that only pass a buffer on behave so, and programs rely on it.
    fn passes_references(&self) -> bool {
        false
    }

    /// What the only output is in every run, if it is always the same.
    fn constant(&self) -> Option<&Tensor> {
        None
    }

    /// Whether the kernel does nothing to a tensor but pass it on, from each input to the output of the
    /// same number.
    fn passes_tensors_on(&self) -> bool {
        false
    }

    /// The function that the kernel applies to every position, if it does nothing else: then the
    /// executor may compute it together with others of its kind.
    fn pointwise(&self) -> Option<Pointwise> {
        None
    }

    /// Whether the computation may block, as everything does that touches a file: then threads that do
    /// nothing else run it, and a step that is cancelled does not wait for it.
    fn blocks(&self) -> bool {
        false
    }

    /// About how many nanoseconds the computation takes. The executor runs cheap nodes where it
    /// stands and spreads expensive ones over threads. The default supposes a pass over the data.
    fn cost(&self, inputs: &[Value]) -> u64 {
        inputs.iter().map(input_cost).sum()
    }
}

fn input_cost(input: &Value) -> u64 {
    match input {
        Value::Tensor(tensor) => tensor.byte_len() as u64 / 4,
        // Looking would need the lock; an update touches a variable about as large as its gradient.
        Value::Ref(_) | Value::Empty => 0,
    }
}

/// The computation of a node that may have to wait: for a tensor, for room in a queue, for a
/// function. It never holds a thread while it waits. A cancelled step drops the future.
pub trait AsyncKernel: fmt::Debug + Send + Sync + 'static {
    /// Reads and checks the attributes.
    fn new(attrs: &Attrs<'_>) -> Result<Self>
    where
        Self: Sized;

    /// Starts the computation.
    fn start(&self, ctx: AsyncContext) -> Result<Started>;

    /// What an operator is told that it waits for.
    fn awaits(&self) -> Awaited {
        Awaited::Resource
    }
}

/// How far a waiting kernel got at once.
pub enum Started {
    /// It did not have to wait.
    Done(Outcome),
    Waiting(BoxFuture<Result<Outcome>>),
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Started::Done(outcome) => f.debug_tuple("Done").field(outcome).finish(),
            Started::Waiting(_) => f.write_str("Waiting"),
        }
    }
}

/// The outputs of a node.
#[derive(Clone, Debug)]
pub enum Outcome {
    Values(Values),
    /// The node received a dead value: all its outputs are dead.
    Dead,
}

impl From<Vec<Tensor>> for Outcome {
    fn from(tensors: Vec<Tensor>) -> Outcome {
        Outcome::Values(tensors.into_iter().map(Value::Tensor).collect())
    }
}

/// What a kernel sees while it computes.
#[derive(Debug)]
pub struct KernelContext<'a> {
    inputs: &'a mut [Value],
    outputs: &'a mut [Value],
    node: &'a str,
    step: &'a Arc<StepContext>,
    frame: FrameIteration,
}

impl<'a> KernelContext<'a> {
    /// Prepares one run of a node.
    pub fn new(
        node: &'a str,
        step: &'a Arc<StepContext>,
        frame: FrameIteration,
        inputs: &'a mut [Value],
        outputs: &'a mut [Value],
    ) -> KernelContext<'a> {
        KernelContext { inputs, outputs, node, step, frame }
    }

    /// Ends the run: every output must have been set.
    #[inline]
    pub fn finish(self) -> Result<()> {
        match self.outputs.iter().position(Value::is_empty) {
            None => Ok(()),
            Some(index) => Err(internal!("output {index} of node {} was not set", self.node)),
        }
    }

    /// The number of inputs.
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// An input.
    #[inline]
    pub fn input(&self, index: usize) -> Result<&Tensor> {
        match self.inputs.get(index) {
            Some(Value::Tensor(tensor)) => Ok(tensor),
            Some(Value::Ref(_)) => {
                Err(internal!("input {index} of node {} is a reference", self.node))
            }
            Some(Value::Empty) => {
                Err(internal!("input {index} of node {} was taken already", self.node))
            }
            None => Err(internal!("node {} has no input {index}", self.node)),
        }
    }

    /// All inputs as they came.
    pub fn inputs_mut(&mut self) -> &mut [Value] {
        self.inputs
    }

    /// Takes an input out. When the caller then holds the only clone it may overwrite its storage.
    #[inline]
    pub fn take_input(&mut self, index: usize) -> Result<Tensor> {
        self.input(index)?;
        match self.inputs[index].take() {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Ref(_) | Value::Empty => Err(internal!("input {index} is no tensor")),
        }
    }

    /// Inputs `range` as tensors.
    pub fn input_list(&self, range: std::ops::Range<usize>) -> Result<Vec<&Tensor>> {
        range.map(|index| self.input(index)).collect()
    }

    /// The variable that a reference input refers to.
    pub fn variable(&self, index: usize) -> Result<&Arc<Variable>> {
        match self.inputs.get(index) {
            Some(Value::Ref(variable)) => Ok(variable),
            _ => Err(internal!("input {index} of node {} is not a reference", self.node)),
        }
    }

    /// The resource whose handle is an input.
    pub fn resource<R: Resource>(&self, index: usize) -> Result<Arc<R>> {
        self.step.resource(self.input(index)?)
    }

    /// The change of variables that this run of the node is about to make. To be asked for before
    /// any input is taken.
    pub fn change<'c>(&self, changer: &'c Changer) -> Change<'c>
    where
        'a: 'c,
    {
        Change(self.step.unit.as_deref().map(|unit| RecordedOp {
            unit,
            changer,
            inputs: self.inputs.to_vec(),
        }))
    }

    /// Sets an output.
    #[inline]
    pub fn set_output(&mut self, index: usize, tensor: Tensor) {
        self.set_value(index, Value::Tensor(tensor));
    }

    /// Sets an output that is a reference.
    pub fn set_output_ref(&mut self, index: usize, variable: Arc<Variable>) {
        self.set_value(index, Value::Ref(variable));
    }

    /// Sets an output to anything.
    #[inline]
    pub fn set_value(&mut self, index: usize, value: Value) {
        self.outputs[index] = value;
    }

    /// An input as it came, tensor or reference.
    pub fn value(&self, index: usize) -> Result<&Value> {
        self.inputs.get(index).ok_or_else(|| internal!("node {} has no input {index}", self.node))
    }

    /// Takes an input out as it came, tensor or reference.
    #[inline]
    pub fn take_value(&mut self, index: usize) -> Result<Value> {
        match self.inputs.get_mut(index) {
            Some(value) => Ok(value.take()),
            None => Err(internal!("node {} has no input {index}", self.node)),
        }
    }

    /// The step.
    pub fn step(&self) -> &'a Arc<StepContext> {
        self.step
    }

    /// The node's name.
    pub fn node_name(&self) -> &'a str {
        self.node
    }

    /// The loop iteration that the node runs in.
    pub fn frame(&self) -> FrameIteration {
        self.frame
    }

    /// How many threads the computation may use.
    pub fn parallelism(&self) -> usize {
        self.step.parallelism
    }
}

/// What a waiting kernel owns while it computes.
#[derive(Debug)]
pub struct AsyncContext {
    pub inputs: Values,
    pub step: Arc<StepContext>,
    pub node: Arc<str>,
    pub frame: FrameIteration,
}

impl AsyncContext {
    /// An input.
    pub fn input(&self, index: usize) -> Result<&Tensor> {
        match self.inputs.get(index) {
            Some(Value::Tensor(tensor)) => Ok(tensor),
            _ => Err(internal!("node {} has no tensor input {index}", self.node)),
        }
    }

    /// The variable that a reference input refers to.
    pub fn variable(&self, index: usize) -> Result<&Arc<Variable>> {
        match self.inputs.get(index) {
            Some(Value::Ref(variable)) => Ok(variable),
            _ => Err(internal!("input {index} of node {} is not a reference", self.node)),
        }
    }

    /// The resource whose handle is an input.
    pub fn resource<R: Resource>(&self, index: usize) -> Result<Arc<R>> {
        self.step.resource(self.input(index)?)
    }

    /// All inputs as tensors.
    pub fn into_tensors(self) -> Result<Vec<Tensor>> {
        let node = self.node;
        self.inputs
            .into_iter()
            .map(|value| match value {
                Value::Tensor(tensor) => Ok(tensor),
                Value::Ref(_) | Value::Empty => {
                    Err(internal!("an input of node {node} is no tensor"))
                }
            })
            .collect()
    }
}

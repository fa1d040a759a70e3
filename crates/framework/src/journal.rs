//! The journal of a task: where every change of what outlives a step is told, under the lock of what
//! changes.
//!
//! A change of variables is told as the op that made it with its inputs, so that the same kernel can
//! make it again; other resources tell what happened to them, see `durable`.
//! Tasks without a journal pay one look at an empty option for it.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLockReadGuard};

use tensorfleet_graph::Node;
use tensorfleet_tensor::{DType, Result, failed_precondition, unimplemented_error};

use crate::{BoxFuture, CallId, Durable, Event, Parcel, Recalled, Sent, StepId, Value, Variable};

/// Where a task tells what it changes.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Begins the changes of a step on this task, which survive a crash together or not at all.
    fn begin(&self) -> Arc<dyn Unit>;

    /// The same for a call of a master, which may be made again after a crash.
    fn begin_call(&self, call: CallId) -> Arc<dyn Unit>;

    /// What became of a call in a former life of the task; nothing if it changed nothing then.
    fn recall(&self, call: CallId) -> Option<Recalled>;

    /// What a step that was done in a former life had sent from a device under a key.
    fn recall_sent(&self, step: StepId, device: u32, key: &str) -> Option<Sent>;

    /// Forgets what became of the calls of a step: nobody will ask any more.
    fn forget_calls(&self, step: StepId);

    /// Tells that a variable can be found from now on, and returns the number that it is known by.
    /// Called under the lock of the resources.
    fn created(&self, variable: &Variable, place: &Place<'_>) -> u64;

    /// The same for a resource that is no variable. An error if it cannot be told what it is.
    fn described(&self, resource: &dyn Durable, place: &Place<'_>) -> Result<u64>;
}

/// Where a variable or another resource is found.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The number of the device.
    pub device: u32,
    pub container: &'a str,
    pub name: &'a str,
    /// The type of the resource, or of the one that holds the variable.
    pub type_name: &'static str,
}

/// What one step changes on a task. When it is dropped without an end, the changes stand and nobody
/// waits for them: so it is with steps that failed half-way.
pub trait Unit: fmt::Debug + Send + Sync {
    /// Asks to change something; held until the change is told.
    fn enter(&self) -> Result<RwLockReadGuard<'_, ()>>;

    /// Tells a change. Called under the locks of the variables.
    fn changed(&self, change: &RecordedOp<'_>, variables: &[u64], failed: bool);

    /// Tells what the step sends to others: who makes the call again may need it.
    fn sent(&self, key: &str, parcel: &Parcel);

    /// Tells what happened to a resource that is no variable. Called under its lock.
    fn happened(&self, resource: u64, event: &Event, failed: bool);

    /// Tells that variables and other resources cannot be found any more. Called under the lock of
    /// the resources.
    fn deleted(&self, resources: &[u64]);

    /// Ends the unit; what is to be waited for before anybody may rely on it. Nothing if nothing
    /// has changed.
    fn end(&self) -> Option<BoxFuture<Result<()>>>;
}

/// An op that changes variables, as its kernel keeps it.
#[derive(Debug)]
pub struct Changer {
    /// The node without its inputs.
    pub node: Node,
    /// For the journal: under which number it knows the op.
    pub noted: AtomicU64,
}

impl Changer {
    pub(crate) fn new(node: &Node) -> Changer {
        let node = Node { inputs: Vec::new(), control_inputs: Vec::new(), ..node.clone() };
        Changer { node, noted: AtomicU64::new(0) }
    }
}

/// A change that is about to be made: whoever changes a variable says by whom.
#[derive(Debug)]
pub struct Change<'a>(pub(crate) Option<RecordedOp<'a>>);

/// An op and its inputs.
#[derive(Debug)]
pub struct RecordedOp<'a> {
    pub(crate) unit: &'a dyn Unit,
    pub changer: &'a Changer,
    pub inputs: Vec<Value>,
}

impl Change<'static> {
    /// A change of what no other step can find.
    pub const UNRECORDED: Change<'static> = Change(None);
}

impl Change<'_> {
    /// Prepares to tell the change of some variables; nothing if none of them is durable.
    pub(crate) fn of<const N: usize>(
        &self,
        variables: [&Variable; N],
    ) -> Result<Option<Recording<'_, N>>> {
        let Some(op) = &self.0 else { return Ok(None) };
        let known = variables.map(Variable::number);
        if known.iter().all(Option::is_none) {
            return Ok(None);
        }
        if let Some(volatile) = known.iter().position(Option::is_none) {
            return Err(failed_precondition!(
                "variable {} is not durable and cannot be updated together with durable ones",
                variables[volatile].name()
            ));
        }
        op.check(N)?;
        let gate = op.unit.enter()?;
        let variables = known.map(|number| number.expect("all are known"));
        Ok(Some(Recording { op, variables, told: false, _gate: gate }))
    }
}

impl RecordedOp<'_> {
    /// Only an op whose references and handles are those of what it changes can be done again.
    fn check(&self, changed: usize) -> Result<()> {
        let mut variables = 0;
        for input in &self.inputs {
            match input {
                Value::Ref(_) => variables += 1,
                Value::Tensor(tensor) if tensor.dtype() == DType::Resource => variables += 1,
                Value::Tensor(tensor) if tensor.dtype() == DType::Variant => variables = usize::MAX,
                Value::Tensor(_) | Value::Empty => {}
            }
            if variables > changed {
                break;
            }
        }
        if variables == changed {
            return Ok(());
        }
        let node = &self.changer.node;
        Err(unimplemented_error!("{} cannot change a durable variable ({})", node.op, node.name))
    }
}

/// A change under way. It is told even if it fails or panics: it may have been made in part, and will
/// be so again.
pub(crate) struct Recording<'a, const N: usize> {
    op: &'a RecordedOp<'a>,
    variables: [u64; N],
    told: bool,
    _gate: RwLockReadGuard<'a, ()>,
}

impl<const N: usize> Recording<'_, N> {
    /// Tells the change; the variables are still locked.
    pub(crate) fn tell<R>(mut self, result: &Result<R>) {
        self.told = true;
        self.op.unit.changed(self.op, &self.variables, result.is_err());
    }
}

impl<const N: usize> Drop for Recording<'_, N> {
    fn drop(&mut self) {
        if !self.told {
            self.op.unit.changed(self.op, &self.variables, true);
        }
    }
}

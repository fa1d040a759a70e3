//! The journal of a task: where every change of its variables is told, under the lock of what changes.
//!
//! A change is told as the op that made it with its inputs, so that the same kernel can make it again.
//! Tasks without a journal pay one look at an empty option for it.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLockReadGuard};

use tensorfleet_graph::Node;
use tensorfleet_tensor::{DType, Result, failed_precondition, unimplemented_error};

use crate::{BoxFuture, Value, Variable};

/// Where a task tells what it changes.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Begins the changes of a step on this task, which survive a crash together or not at all.
    fn begin(&self) -> Arc<dyn Unit>;

    /// Tells that a variable can be found from now on, and returns the number that it is known by.
    /// Called under the lock of the resources.
    fn created(&self, variable: &Variable, place: &Place<'_>) -> u64;
}

/// Where a variable is found.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The number of the device.
    pub device: u32,
    pub container: &'a str,
    pub name: &'a str,
    /// The type of the resource that holds the variable.
    pub type_name: &'static str,
}

/// What one step changes on a task. When it is dropped without an end, the changes stand and nobody
/// waits for them: so it is with steps that failed half-way.
pub trait Unit: fmt::Debug + Send + Sync {
    /// Asks to change something; held until the change is told.
    fn enter(&self) -> Result<RwLockReadGuard<'_, ()>>;

    /// Tells a change. Called under the locks of the variables.
    fn changed(&self, change: &RecordedOp<'_>, variables: &[u64], failed: bool);

    /// Tells that variables cannot be found any more. Called under the lock of the resources.
    fn deleted(&self, variables: &[u64]);

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

//! What one run of a collective is: what every member says of it.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_framework::{
    AsyncContext, Attrs, CollectiveKind, Collectives, DeviceName, StepContext,
};
use tensorfleet_tensor::{DType, Result, Tensor, internal, invalid_argument};

/// How values of members are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    Add,
    Mul,
    Max,
    Min,
}

impl Merge {
    pub(super) fn of(name: &str) -> Result<Merge> {
        match name {
            "Add" => Ok(Merge::Add),
            "Mul" => Ok(Merge::Mul),
            "Max" => Ok(Merge::Max),
            "Min" => Ok(Merge::Min),
            other => Err(invalid_argument!(
                "merge_op must be one of {{\"Min\", \"Max\", \"Mul\", \"Add\"}} but got {other}"
            )),
        }
    }

    /// The op that does the same, as TensorFlow's members name it.
    fn op(self) -> &'static str {
        match self {
            Merge::Add => "Add",
            Merge::Mul => "Mul",
            Merge::Max => "Maximum",
            Merge::Min => "Minimum",
        }
    }
}

/// What becomes of the combined value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) merge: Merge,
    /// Whether the sum is divided by the number of members.
    pub(super) divides: bool,
}

impl Reduction {
    pub(super) fn of(attrs: &Attrs<'_>) -> Result<Reduction> {
        let merge = Merge::of(&attrs.string("merge_op")?)?;
        let divides = attrs.string("final_op")? == "Div";
        Ok(Reduction { merge, divides })
    }

    pub(super) fn describe(self) -> String {
        format!("({},{})", self.merge.op(), if self.divides { "Div" } else { "Id" })
    }
}

/// What an op does, from its attributes.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Reduce(Reduction),
    ReduceScatter(Reduction),
    Gather,
    Send,
    Receive,
    AllToAll,
}

impl Action {
    pub(super) fn kind(&self) -> CollectiveKind {
        match self {
            Action::Reduce(_) => CollectiveKind::Reduction,
            Action::ReduceScatter(_) => CollectiveKind::ReduceScatter,
            Action::Gather => CollectiveKind::Gather,
            Action::Send | Action::Receive => CollectiveKind::Broadcast,
            Action::AllToAll => CollectiveKind::AllToAll,
        }
    }
}

/// One run of a collective on one device.
#[derive(Clone, Debug)]
pub(super) struct Collective {
    /// The node, for messages.
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) group_key: i32,
    pub(super) group_size: i32,
    pub(super) instance_key: i32,
    pub(super) dtype: DType,
    /// Which rings a reduction uses; none means one.
    pub(super) subdivisions: Vec<i32>,
    /// How many rings may be made for large tensors: -1 for one.
    pub(super) max_subdivisions: i64,
    pub(super) timeout: Option<Duration>,
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    pub(super) collectives: Arc<dyn Collectives>,
    pub(super) step: Arc<StepContext>,
    pub(super) device: DeviceName,
    /// `frame:iteration` of the loop around the node.
    pub(super) frame: String,
}

impl Surroundings {
    pub(super) fn of(ctx: &AsyncContext, op: &str) -> Result<Surroundings> {
        let collectives = ctx.step.rendezvous.collectives().ok_or_else(|| {
            internal!(
                "Failed to get CollectiveExecutor from OpKernelContext for Op {op} {}",
                ctx.node
            )
        })?;
        Ok(Surroundings {
            collectives,
            device: DeviceName::parse(&ctx.step.device)?,
            frame: format!("{}:{}", ctx.frame.frame, ctx.frame.iteration),
            step: Arc::clone(&ctx.step),
        })
    }
}

/// The time limit that an op has.
pub(super) fn timeout(attrs: &Attrs<'_>) -> Result<Option<Duration>> {
    let seconds = attrs.float("timeout_seconds")?;
    Ok((seconds > 0.0).then(|| Duration::try_from_secs_f32(seconds).unwrap_or(Duration::MAX)))
}

/// A scalar that is a key or a size.
pub(super) fn scalar(tensor: &Tensor, name: &str) -> Result<i32> {
    if tensor.rank() > 0 {
        return Err(internal!("Unexpected dimensions on input {name}"));
    }
    tensor.scalar_value::<i32>()
}

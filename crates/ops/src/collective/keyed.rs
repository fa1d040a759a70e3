//! The kernels of collectives that are named by keys: attributes in the first version, inputs in the
//! second.

use std::time::Duration;

use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Awaited, Started};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, internal, invalid_argument};

use super::join::run;
use super::params::{Action, Collective, Reduction, Surroundings, scalar, timeout};

/// Where the keys of an op are.
#[derive(Debug)]
enum Keys {
    Attributes {
        group_size: i32,
        group_key: i32,
        instance_key: i32,
    },
    /// At this input and the two that follow.
    Inputs(usize),
}

#[derive(Debug)]
pub(super) struct Keyed {
    op: String,
    node: String,
    action: Action,
    keys: Keys,
    dtype: DType,
    /// The shape of the result, where an attribute says it.
    shape: Option<PartialShape>,
    subdivisions: Vec<i32>,
    max_subdivisions: i64,
    timeout: Option<Duration>,
}

impl AsyncKernel for Keyed {
    fn awaits(&self) -> Awaited {
        Awaited::Collective
    }

    fn new(attrs: &Attrs<'_>) -> Result<Keyed> {
        let op = attrs.op();
        let action = match op {
            "CollectiveReduce" | "CollectiveReduceV2" => Action::Reduce(Reduction::of(attrs)?),
            "CollectiveReduceScatterV2" => Action::ReduceScatter(Reduction::of(attrs)?),
            "CollectiveGather" | "CollectiveGatherV2" => Action::Gather,
            "CollectiveBcastSend" | "CollectiveBcastSendV2" => Action::Send,
            "CollectiveBcastRecv" | "CollectiveBcastRecvV2" => Action::Receive,
            "CollectiveAllToAllV2" => Action::AllToAll,
            other => return Err(internal!("{other} is no collective op with keys")),
        };
        let keys = if op.ends_with("V2") {
            Keys::Inputs(if matches!(action, Action::Receive) { 0 } else { 1 })
        } else {
            let group_size = attrs.int("group_size")? as i32;
            if group_size <= 0 {
                return Err(invalid_argument!(
                    "group_size must be positive integer but got {group_size}"
                ));
            }
            Keys::Attributes {
                group_size,
                group_key: attrs.int("group_key")? as i32,
                instance_key: attrs.int("instance_key")? as i32,
            }
        };
        let first_version = matches!(keys, Keys::Attributes { .. });
        let subdivisions = match op {
            "CollectiveReduce" => attrs.ints("subdiv_offsets")?.iter().map(|&o| o as i32).collect(),
            // What TensorFlow's members say of broadcasts.
            _ if matches!(action, Action::Send | Action::Receive) => vec![0],
            _ => Vec::new(),
        };
        let shape = match first_version && op != "CollectiveReduce" {
            true => Some(attrs.shape("shape")?.clone()),
            false => None,
        };
        let max_subdivisions = match op {
            "CollectiveReduceV2" | "CollectiveReduceScatterV2" => {
                attrs.int("max_subdivs_per_device")?
            }
            _ => -1,
        };
        Ok(Keyed {
            op: op.to_owned(),
            node: attrs.node_name().to_owned(),
            action,
            keys,
            dtype: attrs.dtype("T")?,
            shape,
            subdivisions,
            max_subdivisions,
            timeout: timeout(attrs)?,
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let (group_size, group_key, instance_key) = match self.keys {
            Keys::Attributes { group_size, group_key, instance_key } => {
                (group_size, group_key, instance_key)
            }
            Keys::Inputs(first) => (
                scalar(ctx.input(first)?, "group_size")?,
                scalar(ctx.input(first + 1)?, "group_key")?,
                scalar(ctx.input(first + 2)?, "instance_key")?,
            ),
        };
        if group_size <= 0 {
            return Err(invalid_argument!(
                "group_size must be positive integer but got {group_size}"
            ));
        }
        let place = Surroundings::of(&ctx, &self.op)?;
        let input = match self.action {
            Action::Receive => None,
            _ => Some(ctx.input(0)?.clone()),
        };
        let shape = self.result_shape(&ctx, input.as_ref(), group_size as usize)?;
        let collective = Collective {
            name: self.describe(),
            action: self.action.clone(),
            group_key,
            group_size,
            instance_key,
            dtype: self.dtype,
            subdivisions: self.subdivisions.clone(),
            max_subdivisions: self.max_subdivisions,
            timeout: self.timeout,
        };
        Ok(Started::Waiting(Box::pin(run(collective, place, input, shape))))
    }
}

impl Keyed {
    fn describe(&self) -> String {
        let version = if matches!(self.keys, Keys::Inputs(_)) { "V2" } else { "" };
        let what = match &self.action {
            Action::Reduce(reduction) => format!("Reduce{version}{}", reduction.describe()),
            Action::ReduceScatter(reduction) => {
                format!("ReduceScatter{version}{}", reduction.describe())
            }
            Action::Gather => format!("Gather{version}"),
            Action::Send => "Broadcast(1)".to_owned(),
            Action::Receive => "Broadcast(0)".to_owned(),
            Action::AllToAll => format!("AllToAll{version}"),
        };
        format!("{}: {what}", self.node)
    }

    /// The shape of the result, which members must agree on.
    fn result_shape(
        &self,
        ctx: &AsyncContext,
        input: Option<&Tensor>,
        members: usize,
    ) -> Result<Shape> {
        let shape = match (&self.action, input) {
            (Action::Receive, _) => match &self.shape {
                Some(shape) => return declared(shape),
                None => return Shape::from_signed(&ctx.input(3)?.to_i64_vec()?),
            },
            (_, Some(input)) => input.shape().clone(),
            (_, None) => return Err(internal!("{} has no input", self.op)),
        };
        let mut dims = shape.dims().to_vec();
        match (&self.action, dims.first_mut()) {
            (Action::Gather, Some(rows)) => *rows *= members,
            (Action::Gather, None) => {
                return Err(invalid_argument!("input should have rank > 0, received {shape}"));
            }
            (Action::ReduceScatter(_), Some(rows)) => {
                if !rows.is_multiple_of(members) {
                    return Err(invalid_argument!(
                        "dimension 0 of shape {shape} must be divisible by group_size {members}"
                    ));
                }
                *rows /= members;
            }
            _ => {}
        }
        let result = Shape::new(&dims)?;
        match (&self.action, &self.shape) {
            (Action::Gather, Some(shape)) if declared(shape)? != result => {
                let want = declared(shape)?;
                Err(internal!(
                    "CollectiveGatherOpKernel allocated {result} output while attr shape is {want}"
                ))
            }
            (Action::Send, Some(shape)) if declared(shape)? != result => {
                let want = declared(shape)?;
                Err(internal!(
                    "Declared shape of op {} {want} does not match shape of input {result}",
                    self.node
                ))
            }
            _ => Ok(result),
        }
    }
}

fn declared(shape: &PartialShape) -> Result<Shape> {
    shape.to_shape().ok_or_else(|| invalid_argument!("shape {shape} is not fully defined"))
}

//! Collectives that go through a communicator: a resource that stands for a group and numbers its
//! collectives.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Awaited, CollectiveKind, JoinGroup, Op, Outcome, Resource,
    Started, cpu_async,
};
use tensorfleet_tensor::{DType, Result, Tensor, internal, invalid_argument, unimplemented_error};

use super::join::run;
use super::params::{Action, Collective, Merge, Reduction, Surroundings, timeout};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CollectiveAllToAllV3",
        inputs: &["input: T", "communicator: resource", "group_assignment: int32"],
        outputs: &["data: T"],
        attrs: &[
            "T: {bfloat16, float, half, double, int32, int64}",
            "timeout_seconds: float = 0.0",
        ],
        stateful: true,
        distributed_communication: true,
        kernels: &[cpu_async::<Communicate>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CollectiveInitializeCommunicator",
        inputs: &["group_key: int32", "rank: int32", "group_size: int32"],
        outputs: &["communicator: resource"],
        attrs: &["communication_hint: string = 'auto'", "timeout_seconds: float = 0.0"],
        stateful: true,
        distributed_communication: true,
        kernels: &[cpu_async::<Initialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CollectiveReduceV3",
        inputs: &["input: T", "communicator: resource", "group_assignment: int32"],
        outputs: &["data: T"],
        attrs: &[
            "T: {bfloat16, float, half, double, int32, int64}",
            "reduction: {'Min', 'Max', 'Mul', 'Add'}",
            "timeout_seconds: float = 0.0",
        ],
        stateful: true,
        distributed_communication: true,
        kernels: &[cpu_async::<Communicate>()],
        ..Op::DEFAULT
    },
];

/// A group, and how many collectives it has had.
#[derive(Debug)]
struct Communicator {
    group_key: i32,
    group_size: i32,
    next_instance: AtomicI32,
}

impl Resource for Communicator {
    const TYPE_NAME: &'static str = "N10tensorflow12_GLOBAL__N_123CollectiveGroupResourceE";
}

#[derive(Debug)]
struct Initialize;

impl AsyncKernel for Initialize {
    fn awaits(&self) -> Awaited {
        Awaited::Collective
    }

    fn new(_: &Attrs<'_>) -> Result<Initialize> {
        Ok(Initialize)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let number = |index: usize, name: &str| {
            let tensor = ctx.input(index)?;
            if !tensor.shape().is_scalar() {
                return Err(internal!("Unexpected dimensions on input {name}"));
            }
            tensor.scalar_value::<i32>()
        };
        let (group_key, rank) = (number(0, "group_key")?, number(1, "rank")?);
        let group_size = number(2, "group_size")?;
        let Ok(size @ 1..) = usize::try_from(group_size) else {
            return Err(invalid_argument!(
                "group_size must be positive integer but got {group_size}"
            ));
        };
        if !(0..group_size).contains(&rank) {
            return Err(invalid_argument!(
                "rank must be less than group size but got {rank} >= {group_size}"
            ));
        }
        let place = Surroundings::of(&ctx, "CollectiveInitializeCommunicator")?;
        let step = Arc::clone(&ctx.step);
        let join = JoinGroup {
            name: ctx.node.to_string(),
            device: place.device.clone(),
            key: group_key,
            size,
            kind: CollectiveKind::Reduction,
        };
        Ok(Started::Waiting(Box::pin(async move {
            place.collectives.join_group(join).await?;
            let made = Communicator { group_key, group_size, next_instance: AtomicI32::new(0) };
            // All initialisations of a group on a device are one: its members count together.
            let name = format!("communicator_{group_key}");
            step.resources.lookup_or_create("", &name, || Ok(made))?;
            let handle = step.resources.handle::<Communicator>(&step.device, "", &name, Vec::new());
            Ok(Outcome::from(vec![Tensor::resource(handle)]))
        })))
    }
}

#[derive(Debug)]
struct Communicate {
    op: String,
    node: String,
    action: Action,
    dtype: DType,
    timeout: Option<Duration>,
}

impl AsyncKernel for Communicate {
    fn awaits(&self) -> Awaited {
        Awaited::Collective
    }

    fn new(attrs: &Attrs<'_>) -> Result<Communicate> {
        let action = match attrs.op() {
            "CollectiveReduceV3" => {
                let merge = Merge::of(&attrs.string("reduction")?)?;
                Action::Reduce(Reduction { merge, divides: false })
            }
            _ => Action::AllToAll,
        };
        Ok(Communicate {
            op: attrs.op().to_owned(),
            node: attrs.node_name().to_owned(),
            action,
            dtype: attrs.dtype("T")?,
            timeout: timeout(attrs)?,
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let communicator = ctx.resource::<Communicator>(1)?;
        if ctx.input(2)?.num_elements() > 0 {
            return Err(unimplemented_error!("Group assignments are not supported yet."));
        }
        let place = Surroundings::of(&ctx, &self.op)?;
        let input = ctx.input(0)?.clone();
        let shape = input.shape().clone();
        let collective = Collective {
            name: self.node.clone(),
            action: self.action.clone(),
            group_key: communicator.group_key,
            group_size: communicator.group_size,
            instance_key: communicator.next_instance.fetch_add(1, Ordering::Relaxed),
            dtype: self.dtype,
            subdivisions: Vec::new(),
            max_subdivisions: -1,
            timeout: self.timeout,
        };
        Ok(Started::Waiting(Box::pin(run(collective, place, Some(input), shape))))
    }
}

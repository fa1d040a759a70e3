//! `Stage` and its kin: a buffer that one step fills and a later one empties.

use std::collections::VecDeque;
use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Resource, Started,
    StepContext, Value, Values, cpu, cpu_async,
};
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument, resource_exhausted};

use super::watched::Watched;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Stage",
        inputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu_async::<Stage>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StageClear",
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Clear>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StagePeek",
        inputs: &["index: int32"],
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu_async::<Peek>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StageSize",
        outputs: &["size: int32"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Unstage",
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu_async::<Unstage>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug, Default)]
struct State {
    tuples: VecDeque<Vec<Tensor>>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Buffer(Arc<Watched<State>>);

impl Resource for Buffer {
    const TYPE_NAME: &'static str = "N10tensorflow12_GLOBAL__N_16BufferE";
}

/// Which buffer a node speaks of: by its shared name, or by its own.
#[derive(Debug)]
pub(super) struct Place {
    container: String,
    name: String,
    pub(super) limits: Limits,
}

/// How much a buffer may hold; none for any number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    tuples: Option<usize>,
    bytes: Option<usize>,
}

impl Place {
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Place> {
        let shared = attrs.string("shared_name")?;
        let limit =
            |name: &str| Ok(usize::try_from(attrs.int(name)?).ok().filter(|&limit| limit > 0));
        Ok(Place {
            container: attrs.string("container")?.into_owned(),
            name: if shared.is_empty() {
                attrs.node_name().to_owned()
            } else {
                shared.into_owned()
            },
            limits: Limits { tuples: limit("capacity")?, bytes: limit("memory_limit")? },
        })
    }

    /// Finds or makes what the node speaks of.
    pub(super) fn find<R: Resource + Default>(&self, step: &StepContext) -> Result<Arc<R>> {
        step.resources.lookup_or_create(&self.container, &self.name, || Ok(R::default()))
    }
}

impl Limits {
    /// Refuses a tuple that will never fit.
    pub(super) fn check_size(&self, bytes: usize) -> Result<()> {
        match self.bytes {
            Some(limit) if bytes > limit => Err(resource_exhausted!(
                "Attempted to insert tensors with combined size of '{bytes}' bytes into Staging \
                 Area with a memory limit of '{limit}'."
            )),
            _ => Ok(()),
        }
    }

    /// Whether there is room for one more tuple.
    pub(super) fn have_room(&self, tuples: usize, bytes: usize, more: usize) -> bool {
        self.tuples.is_none_or(|most| tuples < most)
            && self.bytes.is_none_or(|limit| bytes.saturating_add(more) <= limit)
    }
}

/// What tensors occupy together.
pub(super) fn bytes_of(tuple: &[Tensor]) -> usize {
    tuple.iter().map(Tensor::byte_len).sum()
}

/// The tensors among inputs.
pub(super) fn tensors(values: &[Value]) -> Result<Vec<Tensor>> {
    let read = |value: &Value| match value {
        Value::Tensor(tensor) => Ok(tensor.clone()),
        Value::Ref(variable) => variable.read(),
        Value::Empty => Err(internal!("a component is missing")),
    };
    values.iter().map(read).collect()
}

#[derive(Debug)]
struct Stage(Place);

impl AsyncKernel for Stage {
    fn new(attrs: &Attrs<'_>) -> Result<Stage> {
        Place::new(attrs).map(Stage)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let buffer = self.0.find::<Buffer>(&ctx.step)?;
        let tuple = tensors(&ctx.inputs)?;
        let more = bytes_of(&tuple);
        let limits = self.0.limits;
        limits.check_size(more)?;
        let mut tuple = Some(tuple);
        buffer.0.start(move |state| {
            if !limits.have_room(state.tuples.len(), state.bytes, more) {
                return Ok(None);
            }
            state.tuples.extend(tuple.take());
            state.bytes += more;
            Ok(Some(Outcome::Values(Values::new())))
        })
    }
}

#[derive(Debug)]
struct Unstage(Place);

impl AsyncKernel for Unstage {
    fn new(attrs: &Attrs<'_>) -> Result<Unstage> {
        Place::new(attrs).map(Unstage)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let buffer = self.0.find::<Buffer>(&ctx.step)?;
        buffer.0.start(|state| {
            let Some(tuple) = state.tuples.pop_front() else { return Ok(None) };
            state.bytes -= bytes_of(&tuple);
            Ok(Some(Outcome::from(tuple)))
        })
    }
}

#[derive(Debug)]
struct Peek(Place);

impl AsyncKernel for Peek {
    fn new(attrs: &Attrs<'_>) -> Result<Peek> {
        Place::new(attrs).map(Peek)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let index = ctx.input(0)?.scalar_value::<i32>()?;
        let index = usize::try_from(index)
            .map_err(|_| invalid_argument!("StagePeek index must not be negative, got {index}"))?;
        let buffer = self.0.find::<Buffer>(&ctx.step)?;
        buffer.0.start(move |state| Ok(state.tuples.get(index).cloned().map(Outcome::from)))
    }
}

#[derive(Debug)]
struct Size(Place);

impl Kernel for Size {
    fn new(attrs: &Attrs<'_>) -> Result<Size> {
        Place::new(attrs).map(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let buffer = self.0.find::<Buffer>(ctx.step())?;
        let size = buffer.0.look(|state| state.tuples.len());
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct Clear(Place);

impl Kernel for Clear {
    fn new(attrs: &Attrs<'_>) -> Result<Clear> {
        Place::new(attrs).map(Clear)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let buffer = self.0.find::<Buffer>(ctx.step())?;
        buffer.0.change(|state| *state = State::default());
        Ok(())
    }
}

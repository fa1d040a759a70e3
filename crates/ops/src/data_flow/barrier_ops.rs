//! The ops on barriers.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, Op, Outcome, Started, cpu, cpu_async,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::barrier::{Barrier, Element, Inserted, Signature, State};
use super::barrier_kept::event;
use super::join::{row, stack};
use super::named::{Named, check_signature, input_words, resource_of, shape_list, type_list};
use super::watched;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Barrier",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BarrierClose",
        inputs: &["handle: Ref(string)"],
        attrs: &["cancel_pending_enqueues: bool = false"],
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BarrierIncompleteSize",
        inputs: &["handle: Ref(string)"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BarrierInsertMany",
        inputs: &["handle: Ref(string)", "keys: string", "values: T"],
        attrs: &["T: type", "component_index: int"],
        kernels: &[cpu::<InsertMany>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BarrierReadySize",
        inputs: &["handle: Ref(string)"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BarrierTakeMany",
        inputs: &["handle: Ref(string)", "num_elements: int32"],
        outputs: &["indices: int64", "keys: string", "values: component_types"],
        attrs: &[
            "component_types: list(type) >= 1",
            "allow_small_batch: bool = false",
            "wait_for_incomplete: bool = false",
            "timeout_ms: int = -1",
        ],
        kernels: &[cpu_async::<TakeMany>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Make {
    named: Named<Barrier>,
    signature: Signature,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        let (dtypes, shapes) = (attrs.dtypes("component_types")?, attrs.shapes("shapes")?);
        if shapes.len() != dtypes.len() {
            return Err(invalid_argument!("All of the component shapes must be specified"));
        }
        if attrs.int("capacity")? >= 0 {
            return Err(invalid_argument!(
                "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a \
                 queue to enforce a limited capacity."
            ));
        }
        let shapes = shapes.iter().map(|shape| match (&shape.dims, shape.to_shape()) {
            // As in TensorFlow, what is not said is a scalar.
            (None, _) => Ok(Shape::SCALAR),
            (_, Some(shape)) => Ok(shape),
            _ => Err(invalid_argument!(
                "a barrier needs whole shapes of its components, got {shape}"
            )),
        });
        let signature =
            Signature { dtypes: dtypes.to_vec(), shapes: shapes.collect::<Result<_>>()? };
        Ok(Make { named: Named::new(attrs)?, signature })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let make = |name: &str| Ok(Barrier::new(name, self.signature.clone()));
        let barrier = self.named.output(ctx, make)?;
        let refuse = |what: &str, have: String, want: String| {
            invalid_argument!(
                "Shared barrier '{}' has component {what} {have} but requested component {what} \
                 were {want}",
                barrier.name
            )
        };
        let (have, want) = (&barrier.signature, &self.signature);
        if have.dtypes != want.dtypes {
            return Err(refuse("types", type_list(&have.dtypes), type_list(&want.dtypes)));
        }
        if have.shapes != want.shapes {
            return Err(refuse("shapes", shape_list(&have.shapes), shape_list(&want.shapes)));
        }
        Ok(())
    }
}

fn barrier_of(ctx: &KernelContext<'_>) -> Result<Arc<Barrier>> {
    resource_of(ctx.step(), ctx.value(0)?)
}

#[derive(Debug)]
struct InsertMany {
    index: i64,
    dtype: DType,
}

impl Kernel for InsertMany {
    fn new(attrs: &Attrs<'_>) -> Result<InsertMany> {
        Ok(InsertMany { index: attrs.int("component_index")?, dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let barrier = barrier_of(ctx)?;
        let Signature { dtypes, shapes } = &barrier.signature;
        let index = usize::try_from(self.index).ok().filter(|&index| index < dtypes.len());
        let Some(index) = index else {
            return Err(invalid_argument!(
                "The component ID is out of range {} > num_components (= {})",
                self.index,
                dtypes.len()
            ));
        };
        check_signature(
            (&input_words(true, &[DType::String, self.dtype]), &[]),
            (&input_words(true, &[DType::String, dtypes[index]]), &[]),
        )?;
        let (keys, values) = (ctx.input(1)?, ctx.input(2)?);
        if keys.num_elements() > 0 && values.num_elements() == 0 {
            return Err(invalid_argument!(
                "Tensors with no elements are not supported {}: received shape {}",
                barrier.name,
                values.shape()
            ));
        }
        if keys.rank() != 1 || keys.dims()[0] != values.dims().first().copied().unwrap_or(1) {
            return Err(invalid_argument!(
                "Mismatched keys and values: {} and {}",
                keys.shape(),
                values.shape()
            ));
        }
        let keys = keys.strings()?;
        let rows: Vec<Tensor> = match values.rank() {
            0 => vec![values.clone()],
            _ => (0..keys.len()).map(|at| row(values, at)).collect::<Result<_>>()?,
        };
        let unit = ctx.step().unit.as_deref();
        let telling = barrier.kept.enter(unit)?;
        barrier.state.change(|state| {
            let mut inserted = Inserted::default();
            let result = state.insert(keys, rows, index, shapes, &mut inserted);
            if !inserted.keys.is_empty() {
                telling.tell(unit, false, || event::put(index, &inserted));
            }
            if let Some((batch, key)) = inserted.lost {
                telling.tell(unit, false, || event::took([(batch, key)].into_iter()));
            }
            result
        })
    }
}

#[derive(Debug)]
struct TakeMany {
    dtypes: Vec<DType>,
    small_batch: bool,
}

impl AsyncKernel for TakeMany {
    fn new(attrs: &Attrs<'_>) -> Result<TakeMany> {
        Ok(TakeMany {
            dtypes: attrs.dtypes("component_types")?.to_vec(),
            small_batch: attrs.bool("allow_small_batch")?,
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let handle = ctx.inputs.first().ok_or_else(|| invalid_argument!("no handle"))?;
        let barrier: Arc<Barrier> = resource_of(&ctx.step, handle)?;
        let count = ctx.input(1)?;
        if !count.shape().is_scalar() {
            return Err(invalid_argument!("num_elements must be a scalar."));
        }
        let words = input_words(true, &[DType::Int32]);
        check_signature((&words, &self.dtypes), (&words, &barrier.signature.dtypes))?;
        let count = count.scalar_value::<i32>()?;
        let Ok(count) = usize::try_from(count) else {
            return Err(invalid_argument!("num_elements must not be negative, got {count}"));
        };
        let (owner, small_batch) = (ctx.step.unit.clone(), self.small_batch);
        watched::start(move |waker| {
            let telling = barrier.kept.enter(owner.as_deref())?;
            let mut attempt = |state: &mut State| match state.take(count, small_batch)? {
                Some(taken) => {
                    let names = taken.iter().map(|element| (element.batch, element.key.clone()));
                    telling.tell(owner.as_deref(), false, || event::took(names));
                    batch(&barrier.signature, taken).map(Some)
                }
                None => Ok(None),
            };
            barrier.state.attempt(&mut attempt, waker)
        })
    }
}

/// The numbers, the keys and the components of tuples, each stacked.
fn batch(signature: &Signature, taken: Vec<Element>) -> Result<Outcome> {
    let batches: Vec<i64> = taken.iter().map(|element| element.batch).collect();
    let keys = taken.iter().map(|element| element.key.clone()).collect();
    let mut outputs =
        vec![Tensor::vector(&batches)?, Tensor::from_strings(Shape::vector(taken.len()), keys)?];
    for (index, (&dtype, shape)) in signature.dtypes.iter().zip(&signature.shapes).enumerate() {
        let parts: Vec<Tensor> =
            taken.iter().map(|element| element.components[index].clone()).collect();
        outputs.push(stack(dtype, shape, &parts)?);
    }
    Ok(Outcome::from(outputs))
}

#[derive(Debug)]
struct Close {
    cancel_pending: bool,
}

impl Kernel for Close {
    fn new(attrs: &Attrs<'_>) -> Result<Close> {
        Ok(Close { cancel_pending: attrs.bool("cancel_pending_enqueues")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (barrier, unit) = (barrier_of(ctx)?, ctx.step().unit.as_deref());
        let telling = barrier.kept.enter(unit)?;
        barrier.state.change(|state| {
            state.close(self.cancel_pending)?;
            telling.tell(unit, false, || event::closed(self.cancel_pending));
            Ok(())
        })
    }
}

#[derive(Debug)]
struct Size {
    ready: bool,
}

impl Kernel for Size {
    fn new(attrs: &Attrs<'_>) -> Result<Size> {
        Ok(Size { ready: attrs.op() == "BarrierReadySize" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = barrier_of(ctx)?
            .state
            .look(|state| if self.ready { state.ready() } else { state.incomplete() });
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

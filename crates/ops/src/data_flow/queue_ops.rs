//! What is done with queues. Those ops that may wait are futures and hold no thread.

use std::collections::VecDeque;
use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, BoxFuture, Kernel, KernelContext, Op, Outcome, Started,
    StepContext, Value, Values, cpu, cpu_async,
};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, internal, invalid_argument};

use super::join::{prepend, row, stack, without_first};
use super::named::{check_signature, input_words, resource_of};
use super::queue::{Element, Kind, Queue, Tuple, Unclaimed, Waiter, Want};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QueueClose",
        inputs: &["handle: Ref(string)"],
        attrs: &["cancel_pending_enqueues: bool = false"],
        kernels: &[cpu_async::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueCloseV2",
        inputs: &["handle: resource"],
        attrs: &["cancel_pending_enqueues: bool = false"],
        stateful: true,
        kernels: &[cpu_async::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeue",
        inputs: &["handle: Ref(string)"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeueMany",
        inputs: &["handle: Ref(string)", "n: int32"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeueManyV2",
        inputs: &["handle: resource", "n: int32"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        stateful: true,
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeueUpTo",
        inputs: &["handle: Ref(string)", "n: int32"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeueUpToV2",
        inputs: &["handle: resource", "n: int32"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        stateful: true,
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueDequeueV2",
        inputs: &["handle: resource"],
        outputs: &["components: component_types"],
        attrs: &["component_types: list(type) >= 1", "timeout_ms: int = -1"],
        stateful: true,
        kernels: &[cpu_async::<Dequeue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueEnqueue",
        inputs: &["handle: Ref(string)", "components: Tcomponents"],
        attrs: &["Tcomponents: list(type) >= 1", "timeout_ms: int = -1"],
        kernels: &[cpu_async::<Enqueue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueEnqueueMany",
        inputs: &["handle: Ref(string)", "components: Tcomponents"],
        attrs: &["Tcomponents: list(type) >= 1", "timeout_ms: int = -1"],
        kernels: &[cpu_async::<Enqueue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueEnqueueManyV2",
        inputs: &["handle: resource", "components: Tcomponents"],
        attrs: &["Tcomponents: list(type) >= 1", "timeout_ms: int = -1"],
        stateful: true,
        kernels: &[cpu_async::<Enqueue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueEnqueueV2",
        inputs: &["handle: resource", "components: Tcomponents"],
        attrs: &["Tcomponents: list(type) >= 1", "timeout_ms: int = -1"],
        stateful: true,
        kernels: &[cpu_async::<Enqueue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueIsClosed",
        inputs: &["handle: Ref(string)"],
        outputs: &["is_closed: bool"],
        kernels: &[cpu::<IsClosed>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueIsClosedV2",
        inputs: &["handle: resource"],
        outputs: &["is_closed: bool"],
        stateful: true,
        kernels: &[cpu::<IsClosed>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueSize",
        inputs: &["handle: Ref(string)"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "QueueSizeV2",
        inputs: &["handle: resource"],
        outputs: &["size: int32"],
        stateful: true,
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
];

fn queue_of(ctx: &AsyncContext) -> Result<Arc<Queue>> {
    resource_of(&ctx.step, ctx.inputs.first().ok_or_else(|| invalid_argument!("no handle"))?)
}

fn is_reference(attrs: &Attrs<'_>) -> bool {
    attrs.inputs().first().is_some_and(|input| input.is_ref)
}

/// Answers at once if the queue does, and waits otherwise.
fn start<T: Unclaimed + Send + 'static>(
    mut waiter: Waiter<T>,
    finish: impl FnOnce(T) -> Result<Outcome> + Send + 'static,
) -> Result<Started> {
    match waiter.now()? {
        Some(answer) => Ok(Started::Done(finish(answer)?)),
        None => Ok(Started::Waiting(Box::pin(async move { finish(waiter.await?) }))),
    }
}

/// A source of the elements of a queue, for ops that take their work from one.
pub(crate) fn dequeue_one(
    step: &StepContext,
    queue: &Value,
) -> Result<Box<dyn Fn() -> BoxFuture<Result<Tuple>> + Send + Sync>> {
    let queue: Arc<Queue> = resource_of(step, queue)?;
    let owner = step.unit.clone();
    Ok(Box::new(move || {
        let waiter = queue.dequeue(owner.clone(), Want::One);
        Box::pin(async move { Ok(one(waiter?.await?)) })
    }))
}

fn one(elements: Vec<Element>) -> Tuple {
    elements.into_iter().next().map(|element| element.tuple).unwrap_or_default()
}

fn nothing() -> Outcome {
    Outcome::Values(Values::new())
}

#[derive(Debug)]
struct Enqueue {
    dtypes: Vec<DType>,
    many: bool,
    by_reference: bool,
}

impl AsyncKernel for Enqueue {
    fn new(attrs: &Attrs<'_>) -> Result<Enqueue> {
        Ok(Enqueue {
            dtypes: attrs.dtypes("Tcomponents")?.to_vec(),
            many: attrs.op().contains("Many"),
            by_reference: is_reference(attrs),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let queue = queue_of(&ctx)?;
        check_signature(
            (&input_words(self.by_reference, &self.dtypes), &[]),
            (&input_words(self.by_reference, &queue.signature.dtypes), &[]),
        )?;
        let owner = ctx.step.unit.clone();
        let mut components = Vec::with_capacity(self.dtypes.len());
        for value in ctx.inputs.into_iter().skip(1) {
            match value {
                Value::Tensor(tensor) => components.push(tensor),
                Value::Ref(variable) => components.push(variable.read()?),
                Value::Empty => return Err(internal!("a component is missing")),
            }
        }
        let shapes = &queue.signature.shapes;
        let tuples = if self.many {
            check_many(&components, shapes)?;
            let mut tuples = VecDeque::new();
            for index in 0..components[0].dims()[0] {
                tuples.push_back(
                    components
                        .iter()
                        .map(|component| row(component, index))
                        .collect::<Result<_>>()?,
                );
            }
            tuples
        } else {
            for (index, (shape, component)) in shapes.iter().zip(&components).enumerate() {
                if !shape.is_compatible_with(component.shape()) {
                    return Err(mismatch(index, shape, component.shape()));
                }
            }
            VecDeque::from([components])
        };
        start(queue.enqueue(owner, tuples)?, |()| Ok(nothing()))
    }
}

fn mismatch(index: usize, want: &PartialShape, have: &Shape) -> tensorfleet_tensor::Error {
    invalid_argument!("Shape mismatch in tuple component {index}. Expected {want}, got {have}")
}

/// Checks components whose rows are elements.
fn check_many(components: &[Tensor], shapes: &[PartialShape]) -> Result<()> {
    let rows = components.first().and_then(|first| first.dims().first().copied());
    for (index, component) in components.iter().enumerate() {
        let (Some(rows), Some(&have)) = (rows, component.dims().first()) else {
            return Err(invalid_argument!(
                "All input tensors must have at least one dimension. Component {index} has shape {}",
                component.shape()
            ));
        };
        if let Some(shape) = shapes.get(index) {
            if have != rows || !shape.is_compatible_with(&without_first(component.shape())?) {
                let want = PartialShape {
                    dims: shape.dims.as_ref().map(|dims| {
                        std::iter::once(Some(rows)).chain(dims.iter().copied()).collect()
                    }),
                };
                return Err(mismatch(index, &want, component.shape()));
            }
        } else if have != rows {
            return Err(invalid_argument!(
                "All input tensors must have the same size in the 0th dimension. Component {index} \
                 has {have}, and should have {rows}"
            ));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HowMany {
    One,
    Many,
    UpTo,
}

#[derive(Debug)]
struct Dequeue {
    dtypes: Vec<DType>,
    how_many: HowMany,
    by_reference: bool,
}

impl AsyncKernel for Dequeue {
    fn new(attrs: &Attrs<'_>) -> Result<Dequeue> {
        let how_many = match attrs.op().trim_end_matches("V2") {
            "QueueDequeueMany" => HowMany::Many,
            "QueueDequeueUpTo" => HowMany::UpTo,
            _ => HowMany::One,
        };
        Ok(Dequeue {
            dtypes: attrs.dtypes("component_types")?.to_vec(),
            how_many,
            by_reference: is_reference(attrs),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let queue = queue_of(&ctx)?;
        let rest: &[DType] = if self.how_many == HowMany::One { &[] } else { &[DType::Int32] };
        let words = input_words(self.by_reference, rest);
        check_signature((&words, &self.dtypes), (&words, &queue.signature.dtypes))?;
        if self.how_many == HowMany::One {
            let waiter = queue.dequeue(ctx.step.unit.clone(), Want::One)?;
            return start(waiter, |elements| Ok(Outcome::from(one(elements))));
        }
        let count = ctx.input(1)?.scalar_value::<i32>()?;
        let Ok(count) = usize::try_from(count) else {
            let op = if self.how_many == HowMany::Many { "DequeueManyOp" } else { "DequeueUpToOp" };
            return Err(invalid_argument!("{op} requested {count} < 0 elements"));
        };
        if queue.signature.shapes.is_empty() {
            return Err(invalid_argument!(
                "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
                queue.signature.kind.name()
            ));
        }
        if count == 0 {
            return Ok(Started::Done(batch(&queue, &[])?));
        }
        let want =
            if self.how_many == HowMany::Many { Want::Exactly(count) } else { Want::UpTo(count) };
        let waiter = queue.dequeue(ctx.step.unit.clone(), want)?;
        start(waiter, move |elements| {
            let tuples: Vec<Tuple> = elements.into_iter().map(|element| element.tuple).collect();
            batch(&queue, &tuples)
        })
    }
}

/// Stacks the components of elements.
fn batch(queue: &Queue, tuples: &[Tuple]) -> Result<Outcome> {
    let signature = &queue.signature;
    let mut outputs = Vec::with_capacity(signature.dtypes.len());
    for (index, (&dtype, declared)) in signature.dtypes.iter().zip(&signature.shapes).enumerate() {
        let mut parts = Vec::with_capacity(tuples.len());
        for tuple in tuples {
            match tuple.get(index) {
                Some(part) => parts.push(part.clone()),
                None => return Err(invalid_argument!("an element lacks component {index}")),
            }
        }
        let mut dims: Vec<usize> =
            declared.dims.iter().flatten().map(|dim| dim.unwrap_or(0)).collect();
        if signature.kind == Kind::Padding {
            for part in &parts {
                dims.iter_mut().zip(part.dims()).for_each(|(dim, &have)| *dim = have.max(*dim));
            }
        }
        let shape = Shape::new(&dims)?;
        outputs.push(if parts.iter().all(|part| *part.shape() == shape) {
            stack(dtype, &shape, &parts)?
        } else {
            pad(dtype, &shape, &parts)?
        });
    }
    Ok(Outcome::from(outputs))
}

/// Stacks tensors of different sizes, with zeros or empty strings around the smaller ones.
fn pad(dtype: DType, shape: &Shape, parts: &[Tensor]) -> Result<Tensor> {
    let mut output = Tensor::zeros(dtype, prepend(parts.len(), shape)?)?;
    let size = dtype.size().max(1);
    for (index, part) in parts.iter().enumerate() {
        let base = index * shape.num_elements();
        let width = part.dims().last().copied().unwrap_or(1);
        if part.num_elements() == 0 {
            continue;
        }
        for line in 0..part.num_elements() / width {
            let to = base + padded_offset(part.dims(), shape.dims(), line);
            if dtype == DType::String {
                let from = &part.strings()?[line * width..(line + 1) * width];
                output.strings_mut()?[to..to + width].clone_from_slice(from);
            } else {
                let from = &part.raw()[line * width * size..(line + 1) * width * size];
                output.write_raw(|bytes| {
                    bytes[to * size..(to + width) * size].copy_from_slice(from);
                    Ok(())
                })?;
            }
        }
    }
    Ok(output)
}

/// Where the innermost row number `line` of a small tensor begins in a large one.
fn padded_offset(small: &[usize], large: &[usize], mut line: usize) -> usize {
    let (mut offset, mut stride) = (0, large.last().copied().unwrap_or(1));
    for axis in (0..small.len().saturating_sub(1)).rev() {
        offset += line % small[axis] * stride;
        line /= small[axis];
        stride *= large[axis];
    }
    offset
}

#[derive(Debug)]
struct Close {
    cancel_pending: bool,
}

impl AsyncKernel for Close {
    fn new(attrs: &Attrs<'_>) -> Result<Close> {
        Ok(Close { cancel_pending: attrs.bool("cancel_pending_enqueues")? })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let owner = ctx.step.unit.clone();
        start(queue_of(&ctx)?.close(owner, self.cancel_pending)?, |()| Ok(nothing()))
    }
}

#[derive(Debug)]
struct Size;

impl Kernel for Size {
    fn new(_: &Attrs<'_>) -> Result<Size> {
        Ok(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let queue: Arc<Queue> = resource_of(ctx.step(), ctx.value(0)?)?;
        ctx.set_output(0, Tensor::scalar(queue.len() as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct IsClosed;

impl Kernel for IsClosed {
    fn new(_: &Attrs<'_>) -> Result<IsClosed> {
        Ok(IsClosed)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let queue: Arc<Queue> = resource_of(ctx.step(), ctx.value(0)?)?;
        ctx.set_output(0, Tensor::scalar(queue.is_closed()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_elements_of_a_batch_are_padded() {
        let a = Tensor::from_slice(Shape::from([1, 2]), &[1i32, 2]).unwrap();
        let b = Tensor::from_slice(Shape::from([2, 1]), &[3i32, 4]).unwrap();
        let both = pad(DType::Int32, &Shape::from([2, 2]), &[a, b]).unwrap();
        assert_eq!(both.dims(), [2, 2, 2]);
        assert_eq!(both.values::<i32>().unwrap(), [1, 2, 0, 0, 3, 0, 4, 0]);
    }
}

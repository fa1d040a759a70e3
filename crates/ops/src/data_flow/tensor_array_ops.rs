//! The ops on tensor arrays. Flow, a meaningless number, orders them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Resource, cpu};
use tensorfleet_tensor::{
    DType, PartialShape, Result, Shape, Tensor, invalid_argument, unimplemented_error,
};

use super::join::{join, prepend, row, stack, without_first};
use super::tensor_array::{Options, TensorArray};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorArrayCloseV3",
        inputs: &["handle: resource"],
        stateful: true,
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayConcatV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["value: dtype", "lengths: int64"],
        attrs: &["dtype: type", "element_shape_except0: shape = unknown"],
        stateful: true,
        kernels: &[cpu::<Concat>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGatherV3",
        inputs: &["handle: resource", "indices: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type", "element_shape: shape = unknown"],
        stateful: true,
        kernels: &[cpu::<Gather>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGradV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["grad_handle: resource", "flow_out: float"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGradWithShape",
        inputs: &["handle: resource", "flow_in: float", "shape_to_prepend: int32"],
        outputs: &["grad_handle: resource", "flow_out: float"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayReadV3",
        inputs: &["handle: resource", "index: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        stateful: true,
        kernels: &[cpu::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayScatterV3",
        inputs: &["handle: resource", "indices: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Scatter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySizeV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["size: int32"],
        stateful: true,
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySplitV3",
        inputs: &["handle: resource", "value: T", "lengths: int64", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Split>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayV3",
        inputs: &["size: int32"],
        outputs: &["handle: resource", "flow: float"],
        attrs: &[
            "dtype: type",
            "element_shape: shape = unknown",
            "dynamic_size: bool = false",
            "clear_after_read: bool = true",
            "identical_element_shapes: bool = false",
            "tensor_array_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayWriteV3",
        inputs: &["handle: resource", "index: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Write>()],
        ..Op::DEFAULT
    },
];

/// Counts the arrays and stacks of a step, so that their names differ.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Resource for Counter {
    const TYPE_NAME: &'static str = "tensorfleet::StepCounter";
}

/// A name that no other array or stack of the step has.
pub(super) fn unique_name(ctx: &KernelContext<'_>, name: &str) -> Result<String> {
    let counter =
        ctx.step().step_resources.lookup_or_create("", "counter", || Ok(Counter::default()))?;
    Ok(format!("{name}_{}", counter.0.fetch_add(1, Ordering::Relaxed)))
}

/// Outputs the handle of a resource of the step.
pub(super) fn set_handle<R: Resource>(ctx: &mut KernelContext<'_>, name: &str) {
    let step = ctx.step();
    let handle = step.step_resources.handle::<R>(&step.device, "", name, Vec::new());
    ctx.set_output(0, Tensor::resource(handle));
}

#[derive(Debug)]
struct Make {
    options: Options,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        let name = attrs.string("tensor_array_name")?;
        let name = if name.is_empty() { attrs.node_name().into() } else { name };
        Ok(Make {
            options: Options {
                name: name.into_owned(),
                dtype: attrs.dtype("dtype")?,
                element_shape: attrs.shape("element_shape")?.clone(),
                dynamic_size: attrs.bool("dynamic_size")?,
                clear_after_read: attrs.bool("clear_after_read")?,
                identical_element_shapes: attrs.bool("identical_element_shapes")?,
                aggregates: false,
            },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = ctx.input(0)?;
        if !size.shape().is_scalar() {
            return Err(invalid_argument!(
                "TensorArray size must be scalar, but had shape: {}",
                size.shape()
            ));
        }
        let size = usize::try_from(size.scalar_value::<i32>()?)
            .map_err(|_| invalid_argument!("Size should be >= 0."))?;
        let name = unique_name(ctx, &self.options.name)?;
        let options = Options { name: name.clone(), ..self.options.clone() };
        let array = Arc::new(TensorArray::new(options, size));
        ctx.step().step_resources.create("", &name, array)?;
        set_handle::<TensorArray>(ctx, &name);
        ctx.set_output(1, Tensor::scalar(0f32));
        Ok(())
    }
}

/// Finds or makes the gradient of an array: one for each `source` of gradients.
#[derive(Debug)]
struct Gradient {
    source: String,
}

impl Kernel for Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        Ok(Gradient { source: attrs.string("source")?.into_owned() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let forward = ctx.resource::<TensorArray>(0)?;
        let forward_name = match ctx.input(0)?.resources()? {
            [handle] => handle.name.clone(),
            _ => return Err(invalid_argument!("expected one resource handle")),
        };
        let prefix = match ctx.num_inputs() {
            3 => Some(Shape::from_signed(&ctx.input(2)?.to_i64_vec()?)?),
            _ => None,
        };
        let name = format!("{forward_name}@{}", self.source);
        let make = || forward.gradient(name.clone(), prefix.as_ref());
        ctx.step().step_resources.lookup_or_create::<TensorArray>("", &name, make)?;
        set_handle::<TensorArray>(ctx, &name);
        let flow = ctx.take_input(1)?;
        ctx.set_output(1, flow);
        Ok(())
    }
}

fn scalar_index(ctx: &KernelContext<'_>) -> Result<i64> {
    let index = ctx.input(1)?;
    if !index.shape().is_scalar() {
        return Err(invalid_argument!(
            "TensorArray index must be scalar, but had shape: {}",
            index.shape()
        ));
    }
    Ok(index.scalar_value::<i32>()?.into())
}

fn index_vector(ctx: &KernelContext<'_>) -> Result<Vec<i64>> {
    let indices = ctx.input(1)?;
    if indices.rank() != 1 {
        return Err(invalid_argument!(
            "Expected indices to be a vector, but received shape: {}",
            indices.shape()
        ));
    }
    indices.to_i64_vec()
}

/// The values that an op spreads over elements: rows of a tensor.
fn value_rows<'a>(ctx: &'a KernelContext<'_>, index: usize) -> Result<&'a Tensor> {
    let value = ctx.input(index)?;
    if value.rank() == 0 {
        return Err(invalid_argument!(
            "Expected value to be at least a vector, but received shape: {}",
            value.shape()
        ));
    }
    Ok(value)
}

#[derive(Debug)]
struct Write {
    dtype: DType,
}

impl Kernel for Write {
    fn new(attrs: &Attrs<'_>) -> Result<Write> {
        Ok(Write { dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = scalar_index(ctx)?;
        let array = ctx.resource::<TensorArray>(0)?;
        if array.dtype() != self.dtype {
            return Err(invalid_argument!(
                "TensorArray dtype is {} but Op is trying to write dtype {}.",
                array.dtype(),
                self.dtype
            ));
        }
        let value = ctx.take_input(2)?;
        array.write(index, value)?;
        let flow = ctx.take_input(3)?;
        ctx.set_output(0, flow);
        Ok(())
    }
}

#[derive(Debug)]
struct Read {
    dtype: DType,
}

impl Kernel for Read {
    fn new(attrs: &Attrs<'_>) -> Result<Read> {
        Ok(Read { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = scalar_index(ctx)?;
        let array = ctx.resource::<TensorArray>(0)?;
        array.check_dtype(self.dtype)?;
        ctx.set_output(0, array.read(index)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Gather {
    dtype: DType,
    element_shape: PartialShape,
}

impl Kernel for Gather {
    fn new(attrs: &Attrs<'_>) -> Result<Gather> {
        Ok(Gather {
            dtype: attrs.dtype("dtype")?,
            element_shape: attrs.shape("element_shape")?.clone(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = ctx.resource::<TensorArray>(0)?;
        array.check_dtype(self.dtype)?;
        array.narrow_element_shape(&self.element_shape)?;
        let indices = index_vector(ctx)?;
        if indices.is_empty() {
            let declared = array.element_shape()?;
            let Some(element) = declared.to_shape() else {
                return Err(unimplemented_error!(
                    "TensorArray has size zero, but element shape {declared} is not fully defined. \
                     Currently only static shapes are supported when packing zero-size \
                     TensorArrays."
                ));
            };
            ctx.set_output(0, stack(self.dtype, &element, &[])?);
            return Ok(());
        }
        let values = indices.iter().map(|&i| array.read(i)).collect::<Result<Vec<_>>>()?;
        let first = values[0].shape();
        for (index, value) in indices.iter().zip(&values).skip(1) {
            if value.shape() != first {
                return Err(invalid_argument!(
                    "TensorArray has inconsistent shapes.  Index {} has shape: {first} but index \
                     {index} has shape: {}",
                    indices[0],
                    value.shape()
                ));
            }
        }
        ctx.set_output(0, stack(self.dtype, first, &values)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Scatter {
    dtype: DType,
}

impl Kernel for Scatter {
    fn new(attrs: &Attrs<'_>) -> Result<Scatter> {
        Ok(Scatter { dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = ctx.resource::<TensorArray>(0)?;
        array.check_dtype(self.dtype)?;
        let indices = index_vector(ctx)?;
        let value = value_rows(ctx, 2)?;
        if indices.len() != value.dims()[0] {
            return Err(invalid_argument!(
                "Expected len(indices) == values.shape[0], but saw: {} vs. {}",
                indices.len(),
                value.dims()[0]
            ));
        }
        let (size, most) = (array.size()?, indices.iter().max().copied().unwrap_or(-1));
        if !array.is_dynamic()? && usize::try_from(most).is_ok_and(|most| most >= size) {
            return Err(invalid_argument!(
                "Max scatter index must be < array size ({most} vs. {size})"
            ));
        }
        for (position, &index) in indices.iter().enumerate() {
            array.write(index, row(value, position)?)?;
        }
        let flow = ctx.take_input(3)?;
        ctx.set_output(0, flow);
        Ok(())
    }
}

#[derive(Debug)]
struct Size;

impl Kernel for Size {
    fn new(_: &Attrs<'_>) -> Result<Size> {
        Ok(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = ctx.resource::<TensorArray>(0)?.size()?;
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct Concat {
    dtype: DType,
    element_shape_except0: PartialShape,
}

impl Kernel for Concat {
    fn new(attrs: &Attrs<'_>) -> Result<Concat> {
        Ok(Concat {
            dtype: attrs.dtype("dtype")?,
            element_shape_except0: attrs.shape("element_shape_except0")?.clone(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = ctx.resource::<TensorArray>(0)?;
        array.check_dtype(self.dtype)?;
        let size = array.size()?;
        if size == 0 {
            let Some(rest) = self.element_shape_except0.to_shape() else {
                return Err(unimplemented_error!(
                    "TensorArray has size zero, but element_shape_except0 {} is not fully \
                     defined. Currently only static shapes are supported when concatenating \
                     zero-size TensorArrays.",
                    self.element_shape_except0
                ));
            };
            ctx.set_output(0, join(self.dtype, prepend(0, &rest)?, &[])?);
            ctx.set_output(1, Tensor::vector::<i64>(&[])?);
            return Ok(());
        }
        let mut values: Vec<Tensor> = Vec::new();
        for index in 0..size {
            let value = array.read(index as i64)?;
            if value.rank() == 0 {
                return Err(invalid_argument!(
                    "Concat saw a scalar shape at index {index} but requires at least vectors.  \
                     Did you mean to call pack?"
                ));
            }
            if let Some(first) = values.first()
                && first.dims()[1..] != value.dims()[1..]
            {
                return Err(invalid_argument!(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) \
                     shape: {} but index {index} has (excepting dimension 0) shape: {}",
                    without_first(first.shape())?,
                    without_first(value.shape())?
                ));
            }
            values.push(value);
        }
        let lengths: Vec<i64> = values.iter().map(|value| value.dims()[0] as i64).collect();
        let rows = values.iter().map(|value| value.dims()[0]).sum();
        let shape = prepend(rows, &without_first(values[0].shape())?)?;
        ctx.set_output(0, join(self.dtype, shape, &values)?);
        ctx.set_output(1, Tensor::vector(&lengths)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Split {
    dtype: DType,
}

impl Kernel for Split {
    fn new(attrs: &Attrs<'_>) -> Result<Split> {
        Ok(Split { dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = ctx.resource::<TensorArray>(0)?;
        array.check_dtype(self.dtype)?;
        let lengths = ctx.input(2)?;
        if lengths.rank() != 1 {
            return Err(invalid_argument!(
                "Expected lengths to be a vector, received shape: {}",
                lengths.shape()
            ));
        }
        let value = value_rows(ctx, 1)?;
        let lengths = lengths.values::<i64>()?;
        let total = lengths
            .iter()
            .try_fold(0i64, |sum, &length| if length < 0 { None } else { sum.checked_add(length) })
            .ok_or_else(|| invalid_argument!("Invalid value in lengths: {lengths:?}"))?;
        if usize::try_from(total).ok() != Some(value.dims()[0]) {
            return Err(invalid_argument!(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is \
                 {total} and value's shape is: {}",
                value.shape()
            ));
        }
        let size = array.size()?;
        if size > lengths.len() || (size < lengths.len() && !array.is_dynamic()?) {
            return Err(invalid_argument!(
                "TensorArray's size is not equal to the size of lengths ({size} vs. {}), and the \
                 TensorArray is not marked as dynamically resizeable",
                lengths.len()
            ));
        }
        let mut start = 0;
        for (index, &length) in lengths.iter().enumerate() {
            let end = start + length as usize;
            array.write(index as i64, value.rows(start..end)?)?;
            start = end;
        }
        let flow = ctx.take_input(3)?;
        ctx.set_output(0, flow);
        Ok(())
    }
}

#[derive(Debug)]
struct Close;

impl Kernel for Close {
    fn new(_: &Attrs<'_>) -> Result<Close> {
        Ok(Close)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.resource::<TensorArray>(0)?.close();
        Ok(())
    }
}

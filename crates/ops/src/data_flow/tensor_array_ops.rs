//! The ops on tensor arrays. Flow, a meaningless number, orders them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Resource, Value, Variable};
use tensorfleet_tensor::{
    DType, PartialShape, Result, Shape, Tensor, invalid_argument, unimplemented_error,
};

use super::join::{join, prepend, row, stack, without_first};
use super::tensor_array::{Options, TensorArray};

/// Counts the arrays and stacks of a step, so that their names differ.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Resource for Counter {
    const TYPE_NAME: &'static str = "tensorfleet::StepCounter";
}

/// A name that no other array or stack has, in this step or in another: programs compare handles.
pub(super) fn unique_name(ctx: &KernelContext<'_>, name: &str) -> Result<String> {
    let counter =
        ctx.step().step_resources.lookup_or_create("", "counter", || Ok(Counter::default()))?;
    let number = counter.0.fetch_add(1, Ordering::Relaxed);
    Ok(format!("{name}_{:x}_{number}", ctx.step().id.0))
}

/// Outputs the handle of a resource of the step.
pub(super) fn set_handle<R: Resource>(ctx: &mut KernelContext<'_>, name: &str) {
    let step = ctx.step();
    let handle = step.step_resources.handle::<R>(&step.device, "", name, Vec::new());
    ctx.set_output(0, Tensor::resource(handle));
}

/// How the versions of the ops hand an array on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handle {
    /// A reference to the strings.
    Reference,
    /// The container and the name.
    Strings,
    Resource,
}

impl Handle {
    /// The kind of handle that a node makes.
    fn of(attrs: &Attrs<'_>) -> Handle {
        match attrs.outputs().first() {
            Some(output) if output.is_ref => Handle::Reference,
            Some(output) if output.dtype == DType::String => Handle::Strings,
            _ => Handle::Resource,
        }
    }

    fn set(self, ctx: &mut KernelContext<'_>, name: &str) -> Result<()> {
        if self == Handle::Resource {
            set_handle::<TensorArray>(ctx, name);
            return Ok(());
        }
        let words = vec!["_tensor_arrays".into(), name.to_owned().into()];
        let pair = Tensor::from_strings(Shape::vector(2), words)?;
        if self == Handle::Strings {
            ctx.set_output(0, pair);
        } else {
            let variable = Variable::new(name, DType::String);
            variable.assign(pair)?;
            ctx.set_output_ref(0, Arc::new(variable));
        }
        Ok(())
    }
}

/// The name of the array that the first input is a handle of, of any version.
fn name_of(ctx: &KernelContext<'_>) -> Result<String> {
    let read;
    let handle = match ctx.value(0)? {
        Value::Tensor(tensor) => tensor,
        Value::Ref(variable) => {
            read = variable.read()?;
            &read
        }
        Value::Empty => return Err(invalid_argument!("a handle is missing")),
    };
    if handle.dtype() == DType::String {
        return match handle.strings()? {
            [_, name] => Ok(String::from_utf8_lossy(name).into_owned()),
            _ => Err(invalid_argument!(
                "Tensor array handle must be 2-element vector, but had shape: {}",
                handle.shape()
            )),
        };
    }
    match handle.resources()? {
        [handle] => Ok(handle.name.clone()),
        _ => Err(invalid_argument!("expected one resource handle, got {}", handle.shape())),
    }
}

fn array_of(ctx: &KernelContext<'_>) -> Result<Arc<TensorArray>> {
    match ctx.value(0)? {
        Value::Tensor(tensor) if tensor.dtype() == DType::Resource => ctx.resource(0),
        _ => ctx.step().step_resources.lookup("", &name_of(ctx)?),
    }
}

#[derive(Debug)]
pub(super) struct Make {
    options: Options,
    handle: Handle,
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
                identical_element_shapes: attrs.get("identical_element_shapes").is_some()
                    && attrs.bool("identical_element_shapes")?,
                aggregates: false,
            },
            handle: Handle::of(attrs),
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
        self.handle.set(ctx, &name)?;
        if ctx.num_outputs() > 1 {
            ctx.set_output(1, Tensor::scalar(0f32));
        }
        Ok(())
    }
}

/// Finds or makes the gradient of an array: one for each `source` of gradients.
#[derive(Debug)]
pub(super) struct Gradient {
    source: String,
    handle: Handle,
}

impl Kernel for Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        Ok(Gradient { source: attrs.string("source")?.into_owned(), handle: Handle::of(attrs) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let forward = array_of(ctx)?;
        let forward_name = name_of(ctx)?;
        let prefix = match ctx.num_inputs() {
            3 => Some(Shape::from_signed(&ctx.input(2)?.to_i64_vec()?)?),
            _ => None,
        };
        let name = format!("{forward_name}@{}", self.source);
        let make = || forward.gradient(name.clone(), prefix.as_ref());
        ctx.step().step_resources.lookup_or_create::<TensorArray>("", &name, make)?;
        self.handle.set(ctx, &name)?;
        if ctx.num_outputs() > 1 {
            let flow = ctx.take_input(1)?;
            ctx.set_output(1, flow);
        }
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
fn value_rows<'a>(ctx: &'a KernelContext<'_>, index: usize, complaint: &str) -> Result<&'a Tensor> {
    let value = ctx.input(index)?;
    if value.rank() == 0 {
        return Err(invalid_argument!("{complaint} but received shape: {}", value.shape()));
    }
    Ok(value)
}

#[derive(Debug)]
pub(super) struct Write {
    dtype: DType,
}

impl Kernel for Write {
    fn new(attrs: &Attrs<'_>) -> Result<Write> {
        Ok(Write { dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = scalar_index(ctx)?;
        let array = array_of(ctx)?;
        array.check_written_dtype(self.dtype)?;
        let value = ctx.take_input(2)?;
        array.write(index, value)?;
        let flow = ctx.take_input(3)?;
        ctx.set_output(0, flow);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Read {
    dtype: DType,
}

impl Kernel for Read {
    fn new(attrs: &Attrs<'_>) -> Result<Read> {
        Ok(Read { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = scalar_index(ctx)?;
        let array = array_of(ctx)?;
        array.check_dtype(self.dtype)?;
        ctx.set_output(0, array.read(index)?);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Gather {
    dtype: DType,
    element_shape: PartialShape,
    /// Whether it takes all elements, and has no indices.
    takes_all: bool,
}

impl Kernel for Gather {
    fn new(attrs: &Attrs<'_>) -> Result<Gather> {
        Ok(Gather {
            dtype: attrs.dtype("dtype")?,
            element_shape: attrs.shape("element_shape")?.clone(),
            takes_all: attrs.op() == "TensorArrayPack",
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = array_of(ctx)?;
        array.check_dtype(self.dtype)?;
        array.narrow_element_shape(&self.element_shape)?;
        let indices =
            if self.takes_all { (0..array.size()? as i64).collect() } else { index_vector(ctx)? };
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
        if !self.element_shape.is_compatible_with(first) {
            return Err(invalid_argument!(
                "TensorArray was passed element_shape {} which does not match the Tensor at index \
                 0: {first}",
                self.element_shape
            ));
        }
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
pub(super) struct Scatter {
    dtype: DType,
    /// Whether it fills all elements, and has no indices.
    fills_all: bool,
}

impl Kernel for Scatter {
    fn new(attrs: &Attrs<'_>) -> Result<Scatter> {
        Ok(Scatter { dtype: attrs.dtype("T")?, fills_all: attrs.op() == "TensorArrayUnpack" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = array_of(ctx)?;
        array.check_written_dtype(self.dtype)?;
        let value = value_rows(
            ctx,
            if self.fills_all { 1 } else { 2 },
            "Input value for unpack must be at least a vector",
        )?;
        let indices = if self.fills_all {
            let (rows, size) = (value.dims()[0], array.size()?);
            if rows < size || (rows > size && !array.is_dynamic()?) {
                return Err(invalid_argument!(
                    "Input value must have first dimension equal to the array size ({rows} vs. \
                     {size})"
                ));
            }
            (0..rows as i64).collect()
        } else {
            index_vector(ctx)?
        };
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
        let flow = ctx.take_input(if self.fills_all { 2 } else { 3 })?;
        ctx.set_output(0, flow);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Size;

impl Kernel for Size {
    fn new(_: &Attrs<'_>) -> Result<Size> {
        Ok(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = array_of(ctx)?.size()?;
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Concat {
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
        let array = array_of(ctx)?;
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
pub(super) struct Split {
    dtype: DType,
}

impl Kernel for Split {
    fn new(attrs: &Attrs<'_>) -> Result<Split> {
        Ok(Split { dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let array = array_of(ctx)?;
        array.check_written_dtype(self.dtype)?;
        let lengths = ctx.input(2)?;
        if lengths.rank() != 1 {
            return Err(invalid_argument!(
                "Expected lengths to be a vector, received shape: {}",
                lengths.shape()
            ));
        }
        let value = value_rows(ctx, 1, "Expected value to be at least a vector,")?;
        let lengths = lengths.values::<i64>()?;
        let total = lengths.iter().fold(0i64, |sum, &length| sum.wrapping_add(length));
        if usize::try_from(total).ok() != Some(value.dims()[0]) {
            return Err(invalid_argument!(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is \
                 {total} and value's shape is: {}",
                value.shape()
            ));
        }
        // What is not negative and adds up can also not be too large.
        let most = value.dims()[0] as i64;
        if lengths.iter().any(|length| !(0..=most).contains(length)) {
            return Err(invalid_argument!("Invalid value in lengths: {lengths:?}"));
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
pub(super) struct Close;

impl Kernel for Close {
    fn new(_: &Attrs<'_>) -> Result<Close> {
        Ok(Close)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        array_of(ctx)?.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_framework::Registry;
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::{OpRun, step_context};

    use super::*;

    /// New clients do not make these ops; old graphs have them.
    #[test]
    fn all_versions_of_handles_name_an_array() {
        let registry = Registry::new(super::super::tensor_array_defs::OPS).unwrap();
        for version in ["", "V2", "V3"] {
            let step = step_context();
            let float = || AttrValue::Type(DType::Float);
            let made = OpRun::new(&format!("TensorArray{version}"))
                .attr("dtype", float())
                .input(Tensor::scalar(2i32))
                .run_values(&registry, &step)
                .unwrap();
            let flow = Tensor::scalar(0f32);
            let values = Tensor::from_slice(Shape::from([2, 1]), &[3f32, 4.0]).unwrap();
            OpRun::new(&format!("TensorArrayScatter{version}"))
                .attr("T", float())
                .input(made[0].clone())
                .input(Tensor::vector(&[0i32, 1]).unwrap())
                .input(values)
                .input(flow.clone())
                .run_in(&registry, &step)
                .unwrap();
            let read = OpRun::new(&format!("TensorArrayConcat{version}"))
                .attr("dtype", float())
                .input(made[0].clone())
                .input(flow)
                .run_in(&registry, &step)
                .unwrap();
            assert_eq!(read[0].values::<f32>().unwrap(), [3.0, 4.0], "version {version}");
        }
    }
}

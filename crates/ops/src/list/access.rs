//! One element of a list at a time.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu, no_gradient};
use tensorfleet_tensor::{DType, Result, Tensor, Variant, invalid_argument};

use super::gradient;
use super::tensor_list::{TensorList, from_variant, list_at, shape_at, take_list};
use crate::data_flow::join::{merge, row};
use crate::logging::summarize;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorListElementShape",
        inputs: &["input_handle: variant"],
        outputs: &["element_shape: shape_type"],
        attrs: &["shape_type: {int32, int64}"],
        kernels: &[cpu::<ElementShape>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListGetItem",
        inputs: &["input_handle: variant", "index: int32", "element_shape: Tshape"],
        outputs: &["item: element_dtype"],
        attrs: &["element_dtype: type", "Tshape: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<GetItem>()],
        gradient: Some(gradient::get_item),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListLength",
        inputs: &["input_handle: variant"],
        outputs: &["length: int32"],
        kernels: &[cpu::<Length>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListPopBack",
        inputs: &["input_handle: variant", "element_shape: int32"],
        outputs: &["output_handle: variant", "tensor: element_dtype"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<PopBack>()],
        gradient: Some(gradient::pop_back),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListPushBack",
        inputs: &["input_handle: variant", "tensor: element_dtype"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<PushBack>()],
        gradient: Some(gradient::push_back),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListPushBackBatch",
        inputs: &["input_handles: variant", "tensor: element_dtype"],
        outputs: &["output_handles: variant"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<PushBackBatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListResize",
        inputs: &["input_handle: variant", "size: int32"],
        outputs: &["output_handle: variant"],
        kernels: &[cpu::<Resize>()],
        gradient: Some(gradient::resize),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListSetItem",
        inputs: &["input_handle: variant", "index: int32", "item: element_dtype"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type", "resize_if_index_out_of_bounds: bool = false"],
        kernels: &[cpu::<SetItem>()],
        gradient: Some(gradient::set_item),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct PushBack {
    dtype: DType,
}

/// Appends an element; `place` is which of several lists it is, in words.
fn push(list: &mut TensorList, element: Tensor, dtype: DType, place: &str) -> Result<()> {
    list.check_dtype(dtype)?;
    if !list.element_shape.is_compatible_with(element.shape()) {
        return Err(invalid_argument!(
            "Tried to append a tensor with incompatible shape to a list{place}. Op element shape: {} \
             list shape: {}",
            element.shape(),
            list.element_shape
        ));
    }
    if usize::try_from(list.max_elements).is_ok_and(|most| list.elements.len() >= most) {
        return Err(invalid_argument!(
            "Tried to push item into a full list list size: {} max_num_elements: {}",
            list.elements.len(),
            list.max_elements
        ));
    }
    list.elements.push(Some(element));
    Ok(())
}

impl Kernel for PushBack {
    fn new(attrs: &Attrs<'_>) -> Result<PushBack> {
        Ok(PushBack { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut list = take_list(ctx, 0)?;
        push(&mut list, ctx.take_input(1)?, self.dtype, "")?;
        ctx.set_output(0, list.into_tensor());
        Ok(())
    }
}

/// Appends a row to each of several lists.
#[derive(Debug)]
struct PushBackBatch {
    dtype: DType,
}

impl Kernel for PushBackBatch {
    fn new(attrs: &Attrs<'_>) -> Result<PushBackBatch> {
        Ok(PushBackBatch { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (handles, batch) = (ctx.input(0)?, ctx.input(1)?);
        if batch.rank() == 0 {
            return Err(invalid_argument!(
                "Expected tensor to be at least a vector, but saw shape: {}",
                batch.shape()
            ));
        }
        if handles.num_elements() != batch.dims()[0] {
            return Err(invalid_argument!(
                "Expected tensor.shape[0] == input_handles.size, but saw {} vs. {}",
                batch.dims()[0],
                handles.num_elements()
            ));
        }
        let mut lists: Vec<Variant> = Vec::with_capacity(handles.num_elements());
        for (index, handle) in handles.variants()?.iter().enumerate() {
            let mut list = from_variant(handle)?.into_owned();
            push(&mut list, row(batch, index)?, self.dtype, &format!(" at index {index}"))?;
            lists.push(Arc::new(list));
        }
        let output = Tensor::from_variants(handles.shape().clone(), lists)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct PopBack {
    dtype: DType,
}

impl Kernel for PopBack {
    fn new(attrs: &Attrs<'_>) -> Result<PopBack> {
        Ok(PopBack { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let hint = shape_at(ctx, 1)?;
        let mut list = take_list(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let element = match list.elements.pop() {
            Some(Some(element)) => element,
            None => return Err(invalid_argument!("Trying to pop from an empty list.")),
            Some(None) => {
                let shape = merge(&hint, &list.element_shape)?;
                let Some(shape) = shape.to_shape() else {
                    return Err(invalid_argument!(
                        "Trying to read an uninitialized tensor but element_shape is not fully \
                         defined.{shape}"
                    ));
                };
                Tensor::zeros(self.dtype, shape)?
            }
        };
        ctx.set_output(0, list.into_tensor());
        ctx.set_output(1, element);
        Ok(())
    }
}

#[derive(Debug)]
struct Length;

impl Kernel for Length {
    fn new(_: &Attrs<'_>) -> Result<Length> {
        Ok(Length)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let length = list_at(ctx, 0)?.elements.len();
        ctx.set_output(0, Tensor::scalar(length as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct ElementShape {
    dtype: DType,
}

impl Kernel for ElementShape {
    fn new(attrs: &Attrs<'_>) -> Result<ElementShape> {
        Ok(ElementShape { dtype: attrs.dtype("shape_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let signed = list_at(ctx, 0)?.element_shape.dims.as_ref().map(|dims| {
            dims.iter().map(|dim| dim.map_or(-1, |dim| dim as i64)).collect::<Vec<_>>()
        });
        let output = match (self.dtype, signed) {
            (DType::Int32, None) => Tensor::scalar(-1i32),
            (_, None) => Tensor::scalar(-1i64),
            (DType::Int32, Some(dims)) => {
                Tensor::vector(&dims.iter().map(|&dim| dim as i32).collect::<Vec<_>>())?
            }
            (_, Some(dims)) => Tensor::vector(&dims)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct GetItem {
    dtype: DType,
}

impl Kernel for GetItem {
    fn new(attrs: &Attrs<'_>) -> Result<GetItem> {
        Ok(GetItem { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = ctx.input(1)?;
        if index.num_elements() != 1 {
            return Err(invalid_argument!(
                "index must be a scalar, but had shape {}",
                index.shape()
            ));
        }
        let index = index.scalar_value::<i32>()?;
        let list = list_at(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let found = usize::try_from(index).ok().and_then(|index| list.elements.get(index));
        let element = match found {
            Some(Some(element)) => element.clone(),
            None => {
                return Err(invalid_argument!(
                    "Trying to access element {index} in a list with {} elements.",
                    list.elements.len()
                ));
            }
            Some(None) => {
                let shape = list.merged_shape(&shape_at(ctx, 2)?)?;
                let Some(shape) = shape.to_shape() else {
                    return Err(invalid_argument!(
                        "Trying to read an uninitialized tensor but element_shape is not fully \
                         defined: {shape} and no list element is set."
                    ));
                };
                Tensor::zeros(self.dtype, shape)?
            }
        };
        drop(list);
        ctx.set_output(0, element);
        Ok(())
    }
}

#[derive(Debug)]
struct SetItem {
    dtype: DType,
    resize: bool,
}

/// The most elements that a list grows to because of an index.
const MOST_ELEMENTS: usize = 1 << 28;

impl Kernel for SetItem {
    fn new(attrs: &Attrs<'_>) -> Result<SetItem> {
        Ok(SetItem {
            dtype: attrs.dtype("element_dtype")?,
            resize: attrs.bool("resize_if_index_out_of_bounds")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let index = ctx.input(1)?;
        if !index.shape().is_scalar() {
            return Err(invalid_argument!(
                "Expected argument 1 to be a scalar. Received{}",
                summarize::with_type(index)
            ));
        }
        let index = index.scalar_value::<i32>()?;
        let item = ctx.take_input(2)?;
        let mut list = take_list(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let size = list.elements.len();
        let most = if self.resize { MOST_ELEMENTS } else { size };
        let Some(position) = usize::try_from(index).ok().filter(|&position| position < most) else {
            return Err(invalid_argument!(
                "Trying to modify element {index} in a list with {size} elements."
            ));
        };
        if !list.element_shape.is_compatible_with(item.shape()) {
            return Err(invalid_argument!(
                "Tried to set a tensor with incompatible shape at a list index. Item element \
                 shape: {} list shape: {}",
                item.shape(),
                list.element_shape
            ));
        }
        if position >= size {
            list.elements.resize(position + 1, None);
        }
        list.elements[position] = Some(item);
        ctx.set_output(0, list.into_tensor());
        Ok(())
    }
}

#[derive(Debug)]
struct Resize;

impl Kernel for Resize {
    fn new(_: &Attrs<'_>) -> Result<Resize> {
        Ok(Resize)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = ctx.input(1)?;
        if !size.shape().is_scalar() {
            return Err(invalid_argument!("size must be a scalar"));
        }
        let size = size.scalar_value::<i32>()?;
        let count = usize::try_from(size).ok().filter(|&count| count <= MOST_ELEMENTS);
        let Some(count) = count else {
            return Err(invalid_argument!(
                "TensorListSlice expects size to be non-negative. Got: {size}"
            ));
        };
        let mut list = take_list(ctx, 0)?;
        list.elements.resize(count, None);
        ctx.set_output(0, list.into_tensor());
        Ok(())
    }
}

//! New lists: empty ones, and ones from the rows of a tensor.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu, no_gradient};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, Variant, invalid_argument};

use super::gradient;
use super::tensor_list::{TensorList, from_variant, shape_at, take_list};
use crate::data_flow::join::{merge, row, without_first};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "EmptyTensorList",
        inputs: &["element_shape: shape_type", "max_num_elements: int32"],
        outputs: &["handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Empty>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListConcatLists",
        inputs: &["input_a: variant", "input_b: variant"],
        outputs: &["output: variant"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<ConcatLists>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListFromTensor",
        inputs: &["tensor: element_dtype", "element_shape: shape_type"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<FromTensor>()],
        gradient: Some(gradient::from_tensor),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListReserve",
        inputs: &["element_shape: shape_type", "num_elements: int32"],
        outputs: &["handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Reserve>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListScatter",
        inputs: &["tensor: element_dtype", "indices: int32", "element_shape: shape_type"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Scatter>()],
        gradient: Some(gradient::scatter),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListScatterIntoExistingList",
        inputs: &["input_handle: variant", "tensor: element_dtype", "indices: int32"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<ScatterIntoExisting>()],
        gradient: Some(gradient::scatter_into_existing),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListScatterV2",
        inputs: &[
            "tensor: element_dtype",
            "indices: int32",
            "element_shape: shape_type",
            "num_elements: int32",
        ],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Scatter>()],
        gradient: Some(gradient::scatter),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListSplit",
        inputs: &["tensor: element_dtype", "element_shape: shape_type", "lengths: int64"],
        outputs: &["output_handle: variant"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Split>()],
        gradient: Some(gradient::split),
        ..Op::DEFAULT
    },
];

/// The most elements that a list is made with.
const MOST_ELEMENTS: usize = 1 << 28;

fn list(dtype: DType, element_shape: PartialShape, elements: Vec<Option<Tensor>>) -> Tensor {
    TensorList { dtype, element_shape, max_elements: -1, elements }.into_tensor()
}

#[derive(Debug)]
struct Empty {
    dtype: DType,
}

impl Kernel for Empty {
    fn new(attrs: &Attrs<'_>) -> Result<Empty> {
        Ok(Empty { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let most = ctx.input(1)?;
        if !most.shape().is_scalar() {
            return Err(invalid_argument!(
                "max_num_elements expected to be a scalar but got shape: {}",
                most.shape()
            ));
        }
        let list = TensorList {
            dtype: self.dtype,
            element_shape: shape_at(ctx, 0)?,
            max_elements: most.scalar_value()?,
            elements: Vec::new(),
        };
        ctx.set_output(0, list.into_tensor());
        Ok(())
    }
}

#[derive(Debug)]
struct Reserve {
    dtype: DType,
}

impl Kernel for Reserve {
    fn new(attrs: &Attrs<'_>) -> Result<Reserve> {
        Ok(Reserve { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = ctx.input(1)?;
        if count.num_elements() != 1 || count.rank() > 1 {
            return Err(invalid_argument!(
                "The num_elements to reserve must be a tensor size 1, but got {}",
                count.shape()
            ));
        }
        let count = count.scalar_value::<i32>()?;
        let Some(size) = usize::try_from(count).ok().filter(|&size| size <= MOST_ELEMENTS) else {
            return Err(invalid_argument!(
                "The num_elements to reserve must be a non negative number, but got {count}"
            ));
        };
        let output = list(self.dtype, shape_at(ctx, 0)?, vec![None; size]);
        ctx.set_output(0, output);
        Ok(())
    }
}

/// A tensor whose rows become elements, and the shape that a row must fit.
fn check_rows(tensor: &Tensor, element_shape: &PartialShape) -> Result<()> {
    if tensor.rank() == 0 {
        return Err(invalid_argument!(
            "Tensor must be at least a vector, but saw shape: {}",
            tensor.shape()
        ));
    }
    let have = without_first(tensor.shape())?;
    if !element_shape.is_compatible_with(&have) {
        return Err(invalid_argument!(
            "Specified a list with shape {element_shape} from a tensor with shape {have}"
        ));
    }
    Ok(())
}

#[derive(Debug)]
struct FromTensor {
    dtype: DType,
}

impl Kernel for FromTensor {
    fn new(attrs: &Attrs<'_>) -> Result<FromTensor> {
        Ok(FromTensor { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let element_shape = shape_at(ctx, 1)?;
        let tensor = ctx.input(0)?;
        check_rows(tensor, &element_shape)?;
        let elements = (0..tensor.dims()[0])
            .map(|index| row(tensor, index).map(Some))
            .collect::<Result<Vec<_>>>()?;
        ctx.set_output(0, list(self.dtype, element_shape, elements));
        Ok(())
    }
}

/// Puts the rows of a tensor at indices of a list.
fn scatter(elements: &mut Vec<Option<Tensor>>, tensor: &Tensor, indices: &[i64]) -> Result<()> {
    if indices.len() != tensor.dims()[0] {
        return Err(invalid_argument!(
            "Expected len(indices) == tensor.shape[0], but saw: {} vs. {}",
            indices.len(),
            tensor.dims()[0]
        ));
    }
    for (position, &index) in indices.iter().enumerate() {
        let index = usize::try_from(index).ok().filter(|&index| index < MOST_ELEMENTS).ok_or_else(
            || invalid_argument!("Indices in TensorListScatter must all be non-negative."),
        )?;
        if index >= elements.len() {
            elements.resize(index + 1, None);
        }
        elements[index] = Some(row(tensor, position)?);
    }
    Ok(())
}

#[derive(Debug)]
struct Scatter {
    dtype: DType,
}

impl Kernel for Scatter {
    fn new(attrs: &Attrs<'_>) -> Result<Scatter> {
        Ok(Scatter { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let element_shape = shape_at(ctx, 2)?;
        let (tensor, indices) = (ctx.input(0)?, ctx.input(1)?.to_i64_vec()?);
        let size = match ctx.num_inputs() {
            4 if !ctx.input(3)?.shape().is_scalar() => {
                return Err(invalid_argument!("num_elements must be a scalar"));
            }
            4 => ctx.input(3)?.scalar_value::<i32>()?,
            _ => -1,
        };
        if size < -1 {
            return Err(invalid_argument!(
                "TensorListScatter expects num_elements >= -1, found: {size}"
            ));
        }
        check_rows(tensor, &element_shape)?;
        if tensor.dims()[0] != indices.len() {
            return Err(invalid_argument!(
                "Invalid number of rows in input tensor. Expected: {} Actual: {}",
                indices.len(),
                tensor.dims()[0]
            ));
        }
        let mut elements = Vec::new();
        if let Ok(size) = usize::try_from(size) {
            if let Some(index) = indices.iter().find(|&&index| index >= size as i64) {
                return Err(invalid_argument!(
                    "TensorListScatter: Trying to scatter at index {index} in list with size {size}"
                ));
            }
            if size > MOST_ELEMENTS {
                return Err(invalid_argument!("num_elements {size} is too large"));
            }
            elements.resize(size, None);
        }
        scatter(&mut elements, tensor, &indices)?;
        ctx.set_output(0, list(self.dtype, element_shape, elements));
        Ok(())
    }
}

#[derive(Debug)]
struct ScatterIntoExisting {
    dtype: DType,
}

impl Kernel for ScatterIntoExisting {
    fn new(attrs: &Attrs<'_>) -> Result<ScatterIntoExisting> {
        Ok(ScatterIntoExisting { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut list = take_list(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let (tensor, indices) = (ctx.input(1)?, ctx.input(2)?);
        if indices.rank() != 1 {
            return Err(invalid_argument!(
                "Expected indices to be a vector, but received shape: {}",
                indices.shape()
            ));
        }
        check_rows(tensor, &list.element_shape)?;
        scatter(&mut list.elements, tensor, &indices.to_i64_vec()?)?;
        ctx.set_output(0, list.into_tensor());
        Ok(())
    }
}

#[derive(Debug)]
struct Split {
    dtype: DType,
}

impl Kernel for Split {
    fn new(attrs: &Attrs<'_>) -> Result<Split> {
        Ok(Split { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let element_shape = shape_at(ctx, 1)?;
        let (tensor, lengths) = (ctx.input(0)?, ctx.input(2)?);
        if tensor.rank() == 0 {
            return Err(invalid_argument!(
                "Tensor must be at least a vector, but saw shape: {}",
                tensor.shape()
            ));
        }
        if lengths.rank() != 1 {
            return Err(invalid_argument!(
                "Expected lengths to be a vector, received shape: {}",
                lengths.shape()
            ));
        }
        if element_shape.dims.as_deref().is_some_and(<[_]>::is_empty) {
            return Err(invalid_argument!(
                "TensorListSplit requires element_shape to be at least of rank 1, but saw: \
                 {element_shape}"
            ));
        }
        // The rows of an element are counted by its length; the rest of the shape must fit.
        let rest = |dims: &[Option<usize>]| dims.get(1..).unwrap_or(&[]).to_vec();
        let declared = PartialShape { dims: element_shape.dims.as_deref().map(rest) };
        let have = without_first(tensor.shape())?;
        if !declared.is_compatible_with(&have) {
            return Err(invalid_argument!(
                "tensor shape {} is not compatible with element_shape {element_shape}",
                tensor.shape()
            ));
        }
        let rows = tensor.dims()[0];
        let mut start: usize = 0;
        let mut elements = Vec::with_capacity(lengths.num_elements());
        for &length in lengths.values::<i64>()? {
            let Ok(count) = usize::try_from(length) else {
                return Err(invalid_argument!("Invalid value in lengths: {length}"));
            };
            let Some(end) = start.checked_add(count).filter(|&end| end <= rows) else {
                return Err(invalid_argument!(
                    "Attempting to slice [{start}, {}] from tensor with length {rows}",
                    (start as i64).saturating_add(length)
                ));
            };
            elements.push(Some(tensor.rows(start..end)?));
            start = end;
        }
        if start != rows {
            return Err(invalid_argument!(
                "Unused values in tensor. Length of tensor: {rows} Values used: {start}"
            ));
        }
        ctx.set_output(0, list(self.dtype, element_shape, elements));
        Ok(())
    }
}

/// Joins two lists, or pairs of lists of the same shape.
#[derive(Debug)]
struct ConcatLists {
    dtype: DType,
}

impl ConcatLists {
    fn join(&self, a: &TensorList, b: &TensorList) -> Result<TensorList> {
        for list in [a, b] {
            if list.dtype != self.dtype {
                return Err(invalid_argument!(
                    "input_list dtype {} does not match op dtype {}",
                    list.dtype,
                    self.dtype
                ));
            }
        }
        let elements = a.elements.iter().chain(&b.elements).cloned().collect();
        let element_shape = merge(&a.element_shape, &b.element_shape)?;
        Ok(TensorList { element_shape, elements, ..*a })
    }
}

impl Kernel for ConcatLists {
    fn new(attrs: &Attrs<'_>) -> Result<ConcatLists> {
        Ok(ConcatLists { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        if a.shape() != b.shape() {
            return Err(invalid_argument!(
                "Incompatible input TensorList tensor shapes: {} vs. {}",
                a.shape(),
                b.shape()
            ));
        }
        let mut joined: Vec<Variant> = Vec::with_capacity(a.num_elements());
        for (a, b) in a.variants()?.iter().zip(b.variants()?) {
            joined.push(Arc::new(self.join(&*from_variant(a)?, &*from_variant(b)?)?));
        }
        let joined = Tensor::from_variants(a.shape().clone(), joined)?;
        ctx.set_output(0, joined);
        Ok(())
    }
}

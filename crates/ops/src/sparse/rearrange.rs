//! Sparse tensors in another order or under another shape, and with no row empty.

use std::sync::Arc;

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::number::{NUMBERS, Number, for_number};
use super::parts::{check_parts, dense_shape};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseFillEmptyRows",
        inputs: &["indices: int64", "values: T", "dense_shape: int64", "default_value: T"],
        outputs: &[
            "output_indices: int64",
            "output_values: T",
            "empty_row_indicator: bool",
            "reverse_index_map: int64",
        ],
        attrs: &["T: type"],
        kernels: &[cpu::<FillEmptyRows>()],
        gradient: Some(fill_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseFillEmptyRowsGrad",
        inputs: &["reverse_index_map: int64", "grad_values: T"],
        outputs: &["d_values: T", "d_default_value: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<FillEmptyRowsGrad>().types("T", NUMBERS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseReorder",
        inputs: &["input_indices: int64", "input_values: T", "input_shape: int64"],
        outputs: &["output_indices: int64", "output_values: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<Reorder>()],
        gradient: Some(reorder_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseReshape",
        inputs: &["input_indices: int64", "input_shape: int64", "new_shape: int64"],
        outputs: &["output_indices: int64", "output_shape: int64"],
        kernels: &[cpu::<Reshape>()],
        ..Op::DEFAULT
    },
];

/// The elements of a vector of any type at given places.
pub(super) fn pick(values: &Tensor, places: &[usize]) -> Result<Tensor> {
    pick_rows(values, places, 1, Shape::vector(places.len()))
}

/// A tensor of `shape`, of the rows of `len` elements of any type at given places.
pub(super) fn pick_rows(
    values: &Tensor,
    places: &[usize],
    len: usize,
    shape: Shape,
) -> Result<Tensor> {
    let rows = places.iter().map(|&at| at * len..(at + 1) * len);
    match values.dtype() {
        DType::String => {
            let strings = values.strings()?;
            Tensor::from_strings(shape, rows.flat_map(|row| strings[row].iter().cloned()).collect())
        }
        DType::Resource => {
            let handles = values.resources()?;
            let picked = rows.flat_map(|row| handles[row].iter().cloned()).collect();
            Tensor::from_resources(shape, picked)
        }
        DType::Variant => {
            let variants = values.variants()?;
            let picked = rows.flat_map(|row| variants[row].iter().map(Arc::clone)).collect();
            Tensor::from_variants(shape, picked)
        }
        dtype => {
            let (size, raw) = (dtype.size() * len, values.raw());
            Tensor::build_raw(dtype, shape, |out| {
                if size > 0 {
                    for (to, &at) in out.chunks_exact_mut(size).zip(places) {
                        to.copy_from_slice(&raw[at * size..(at + 1) * size]);
                    }
                }
                Ok(())
            })
        }
    }
}

/// A matrix of indices, `rank` to a row.
pub(super) fn index_matrix(indices: &[i64], rank: usize, rows: usize) -> Result<Tensor> {
    Tensor::from_slice(Shape::new(&[rows, rank])?, indices)
}

/// Sorts by row-major order.
#[derive(Debug)]
struct Reorder;

impl Kernel for Reorder {
    fn new(_: &Attrs<'_>) -> Result<Reorder> {
        Ok(Reorder)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, values) = (ctx.input(0)?, ctx.input(1)?);
        check_parts(indices, values, ctx.input(2)?)?;
        let (count, rank) = (indices.dims()[0], indices.dims()[1]);
        let flat = indices.values::<i64>()?;
        let index = |at: usize| &flat[at * rank..(at + 1) * rank];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| index(a).cmp(index(b)));
        let sorted: Vec<i64> = order.iter().flat_map(|&at| index(at).iter().copied()).collect();
        let outputs = (index_matrix(&sorted, rank, count)?, pick(values, &order)?);
        ctx.set_output(0, outputs.0);
        ctx.set_output(1, outputs.1);
        Ok(())
    }
}

#[derive(Debug)]
struct Reshape;

/// The new shape, with the dimension given as -1 worked out.
fn target_shape(input: &Shape, requested: &[i64]) -> Result<Shape> {
    let dense = input.num_elements();
    let mut unknown = None;
    let mut dims = Vec::with_capacity(requested.len());
    for (at, &dim) in requested.iter().enumerate() {
        if dim == -1 {
            if let Some(first) = unknown {
                return Err(invalid_argument!(
                    "only one output dimension may be -1, not both {first} and {at}"
                ));
            }
            unknown = Some(at);
            dims.push(1);
        } else {
            dims.push(
                usize::try_from(dim)
                    .map_err(|_| invalid_argument!("size {at} must be non-negative, not {dim}"))?,
            );
        }
    }
    let known = Shape::new(&dims)?.num_elements();
    if let Some(at) = unknown {
        if known == 0 {
            return Err(invalid_argument!(
                "reshape cannot infer the missing input size for an empty tensor unless all \
                 specified input sizes are non-zero"
            ));
        }
        if !dense.is_multiple_of(known) {
            return Err(invalid_argument!(
                "Input to reshape is a SparseTensor with {dense} dense values, but the requested \
                 shape requires a multiple of {known}. input_shape={input} output_shape={}",
                Shape::new(&dims)?
            ));
        }
        dims[at] = dense / known;
    }
    let shape = Shape::new(&dims)?;
    if shape.num_elements() != dense {
        return Err(invalid_argument!(
            "Input to reshape is a tensor with {dense} dense values, but the requested shape has \
             {}. input_shape={input} output_shape={shape}",
            shape.num_elements()
        ));
    }
    Ok(shape)
}

impl Kernel for Reshape {
    fn new(_: &Attrs<'_>) -> Result<Reshape> {
        Ok(Reshape)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, input, requested) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if indices.rank() != 2 {
            return Err(invalid_argument!("Input must be a matrix."));
        }
        if input.rank() != 1 {
            return Err(invalid_argument!("Input shape must be a vector."));
        }
        if requested.rank() != 1 {
            return Err(invalid_argument!(
                "Target shape should be a vector but received shape {}",
                requested.shape()
            ));
        }
        let rank = indices.dims()[1];
        if input.num_elements() != rank {
            return Err(invalid_argument!("Input tensor rank must match input shape length."));
        }
        let from = dense_shape(input.values()?)?;
        let to = target_shape(&from, requested.values()?)?;
        let mut output = Vec::with_capacity(indices.dims()[0] * to.rank());
        for index in indices.values::<i64>()?.chunks_exact(rank.max(1)) {
            // An index outside is as good as any other: what it counts to is what is spread.
            let mut flat = index
                .iter()
                .zip(from.signed())
                .fold(0i64, |flat, (&index, dim)| flat.wrapping_mul(dim).wrapping_add(index));
            let start = output.len();
            output.resize(start + to.rank(), 0);
            for (at, dim) in to.signed().enumerate().skip(1).collect::<Vec<_>>().into_iter().rev() {
                output[start + at] = flat.checked_rem(dim).unwrap_or_default();
                flat = flat.checked_div(dim).unwrap_or_default();
            }
            if let Some(first) = output.get_mut(start) {
                *first = flat;
            }
        }
        let output = index_matrix(&output, to.rank(), indices.dims()[0])?;
        ctx.set_output(0, output);
        ctx.set_output(1, Tensor::vector(&to.signed().collect::<Vec<_>>())?);
        Ok(())
    }
}

/// Puts a default value into the first column of each empty row.
#[derive(Debug)]
struct FillEmptyRows;

impl Kernel for FillEmptyRows {
    fn new(_: &Attrs<'_>) -> Result<FillEmptyRows> {
        Ok(FillEmptyRows)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, values) = (ctx.input(0)?, ctx.input(1)?);
        let (shape, default) = (ctx.input(2)?, ctx.input(3)?);
        for (holds, what, part) in [
            (shape.rank() == 1, "dense_shape must be a vector", shape),
            (indices.rank() == 2, "indices must be a matrix", indices),
            (values.rank() == 1, "values must be a vector", values),
            (default.rank() == 0, "default_value must be a scalar", default),
        ] {
            if !holds {
                return Err(invalid_argument!("{what}, saw: {}", part.shape()));
            }
        }
        let (count, rank) = (indices.dims()[0], indices.dims()[1]);
        if values.num_elements() != count {
            return Err(invalid_argument!(
                "The length of `values` ({}) must match the first dimension of `indices` ({count}).",
                values.num_elements()
            ));
        }
        if shape.num_elements() == 0 || rank == 0 {
            return Err(invalid_argument!("Dense shape cannot be empty."));
        }
        let rows = usize::try_from(shape.values::<i64>()?[0])
            .map_err(|_| invalid_argument!("dense_shape must not be negative"))?;
        if rows == 0 && count > 0 {
            return Err(invalid_argument!(
                "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {count}"
            ));
        }
        let mut by_row: Vec<usize> = Vec::with_capacity(count);
        let flat = indices.values::<i64>()?;
        for (at, index) in flat.chunks_exact(rank).enumerate() {
            let row = usize::try_from(index[0]).ok().filter(|&row| row < rows);
            by_row.push(row.ok_or_else(|| {
                invalid_argument!("indices({at}, 0) is invalid: {} >= {rows}", index[0])
            })?);
        }
        let Filled { empty, places, reverse, rows: row_of } = fill_rows(&by_row, rows)?;
        let mut out_indices = Vec::with_capacity(places.len() * rank);
        for (&place, row) in places.iter().zip(row_of) {
            if place < count {
                out_indices.extend_from_slice(&flat[place * rank..(place + 1) * rank]);
            } else {
                out_indices.push(row);
                out_indices.resize(out_indices.len() + rank - 1, 0);
            }
        }
        let output =
            (index_matrix(&out_indices, rank, places.len())?, pick_or(values, default, &places)?);
        ctx.set_output(0, output.0);
        ctx.set_output(1, output.1);
        ctx.set_output(2, empty);
        ctx.set_output(3, Tensor::vector(&reverse)?);
        Ok(())
    }
}

/// Rows of which none is empty.
pub(super) struct Filled {
    /// Which rows were empty.
    pub(super) empty: Tensor,
    /// The place of each value; one behind the last for the default value.
    pub(super) places: Vec<usize>,
    /// Where each value went.
    pub(super) reverse: Vec<i64>,
    /// The row of each value.
    pub(super) rows: Vec<i64>,
}

/// Sorts values by their rows and puts a default value into each row without one.
pub(super) fn fill_rows(by_row: &[usize], rows: usize) -> Result<Filled> {
    let count = by_row.len();
    // The shape of the outputs bounds what is allocated, so it is made first.
    let mut indicator = Tensor::zeros(DType::Bool, Shape::vector(rows))?;
    let empty = indicator.values_mut::<bool>()?;
    empty.fill(true);
    by_row.iter().for_each(|&row| empty[row] = false);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&at| by_row[at]);
    let (mut places, mut row_of) = (Vec::new(), Vec::new());
    let mut reverse = vec![0i64; count];
    let mut next = order.into_iter().peekable();
    for (row, &is_empty) in empty.iter().enumerate() {
        if is_empty {
            places.push(count);
            row_of.push(row as i64);
        }
        while let Some(at) = next.next_if(|&at| by_row[at] == row) {
            reverse[at] = places.len() as i64;
            places.push(at);
            row_of.push(row as i64);
        }
    }
    Ok(Filled { empty: indicator, places, reverse, rows: row_of })
}

/// The elements of a vector at given places, of which the one behind the last is `default`.
pub(super) fn pick_or(values: &Tensor, default: &Tensor, places: &[usize]) -> Result<Tensor> {
    let shape = Shape::vector(values.num_elements() + 1);
    let parts = [values.clone(), default.clone()];
    pick(&crate::data_flow::join::join(values.dtype(), shape, &parts)?, places)
}

#[derive(Debug)]
pub(super) struct FillEmptyRowsGrad;

impl Kernel for FillEmptyRowsGrad {
    fn new(_: &Attrs<'_>) -> Result<FillEmptyRowsGrad> {
        Ok(FillEmptyRowsGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (map, grad) = (ctx.input(0)?, ctx.input(1)?);
        for (what, part) in [("reverse_index_map", map), ("grad_values", grad)] {
            if part.rank() != 1 {
                return Err(invalid_argument!("{what} must be a vector, saw: {}", part.shape()));
            }
        }
        let count = grad.num_elements();
        let mut used = vec![false; count];
        let mut places = Vec::with_capacity(map.num_elements());
        for &at in map.values::<i64>()? {
            let place =
                usize::try_from(at).ok().filter(|&place| place < count).ok_or_else(|| {
                    invalid_argument!(
                        "Elements in reverse index must be in [0, {count}) but got {at}"
                    )
                })?;
            used[place] = true;
            places.push(place);
        }
        let values = pick(grad, &places)?;
        let default = for_number!(grad.dtype(), T => {
            let rest = grad.values::<T>()?.iter().zip(&used).filter(|(_, used)| !**used);
            Ok(Tensor::scalar(rest.fold(T::default(), |sum, (&value, _)| sum.plus(value))))
        })?;
        ctx.set_output(0, values);
        ctx.set_output(1, default);
        Ok(())
    }
}

fn fill_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("SparseFillEmptyRowsGrad").input(g.output(3)).input(g.grad(1)?);
    let [values, default] = g.outs(node)?;
    Ok(vec![None, Some(values.into()), None, Some(default.into())])
}

/// Numbers that are put in order the same way tell where each value went.
fn reorder_gradient(g: &GradientContext<'_>) -> InputGradients {
    let count = g.size_tensor(g.input(1))?;
    let numbers = g.call("Range", [g.scalar(0i32)?, count, g.scalar(1i32)?])?;
    let node = NewNode::new("SparseReorder").input(g.input(0)).input(numbers).input(g.input(2));
    let [_, order] = g.outs(node)?;
    let back = g.call("InvertPermutation", [order])?;
    let values = g.call("GatherV2", [g.grad(1)?, back, g.scalar(0i32)?])?;
    Ok(vec![None, Some(values.into()), None])
}

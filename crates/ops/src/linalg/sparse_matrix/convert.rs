//! Sparse matrices from tensors, and tensors from them.

use num_complex::Complex;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::scalar::Scalar;
use super::{SparseMatrix, check_type, matrix_input, set_matrix, sizes, unsupported};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CSRSparseMatrixComponents",
        inputs: &["csr_sparse_matrix: variant", "index: int32"],
        outputs: &["row_ptrs: int32", "col_inds: int32", "values: type"],
        attrs: &["type: {float, double, complex64, complex128}"],
        kernels: &[cpu::<Components>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CSRSparseMatrixToDense",
        inputs: &["sparse_input: variant"],
        outputs: &["dense_output: type"],
        attrs: &["type: {float, double, complex64, complex128}"],
        kernels: &[cpu::<ToDense>()],
        gradient: Some(dense_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "CSRSparseMatrixToSparseTensor",
        inputs: &["sparse_matrix: variant"],
        outputs: &["indices: int64", "values: type", "dense_shape: int64"],
        attrs: &["type: {float, double, complex64, complex128}"],
        kernels: &[cpu::<ToSparseTensor>()],
        gradient: Some(tensor_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "DenseToCSRSparseMatrix",
        inputs: &["dense_input: T", "indices: int64"],
        outputs: &["sparse_output: variant"],
        attrs: &["T: {float, double, complex64, complex128}"],
        kernels: &[cpu::<FromDense>()],
        gradient: Some(from_dense_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseMatrixNNZ",
        inputs: &["sparse_matrix: variant"],
        outputs: &["nnz: int32"],
        kernels: &[cpu::<EntryCounts>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseTensorToCSRSparseMatrix",
        inputs: &["indices: int64", "values: T", "dense_shape: int64"],
        outputs: &["sparse_matrix: variant"],
        attrs: &["T: {float, double, complex64, complex128}"],
        kernels: &[cpu::<FromSparseTensor>()],
        gradient: Some(from_tensor_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct FromSparseTensor;

impl Kernel for FromSparseTensor {
    fn new(_: &Attrs<'_>) -> Result<FromSparseTensor> {
        Ok(FromSparseTensor)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let dims = Shape::from_signed(&shape.to_i64_vec()?)?;
        sizes(dims.dims())?;
        if values.rank() != 1 || indices.dims() != [values.num_elements(), dims.rank()] {
            return Err(invalid_argument!(
                "indices of shape {} and values of shape {} do not belong to a sparse tensor of \
                 shape {dims}",
                indices.shape(),
                values.shape()
            ));
        }
        let matrix =
            SparseMatrix::from_entries(dims.dims(), indices.values::<i64>()?, values.clone())?;
        set_matrix(ctx, matrix)
    }
}

#[derive(Debug)]
struct FromDense;

impl Kernel for FromDense {
    fn new(_: &Attrs<'_>) -> Result<FromDense> {
        Ok(FromDense)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (dense, indices) = (ctx.input(0)?, ctx.input(1)?);
        let rank = dense.rank();
        sizes(dense.dims())?;
        if indices.rank() != 2 || indices.dims()[1] != rank {
            return Err(invalid_argument!(
                "indices.shape[1] must match rank of dense; saw shape {} vs. {rank}",
                indices.shape()
            ));
        }
        let indices = indices.values::<i64>()?;
        let mut places = Vec::with_capacity(indices.len() / rank);
        for (at, index) in indices.chunks_exact(rank).enumerate() {
            let mut place = Some(0);
            for (&index, &size) in index.iter().zip(dense.dims()) {
                let index = usize::try_from(index).ok().filter(|&index| index < size);
                place = place.zip(index).map(|(place, index)| place * size + index);
            }
            places.push(place.ok_or_else(|| {
                let words: Vec<_> = index.iter().map(ToString::to_string).collect();
                invalid_argument!(
                    "indices[{at}] = [{}] does not index into param shape {}, node name: {}",
                    words.join(", "),
                    dense.shape(),
                    ctx.node_name()
                )
            })?);
        }
        let values = dispatch!(
            dense.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => {
                let dense = dense.values::<S>()?;
                Tensor::vector(&places.iter().map(|&place| dense[place]).collect::<Vec<S>>())
            },
            else => Err(unsupported(dense.dtype()))
        )?;
        let matrix = SparseMatrix::from_entries(dense.dims(), indices, values)?;
        set_matrix(ctx, matrix)
    }
}

#[derive(Debug)]
struct Components(DType);

impl Kernel for Components {
    fn new(attrs: &Attrs<'_>) -> Result<Components> {
        Ok(Components(attrs.dtype("type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (matrix, index) = (matrix_input(ctx, 0)?, ctx.input(1)?);
        if matrix.dtype() != self.0 {
            return Err(invalid_argument!(
                "dtype of input is not equal to 'type': {} vs. {}",
                matrix.dtype(),
                self.0
            ));
        }
        if !index.shape().is_scalar() {
            return Err(invalid_argument!("index should be a scalar, but saw: {}", index.shape()));
        }
        let index: i32 = index.scalar_value()?;
        let Some(at) = usize::try_from(index).ok().filter(|&at| at < matrix.count()) else {
            return Err(invalid_argument!("index ({index}) not in [0, {})", matrix.count()));
        };
        let outputs = dispatch!(
            self.0,
            [f32, f64, Complex<f32>, Complex<f64>],
            S => {
                let part = matrix.parts::<S>()?[at];
                [
                    Tensor::vector(part.row_starts)?,
                    Tensor::vector(part.entry_columns)?,
                    Tensor::vector(part.values)?,
                ]
            },
            else => return Err(unsupported(self.0))
        );
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct ToDense(DType);

impl Kernel for ToDense {
    fn new(attrs: &Attrs<'_>) -> Result<ToDense> {
        Ok(ToDense(attrs.dtype("type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let matrix = matrix_input(ctx, 0)?;
        check_type(matrix, self.0)?;
        let output = dispatch!(
            self.0,
            [f32, f64, Complex<f32>, Complex<f64>],
            S => dense::<S>(matrix),
            else => Err(unsupported(self.0))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn dense<S: Scalar>(matrix: &SparseMatrix) -> Result<Tensor> {
    let (parts, size) = (matrix.parts::<S>()?, matrix.rows * matrix.columns);
    Tensor::build(Shape::new(&matrix.dims())?, |out: &mut [S]| {
        out.fill(S::zero());
        for (part, out) in parts.iter().zip(out.chunks_exact_mut(size.max(1))) {
            for (row, column, value) in part.entries() {
                out[row * matrix.columns + column] = value;
            }
        }
    })
}

#[derive(Debug)]
struct ToSparseTensor(DType);

impl Kernel for ToSparseTensor {
    fn new(attrs: &Attrs<'_>) -> Result<ToSparseTensor> {
        Ok(ToSparseTensor(attrs.dtype("type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let matrix = matrix_input(ctx, 0)?;
        check_type(matrix, self.0)?;
        let dims = matrix.dims();
        let mut indices = Vec::with_capacity(matrix.entry_columns.len() * dims.len());
        let mut columns = matrix.entry_columns.iter();
        for (batch, starts) in matrix.row_starts.chunks_exact(matrix.rows + 1).enumerate() {
            for (row, ends) in starts.windows(2).enumerate() {
                for &column in columns.by_ref().take((ends[1] - ends[0]) as usize) {
                    indices.extend(matrix.batches.map(|_| batch as i64));
                    indices.extend([row as i64, i64::from(column)]);
                }
            }
        }
        let entries = Shape::new(&[matrix.entry_columns.len(), dims.len()])?;
        let sizes: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let values = matrix.values.clone();
        ctx.set_output(0, Tensor::from_slice(entries, &indices)?);
        ctx.set_output(1, values);
        ctx.set_output(2, Tensor::vector(&sizes)?);
        Ok(())
    }
}

#[derive(Debug)]
struct EntryCounts;

impl Kernel for EntryCounts {
    fn new(_: &Attrs<'_>) -> Result<EntryCounts> {
        Ok(EntryCounts)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let matrix = matrix_input(ctx, 0)?;
        let counts: Vec<i32> = matrix.entry_counts().collect();
        let shape = matrix.batches.map_or(Shape::SCALAR, Shape::vector);
        ctx.set_output(0, Tensor::from_slice(shape, &counts)?);
        Ok(())
    }
}

/// The elements of a matrix as a sparse tensor: indices, values and shape.
pub(super) fn elements(
    g: &GradientContext<'_>,
    matrix: Output,
    dtype: DType,
) -> Result<[Output; 3]> {
    g.outs(NewNode::new("CSRSparseMatrixToSparseTensor").input(matrix).attr("type", dtype))
}

fn dense_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let [indices, _, shape] = elements(g, g.input(0), g.dtype(grad))?;
    let values = g.call("GatherNd", [grad, indices])?;
    only(g.call("SparseTensorToCSRSparseMatrix", [indices, values, shape])?)
}

fn tensor_gradient(g: &GradientContext<'_>) -> InputGradients {
    let parts = [g.output(0), g.grad(1)?, g.output(2)];
    only(g.call("SparseTensorToCSRSparseMatrix", parts)?)
}

fn from_dense_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("CSRSparseMatrixToDense").input(g.grad(0)?);
    let dense = g.out(node.attr("type", g.dtype(g.input(0))))?;
    Ok(vec![Some(dense.into()), None])
}

fn from_tensor_gradient(g: &GradientContext<'_>) -> InputGradients {
    let [_, values, _] = elements(g, g.grad(0)?, g.dtype(g.input(1)))?;
    Ok(vec![None, Some(values.into()), None])
}

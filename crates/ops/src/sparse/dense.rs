//! From sparse tensors to dense ones: `SparseToDense` and the product with a matrix.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext,
    Value, cpu,
};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, invalid_argument, try_repeat};

use super::number::{Number, for_number};
use tensorfleet_tensor::PartialShape;

const PRODUCTS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Complex64,
    DType::Complex128,
    DType::BFloat16,
    DType::Half,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseTensorDenseMatMul",
        inputs: &["a_indices: Tindices", "a_values: T", "a_shape: int64", "b: T"],
        outputs: &["product: T"],
        attrs: &[
            "T: type",
            "Tindices: {int32, int64} = DT_INT64",
            "adjoint_a: bool = false",
            "adjoint_b: bool = false",
        ],
        kernels: &[cpu::<MatMul>().types("T", PRODUCTS)],
        gradient: Some(product_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseToDense",
        inputs: &[
            "sparse_indices: Tindices",
            "output_shape: Tindices",
            "sparse_values: T",
            "default_value: T",
        ],
        outputs: &["dense: T"],
        attrs: &["validate_indices: bool = true", "T: type", "Tindices: {int32, int64}"],
        kernels: &[cpu::<ToDense>()],
        shape: Some(to_dense_shape),
        gradient: Some(to_dense_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ToDense {
    validate: bool,
}

fn bracketed(values: &[i64]) -> String {
    let words: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("[{}]", words.join(","))
}

/// The offset of an index in a dense tensor, if it lies inside.
pub(super) fn offset(index: &[i64], dims: &[usize]) -> Option<usize> {
    index.iter().zip(dims).try_fold(0usize, |offset, (&index, &dim)| {
        let index = usize::try_from(index).ok().filter(|&index| index < dim)?;
        Some(offset * dim + index)
    })
}

impl ToDense {
    /// Where each value goes.
    fn offsets(&self, indices: &[i64], rank: usize, shape: &Shape) -> Result<Vec<usize>> {
        let mut offsets = Vec::with_capacity(indices.len() / rank.max(1));
        // Inside of the shape, the order of indices is that of their offsets.
        let mut previous: Option<usize> = None;
        for (at, index) in indices.chunks_exact(rank.max(1)).enumerate() {
            let here = || format!("indices[{at}] = {}", bracketed(index));
            let Some(offset) = offset(index, shape.dims()) else {
                return Err(if self.validate {
                    invalid_argument!("{} is out of bounds: need 0 <= index < {shape}", here())
                } else {
                    invalid_argument!("Indices are not valid (out of bounds).  Shape: {shape}")
                });
            };
            if self.validate
                && let Some(previous) = previous
            {
                if offset == previous {
                    return Err(invalid_argument!("{} is repeated", here()));
                }
                if offset < previous {
                    return Err(invalid_argument!(
                        "{} is out of order. Many sparse ops require sorted indices.\n    Use \
                         `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                        here()
                    ));
                }
            }
            previous = Some(offset);
            offsets.push(offset);
        }
        Ok(offsets)
    }
}

impl Kernel for ToDense {
    fn new(attrs: &Attrs<'_>) -> Result<ToDense> {
        Ok(ToDense { validate: attrs.bool("validate_indices")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, shape) = (ctx.input(0)?, ctx.input(1)?);
        let (values, default) = (ctx.input(2)?, ctx.input(3)?);
        if indices.rank() > 2 {
            return Err(invalid_argument!(
                "sparse_indices should be a scalar, vector, or matrix, got shape {}",
                indices.shape()
            ));
        }
        let count = indices.dims().first().copied().unwrap_or(1);
        let rank = indices.dims().get(1).copied().unwrap_or(1);
        if shape.rank() != 1 {
            return Err(invalid_argument!(
                "output_shape must be rank 1, got shape {}",
                shape.shape()
            ));
        }
        if shape.num_elements() != rank {
            return Err(invalid_argument!(
                "output_shape has incorrect number of elements: {} should be: {rank}",
                shape.num_elements()
            ));
        }
        if values.rank() > 1 || (values.rank() == 1 && values.num_elements() != count) {
            return Err(invalid_argument!(
                "sparse_values has incorrect shape {}, should be [] or [{count}]",
                values.shape()
            ));
        }
        if !default.shape().is_scalar() {
            return Err(invalid_argument!("default_value should be a scalar."));
        }
        let shape = Shape::from_signed(&shape.to_i64_vec()?)?;
        let offsets = match indices.values::<i64>() {
            Ok(indices) => self.offsets(indices, rank, &shape)?,
            Err(_) => self.offsets(&indices.to_i64_vec()?, rank, &shape)?,
        };
        let stride = usize::from(values.rank() == 1);
        let output = match values.dtype() {
            DType::String => {
                let mut output = try_repeat(default.strings()?[0].clone(), shape.num_elements())?;
                for (at, &offset) in offsets.iter().enumerate() {
                    output[offset] = values.strings()?[at * stride].clone();
                }
                Tensor::from_strings(shape, output)?
            }
            dtype if dtype.is_plain() => {
                let size = dtype.size();
                let (values, default) = (values.raw(), default.raw());
                Tensor::build_raw(dtype, shape, |out| {
                    match size {
                        1 => scatter::<1>(out, default, values, stride, &offsets),
                        2 => scatter::<2>(out, default, values, stride, &offsets),
                        4 => scatter::<4>(out, default, values, stride, &offsets),
                        8 => scatter::<8>(out, default, values, stride, &offsets),
                        _ => scatter::<16>(out, default, values, stride, &offsets),
                    }
                    Ok(())
                })?
            }
            dtype => {
                return Err(tensorfleet_tensor::unimplemented_error!(
                    "SparseToDense of type {dtype}"
                ));
            }
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Puts values of `N` bytes at their offsets, and the default elsewhere. Every value is the first one
/// if the stride is zero.
fn scatter<const N: usize>(
    out: &mut [u8],
    default: &[u8],
    values: &[u8],
    stride: usize,
    offsets: &[usize],
) {
    let (out, _) = out.as_chunks_mut::<N>();
    let (values, _) = values.as_chunks::<N>();
    if let Some(default) = default.first_chunk::<N>() {
        out.fill(*default);
    }
    for (at, &offset) in offsets.iter().enumerate() {
        out[offset] = values[at * stride];
    }
}

/// The product of a sparse and a dense matrix.
#[derive(Debug)]
struct MatMul {
    adjoint_a: bool,
    adjoint_b: bool,
}

/// A number with a conjugate.
trait Conjugate: Number {
    fn conjugate(self) -> Self {
        self
    }
}

macro_rules! real {
    ($($type:ty)*) => { $(impl Conjugate for $type {})* };
}

real! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 half::f16 half::bf16 }

impl Conjugate for num_complex::Complex<f32> {
    fn conjugate(self) -> Self {
        self.conj()
    }
}

impl Conjugate for num_complex::Complex<f64> {
    fn conjugate(self) -> Self {
        self.conj()
    }
}

/// The sparse factor: where its values are, already checked.
struct Entries {
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl MatMul {
    fn multiply<T: Conjugate>(
        &self,
        entries: &Entries,
        values: &Tensor,
        b: &Tensor,
        shape: Shape,
    ) -> Result<Tensor> {
        let values = values.values::<T>()?;
        let width = shape.dims()[1];
        let transposed;
        let b = if self.adjoint_b {
            transposed = adjoint::<T>(b)?;
            transposed.as_slice()
        } else {
            b.values::<T>()?
        };
        Tensor::build(shape, |out: &mut [T]| {
            out.fill(T::default());
            for ((&row, &column), &value) in entries.rows.iter().zip(&entries.columns).zip(values) {
                let value = if self.adjoint_a { value.conjugate() } else { value };
                let from = &b[column * width..(column + 1) * width];
                let to = &mut out[row * width..(row + 1) * width];
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = to.plus(value.times(from));
                }
            }
        })
    }
}

fn adjoint<T: Conjugate + Element>(matrix: &Tensor) -> Result<Vec<T>> {
    let (rows, columns) = (matrix.dims()[0], matrix.dims()[1]);
    let values = matrix.values::<T>()?;
    let mut output = Vec::with_capacity(values.len());
    for column in 0..columns {
        output.extend((0..rows).map(|row| values[row * columns + column].conjugate()));
    }
    Ok(output)
}

impl Kernel for MatMul {
    fn new(attrs: &Attrs<'_>) -> Result<MatMul> {
        Ok(MatMul { adjoint_a: attrs.bool("adjoint_a")?, adjoint_b: attrs.bool("adjoint_b")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, values) = (ctx.input(0)?, ctx.input(1)?);
        let (shape, b) = (ctx.input(2)?, ctx.input(3)?);
        let require = |holds: bool, words: &str| {
            if holds { Ok(()) } else { Err(invalid_argument!("{words}")) }
        };
        require(b.rank() == 2, "Tensor 'b' is not a matrix")?;
        require(shape.rank() == 1, "Tensor 'a_shape' is not a vector")?;
        require(shape.num_elements() == 2, "Tensor 'a_shape' must have 2 elements")?;
        require(values.rank() == 1, "Tensor 'a_values' is not a vector")?;
        require(indices.rank() == 2, "Tensor 'a_indices' is not a matrix")?;
        require(
            indices.dims()[0] == values.num_elements(),
            "Number of rows of a_indices does not match number of entries in a_values",
        )?;
        require(
            indices.dims()[1] == 2,
            "Number of columns of a_indices does not match number of entries in a_shape",
        )?;
        let a = Shape::from_signed(&shape.to_i64_vec()?)?;
        let (mut rows, mut inner) = (a.dims()[0], a.dims()[1]);
        if self.adjoint_a {
            (rows, inner) = (inner, rows);
        }
        let (mut b_inner, mut columns) = (b.dims()[0], b.dims()[1]);
        if self.adjoint_b {
            (b_inner, columns) = (columns, b_inner);
        }
        if inner != b_inner {
            return Err(invalid_argument!(
                "Cannot multiply A and B because inner dimension does not match: {inner} vs. \
                 {b_inner}.  Did you forget a transpose?  Dimensions of A: [{}, {}).  Dimensions \
                 of B: {}",
                a.dims()[0],
                a.dims()[1],
                b.shape()
            ));
        }
        let output = Shape::new(&[rows, columns])?;
        let count = values.num_elements();
        let mut entries =
            Entries { rows: Vec::with_capacity(count), columns: Vec::with_capacity(count) };
        let (m_at, k_at) = if self.adjoint_a { (1, 0) } else { (0, 1) };
        for (at, pair) in indices.to_i64_vec()?.chunks_exact(2).enumerate() {
            let find = |letter: &str, place: usize, limit: usize| {
                usize::try_from(pair[place]).ok().filter(|&found| found < limit).ok_or_else(|| {
                    invalid_argument!(
                        "{letter} ({}) from index[{at},{place}] out of bounds (>={limit})",
                        pair[place]
                    )
                })
            };
            entries.columns.push(find("k", k_at, inner)?);
            entries.rows.push(find("m", m_at, rows)?);
        }
        let product = for_number!(values.dtype(), T => {
            self.multiply::<T>(&entries, values, b, output)
        })?;
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [_, Value::Tensor(values), _, Value::Tensor(b)] => {
                let width = b.dims().last().copied().unwrap_or(1);
                values.num_elements() as u64 * width as u64 / 2
            }
            _ => 0,
        }
    }
}

fn to_dense_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.input_as_shape(1)])
}

fn to_dense_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (indices, grad) = (g.input(0), g.grad(0)?);
    let values = g.call("GatherNd", [grad, indices])?;
    let zeros = g.zeros_like(g.input(2))?;
    let rest = g.call("TensorScatterUpdate", [grad, indices, zeros])?;
    let axes = g.call("Range", [g.scalar(0i32)?, g.rank_tensor(grad)?, g.scalar(1i32)?])?;
    let default = g.call("Sum", [rest, axes])?;
    Ok(vec![None, None, Some(values.into()), Some(default.into())])
}

/// For the values of the sparse matrix, the products of the rows and columns where they stand.
fn product_gradient(g: &GradientContext<'_>) -> InputGradients {
    let attrs = g.attrs();
    let (indices, values, shape, b) = (g.input(0), g.input(1), g.input(2), g.input(3));
    let (adjoint_a, adjoint_b) = (attrs.bool("adjoint_a")?, attrs.bool("adjoint_b")?);
    let grad = g.grad(0)?;
    let node = NewNode::new("SparseTensorDenseMatMul").input(indices).input(values).input(shape);
    let mut of_b = g.out(node.input(grad).attr("adjoint_a", !adjoint_a))?;
    if adjoint_b {
        let order = g.vector(&[1i32, 0])?;
        of_b = g.conj(g.call("Transpose", [of_b, order])?)?;
    }
    let column = |at: i32| g.call("GatherV2", [indices, g.scalar(at)?, g.scalar(1i32)?]);
    let (rows, columns) = (column(0)?, column(1)?);
    let b = if adjoint_b { g.conj(g.call("Transpose", [b, g.vector(&[1i32, 0])?])?)? } else { b };
    let (in_grad, in_b) = if adjoint_a { (columns, rows) } else { (rows, columns) };
    let axis = g.scalar(0i32)?;
    let a = g.call("GatherV2", [grad, in_grad, axis])?;
    let b = g.call("GatherV2", [g.conj(b)?, in_b, axis])?;
    let of_values = g.call("Sum", [g.mul(a, b)?, g.vector(&[1i32])?])?;
    Ok(vec![None, Some(of_values.into()), None, Some(of_b.into())])
}

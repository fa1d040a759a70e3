//! Sums and extremes of sparse tensors, and the sum of a sparse and a dense one.

use num_complex::Complex;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, invalid_argument};

use super::dense::offset;
use super::number::{NUMBERS, Number, REAL_NUMBERS, Real, for_number, for_real};
use super::parts::{Sparse, check_ranks, spaced};
use super::rearrange::index_matrix;

const SUMS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int64,
    DType::Int32,
    DType::Int16,
    DType::Int8,
    DType::Complex64,
    DType::Complex128,
];
const EXTREME: &[KernelDef] = &[cpu::<Extreme>().types("T", REAL_NUMBERS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseAdd",
        inputs: &[
            "a_indices: int64",
            "a_values: T",
            "a_shape: int64",
            "b_indices: int64",
            "b_values: T",
            "b_shape: int64",
            "thresh: Treal",
        ],
        outputs: &["sum_indices: int64", "sum_values: T", "sum_shape: int64"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Treal: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: &[cpu::<Add>().types("T", SUMS)],
        gradient: Some(sum_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseAddGrad",
        inputs: &[
            "backprop_val_grad: T",
            "a_indices: int64",
            "b_indices: int64",
            "sum_indices: int64",
        ],
        outputs: &["a_val_grad: T", "b_val_grad: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: &[cpu::<AddGrad>().types("T", SUMS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSparseMaximum",
        inputs: &[
            "a_indices: int64",
            "a_values: T",
            "a_shape: int64",
            "b_indices: int64",
            "b_values: T",
            "b_shape: int64",
        ],
        outputs: &["output_indices: int64", "output_values: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: EXTREME,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSparseMinimum",
        inputs: &[
            "a_indices: int64",
            "a_values: T",
            "a_shape: int64",
            "b_indices: int64",
            "b_values: T",
            "b_shape: int64",
        ],
        outputs: &["output_indices: int64", "output_values: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: EXTREME,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseTensorDenseAdd",
        inputs: &["a_indices: Tindices", "a_values: T", "a_shape: Tindices", "b: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<DenseAdd>().types("T", NUMBERS)],
        gradient: Some(dense_gradient),
        ..Op::DEFAULT
    },
];

/// Refuses operands of different shapes.
fn check_shapes(a: &Sparse<'_>, b: &Sparse<'_>) -> Result<()> {
    if a.rank() != b.rank() {
        return Err(invalid_argument!(
            "Operands do not have the same ranks; got shapes: {} and {}",
            spaced(a.dims),
            spaced(b.dims)
        ));
    }
    match a.dims.iter().zip(b.dims).position(|(a, b)| a != b) {
        Some(at) => Err(invalid_argument!(
            "Operands' shapes do not match: got {} and {} for dimension {at}",
            a.dims[at],
            b.dims[at]
        )),
        None => Ok(()),
    }
}

/// The entries of two sparse tensors in order: where each is in the one, the other, or both.
fn union(a: &Sparse<'_>, b: &Sparse<'_>) -> Vec<(Option<usize>, Option<usize>)> {
    let (mut i, mut j) = (0, 0);
    let mut entries = Vec::with_capacity(a.len() + b.len());
    while i < a.len() || j < b.len() {
        let order = match (i < a.len(), j < b.len()) {
            (true, true) => a.index(i).cmp(b.index(j)),
            (true, false) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        entries.push((order.is_le().then_some(i), order.is_ge().then_some(j)));
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    entries
}

/// The sizes of numbers, which a threshold is compared with.
trait Magnitude: Number {
    type Size: Element + PartialOrd;

    fn magnitude(self) -> Self::Size;
}

macro_rules! magnitudes {
    ($($type:ty => $size:ty, |$x:ident| $value:expr;)*) => {
        $(
            impl Magnitude for $type {
                type Size = $size;

                fn magnitude(self) -> $size {
                    let $x = self;
                    $value
                }
            }
        )*
    };
}

magnitudes! {
    f32 => f32, |x| x.abs();
    f64 => f64, |x| x.abs();
    i8 => i8, |x| x.wrapping_abs();
    i16 => i16, |x| x.wrapping_abs();
    i32 => i32, |x| x.wrapping_abs();
    i64 => i64, |x| x.wrapping_abs();
    Complex<f32> => f32, |x| x.norm();
    Complex<f64> => f64, |x| x.norm();
}

#[derive(Debug)]
struct Add;

impl Kernel for Add {
    fn new(_: &Attrs<'_>) -> Result<Add> {
        Ok(Add)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = addends(ctx)?;
        let threshold = ctx.input(6)?;
        if !threshold.shape().is_scalar() {
            return Err(invalid_argument!(
                "The magnitude threshold must be a scalar: got shape {}",
                threshold.shape()
            ));
        }
        check_shapes(&a, &b)?;
        let (indices, values) = dispatch!(
            a.values.dtype(),
            [f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>],
            T => sum::<T>(&a, &b, threshold),
            else => Err(invalid_argument!("no sums of {}", a.values.dtype()))
        )?;
        let shape = Tensor::vector(a.dims)?;
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        ctx.set_output(2, shape);
        Ok(())
    }
}

/// The two sparse tensors of a sum, which TensorFlow checks as a pair.
fn addends<'a>(ctx: &'a KernelContext<'_>) -> Result<(Sparse<'a>, Sparse<'a>)> {
    for (first, rank, what) in [
        (0, 2, "indices should be matrices but received shapes:"),
        (1, 1, "values should be vectors but received shapes:"),
        (2, 1, "shapes should be a vector but received shapes"),
    ] {
        let (a, b) = (ctx.input(first)?, ctx.input(first + 3)?);
        if a.rank() != rank || b.rank() != rank {
            return Err(invalid_argument!("Input {what} {} and {}", a.shape(), b.shape()));
        }
        if first == 1 {
            let counts = [ctx.input(0)?.dims()[0], ctx.input(3)?.dims()[0]];
            if [a.num_elements(), b.num_elements()] != counts {
                return Err(invalid_argument!(
                    "Expected {} and {} non-empty input values, got {} and {}",
                    counts[0],
                    counts[1],
                    a.num_elements(),
                    b.num_elements()
                ));
            }
        }
    }
    let (left, right) = (ctx.input(0)?.dims()[1], ctx.input(3)?.dims()[1]);
    if left != right {
        return Err(invalid_argument!(
            "Input indices must have the same dimension, got {left} and {right}"
        ));
    }
    if left != ctx.input(2)?.num_elements() {
        return Err(invalid_argument!(
            "Second dimension of a_indices and length of a_shape must match, got {left} and {}",
            ctx.input(2)?.num_elements()
        ));
    }
    // The missing letter is TensorFlow's.
    if left == 0 {
        return Err(invalid_argument!("Tesors must not be empty"));
    }
    Ok((Sparse::input(ctx, 0)?, Sparse::input(ctx, 3)?))
}

fn sum<T: Magnitude>(
    a: &Sparse<'_>,
    b: &Sparse<'_>,
    threshold: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let threshold = threshold.scalar_value::<T::Size>()?;
    let (left, right) = (a.values.values::<T>()?, b.values.values::<T>()?);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (i, j) in union(a, b) {
        // The threshold is for sums: a value that stands alone is kept.
        let value = match (i, j) {
            (Some(i), Some(j)) => {
                Some(left[i].plus(right[j])).filter(|sum| threshold <= sum.magnitude())
            }
            (i, j) => i.map(|i| left[i]).or(j.map(|j| right[j])),
        };
        if let Some(value) = value {
            values.push(value);
            let index = i.map(|i| a.index(i)).or(j.map(|j| b.index(j)));
            indices.extend_from_slice(index.unwrap_or_default());
        }
    }
    Ok((index_matrix(&indices, a.rank(), values.len())?, Tensor::vector(&values)?))
}

#[derive(Debug)]
struct AddGrad;

impl Kernel for AddGrad {
    fn new(_: &Attrs<'_>) -> Result<AddGrad> {
        Ok(AddGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (gradient, a) = (ctx.input(0)?, ctx.input(1)?);
        let (b, sum) = (ctx.input(2)?, ctx.input(3)?);
        if [a, b, sum].iter().any(|part| part.rank() != 2) {
            return Err(invalid_argument!(
                "Input indices should be matrices but received shapes: {} and {} and {}",
                a.shape(),
                b.shape(),
                sum.shape()
            ));
        }
        if gradient.rank() != 1 {
            return Err(invalid_argument!(
                "Input backprop_val_grad should be a vector but received shape: {}",
                gradient.shape()
            ));
        }
        let rank = a.dims()[1];
        if b.dims()[1] != rank || sum.dims()[1] != rank {
            return Err(invalid_argument!(
                "The densified operands should have the same ndims; for A, B, sum got: {rank}{}{}",
                b.dims()[1],
                sum.dims()[1]
            ));
        }
        if gradient.num_elements() != sum.dims()[0] {
            return Err(invalid_argument!(
                "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of \
                 sum): got {} and {}",
                gradient.num_elements(),
                sum.dims()[0]
            ));
        }
        if rank == 0 {
            return Err(invalid_argument!("Index dimension is 0"));
        }
        let sums = sum.values::<i64>()?.chunks_exact(rank).enumerate();
        let by_index: FxHashMap<&[i64], usize> = sums.map(|(at, index)| (index, at)).collect();
        let outputs = for_number!(gradient.dtype(), T => {
            let values = gradient.values::<T>()?;
            let part = |indices: &Tensor| {
                let entries = indices.values::<i64>()?.chunks_exact(rank);
                let found = |index| by_index.get(index).map_or(T::default(), |&at| values[at]);
                Tensor::vector(&entries.map(found).collect::<Vec<T>>())
            };
            Ok([part(a)?, part(b)?])
        })?;
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

/// The larger or the smaller of two sparse tensors; what is not there is zero.
#[derive(Debug)]
struct Extreme {
    largest: bool,
}

impl Kernel for Extreme {
    fn new(attrs: &Attrs<'_>) -> Result<Extreme> {
        Ok(Extreme { largest: attrs.op() == "SparseSparseMaximum" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (Sparse::input(ctx, 0)?, Sparse::input(ctx, 3)?);
        a.check_bounds()?;
        b.check_bounds()?;
        check_shapes(&a, &b)?;
        let entries = union(&a, &b);
        let index = |&(i, j): &(Option<usize>, Option<usize>)| {
            i.map(|i| a.index(i)).or(j.map(|j| b.index(j))).unwrap_or_default()
        };
        let indices: Vec<i64> = entries.iter().flat_map(index).copied().collect();
        let values = for_real!(a.values.dtype(), T => {
            let (left, right) = (a.values.values::<T>()?, b.values.values::<T>()?);
            let values = entries.iter().map(|&(i, j)| {
                let x = i.map_or(T::default(), |i| left[i]);
                let y = j.map_or(T::default(), |j| right[j]);
                extreme(x, y, self.largest)
            });
            Tensor::vector(&values.collect::<Vec<T>>())
        })?;
        let indices = index_matrix(&indices, a.rank(), entries.len())?;
        ctx.set_output(0, indices);
        ctx.set_output(1, values);
        Ok(())
    }
}

fn extreme<T: Real>(x: T, y: T, largest: bool) -> T {
    let second = if largest { x < y } else { y < x };
    if second { y } else { x }
}

#[derive(Debug)]
struct DenseAdd;

impl Kernel for DenseAdd {
    fn new(_: &Attrs<'_>) -> Result<DenseAdd> {
        Ok(DenseAdd)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut b = ctx.take_input(3)?;
        let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        check_ranks("a", indices, values, shape)?;
        let rank = shape.num_elements();
        let pairs = [(indices.dims()[0], values.num_elements()), (indices.dims()[1], rank)];
        if let Some((have, want)) = pairs.into_iter().find(|(have, want)| have != want) {
            return Err(invalid_argument!("Dimensions {have} and {want} are not compatible"));
        }
        if rank != b.rank() {
            return Err(invalid_argument!(
                "Two operands have different ranks; received: {rank} and {}",
                b.rank()
            ));
        }
        if !(1..=5).contains(&rank) {
            return Err(invalid_argument!(
                "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: \
                 {rank}"
            ));
        }
        for (at, (&have, want)) in shape.to_i64_vec()?.iter().zip(b.shape().signed()).enumerate() {
            if have != want {
                return Err(invalid_argument!(
                    "Dimension {at} does not equal (no broadcasting is supported): sparse side \
                     {have} vs dense side {want}"
                ));
            }
        }
        let indices = indices.to_i64_vec()?;
        let places = indices.chunks_exact(rank).enumerate().map(|(at, index)| {
            offset(index, b.dims()).ok_or_else(|| {
                let dims: Vec<i64> = b.shape().signed().collect();
                let outside = index.iter().zip(&dims).position(|(&i, &dim)| i < 0 || i >= dim);
                let axis = outside.unwrap_or_default();
                invalid_argument!(
                    "Sparse tensor has an invalid index on dimension {axis}: \
                     a_indices({at},{axis}) = {}, dense tensor shape: {}",
                    index[axis],
                    spaced(&dims)
                )
            })
        });
        let places: Vec<usize> = places.collect::<Result<_>>()?;
        for_number!(b.dtype(), T => {
            let values = values.values::<T>()?;
            let out = b.values_mut::<T>()?;
            for (&at, &value) in places.iter().zip(values) {
                out[at] = out[at].plus(value);
            }
            Ok(())
        })?;
        ctx.set_output(0, b);
        Ok(())
    }
}

/// Each value's gradient is that of the sum at the same place.
fn sum_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("SparseAddGrad").input(g.grad(1)?).input(g.input(0));
    let [a, b] = g.outs(node.input(g.input(3)).input(g.output(0)))?;
    Ok(vec![None, Some(a.into()), None, None, Some(b.into()), None, None])
}

fn dense_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let values = g.call("GatherNd", [grad, g.input(0)])?;
    Ok(vec![None, Some(values.into()), None, Some(grad.into())])
}

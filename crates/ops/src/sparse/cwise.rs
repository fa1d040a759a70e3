//! `SparseDenseCwiseAdd`, `Mul` and `Div`: the entries of a sparse tensor with those of a dense one.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::number::{Number, REAL_NUMBERS, for_real};
use super::parts::{Sparse, bracketed, check_ranks};

const KERNELS: &[KernelDef] = &[cpu::<Cwise>().types("T", REAL_NUMBERS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseDenseCwiseAdd",
        inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseDenseCwiseDiv",
        inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: KERNELS,
        gradient: Some(quotient_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseDenseCwiseMul",
        inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: KERNELS,
        gradient: Some(product_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug)]
enum How {
    Add,
    Div,
    Mul,
}

/// Quotients; those of integers are cut off, and there are none by zero.
trait Quotient: Number {
    fn quotient(self, by: Self) -> Option<Self>;
}

macro_rules! quotients {
    ($($integer:ty)* ; $($float:ty)*) => {
        $(impl Quotient for $integer {
            fn quotient(self, by: Self) -> Option<Self> {
                (by != 0).then(|| self.wrapping_div(by))
            }
        })*
        $(impl Quotient for $float {
            fn quotient(self, by: Self) -> Option<Self> {
                Some(self / by)
            }
        })*
    };
}

quotients! { i8 i16 i32 i64 u8 u16 u32 u64 ; f16 bf16 f32 f64 }

#[derive(Debug)]
struct Cwise(How);

impl Kernel for Cwise {
    fn new(attrs: &Attrs<'_>) -> Result<Cwise> {
        Ok(Cwise(match attrs.op() {
            "SparseDenseCwiseAdd" => How::Add,
            "SparseDenseCwiseDiv" => How::Div,
            _ => How::Mul,
        }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, dense) = (operands(ctx)?, ctx.input(3)?);
        let (rank, dims) = (input.rank(), dense.dims());
        let incompatible = || {
            invalid_argument!(
                "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible \
                 shapes: {} vs. {}",
                bracketed(input.dims),
                dense.shape()
            )
        };
        let missing = rank.checked_sub(dims.len()).ok_or_else(incompatible)?;
        let fits = dims
            .iter()
            .zip(&input.dims[missing..])
            .all(|(&have, &want)| have == 1 || have as i64 == want);
        if !fits {
            return Err(incompatible());
        }
        if !(1..=5).contains(&rank) {
            return Err(invalid_argument!(
                "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: \
                 {rank}"
            ));
        }
        let places = (0..input.len()).map(|at| {
            if !input.is_inside(at) {
                return Err(invalid_argument!(
                    "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape"
                ));
            }
            let index = input.index(at)[missing..].iter().zip(dims);
            Ok(index.fold(0, |offset, (&index, &dim)| {
                offset * dim + if dim == 1 { 0 } else { index as usize }
            }))
        });
        let places: Vec<usize> = places.collect::<Result<_>>()?;
        let output = for_real!(dense.dtype(), T => {
            let (values, dense) = (input.values.values::<T>()?, dense.values::<T>()?);
            let pairs = values.iter().zip(places.iter().map(|&at| dense[at]));
            let results = pairs.map(|(&x, y)| match self.0 {
                How::Add => Ok(x.plus(y)),
                How::Mul => Ok(x.times(y)),
                How::Div => {
                    x.quotient(y).ok_or_else(|| {
                        invalid_argument!(
                            "SparseDenseCwiseDiv cannot divide by zero,but input dense tensor \
                             contains zero"
                        )
                    })
                }
            });
            Tensor::vector(&results.collect::<Result<Vec<T>>>()?)
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The sparse side, whose parts TensorFlow checks here in words of its own.
fn operands<'a>(ctx: &'a KernelContext<'_>) -> Result<Sparse<'a>> {
    let (indices, values, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    check_ranks("sp", indices, values, shape)?;
    if indices.dims()[0] != values.num_elements() {
        return Err(invalid_argument!(
            "The first dimension of values and indices should match. ({} vs. {})",
            values.num_elements(),
            indices.dims()[0]
        ));
    }
    if indices.dims()[1] != shape.num_elements() {
        return Err(invalid_argument!(
            "Number of dimensions must match second dimension of indices. Got {} dimensions, \
             indices shape: {}",
            shape.num_elements(),
            indices.shape()
        ));
    }
    Sparse::new(indices, values, shape)
}

/// Where each value meets the dense tensor, which is broadcast, and what is there.
fn met(g: &GradientContext<'_>) -> Result<[Output; 2]> {
    let (indices, shape, dense) = (g.input(0), g.input(2), g.input(3));
    let own = g.cast(g.shape_tensor(dense)?, DType::Int64)?;
    let more = g.sub(g.call("Size", [shape])?, g.rank_tensor(dense)?)?;
    let more = g.reshape(more, g.vector(&[1i32])?)?;
    let ones = g.call("Fill", [more, g.scalar(1i64)?])?;
    let whole = g.out(NewNode::new("ConcatV2").list(&[ones, own]).input(g.scalar(0i32)?))?;
    let scale = g.call("FloorDiv", [shape, whole])?;
    let scaled = g.call("FloorDiv", [indices, scale])?;
    let begin = NewNode::new("ConcatV2").list(&[g.vector(&[0i32])?, more]).input(g.scalar(0i32)?);
    let places = g.call("Slice", [scaled, g.out(begin)?, g.vector(&[-1i32, -1])?])?;
    Ok([places, g.call("GatherNd", [dense, places])?])
}

/// Values that meet one element of the dense tensor add up.
fn scattered(g: &GradientContext<'_>, places: Output, values: Output) -> Result<Output> {
    let shape = g.cast(g.shape_tensor(g.input(3))?, DType::Int64)?;
    g.call("ScatterNd", [places, values, shape])
}

fn product_gradient(g: &GradientContext<'_>) -> InputGradients {
    let ([places, dense], grad) = (met(g)?, g.grad(0)?);
    let values = g.mul(grad, dense)?;
    let of_dense = scattered(g, places, g.mul(grad, g.input(1))?)?;
    Ok(vec![None, Some(values.into()), None, Some(of_dense.into())])
}

fn quotient_gradient(g: &GradientContext<'_>) -> InputGradients {
    let ([places, dense], grad) = (met(g)?, g.grad(0)?);
    let values = g.div(grad, dense)?;
    let slope = g.neg(g.div(g.input(1), g.mul(dense, dense)?)?)?;
    let of_dense = scattered(g, places, g.mul(grad, slope)?)?;
    Ok(vec![None, Some(values.into()), None, Some(of_dense.into())])
}

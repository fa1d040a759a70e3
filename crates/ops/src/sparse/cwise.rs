//! `SparseDenseCwiseAdd`, `Mul` and `Div`: the entries of a sparse tensor with those of a dense one.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::number::{Number, REAL_NUMBERS, for_real};
use super::parts::{Sparse, bracketed};

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
        let (input, dense) = (Sparse::input(ctx, 0)?, ctx.input(3)?);
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
            input.check_inside(at)?;
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
                    x.quotient(y).ok_or_else(|| invalid_argument!("Integer division by zero"))
                }
            });
            Tensor::vector(&results.collect::<Result<Vec<T>>>()?)
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

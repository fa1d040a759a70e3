//! Comparisons.

use std::marker::PhantomData;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, invalid_argument, try_vec};

use super::super::dtypes::{ORDERED, T_NUMBER, T_ORDERED, WIDE_REALS};
use super::{Elementwise, Function, unsupported};
use crate::broadcast::{Alignment, rows_of, zip, zip_aligned};

/// Everything that can be equal.
const COMPARABLE: &[DType] = &[
    DType::BFloat16,
    DType::Half,
    DType::Float,
    DType::Double,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
    DType::Complex64,
    DType::Complex128,
    DType::Bool,
    DType::QInt8,
    DType::QInt16,
    DType::QInt32,
    DType::QUInt8,
    DType::QUInt16,
    DType::String,
];
const EQUAL_ATTRS: &[&str] = &["T: type", "incompatible_shape_error: bool = true"];

macro_rules! ordered {
    ($($name:ident = $function:expr;)+) => {
        pub(in crate::math) const ORDER: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["x: T", "y: T"],
            outputs: &["z: bool"],
            attrs: &[T_ORDERED],
            kernels: &[cpu::<Elementwise<$name>>().types("T", ORDERED)],
            shape: Some(crate::shapes::broadcasts),
            gradient: Some(no_gradient),
            ..Op::DEFAULT
        },)+];

        $(
            #[derive(Debug)]
            struct $name;

            impl Function for $name {
                fn apply(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
                    dispatch!(
                        x.dtype(),
                        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
                        T => zip::<T, T, bool>(par, &x, &y, $function),
                        else => Err(unsupported(&x))
                    )
                }
            }
        )+
    };
}

ordered! {
    Greater = |a, b| a > b;
    GreaterEqual = |a, b| a >= b;
    Less = |a, b| a < b;
    LessEqual = |a, b| a <= b;
}

pub(in crate::math) const OPS: &[Op] = &[
    Op {
        name: "ApproximateEqual",
        inputs: &["x: T", "y: T"],
        outputs: &["z: bool"],
        attrs: &[T_NUMBER, "tolerance: float = 1e-05"],
        commutative: true,
        kernels: &[cpu::<ApproximateEqual>().types("T", WIDE_REALS)],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Equal",
        inputs: &["x: T", "y: T"],
        outputs: &["z: bool"],
        attrs: EQUAL_ATTRS,
        commutative: true,
        kernels: &[cpu::<Equality<Equal>>().types("T", COMPARABLE)],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "NotEqual",
        inputs: &["x: T", "y: T"],
        outputs: &["z: bool"],
        attrs: EQUAL_ATTRS,
        commutative: true,
        kernels: &[cpu::<Equality<NotEqual>>().types("T", COMPARABLE)],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

/// What equal elements give; the others give the opposite.
trait Verdict: std::fmt::Debug + Send + Sync + 'static {
    const EQUAL: bool;
}

#[derive(Debug)]
struct Equal;

#[derive(Debug)]
struct NotEqual;

impl Verdict for Equal {
    const EQUAL: bool = true;
}

impl Verdict for NotEqual {
    const EQUAL: bool = false;
}

#[derive(Debug)]
struct Equality<V> {
    incompatible_shape_error: bool,
    verdict: PhantomData<V>,
}

impl<V: Verdict> Kernel for Equality<V> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        let incompatible_shape_error = attrs.bool("incompatible_shape_error")?;
        Ok(Equality { incompatible_shape_error, verdict: PhantomData })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        let result = match Alignment::find(x.shape(), y.shape())? {
            Some(alignment) => compare::<V>(par, &alignment, x, y)?,
            // Tensors of shapes that do not fit are different as a whole.
            None if !self.incompatible_shape_error => Tensor::scalar(!V::EQUAL),
            None => {
                return Err(invalid_argument!(
                    "Incompatible shapes: {} vs. {}",
                    x.shape(),
                    y.shape()
                ));
            }
        };
        ctx.set_output(0, result);
        Ok(())
    }
}

fn compare<V: Verdict>(
    par: Parallel,
    alignment: &Alignment,
    x: &Tensor,
    y: &Tensor,
) -> Result<Tensor> {
    if x.dtype() == DType::String {
        let (x, y) = (x.strings()?, y.strings()?);
        let mut results = try_vec(alignment.shape().num_elements())?;
        alignment.positions(|i, j| results.push((x[i] == y[j]) == V::EQUAL));
        return Tensor::from_slice(alignment.shape().clone(), &results);
    }
    let (x, y) = (as_comparable(x)?, as_comparable(y)?);
    dispatch!(
        x.dtype(),
        [f32, f64, f16, bf16, i8, i16, i32, i64, Complex<f32>, Complex<f64>],
        T => {
            let rows = rows_of(|a: T, b: T| (a == b) == V::EQUAL);
            zip_aligned(par, alignment, &x, &y, &rows)
        },
        else => Err(unsupported(&x))
    )
}

/// The same bits as a type that is compared bit by bit, if that is how this one is compared.
fn as_comparable(x: &Tensor) -> Result<Tensor> {
    let dtype = match x.dtype() {
        DType::UInt8 | DType::Bool | DType::QInt8 | DType::QUInt8 => DType::Int8,
        DType::UInt16 | DType::QInt16 | DType::QUInt16 => DType::Int16,
        DType::UInt32 | DType::QInt32 => DType::Int32,
        DType::UInt64 => DType::Int64,
        _ => return Ok(x.clone()),
    };
    x.reinterpret(dtype, x.shape().clone())
}

/// Whether numbers are nearer to each other than a tolerance.
#[derive(Debug)]
struct ApproximateEqual {
    tolerance: f32,
}

impl Kernel for ApproximateEqual {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(ApproximateEqual { tolerance: attrs.float("tolerance")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        if x.shape() != y.shape() {
            return Err(invalid_argument!(
                "x and y must be of the same shape. x shape: {}. y shape: {}",
                x.shape(),
                y.shape()
            ));
        }
        let result = dispatch!(
            x.dtype(),
            [f32, f64],
            T => {
                let tolerance = T::from(self.tolerance);
                zip(par, x, y, move |a: T, b: T| (a - b).abs() < tolerance)?
            },
            else => return Err(unsupported(x))
        );
        ctx.set_output(0, result);
        Ok(())
    }
}

//! Special functions.
//!
//! All are computed in double precision, one element at a time, and rounded; so one implementation
//! serves every type. Some have vector loops for single precision besides.

mod bessel;
mod gamma;
mod gradient;
mod incomplete;
mod integrals;
mod inverse;

use std::fmt;
use std::marker::PhantomData;

use half::f16;
use num_traits::AsPrimitive;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::elementwise::{self, zip3};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dtypes::{OLD_REALS, T_REAL, WIDE_REALS};
use super::unary::{map, map_slices};
use crate::broadcast::{rows_of, zip_rows_reusing};

const T_WIDE: &str = "T: {float, double}";

macro_rules! unary {
    ($($name:ident: $types:expr, $function:expr, $gradient:path $(, $single:path)?;)+) => {
        pub(super) const UNARY: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["x: T"],
            outputs: &["y: T"],
            attrs: &[T_REAL],
            kernels: &[cpu::<Unary<$name>>().types("T", $types)],
            shape: Some(crate::shapes::unchanged),
            gradient: Some($gradient),
            ..Op::DEFAULT
        },)+];

        $(
            #[derive(Debug)]
            struct $name;

            impl Function for $name {
                fn value(x: f64) -> f64 {
                    $function(x)
                }

                $(
                    fn single(x: &[f32], out: &mut [f32]) {
                        $single(x, out);
                    }
                )?
            }
        )+
    };
}

unary! {
    BesselI0: OLD_REALS, bessel::i0, gradient::i0;
    BesselI0e: OLD_REALS, bessel::i0e, gradient::i0e;
    BesselI1: OLD_REALS, bessel::i1, gradient::i1;
    BesselI1e: OLD_REALS, bessel::i1e, gradient::i1e;
    BesselJ0: OLD_REALS, bessel::j0, gradient::j0;
    BesselJ1: OLD_REALS, bessel::j1, gradient::j1;
    BesselK0: OLD_REALS, bessel::k0, gradient::k0;
    BesselK0e: OLD_REALS, bessel::k0e, gradient::k0e;
    BesselK1: OLD_REALS, bessel::k1, gradient::k1;
    BesselK1e: OLD_REALS, bessel::k1e, gradient::k1e;
    BesselY0: OLD_REALS, bessel::y0, gradient::y0;
    BesselY1: OLD_REALS, bessel::y1, gradient::y1;
    Dawsn: WIDE_REALS, integrals::dawsn, gradient::dawsn;
    Digamma: OLD_REALS, gamma::digamma, gradient::digamma;
    Erfinv: WIDE_REALS, inverse::erfinv, gradient::erfinv, elementwise::erfinv;
    Expint: WIDE_REALS, integrals::expint, gradient::expint;
    FresnelCos: WIDE_REALS, integrals::fresnel_cos, gradient::fresnel_cos;
    FresnelSin: WIDE_REALS, integrals::fresnel_sin, gradient::fresnel_sin;
    Lgamma: OLD_REALS, gamma::lgamma, gradient::lgamma, elementwise::lgamma;
    Ndtri: WIDE_REALS, inverse::ndtri, gradient::ndtri, elementwise::ndtri;
    Spence: WIDE_REALS, integrals::spence, gradient::spence;
}

macro_rules! binary {
    ($($name:ident($x:literal, $y:literal): $attr:expr, $function:expr $(, $gradient:path)?;)+) => {
        pub(super) const BINARY: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &[$x, $y],
            outputs: &["z: T"],
            attrs: &[$attr],
            kernels: &[cpu::<Binary<$name>>().types("T", WIDE_REALS)],
            shape: Some(crate::shapes::broadcasts),
            $(gradient: Some($gradient),)?
            ..Op::DEFAULT
        },)+];

        $(
            #[derive(Debug)]
            struct $name;

            impl Function2 for $name {
                fn value(x: f64, y: f64) -> f64 {
                    $function(x, y)
                }
            }
        )+
    };
}

binary! {
    Igamma("a: T", "x: T"): T_REAL, incomplete::igamma, gradient::igamma;
    IgammaGradA("a: T", "x: T"): T_WIDE, incomplete::igamma_grad_a;
    Igammac("a: T", "x: T"): T_REAL, incomplete::igammac, gradient::igammac;
    Polygamma("a: T", "x: T"): T_WIDE, gamma::polygamma, gradient::polygamma;
    Zeta("x: T", "q: T"): T_WIDE, gamma::zeta, gradient::zeta;
}

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Betainc",
        inputs: &["a: T", "b: T", "x: T"],
        outputs: &["z: T"],
        attrs: &[T_WIDE],
        kernels: &[cpu::<Betainc>().types("T", WIDE_REALS)],
        gradient: Some(gradient::betainc),
        ..Op::DEFAULT
    },
    Op {
        name: "NextAfter",
        inputs: &["x1: T", "x2: T"],
        outputs: &["output: T"],
        attrs: &["T: {double, float} = DT_FLOAT"],
        kernels: &[cpu::<NextAfter>().types("T", WIDE_REALS)],
        gradient: Some(gradient::next_after),
        ..Op::DEFAULT
    },
    Op {
        name: "RandomGammaGrad",
        inputs: &["alpha: T", "sample: T"],
        outputs: &["output: T"],
        attrs: &[T_WIDE],
        kernels: &[cpu::<Binary<RandomGammaGrad>>().types("T", WIDE_REALS)],
        shape: Some(crate::shapes::broadcasts),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct RandomGammaGrad;

impl Function2 for RandomGammaGrad {
    fn value(alpha: f64, sample: f64) -> f64 {
        incomplete::gamma_sample_grad(alpha, sample)
    }
}

/// A function of one number.
trait Function: fmt::Debug + Send + Sync + 'static {
    fn value(x: f64) -> f64;

    /// The same for a run of numbers in single precision, where that has a faster way.
    fn single(x: &[f32], out: &mut [f32]) {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = Self::value(x.into()) as f32);
    }
}

#[derive(Debug)]
struct Unary<F>(PhantomData<F>);

impl<F: Function> Kernel for Unary<F> {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Unary(PhantomData))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        let y = match x.dtype() {
            DType::Float => map_slices(par, x, &F::single)?,
            DType::Double => map(par, x, F::value)?,
            _ => map(par, x, |x: f16| f16::from_f64(F::value(x.into())))?,
        };
        ctx.set_output(0, y);
        Ok(())
    }
}

/// A function of two numbers.
trait Function2: fmt::Debug + Send + Sync + 'static {
    fn value(x: f64, y: f64) -> f64;
}

#[derive(Debug)]
struct Binary<F>(PhantomData<F>);

impl<F: Function2> Kernel for Binary<F> {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Binary(PhantomData))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.take_input(0)?, ctx.take_input(1)?);
        let z = dispatch!(
            x.dtype(),
            [f32, f64],
            T => {
                let rows = rows_of(|x: T, y: T| F::value(x.as_(), y.as_()) as T);
                zip_rows_reusing(par, x, y, &rows)?
            },
            else => return Err(unsupported(&x))
        );
        ctx.set_output(0, z);
        Ok(())
    }
}

/// The registry lets no other types reach a kernel.
fn unsupported(x: &Tensor) -> Error {
    internal!("a special function was given a {} tensor", x.dtype())
}

/// The next number after the first towards the second.
#[derive(Debug)]
struct NextAfter;

impl Kernel for NextAfter {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.take_input(0)?, ctx.take_input(1)?);
        let z = dispatch!(
            x.dtype(),
            [f32, f64],
            T => {
                let rows = rows_of(|from: T, to: T| {
                    if from < to {
                        from.next_up()
                    } else if from > to {
                        from.next_down()
                    } else if from.is_nan() {
                        from
                    } else {
                        to
                    }
                });
                zip_rows_reusing(par, x, y, &rows)?
            },
            else => return Err(unsupported(&x))
        );
        ctx.set_output(0, z);
        Ok(())
    }
}

/// Operands have one shape, except that any may be a scalar.
#[derive(Debug)]
struct Betainc;

impl Kernel for Betainc {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let inputs = [("a", ctx.input(0)?), ("b", ctx.input(1)?), ("x", ctx.input(2)?)];
        let mut shape: Option<(&str, &Shape)> = None;
        for (name, input) in inputs {
            if input.shape().is_scalar() {
                continue;
            }
            match shape {
                Some((other, shape)) if shape != input.shape() => {
                    return Err(invalid_argument!(
                        "Shapes of {other} and {name} are inconsistent: {shape} vs. {}",
                        input.shape()
                    ));
                }
                Some(_) => {}
                None => shape = Some((name, input.shape())),
            }
        }
        let shape = shape.map_or(Shape::SCALAR, |(_, shape)| shape.clone());
        let len = shape.num_elements();
        let z = dispatch!(
            inputs[0].1.dtype(),
            [f32, f64],
            T => {
                let stretched = |input: &Tensor| -> Result<Vec<T>> {
                    let values = input.values::<T>()?;
                    Ok(if values.len() == 1 { vec![values[0]; len] } else { values.to_vec() })
                };
                let [a, b, x] = [stretched(inputs[0].1)?, stretched(inputs[1].1)?, stretched(inputs[2].1)?];
                Tensor::build(shape, |out: &mut [T]| {
                    zip3(par, (&a[..], &b[..], &x[..]), out, |a: T, b: T, x: T| {
                        incomplete::betainc(a.as_(), b.as_(), x.as_()) as T
                    });
                })?
            },
            else => return Err(unsupported(inputs[0].1))
        );
        ctx.set_output(0, z);
        Ok(())
    }
}

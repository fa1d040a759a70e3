//! Complex numbers and their parts.

use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result};

use super::super::dtypes::COMPLEX;
use super::{complex, map_to};
use tensorfleet_framework::gradient::only;
use tensorfleet_graph::Output;

const ATTRS: &[&str] =
    &["T: {complex64, complex128} = DT_COMPLEX64", "Tout: {float, double} = DT_FLOAT"];
const SINGLE: &[DType] = &[DType::Complex64];
const DOUBLE: &[DType] = &[DType::Complex128];
const FLOAT: &[DType] = &[DType::Float];
const FLOAT64: &[DType] = &[DType::Double];

macro_rules! parts {
    ($($name:ident($input:literal, $output:literal) = $function:expr, $gradient:path;)+) => {
        pub(in crate::math) const OPS: &[Op] = &[
            Op {
                name: "Conj",
                inputs: &["input: T"],
                outputs: &["output: T"],
                attrs: &["T: {complex64, complex128, variant} = DT_COMPLEX64"],
                kernels: &[cpu::<Conj>().types("T", COMPLEX)],
                shape: Some(crate::shapes::unchanged),
                gradient: Some(conj_gradient),
                ..Op::DEFAULT
            },
            $(Op {
                name: stringify!($name),
                inputs: &[$input],
                outputs: &[$output],
                attrs: ATTRS,
                kernels: &[
                    cpu::<$name>().types("T", SINGLE).types("Tout", FLOAT),
                    cpu::<$name>().types("T", DOUBLE).types("Tout", FLOAT64),
                ],
                shape: Some(crate::shapes::unchanged),
                gradient: Some($gradient),
                ..Op::DEFAULT
            },)+
        ];

        $(
            #[derive(Debug)]
            struct $name;

            impl Kernel for $name {
                fn new(_: &Attrs<'_>) -> Result<Self> {
                    Ok(Self)
                }

                fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
                    let par = Parallel::new(ctx.parallelism());
                    let z = ctx.input(0)?;
                    let part = if z.dtype() == DType::Complex64 {
                        map_to::<Complex<f32>, f32>(par, z, $function)?
                    } else {
                        map_to::<Complex<f64>, f64>(par, z, $function)?
                    };
                    ctx.set_output(0, part);
                    Ok(())
                }
            }
        )+
    };
}

parts! {
    Angle("input: T", "output: Tout") = |z| z.arg(), angle_gradient;
    ComplexAbs("x: T", "y: Tout") = |z| z.norm(), abs_gradient;
    Imag("input: T", "output: Tout") = |z| z.im, imag_gradient;
    Real("input: T", "output: Tout") = |z| z.re, real_gradient;
}

#[derive(Debug)]
struct Conj;

impl Kernel for Conj {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let z = ctx.take_input(0)?;
        ctx.set_output(0, complex(par, z, |z| z.conj())?);
        Ok(())
    }
}

fn conj_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call("Conj", [g.grad(0)?])?)
}

/// A complex number of the input's type.
fn complex_of(g: &GradientContext<'_>, real: Output, imag: Output) -> Result<Output> {
    let node = NewNode::new("Complex").input(real).input(imag);
    g.out(node.attr("Tout", g.dtype(g.input(0))))
}

fn real_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    only(complex_of(g, grad, g.number_like(0.0, grad)?)?)
}

fn imag_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    only(complex_of(g, g.number_like(0.0, grad)?, grad)?)
}

fn abs_gradient(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let grad = complex_of(g, grad, g.number_like(0.0, grad)?)?;
    only(g.mul(grad, g.call("Sign", [g.input(0)])?)?)
}

fn angle_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (z, grad) = (g.input(0), g.grad(0)?);
    let part = |op: &str| g.out(NewNode::new(op).input(z).attr("Tout", g.dtype(grad)));
    let inverse = g.call("Reciprocal", [complex_of(g, part("Imag")?, part("Real")?)?])?;
    let grad = complex_of(g, grad, g.number_like(0.0, grad)?)?;
    only(g.neg(g.mul(grad, inverse)?)?)
}

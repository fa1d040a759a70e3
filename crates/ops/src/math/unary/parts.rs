//! Complex numbers and their parts.

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result};

use super::super::dtypes::COMPLEX;
use super::{complex, map_to};

const ATTRS: &[&str] =
    &["T: {complex64, complex128} = DT_COMPLEX64", "Tout: {float, double} = DT_FLOAT"];
const SINGLE: &[DType] = &[DType::Complex64];
const DOUBLE: &[DType] = &[DType::Complex128];
const FLOAT: &[DType] = &[DType::Float];
const FLOAT64: &[DType] = &[DType::Double];

macro_rules! parts {
    ($($name:ident($input:literal, $output:literal) = $function:expr;)+) => {
        pub(in crate::math) const OPS: &[Op] = &[
            Op {
                name: "Conj",
                inputs: &["input: T"],
                outputs: &["output: T"],
                attrs: &["T: {complex64, complex128, variant} = DT_COMPLEX64"],
                kernels: &[cpu::<Conj>().types("T", COMPLEX)],
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
    Angle("input: T", "output: Tout") = |z| z.arg();
    ComplexAbs("x: T", "y: Tout") = |z| z.norm();
    Imag("input: T", "output: Tout") = |z| z.im;
    Real("input: T", "output: Tout") = |z| z.re;
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

//! Functions whose result has a type of its own: questions about numbers, and bit counts.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, dispatch};

use super::super::dtypes::{INTEGERS, REALS, T_INTEGER, T_REAL};
use super::{map, map_to, unsupported};

pub(in crate::math) const OPS: &[Op] = &[
    Op {
        name: "IsFinite",
        inputs: &["x: T"],
        outputs: &["y: bool"],
        attrs: &[T_REAL],
        kernels: &[cpu::<IsFinite>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "IsInf",
        inputs: &["x: T"],
        outputs: &["y: bool"],
        attrs: &[T_REAL],
        kernels: &[cpu::<IsInf>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "IsNan",
        inputs: &["x: T"],
        outputs: &["y: bool"],
        attrs: &[T_REAL],
        kernels: &[cpu::<IsNan>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "LogicalNot",
        inputs: &["x: bool"],
        outputs: &["y: bool"],
        kernels: &[cpu::<LogicalNot>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PopulationCount",
        inputs: &["x: T"],
        outputs: &["y: uint8"],
        attrs: &[T_INTEGER],
        kernels: &[cpu::<PopulationCount>().types("T", INTEGERS)],
        ..Op::DEFAULT
    },
];

macro_rules! predicates {
    ($($name:ident = [$($type:ty),+] $function:expr;)+) => {$(
        #[derive(Debug)]
        struct $name;

        impl Kernel for $name {
            fn new(_: &Attrs<'_>) -> Result<Self> {
                Ok(Self)
            }

            fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
                let par = Parallel::new(ctx.parallelism());
                let x = ctx.input(0)?;
                let y = dispatch!(
                    x.dtype(),
                    [$($type),+],
                    T => map_to::<T, _>(par, x, $function)?,
                    else => return Err(unsupported(x))
                );
                ctx.set_output(0, y);
                Ok(())
            }
        }
    )+};
}

predicates! {
    IsFinite = [f32, f64, f16, bf16] |x| x.is_finite();
    IsInf = [f32, f64, f16, bf16] |x| x.is_infinite();
    IsNan = [f32, f64, f16, bf16] |x| x.is_nan();
    PopulationCount = [i8, i16, i32, i64, u8, u16, u32, u64] |x| x.count_ones() as u8;
}

#[derive(Debug)]
struct LogicalNot;

impl Kernel for LogicalNot {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        ctx.set_output(0, map(par, x, |x: bool| !x)?);
        Ok(())
    }
}

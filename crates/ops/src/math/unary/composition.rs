//! `_UnaryOpsComposition`: a chain of functions that TensorFlow's graph optimiser made one node of.

use half::f16;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::elementwise::{self as fast, Unary};
use tensorfleet_kernels::{Parallel, Real};
use tensorfleet_tensor::{Element, Result, Tensor, dispatch, invalid_argument};

use super::super::dtypes::OLD_REALS;
use super::{BLOCK, MIN_PIECE, unsupported};

pub(in crate::math) const OPS: &[Op] = &[Op {
    name: "_UnaryOpsComposition",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {float, half, double}", "op_names: list(string)"],
    kernels: &[cpu::<Composition>().types("T", OLD_REALS)],
    ..Op::DEFAULT
}];

/// A function in the precisions that it is computed in.
#[derive(Clone, Copy, Debug)]
struct Link {
    name: &'static str,
    single: fn(&[f32], &mut [f32]),
    double: fn(&[f64], &mut [f64]),
}

const fn link<F: Unary>(name: &'static str) -> Link {
    Link { name, single: F::single, double: F::double }
}

/// The functions that TensorFlow composes.
const LINKS: &[Link] = &[
    link::<fast::Abs>("Abs"),
    link::<fast::Acos>("Acos"),
    link::<fast::Acosh>("Acosh"),
    link::<fast::Asin>("Asin"),
    link::<fast::Asinh>("Asinh"),
    link::<fast::Atan>("Atan"),
    link::<fast::Atanh>("Atanh"),
    link::<fast::Ceil>("Ceil"),
    link::<fast::Cos>("Cos"),
    link::<fast::Cosh>("Cosh"),
    link::<fast::Elu>("Elu"),
    link::<fast::Exp>("Exp"),
    link::<fast::Expm1>("Expm1"),
    link::<fast::Floor>("Floor"),
    link::<fast::Reciprocal>("Inv"),
    link::<fast::Log>("Log"),
    link::<fast::Log1p>("Log1p"),
    link::<fast::Neg>("Neg"),
    link::<fast::Reciprocal>("Reciprocal"),
    link::<fast::Relu>("Relu"),
    link::<fast::Relu6>("Relu6"),
    link::<fast::Rint>("Rint"),
    link::<fast::Rint>("Round"),
    link::<fast::Rsqrt>("Rsqrt"),
    link::<fast::Selu>("Selu"),
    link::<fast::Sigmoid>("Sigmoid"),
    link::<fast::Sin>("Sin"),
    link::<fast::Sinh>("Sinh"),
    link::<fast::Sqrt>("Sqrt"),
    link::<fast::Square>("Square"),
    link::<fast::Tan>("Tan"),
    link::<fast::Tanh>("Tanh"),
];

#[derive(Debug)]
struct Composition {
    links: Vec<Link>,
}

impl Kernel for Composition {
    fn new(attrs: &Attrs<'_>) -> Result<Composition> {
        let names = attrs.strings("op_names")?;
        if names.is_empty() {
            return Err(invalid_argument!("Unary op composition must have at least one op"));
        }
        let find = |name: &bytes::Bytes| {
            let name = String::from_utf8_lossy(name);
            LINKS.iter().find(|link| link.name == name).copied().ok_or_else(|| {
                invalid_argument!("Do not have a compute function registered for op: {name}")
            })
        };
        Ok(Composition { links: names.iter().map(find).collect::<Result<_>>()? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        let y = dispatch!(
            x.dtype(),
            [f32, f64, f16],
            T => self.apply::<T>(par, x)?,
            else => return Err(unsupported(&x))
        );
        ctx.set_output(0, y);
        Ok(())
    }
}

impl Composition {
    /// Takes blocks that stay in the nearest cache through the whole chain.
    fn apply<T: Element + Real<Wide: Step>>(&self, par: Parallel, mut x: Tensor) -> Result<Tensor> {
        par.for_each(x.values_mut::<T>()?, MIN_PIECE, |_, x| {
            let mut blocks = [[T::Wide::default(); BLOCK]; 2];
            for x in x.chunks_mut(BLOCK) {
                let len = x.len();
                let [mut from, mut to] = blocks.each_mut().map(|block| &mut block[..len]);
                T::widen_slice(x, from);
                for link in &self.links {
                    Step::step(link, from, to);
                    std::mem::swap(&mut from, &mut to);
                }
                T::narrow_slice(from, x);
            }
        });
        Ok(x)
    }
}

/// A precision that functions are computed in.
trait Step: Default + Copy {
    fn step(link: &Link, from: &[Self], to: &mut [Self]);
}

impl Step for f32 {
    fn step(link: &Link, from: &[f32], to: &mut [f32]) {
        (link.single)(from, to);
    }
}

impl Step for f64 {
    fn step(link: &Link, from: &[f64], to: &mut [f64]) {
        (link.double)(from, to);
    }
}

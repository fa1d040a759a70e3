//! `Cross`: the cross product of vectors of three.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{
    Element, Result, Tensor, dispatch, failed_precondition, internal, invalid_argument,
};

use super::dtypes::{ORDERED, T_ORDERED};
use tensorfleet_framework::gradient::both;

pub(super) const OPS: &[Op] = &[Op {
    name: "Cross",
    inputs: &["a: T", "b: T"],
    outputs: &["product: T"],
    attrs: &[T_ORDERED],
    kernels: &[cpu::<Cross>().types("T", ORDERED)],
    shape: Some(crate::shapes::unchanged),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Cross;

impl Kernel for Cross {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        if a.shape() != b.shape() {
            return Err(invalid_argument!(
                "Both inputs must be of same shape: {} vs. {}",
                a.shape(),
                b.shape()
            ));
        }
        match a.dims().last() {
            None => return Err(invalid_argument!("Input must be at least 1D{}", a.shape())),
            Some(3) => {}
            Some(_) => {
                return Err(failed_precondition!(
                    "Cross-products are only defined for 3-element vectors."
                ));
            }
        }
        let product = dispatch!(
                    a.dtype(),
                    [f32, f64, f16, bf16],
                    T => cross::<T>(a, b, |a, b, c, d| a * b - c * d)?,
                    else => dispatch!(
                        a.dtype(),
                        [i8, i16, i32, i64, u8, u16, u32, u64],
                        T => cross::<T>(a, b, |a, b, c, d| {
         a.wrapping_mul(b).wrapping_sub(c.wrapping_mul(d))
        })?,
                        else => return Err(internal!("Cross was given {} tensors", a.dtype()))
                    )
                );
        ctx.set_output(0, product);
        Ok(())
    }
}

/// The products of all vectors; `f` computes `a * b - c * d`.
fn cross<T: Element>(a: &Tensor, b: &Tensor, f: fn(T, T, T, T) -> T) -> Result<Tensor> {
    let (x, y) = (a.values::<T>()?, b.values::<T>()?);
    Tensor::build(a.shape().clone(), |out: &mut [T]| {
        let vectors = x.chunks_exact(3).zip(y.chunks_exact(3));
        for (out, (a, b)) in out.chunks_exact_mut(3).zip(vectors) {
            for (i, out) in out.iter_mut().enumerate() {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                *out = f(a[j], b[k], a[k], b[j]);
            }
        }
    })
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (u, v, grad) = (g.input(0), g.input(1), g.grad(0)?);
    both(g.call("Cross", [v, grad])?, g.call("Cross", [grad, u])?)
}

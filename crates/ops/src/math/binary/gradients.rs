//! Gradients of functions of one value, from the function's result and the gradient of that.

use num_complex::Complex;
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{GradientContext, InputGradients, Op, Pointwise, PointwiseFn, cpu};
use tensorfleet_graph::Output;
use tensorfleet_kernels::{Parallel, Real, elementwise as fast};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::super::dtypes::{FIELDS, T_FIELD};
use super::{Function, same, unsupported, vector};

/// The kernel: as [`super::Elementwise`] without broadcasting.
macro_rules! gradients {
    ($($name:ident: $real:ty, $complex:expr, $second:path;)+) => {
        pub(in crate::math) const OPS: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["y: T", "dy: T"],
            outputs: &["z: T"],
            attrs: &[T_FIELD],
            kernels: &[cpu::<super::Elementwise<$name>>().types("T", FIELDS)],
            gradient: Some($second),
            ..Op::DEFAULT
        },)+];

        $(
            #[derive(Debug)]
            struct $name;

            impl Function for $name {
                fn apply(par: Parallel, y: Tensor, dy: Tensor) -> Result<Tensor> {
                    let dy = shaped_as(&y, dy)?;
                    match y.dtype() {
                        DType::Complex64 => same::<Complex<f32>>(par, y, dy, $complex),
                        DType::Complex128 => same::<Complex<f64>>(par, y, dy, $complex),
                        dtype => tensorfleet_tensor::dispatch!(
                            dtype,
                            [f32, f64, half::f16, half::bf16],
                            T => vector::<$real, T>(par, y, dy),
                            else => Err(unsupported(&y))
                        ),
                    }
                }

                fn pointwise(dtype: DType) -> Option<Pointwise> {
                    tensorfleet_tensor::dispatch!(
                        dtype,
                        [f32, f64],
                        T => Some(PointwiseFn::Pair(T::apply2::<$real>).into()),
                        else => None
                    )
                }
            }
        )+
    };
}

gradients! {
    InvGrad: fast::ReciprocalGrad, |y, dy| -dy * y.conj() * y.conj(), second_reciprocal;
    ReciprocalGrad: fast::ReciprocalGrad, |y, dy| -dy * y.conj() * y.conj(), second_reciprocal;
    RsqrtGrad: fast::RsqrtGrad, |y, dy| dy * y.conj() * y.conj() * y.conj() * -0.5, second_rsqrt;
    SigmoidGrad: fast::SigmoidGrad, |y, dy| dy * y * (-y + 1.0), second_sigmoid;
    SqrtGrad: fast::SqrtGrad, |y, dy| dy * 0.5 / y.conj(), second_sqrt;
    TanhGrad: fast::TanhGrad, |y, dy| dy * (-y * y + 1.0), second_tanh;
}

/// The gradients by `y`, of which there is `slope` times `dy`, and by `dy`, which is the same op again.
fn second(g: &GradientContext<'_>, slope: impl FnOnce(Output) -> Result<Output>) -> InputGradients {
    let (y, grad) = (g.conj(g.input(0))?, g.grad(0)?);
    let by_y = g.mul(g.mul(g.conj(grad)?, g.input(1))?, slope(y)?)?;
    both(by_y, g.call(&g.node().op, [y, grad])?)
}

fn second_reciprocal(g: &GradientContext<'_>) -> InputGradients {
    second(g, |y| g.scale(y, -2.0))
}

fn second_rsqrt(g: &GradientContext<'_>) -> InputGradients {
    second(g, |y| g.scale(g.mul(y, y)?, -1.5))
}

fn second_sigmoid(g: &GradientContext<'_>) -> InputGradients {
    second(g, |y| g.shift(g.scale(y, -2.0)?, 1.0))
}

fn second_tanh(g: &GradientContext<'_>) -> InputGradients {
    second(g, |y| g.scale(y, -2.0))
}

fn second_sqrt(g: &GradientContext<'_>) -> InputGradients {
    let over_y = g.div(g.grad(0)?, g.input(0))?;
    both(g.neg(g.mul(g.conj(over_y)?, g.output(0))?)?, g.scale(over_y, 0.5)?)
}

/// TensorFlow only asks that there are as many gradients as results.
fn shaped_as(y: &Tensor, dy: Tensor) -> Result<Tensor> {
    if y.num_elements() != dy.num_elements() {
        return Err(invalid_argument!(
            "The two arguments to a cwise op must have same number of elements, got {} and {}",
            y.num_elements(),
            dy.num_elements()
        ));
    }
    dy.into_shape(y.shape().clone())
}

//! Gradients of functions of one value, from the function's result and the gradient of that.

use num_complex::Complex;
use tensorfleet_framework::{Op, cpu};
use tensorfleet_kernels::{Parallel, elementwise as fast};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::super::dtypes::{FIELDS, T_FIELD};
use super::{Function, same, unsupported, vector};

/// The kernel: as [`super::Elementwise`] without broadcasting.
macro_rules! gradients {
    ($($name:ident: $real:ty, $complex:expr;)+) => {
        pub(in crate::math) const OPS: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["y: T", "dy: T"],
            outputs: &["z: T"],
            attrs: &[T_FIELD],
            kernels: &[cpu::<super::Elementwise<$name>>().types("T", FIELDS)],
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
            }
        )+
    };
}

gradients! {
    InvGrad: fast::ReciprocalGrad, |y, dy| -dy * y.conj() * y.conj();
    ReciprocalGrad: fast::ReciprocalGrad, |y, dy| -dy * y.conj() * y.conj();
    RsqrtGrad: fast::RsqrtGrad, |y, dy| dy * y.conj() * y.conj() * y.conj() * -0.5;
    SigmoidGrad: fast::SigmoidGrad, |y, dy| dy * y * (-y + 1.0);
    SqrtGrad: fast::SqrtGrad, |y, dy| dy * 0.5 / y.conj();
    TanhGrad: fast::TanhGrad, |y, dy| dy * (-y * y + 1.0);
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

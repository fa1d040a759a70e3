//! `Complex`: complex numbers from their parts.

use num_complex::Complex as Number;
use tensorfleet_framework::{GradientContext, InputGradients, NewNode, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor};

use super::{Elementwise, Function};
use crate::broadcast::zip;
use tensorfleet_framework::gradient::both;

pub(in crate::math) const OPS: &[Op] = &[Op {
    name: "Complex",
    inputs: &["real: T", "imag: T"],
    outputs: &["out: Tout"],
    attrs: &["T: {float, double} = DT_FLOAT", "Tout: {complex64, complex128} = DT_COMPLEX64"],
    kernels: &[
        cpu::<Elementwise<Complex>>()
            .types("T", &[DType::Float])
            .types("Tout", &[DType::Complex64]),
        cpu::<Elementwise<Complex>>()
            .types("T", &[DType::Double])
            .types("Tout", &[DType::Complex128]),
    ],
    shape: Some(crate::shapes::broadcasts),
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Complex;

impl Function for Complex {
    fn apply(par: Parallel, real: Tensor, imag: Tensor) -> Result<Tensor> {
        if real.dtype() == DType::Float {
            zip(par, &real, &imag, Number::<f32>::new)
        } else {
            zip(par, &real, &imag, Number::<f64>::new)
        }
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (real, imag, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let part = |op: &str| g.out(NewNode::new(op).input(grad).attr("Tout", g.dtype(real)));
    both(g.unbroadcast(part("Real")?, real, imag)?, g.unbroadcast(part("Imag")?, imag, real)?)
}

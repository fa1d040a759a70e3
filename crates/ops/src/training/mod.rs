//! Optimisers: ops that change variables by gradients.

mod adadelta;
mod adagrad;
mod adam;
mod apply;
mod ftrl;
mod gradient_descent;
mod momentum;
mod rms_prop;
mod sdca;
mod sign;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    adadelta::OPS,
    adagrad::OPS,
    adam::OPS,
    ftrl::OPS,
    gradient_descent::OPS,
    momentum::OPS,
    rms_prop::OPS,
    sdca::OPS,
    sign::OPS,
];

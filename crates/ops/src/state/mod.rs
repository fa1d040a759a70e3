//! Variables.

mod assign;
pub(crate) mod combine;
mod count_up_to;
mod gather;
mod handles;
mod mutex;
mod number;
mod ref_variable;
mod resource_variable;
mod scatter;
pub(crate) mod scatter_nd;

use std::sync::Arc;

use tensorfleet_framework::{KernelContext, Op, Value, Variable};
use tensorfleet_tensor::Result;

pub(crate) use number::T;

pub(super) const OPS: &[&[Op]] = &[
    assign::OPS,
    count_up_to::OPS,
    gather::OPS,
    handles::OPS,
    mutex::OPS,
    ref_variable::OPS,
    resource_variable::OPS,
    scatter::OPS,
    scatter_nd::OPS,
];

/// The variable that an input is a reference to or a handle of.
fn variable_at(ctx: &KernelContext<'_>, index: usize) -> Result<Arc<Variable>> {
    match ctx.value(index)? {
        Value::Ref(variable) => Ok(Arc::clone(variable)),
        Value::Tensor(_) | Value::Empty => ctx.resource(index),
    }
}

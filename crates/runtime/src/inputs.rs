//! What nodes are given, as they want it.

use tensorfleet_framework::Value;
use tensorfleet_tensor::{Element, Result, internal, invalid_argument};

/// Reads the variables behind references where the node wants a value.
#[inline]
pub(crate) fn read_references(inputs: &mut [Value], name: &str, takes_ref: &[bool]) -> Result<()> {
    for (value, takes_ref) in inputs.iter_mut().zip(takes_ref) {
        match value {
            Value::Ref(variable) if !takes_ref => {
                let read = variable.read()?;
                *value = Value::Tensor(read);
            }
            Value::Tensor(_) | Value::Ref(_) => {}
            Value::Empty => {
                return Err(internal!("an input of node {name} is missing"));
            }
        }
    }
    Ok(())
}

/// The scalar that steers a node.
pub(crate) fn scalar<T: Element>(value: Option<&Value>, what: &str) -> Result<T> {
    match value {
        Some(Value::Tensor(tensor)) if !tensor.shape().is_scalar() => Err(invalid_argument!(
            "The second input must be a scalar, but it has shape {}",
            tensor.shape()
        )),
        Some(Value::Tensor(tensor)) => tensor.scalar_value(),
        Some(Value::Ref(variable)) => variable.read()?.scalar_value(),
        _ => Err(internal!("the input {what} is missing")),
    }
}

//! What TensorFlow can differentiate, we can.
//!
//! `differentiable.txt` has the names that `tensorflow.python.framework.ops.gradient_registry` lists
//! with a function, in TensorFlow 2.21.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use tensorfleet_graph::OpLookup as _;

/// Ops of the registry that TensorFlow has a gradient for and we do not.
const WITHOUT: &[&str] = &[];

#[test]
fn every_op_that_tensorflow_differentiates_has_a_gradient() {
    let registry = tensorfleet_ops::registry().unwrap();
    let names = include_str!("differentiable.txt").lines();
    let without: Vec<&str> = names
        .filter(|name| registry.op_def(name).is_some() && registry.gradient_fn(name).is_none())
        .collect();
    assert_eq!(without, WITHOUT);
}

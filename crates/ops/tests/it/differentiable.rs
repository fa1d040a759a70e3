//! What TensorFlow can differentiate, we can.
//!
//! `differentiable.txt` has the names that `tensorflow.python.framework.ops.gradient_registry` lists
//! with a function, in TensorFlow 2.21.

use tensorfleet_graph::OpLookup as _;

/// Differentiated by whoever knows the functions that they call or the loop that they are part of.
const CONTROL: &[&str] = &[
    "Case",
    "Enter",
    "Exit",
    "If",
    "LoopCond",
    "NextIteration",
    "RefEnter",
    "RefExit",
    "RefMerge",
    "RefNextIteration",
    "RefSwitch",
    "StatelessCase",
    "StatelessIf",
    "StatelessWhile",
    "While",
];

/// Ops of the registry without a gradient although TensorFlow lists a function for them, because that
/// never returns one.
const WITHOUT: &[&str] = &[
    // Calls back into the Python program that made the node.
    "EagerPyFunc",
    // Takes its own gradients for the input, so that types and shapes do not fit.
    "QuantizeAndDequantizeV4Grad",
    // Raise `NotImplementedError`.
    "SparseDenseCwiseAdd",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    // Give the handle of an old array, a string, to the ops of the new ones.
    "TensorArrayConcat",
    "TensorArrayConcatV2",
    "TensorArrayGather",
    "TensorArrayGatherV2",
    "TensorArrayRead",
    "TensorArrayReadV2",
    "TensorArrayScatter",
    "TensorArrayScatterV2",
    "TensorArraySplit",
    "TensorArraySplitV2",
    "TensorArrayWrite",
    "TensorArrayWriteV2",
];

#[test]
fn every_op_that_tensorflow_differentiates_has_a_gradient() {
    let registry = tensorfleet_ops::registry().unwrap();
    let names = include_str!("differentiable.txt").lines();
    let without: Vec<&str> = names
        .filter(|name| registry.op_def(name).is_some() && registry.gradient_fn(name).is_none())
        .filter(|name| !CONTROL.contains(name))
        .collect();
    assert_eq!(without, WITHOUT);
}

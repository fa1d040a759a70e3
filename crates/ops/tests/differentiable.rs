//! What TensorFlow can differentiate, we can.
//!
//! `differentiable.txt` has the names that `tensorflow.python.framework.ops.gradient_registry` lists
//! with a function, in TensorFlow 2.21.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

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

/// Ops of the registry that TensorFlow has a gradient for and we do not.
const WITHOUT: &[&str] = &[
    "BandedTriangularSolve",
    "BatchNormWithGlobalNormalization",
    "BesselJ1",
    "BesselK1",
    "BesselK1e",
    "BesselY1",
    "Betainc",
    "CSRSparseMatrixToDense",
    "CSRSparseMatrixToSparseTensor",
    "CompositeTensorVariantFromComponents",
    "CompositeTensorVariantToComponents",
    "Conv3DBackpropFilterV2",
    "Conv3DBackpropInputV2",
    "DenseToCSRSparseMatrix",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "EagerPyFunc",
    "Eig",
    "ExtractImagePatches",
    "ExtractVolumePatches",
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    "IRFFT",
    "IRFFT2D",
    "ImageProjectiveTransformV2",
    "ImageProjectiveTransformV3",
    "IsotonicRegression",
    "MatrixSolveLs",
    "MatrixSquareRoot",
    "MaxPool3DGrad",
    "MaxPool3DGradGrad",
    "MaxPoolGrad",
    "MaxPoolGradGrad",
    "MaxPoolGradV2",
    "NextAfter",
    "NthElement",
    "OptionalFromValue",
    "OptionalGetValue",
    "QuantizeAndDequantizeV4Grad",
    "RFFT",
    "RFFT2D",
    "RGBToHSV",
    "RaggedFillEmptyRows",
    "RaggedGather",
    "RaggedTensorFromVariant",
    "RaggedTensorToSparse",
    "RaggedTensorToTensor",
    "RaggedTensorToVariant",
    "SegmentProd",
    "SeluGrad",
    "SparseDenseCwiseAdd",
    "SparseMatMul",
    "SparseMatrixMatMul",
    "SparseMatrixSparseMatMul",
    "SparseMatrixTranspose",
    "SparseReduceSum",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    "SparseTensorToCSRSparseMatrix",
    "StatelessParameterizedTruncatedNormal",
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
    "TensorScatterMax",
    "TensorScatterMin",
    "TridiagonalMatMul",
    "TridiagonalSolve",
    "UnsortedSegmentProd",
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

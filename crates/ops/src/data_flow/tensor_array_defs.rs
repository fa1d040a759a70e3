//! The definitions of the ops on tensor arrays, in three versions.
//!
//! The handle of the first version is a reference to two strings, that of the second is the strings
//! themselves, that of the third a resource.

use tensorfleet_framework::{Op, cpu, no_gradient};

use super::tensor_array_gradient as gradient;
use super::tensor_array_ops::{
    Close, Concat, Gather, Gradient, Make, Read, Scatter, Size, Split, Write,
};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorArray",
        inputs: &["size: int32"],
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "dtype: type",
            "dynamic_size: bool = false",
            "clear_after_read: bool = true",
            "tensor_array_name: string = ''",
            "element_shape: shape = unknown",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayClose",
        inputs: &["handle: Ref(string)"],
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayCloseV2",
        inputs: &["handle: string"],
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayCloseV3",
        inputs: &["handle: resource"],
        stateful: true,
        kernels: &[cpu::<Close>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayConcat",
        inputs: &["handle: Ref(string)", "flow_in: float"],
        outputs: &["value: dtype", "lengths: int64"],
        attrs: &["dtype: type", "element_shape_except0: shape = unknown"],
        kernels: &[cpu::<Concat>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayConcatV2",
        inputs: &["handle: string", "flow_in: float"],
        outputs: &["value: dtype", "lengths: int64"],
        attrs: &["dtype: type", "element_shape_except0: shape = unknown"],
        kernels: &[cpu::<Concat>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayConcatV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["value: dtype", "lengths: int64"],
        attrs: &["dtype: type", "element_shape_except0: shape = unknown"],
        stateful: true,
        kernels: &[cpu::<Concat>()],
        gradient: Some(gradient::concat),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGather",
        inputs: &["handle: Ref(string)", "indices: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type", "element_shape: shape = unknown"],
        kernels: &[cpu::<Gather>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGatherV2",
        inputs: &["handle: string", "indices: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type", "element_shape: shape = unknown"],
        kernels: &[cpu::<Gather>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGatherV3",
        inputs: &["handle: resource", "indices: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type", "element_shape: shape = unknown"],
        stateful: true,
        kernels: &[cpu::<Gather>()],
        gradient: Some(gradient::gather),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGrad",
        inputs: &["handle: string", "flow_in: float"],
        outputs: &["grad_handle: Ref(string)"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGradV2",
        inputs: &["handle: string", "flow_in: float"],
        outputs: &["grad_handle: string"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGradV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["grad_handle: resource", "flow_out: float"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayGradWithShape",
        inputs: &["handle: resource", "flow_in: float", "shape_to_prepend: int32"],
        outputs: &["grad_handle: resource", "flow_out: float"],
        attrs: &["source: string"],
        stateful: true,
        kernels: &[cpu::<Gradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayPack",
        inputs: &["handle: Ref(string)", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type", "element_shape: shape = unknown"],
        kernels: &[cpu::<Gather>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayRead",
        inputs: &["handle: Ref(string)", "index: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        kernels: &[cpu::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayReadV2",
        inputs: &["handle: string", "index: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        kernels: &[cpu::<Read>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayReadV3",
        inputs: &["handle: resource", "index: int32", "flow_in: float"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        stateful: true,
        kernels: &[cpu::<Read>()],
        gradient: Some(gradient::read),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayScatter",
        inputs: &["handle: Ref(string)", "indices: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Scatter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayScatterV2",
        inputs: &["handle: string", "indices: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Scatter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayScatterV3",
        inputs: &["handle: resource", "indices: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Scatter>()],
        gradient: Some(gradient::scatter),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySize",
        inputs: &["handle: Ref(string)", "flow_in: float"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySizeV2",
        inputs: &["handle: string", "flow_in: float"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySizeV3",
        inputs: &["handle: resource", "flow_in: float"],
        outputs: &["size: int32"],
        stateful: true,
        kernels: &[cpu::<Size>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySplit",
        inputs: &["handle: Ref(string)", "value: T", "lengths: int64", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Split>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySplitV2",
        inputs: &["handle: string", "value: T", "lengths: int64", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Split>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArraySplitV3",
        inputs: &["handle: resource", "value: T", "lengths: int64", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Split>()],
        gradient: Some(gradient::split),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayUnpack",
        inputs: &["handle: Ref(string)", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Scatter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayV2",
        inputs: &["size: int32"],
        outputs: &["handle: string"],
        attrs: &[
            "dtype: type",
            "element_shape: shape = unknown",
            "dynamic_size: bool = false",
            "clear_after_read: bool = true",
            "tensor_array_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayV3",
        inputs: &["size: int32"],
        outputs: &["handle: resource", "flow: float"],
        attrs: &[
            "dtype: type",
            "element_shape: shape = unknown",
            "dynamic_size: bool = false",
            "clear_after_read: bool = true",
            "identical_element_shapes: bool = false",
            "tensor_array_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayWrite",
        inputs: &["handle: Ref(string)", "index: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Write>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayWriteV2",
        inputs: &["handle: string", "index: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        kernels: &[cpu::<Write>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorArrayWriteV3",
        inputs: &["handle: resource", "index: int32", "value: T", "flow_in: float"],
        outputs: &["flow_out: float"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<Write>()],
        gradient: Some(gradient::write),
        ..Op::DEFAULT
    },
];

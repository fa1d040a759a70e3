//! Fields of any protocol message as tensors, by descriptors that come with the node.

mod decode;
mod descriptor;
mod encode;
mod kind;
mod wire;

use tensorfleet_framework::{Op, cpu};

use crate::late::Late;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DecodeProtoV2",
        inputs: &["bytes: string"],
        outputs: &["sizes: int32", "values: output_types"],
        attrs: &[
            "message_type: string",
            "field_names: list(string)",
            "output_types: list(type) >= 0",
            "descriptor_source: string = 'local://'",
            "message_format: string = 'binary'",
            "sanitize: bool = false",
        ],
        kernels: &[cpu::<Late<decode::Decode>>()],
        differs: LOCAL,
        ..Op::DEFAULT
    },
    Op {
        name: "EncodeProto",
        inputs: &["sizes: int32", "values: Tinput_types"],
        outputs: &["bytes: string"],
        attrs: &[
            "field_names: list(string)",
            "message_type: string",
            "descriptor_source: string = 'local://'",
            "Tinput_types: list(type) >= 1",
        ],
        kernels: &[cpu::<Late<encode::Encode>>()],
        differs: LOCAL,
        ..Op::DEFAULT
    },
];

const LOCAL: &str = "`local://` knows the messages of a server's protocol, of graphs, tensors, examples and events.";

//! Decoding of records.

mod column;
mod compressed;
mod csv;
mod example;
mod example_ops;
mod feature;
pub(crate) mod fields;
mod json;
mod json_example;
mod pipeline;
mod proto;
mod raw;
mod sequence;
mod sequence_ops;
mod tensor;
pub(crate) mod wire;

use tensorfleet_framework::Op;

pub(crate) use pipeline::ExampleParser;

pub(super) const OPS: &[&[Op]] = &[
    compressed::OPS,
    csv::OPS,
    example_ops::OPS,
    json_example::OPS,
    proto::OPS,
    raw::OPS,
    sequence_ops::OPS,
    tensor::OPS,
];

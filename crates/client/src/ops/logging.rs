//! Ops of the family `logging`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Fails with the values of `data` unless a condition holds.
///
/// Op `Assert`. No outputs.
///
/// Attributes with defaults: `summarize: int = 3`.
#[track_caller]
pub fn assert(
    graph: &Graph,
    condition: impl Operand,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("Assert").input(condition).inputs(data)
}

/// The same tensor, which is written to the log with others.
///
/// Op `Print`. Output: `output`.
///
/// Attributes with defaults: `message: string = ""`, `first_n: int = -1`, `summarize: int = 3`.
#[track_caller]
pub fn print(
    graph: &Graph,
    input: impl Operand,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("Print").input(input).inputs(data)
}

/// Writes a string to the log or a file.
///
/// Op `PrintV2`. No outputs.
///
/// Attributes with defaults: `output_stream: string = "stderr"`, `end: string = "\n"`.
#[track_caller]
pub fn print_v2(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("PrintV2").input(input)
}

/// A template with tensors put into it.
///
/// Op `StringFormat`. Output: `output: string`.
///
/// Attributes with defaults: `template: string = "%s"`, `placeholder: string = "%s"`,
/// `summarize: int = 3`.
#[track_caller]
pub fn string_format(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("StringFormat").inputs(inputs)
}

/// The seconds since 1970.
///
/// Op `Timestamp`. Output: `ts: double`.
#[track_caller]
pub fn timestamp(graph: &Graph) -> OpBuilder {
    graph.op("Timestamp")
}

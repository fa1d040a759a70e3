//! Tensors and the errors that everything reports: the bottom of the workspace.

// First, because its macros are in scope only below.
#[macro_use]
mod error;

pub mod account;
mod buffer;
mod dtype;
mod handle;
mod memory;
mod shape;
mod tensor;
pub mod wire;

pub use dtype::{DType, Element, QInt8, QInt16, QInt32, QUInt8, QUInt16};
pub use error::{Code, Context, Error, Result};
pub use handle::{AddTensors, EncodedVariant, ResourceHandle, Variant, VariantValue};
pub use memory::{pooled_bytes, try_repeat, try_vec};
pub use shape::{MAX_RANK, PartialShape, Shape};
pub use tensor::Tensor;

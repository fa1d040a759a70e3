//! A function for every op, one module for each family.
//!
//! Arguments are the graph, the op's inputs, and the attributes that neither follow from the inputs
//! nor have a default. Attributes with a default can be set on the [`OpBuilder`] that is returned;
//! `output`, `outputs` or `build` then adds the node.
//!
//! ```
//! use tensorfleet_client::{Graph, Session, ops};
//!
//! # fn main() -> tensorfleet_client::Result<()> {
//! let graph = Graph::new();
//! let x = graph.constant([3.0f32, 1.0, 2.0]);
//! let [values, indices] = ops::nn::top_kv2(&graph, &x, 2).attr("sorted", true).outputs();
//! let fetches = (values.value::<Vec<f32>>(), indices.value::<Vec<i32>>());
//! let (values, indices) = Session::new(&graph)?.run((), fetches)?;
//! assert_eq!((values, indices), (vec![3.0, 2.0], vec![0, 2]));
//! # Ok(())
//! # }
//! ```
//!
//! This module is made from the registry by `tests/it/generated`.
//!
//! [`OpBuilder`]: crate::OpBuilder

#![allow(clippy::too_many_arguments, reason = "ops have as many as they have")]

/// What the functions are made of.
mod prelude {
    pub(super) use bytes::Bytes;
    pub(super) use tensorfleet_graph::Func;
    pub(super) use tensorfleet_tensor::{DType, PartialShape, Tensor};

    pub(super) use crate::{Graph, OpBuilder, Operand};

    /// Strings as an attribute holds them.
    pub(super) fn strings(values: &[&str]) -> Vec<Bytes> {
        values.iter().map(|value| Bytes::copy_from_slice(value.as_bytes())).collect()
    }
}

#[rustfmt::skip]
pub mod array;
#[rustfmt::skip]
pub mod batch;
#[rustfmt::skip]
pub mod collective;
#[rustfmt::skip]
pub mod control;
#[rustfmt::skip]
pub mod data_flow;
#[rustfmt::skip]
pub mod dataset;
#[rustfmt::skip]
pub mod functional;
#[rustfmt::skip]
pub mod image;
#[rustfmt::skip]
pub mod io;
#[rustfmt::skip]
pub mod linalg;
#[rustfmt::skip]
pub mod list;
#[rustfmt::skip]
pub mod logging;
#[rustfmt::skip]
pub mod lookup;
#[rustfmt::skip]
pub mod math;
#[rustfmt::skip]
pub mod nn;
#[rustfmt::skip]
pub mod parsing;
#[rustfmt::skip]
pub mod quantized;
#[rustfmt::skip]
pub mod random;
#[rustfmt::skip]
pub mod sparse;
#[rustfmt::skip]
pub mod spectral;
#[rustfmt::skip]
pub mod state;
#[rustfmt::skip]
pub mod string;
#[rustfmt::skip]
pub mod summary;
#[rustfmt::skip]
pub mod training;

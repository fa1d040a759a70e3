//! Graphs, gradients and sessions: TensorFlow programs in Rust.
//!
//! A [`Graph`] is built with expressions that read like mathematics, a [`Session`] runs it in this
//! process or on a cluster.
//!
//! ```
//! use tensorfleet_client::{Graph, Session};
//!
//! # fn main() -> tensorfleet_client::Result<()> {
//! let graph = Graph::new();
//! let x = graph.placeholder::<f32>([None, Some(2)]);
//! let y = (&x * 3.0 + 1.0).sum();
//!
//! let session = Session::new(&graph)?;
//! let value = session.run((&x, [[1.0f32, 2.0], [3.0, 4.0]]), y.value::<f32>())?;
//! assert_eq!(value, 34.0);
//! # Ok(())
//! # }
//! ```
//!
//! Building never returns errors: the first mistake is kept with the line of the program that made
//! it, and [`Graph::check`], or the first session, reports it.

#![warn(missing_docs)]

#[cfg(feature = "ndarray")]
mod arrays;
mod build;
mod checkpoints;
mod control;
mod convert;
pub mod data;
mod gradient;
mod graph;
pub mod initializer;
pub mod layers;
pub mod loss;
mod math;
pub mod metrics;
mod module;
mod notice;
mod operators;
pub mod ops;
pub mod optimizer;
mod output;
mod placement;
mod saved_model;
mod saver;
mod scope;
mod session;
mod sharded;
pub mod summary;
mod variable;
mod weights;
mod wire;

#[cfg(feature = "ndarray")]
pub use arrays::AsArray;
pub use build::OpBuilder;
pub use bytes::Bytes;
pub use checkpoints::{CheckpointManager, Goal, Progress};
pub use control::{Function, Outputs};
pub use convert::{FromTensor, IntoTensor};
pub use gradient::{Differentiable, Gradient, gradients, gradients_of};
pub use graph::Graph;
pub use math::Axes;
pub use module::{Module, Parameter, Parameters, Rows};
pub use notice::notice;
pub use optimizer::Optimizer;
pub use output::{Operand, Operation, Output};
pub use placement::{ReplicaDevices, Spread};
pub use saved_model::{Port, Predictor, SavedModel, Signature};
pub use saver::Saver;
pub use scope::Device;
pub use session::monitored;
pub use session::{
    Callable, Feed, Feeds, Fetch, FetchedAs, Fetches, MonitoredSession, NodeTrace, Reply,
    RunMetadata, RunOptions, Session, SessionOptions, StartedStep, Typed, Values,
};
pub use sharded::{ShardedVariable, even_shards, shards_of_at_least, shards_of_at_most};
pub use tensorfleet_framework::DeviceName;
pub use tensorfleet_graph::{AttrValue, Func};
pub use tensorfleet_security::{Credentials, Files};
pub use tensorfleet_server::ClusterSpec;
pub use tensorfleet_tensor::{
    Code, DType, Element, Error, PartialShape, Result, Shape, Tensor, invalid_argument,
};
pub use variable::Variable;
pub use weights::{Unmatched, Weights};

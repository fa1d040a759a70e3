//! TensorFlow clusters in Rust: servers that TensorFlow's own clients and servers work with, and the
//! means to build, differentiate and run graphs on them without Python.
//!
//! ```
//! use tensorfleet::{Config, Graph, Server, Session};
//!
//! # fn main() -> tensorfleet::Result<()> {
//! let server = Server::create_local_server(&Config::default(), true)?;
//! let graph = Graph::new();
//! let hello = graph.constant("Hello, distributed TensorFlow!");
//! let session = Session::connect(&server.target(), &graph)?;
//! println!("{}", session.run((), hello.value::<String>())?);
//! # Ok(())
//! # }
//! ```

pub use tensorfleet_client::*;
pub use tensorfleet_server::{
    Address, ClusterResolver, ClusterSpec, Config, KubernetesResolver, LocalCluster, Server,
    ServerSpec, SimpleResolver, SlurmResolver, Task, TfConfig, TfConfigResolver, UnionResolver,
    create_local_cluster,
};
pub use tensorfleet_strategy as strategy;

// The binary's, and no part of what a Rust user sees.
mod certs;
mod check;
mod checkpoints;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod command;
#[doc(hidden)]
pub mod demo;
mod graph_view;
#[doc(hidden)]
pub mod launch;
mod log;
mod nearest;
mod op_report;
mod profile;
mod proxy;
mod serving;
mod signals;
mod snapshots;
mod status;
mod table;
mod top;
mod trace;

/// The snippets of the guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;

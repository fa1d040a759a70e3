//! Servers as a Rust program starts them: one task of a cluster, or a whole cluster for tests.
//!
//! ```
//! use tensorfleet_server::{Config, create_local_cluster};
//!
//! # fn main() -> tensorfleet_tensor::Result<()> {
//! let config = Config::default();
//! let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
//! assert!(cluster.workers[0].target().starts_with("grpc://localhost:"));
//! assert_eq!(cluster.ps[0].server_def().cluster().jobs().count(), 2);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod config;
mod gate;
mod host;
mod http;
mod local;
mod ops;
mod server;

pub use config::{Config, sensible_quotas};
pub use gate::{Gate, Passage};
pub use host::Host;
pub use local::{LocalCluster, create_local_cluster};
pub use server::Server;
pub use tensorfleet_cluster::Quotas;
pub use tensorfleet_rpc::{Durability, LogTail, Uses};
pub use tensorfleet_spec::{
    Address, ClusterResolver, ClusterSpec, KubernetesResolver, ServerSpec, SimpleResolver,
    SlurmResolver, Task, TfConfig, TfConfigResolver, UnionResolver,
};

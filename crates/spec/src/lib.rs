//! What a cluster is made of: jobs, their tasks, and the address of each.
//!
//! This is data, and where it comes from: a `resolver` learns from its surroundings what the cluster
//! is. Text from users becomes a [`ClusterSpec`] in `json`, the environment variable
//! `TF_CONFIG` a [`TfConfig`] in `tf_config`, and messages both of them and a [`ServerSpec`] in
//! `wire`. What is wrong is reported with the place where it stands.

mod address;
mod cluster;
mod json;
mod resolver;
mod server;
mod tf_config;
pub mod wire;

pub use address::Address;
pub use cluster::{ClusterSpec, Task};
pub use resolver::{
    ClusterResolver, KubernetesResolver, SimpleResolver, SlurmResolver, TfConfigResolver,
    UnionResolver,
};
pub use server::{PROTOCOL, ServerSpec};
pub use tf_config::TfConfig;

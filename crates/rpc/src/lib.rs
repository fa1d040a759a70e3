//! The gRPC services and clients: translation between the wire and the cluster crate.
//!
//! The only crate that knows tonic.

mod activity;
mod admin;
mod audit;
mod behalf;
mod collective;
mod coordination;
mod durable;
mod eager;
mod grpc;
mod health;
mod link;
mod master;
mod master_client;
mod neighbours;
mod patience;
mod peers;
mod progress;
mod raw;
mod recent;
mod recv_tensor;
mod server;
mod session_client;
mod status;
mod transport;
mod wire;
mod worker;
mod worker_client;

pub use admin::{AdminClient, Fleet, LogTail, MetricsFormat, Scalars, Uses, View, Watching};
#[doc(hidden)]
pub use link::hear_link;
pub use master_client::{RemoteMaster, RemoteSession};
pub use neighbours::Neighbours;
pub use server::{Listener, Server, ServerConfig};
pub use tensorfleet_journal::{Durability, Options as JournalOptions, Store as BackupStore};
pub use tensorfleet_transport::Limits;

//! The gRPC services and clients: translation between the wire and the cluster crate.
//!
//! The only crate that knows tonic.

mod activity;
mod admin;
mod collective;
mod coordination;
mod eager;
mod grpc;
mod health;
mod link;
mod master;
mod master_client;
mod neighbours;
mod patience;
mod peers;
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

pub use admin::{AdminClient, View};
#[doc(hidden)]
pub use link::hear_link;
pub use master_client::{RemoteMaster, RemoteSession};
pub use neighbours::Neighbours;
pub use server::{Listener, Server, ServerConfig};
pub use tensorfleet_journal::{Durability, Options as JournalOptions};
pub use tensorfleet_transport::Limits;

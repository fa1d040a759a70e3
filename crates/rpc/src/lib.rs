//! The gRPC services and clients: translation between the wire and the cluster crate.
//!
//! The only crate that knows tonic.

mod deadline;
mod grpc;
mod health;
mod http2;
mod link;
mod master;
mod master_client;
mod neighbours;
mod peers;
mod recent;
mod recv_tensor;
mod server;
mod status;
mod transport;
mod wire;
mod worker;
mod worker_client;

pub use master_client::{RemoteMaster, RemoteSession};
pub use neighbours::Neighbours;
pub use server::{Listener, Server, ServerConfig};

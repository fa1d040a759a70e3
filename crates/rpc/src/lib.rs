//! The gRPC services and clients.

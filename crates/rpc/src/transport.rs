//! HTTP/2 settings for large tensors: TensorFlow sends a tensor as one message of up to 2 GiB.

use std::time::Duration;

use tonic::transport::{Endpoint, Server};

/// Bytes that may be under way on one stream before the receiver confirms them.
const STREAM_WINDOW: u32 = 16 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;

/// The largest frame that we accept: fewer frames cost less.
const FRAME: u32 = 1 << 20;

/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A peer that does not answer a ping within this time is gone.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Settings of the connection to a peer. The connector never uses a proxy.
pub(crate) fn tune_client(endpoint: Endpoint) -> Endpoint {
    endpoint
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
}

/// Settings of the server.
pub(crate) fn tune_server(server: Server) -> Server {
    server
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .max_concurrent_streams(None)
}

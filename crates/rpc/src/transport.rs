//! HTTP/2 settings for large tensors: TensorFlow sends a tensor as one message of up to 2 GiB.

use std::time::Duration;

use tonic::transport::Endpoint;

/// The largest message that a server reads: no larger one can be read by anybody. Room for a message
/// is made when its length is known, before it has come.
pub(crate) const MAX_MESSAGE: usize = i32::MAX as usize;

/// Bytes that may be under way on one stream before the receiver confirms them.
pub(crate) const STREAM_WINDOW: u32 = 16 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 32 << 20;

/// The largest frame that we accept: fewer frames cost less.
pub(crate) const FRAME: u32 = 1 << 20;

/// How long a connection may take to come up.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A peer whose machine does not answer for `IDLE + RETRIES * INTERVAL` is gone. The kernel asks:
/// pings of HTTP/2 would do, but TensorFlow's servers hang up on a client that pings this often.
pub(crate) const KEEPALIVE_IDLE: Duration = Duration::from_secs(2);
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
pub(crate) const KEEPALIVE_RETRIES: u32 = 2;

/// Settings of the connection to a peer. The connector never uses a proxy.
pub(crate) fn tune_client(endpoint: Endpoint) -> Endpoint {
    endpoint
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .tcp_keepalive(Some(KEEPALIVE_IDLE))
        .tcp_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .tcp_keepalive_retries(Some(KEEPALIVE_RETRIES))
}

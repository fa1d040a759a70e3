//! Settings of the connections to other tasks.

use std::time::Duration;

use tensorfleet_transport::{CONNECTION_WINDOW, FRAME, STREAM_WINDOW};
use tonic::transport::Endpoint;

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

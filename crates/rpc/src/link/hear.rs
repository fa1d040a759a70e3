//! What a task makes of whatever comes over a link, for those who try to break it.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_proto::tensorflow as pb;
use tokio::net::UnixStream;

use super::client::{Ends, Link};
use super::socket::Socket;

/// Waits for two calls over a link on which bytes come, and then the end.
#[doc(hidden)]
pub async fn hear_link(bytes: &[u8]) {
    let Ok((near, far)) = UnixStream::pair() else { return };
    let silence = Duration::from_secs(60);
    let ends = Ends { own: "a".to_owned(), peer: "b".to_owned(), silence, events: Arc::default() };
    let link = Link::over(Socket::Unix(near), ends);
    let tensor = link.recv_tensor(&pb::RecvTensorRequest::default());
    let run = link.run_graph(&pb::RunGraphRequest::default());
    let far = Socket::Unix(far);
    // The task may have hung up.
    let _ = far.write_all(bytes).await;
    drop(far);
    // Whatever came of them.
    let _ = (tensor.await, run.await);
}

//! The cluster as it changes: server-sent events, one for each picture.

use std::time::Duration;

use tensorfleet_rpc::Watching;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::response::{EVENTS, head};

/// How long a reader may take for a picture.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends pictures until the reader has enough.
pub(super) async fn stream(mut socket: TcpStream, mut watching: Watching) {
    let head = format!("{}\r\n", head("200 OK", EVENTS));
    if socket.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let (mut reader, mut writer) = socket.split();
    let pictures = async {
        let mut picture = watching.next().await;
        while let Some(drawn) = picture {
            // One line: JSON has none within.
            let event = format!("data: {drawn}\n\n");
            let sent = tokio::time::timeout(PATIENCE, writer.write_all(event.as_bytes())).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
            picture = watching.changed().await;
        }
    };
    let mut ignored = [0; 256];
    let gone = async { while !matches!(reader.read(&mut ignored).await, Ok(0) | Err(_)) {} };
    tokio::select! {
        () = pictures => {}
        () = gone => {}
    }
}

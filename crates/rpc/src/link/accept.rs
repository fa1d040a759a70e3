//! The server's doors: gRPC connections go on to gRPC, links are served here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::MAGIC;
use super::offer::{Token, greet};
use super::serve::Served;
use super::socket::Socket;
use crate::grpc::Grpc;
use crate::http2::Connection;
use crate::worker::WorkerHandler;

/// How long a server that cannot accept, as for want of file descriptors, waits to try again.
const RETRY: Duration = Duration::from_millis(50);

/// How long a client may take to greet.
const GREETING: Duration = Duration::from_secs(5);

/// Accepts connections until the server stops, and waits until those that there are have ended.
pub(crate) async fn accept(listener: TcpListener, grpc: Grpc, links: Links) {
    let mut connections = JoinSet::new();
    let mut stop = links.stop.clone();
    let unix = links.token.and_then(|token| {
        let refused =
            |error| tracing::debug!("links inside this machine are not possible: {error}");
        token.listen().map_err(refused).ok()
    });
    loop {
        let accepted = tokio::select! {
            // An error means that the server is gone.
            _ = stop.wait_for(|stop| *stop) => break,
            // Ended; a panic has been told by its hook.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted.map(|(socket, _)| Door::Port(socket)),
            accepted = next(unix.as_ref()) => accepted.map(Door::Inside),
        };
        let door = match accepted {
            Ok(door) => door,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        let (grpc, links) = (grpc.clone(), links.clone());
        connections.spawn(async move {
            match door {
                Door::Inside(socket) => links.serve(socket).await,
                Door::Port(socket) => {
                    if socket.set_nodelay(true).is_err() {
                        return;
                    }
                    let mut start = [0; MAGIC.len()];
                    match socket.peek(&mut start).await {
                        Ok(len) if len == start.len() && start == MAGIC => {
                            links.serve(Socket::Tcp(socket)).await;
                        }
                        _ => {
                            let connection = Connection::new(socket, grpc);
                            if let Err(error) = connection.serve(links.stop, links.drain).await {
                                tracing::debug!("a connection broke: {error}");
                            }
                        }
                    }
                }
            }
        });
    }
    drop((listener, unix));
    while connections.join_next().await.is_some() {}
}

enum Door {
    Port(TcpStream),
    Inside(Socket),
}

async fn next(listener: Option<&UnixListener>) -> io::Result<Socket> {
    match listener {
        Some(listener) => Ok(Socket::Unix(listener.accept().await?.0)),
        None => std::future::pending().await,
    }
}

/// What it takes to serve links.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    /// What clients must know; without one there are no links.
    pub(crate) token: Option<Token>,
    pub(crate) handler: WorkerHandler,
    pub(crate) stop: watch::Receiver<bool>,
    /// How long calls that are under way may go on when the server stops.
    pub(crate) drain: Duration,
}

impl Links {
    async fn serve(mut self, socket: Socket) {
        let Some(token) = self.token else { return };
        let greeting = tokio::time::timeout(GREETING, greet(&socket, token)).await;
        if !matches!(greeting, Ok(Ok(()))) {
            return;
        }
        let socket = Arc::new(socket);
        let served = Served::new(self.handler, Arc::clone(&socket));
        let stopped = async {
            // An error means that the server is gone.
            let _ = self.stop.wait_for(|stop| *stop).await;
            if !served.is_idle() {
                tokio::time::sleep(self.drain).await;
            }
        };
        tokio::select! {
            outcome = served.work(socket) => {
                if let Err(error) = outcome {
                    tracing::debug!("a link broke: {error}");
                }
            }
            () = stopped => {}
        }
        served.close();
    }
}

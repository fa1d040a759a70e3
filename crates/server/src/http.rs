//! A second port, in plain HTTP, for what watches a server: Prometheus, probes and people.
//!
//! It answers `GET` for a few paths, closes every connection after its answer, and changes nothing.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tensorfleet_cluster::spec::Address;
use tensorfleet_tensor::{Result, failed_precondition, unavailable};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::Server;

/// How long a request may take to come, and an answer to leave.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of a request is read: nothing behind its first line matters.
const LONGEST: usize = 8 * 1024;

/// How many are answered at once.
const AT_ONCE: usize = 32;

impl Server {
    /// Answers `/metrics`, `/healthz`, `/readyz` and `/statusz` at an address for as long as the server
    /// serves, and returns the address with the real port.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let address = server.serve_http(&"127.0.0.1:0".parse()?)?;
    /// let mut connection = std::net::TcpStream::connect(address)?;
    /// connection.write_all(b"GET /readyz HTTP/1.1\r\n\r\n")?;
    /// let mut answer = String::new();
    /// connection.read_to_string(&mut answer)?;
    /// assert!(answer.starts_with("HTTP/1.1 200 OK"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn serve_http(&self, bind: &Address) -> Result<SocketAddr> {
        let Some(serving) = self.serving() else {
            return Err(failed_precondition!(
                "the server of {} does not serve",
                self.server_def().task()
            ));
        };
        let (host, port) = (bind.host.clone(), bind.port);
        let listener = self.host().wait(async move {
            let listener = TcpListener::bind((host.as_str(), port)).await?;
            Ok::<_, std::io::Error>((listener.local_addr()?, listener))
        })?;
        let (address, listener) = listener
            .map_err(|error| unavailable!("the HTTP port {bind} cannot be had: {error}"))?;
        let (stopped, server) = (serving.stopped(), Arc::downgrade(&serving));
        self.host().handle().spawn(async move {
            tokio::select! {
                () = stopped => {}
                () = accept(listener, server) => {}
            }
        });
        Ok(address)
    }
}

async fn accept(listener: TcpListener, server: Weak<tensorfleet_rpc::Server>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, _)) => {
                let server = Weak::clone(&server);
                tokio::spawn(async move {
                    let _place = place;
                    let answered = tokio::time::timeout(PATIENCE, async {
                        let mut socket = socket;
                        let Some(line) = first_line(&mut socket).await else { return };
                        let Some(server) = server.upgrade() else { return };
                        let answer = answer(&line, &server);
                        drop(server);
                        // Who does not wait for the answer does not get it.
                        let _ = socket.write_all(&answer).await;
                        let _ = socket.shutdown().await;
                    });
                    let _ = answered.await;
                });
            }
            // As for want of file descriptors.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The first line of a request, when all of it has come.
async fn first_line(socket: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let length = socket.read(&mut piece).await.ok()?;
        if length == 0 || request.len() + length > LONGEST {
            return None;
        }
        request.extend_from_slice(&piece[..length]);
    }
    let line = request.split(|&byte| byte == b'\r').next()?;
    String::from_utf8(line.to_vec()).ok()
}

fn answer(line: &str, server: &tensorfleet_rpc::Server) -> Vec<u8> {
    const TEXT: &str = "text/plain; charset=utf-8";
    const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let view = server.view();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", METRICS, view.metrics()),
        ("GET" | "HEAD", "/healthz") => ("200 OK", TEXT, "ok\n".to_owned()),
        ("GET" | "HEAD", "/readyz") if view.is_ready() => ("200 OK", TEXT, "ready\n".to_owned()),
        ("GET" | "HEAD", "/readyz") => {
            ("503 Service Unavailable", TEXT, "takes no new steps\n".to_owned())
        }
        ("GET" | "HEAD", "/statusz") => ("200 OK", "application/json", view.json()),
        ("GET" | "HEAD", _) => {
            ("404 Not Found", TEXT, "/metrics /healthz /readyz /statusz\n".to_owned())
        }
        _ => ("405 Method Not Allowed", TEXT, "GET only\n".to_owned()),
    };
    let length = body.len();
    let body = if method == "HEAD" { String::new() } else { body };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

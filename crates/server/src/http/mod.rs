//! A second port, in plain HTTP, for what watches a server: Prometheus, probes and people.
//!
//! It answers `GET` for a few paths and closes every connection after its answer. But for the curves that
//! a program tells of its training, nothing can be changed from here. Where servers have roles, what is
//! below `/api/` asks for a token.

mod dashboard;
mod live;
mod request;
mod response;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::header;
use tensorfleet_rpc::{MetricsFormat, Watching};
use tensorfleet_spec::Address;
use tensorfleet_tensor::{Code, Error, Result, failed_precondition, unavailable};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::request::Request;
use self::response::{JSON, Response, TEXT};
use crate::Server;

/// How long a request may take to come, and an answer to leave.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many are answered at once.
const AT_ONCE: usize = 32;

/// How many pages may be open.
const STREAMS: usize = 32;

const UNAVAILABLE: &str = "503 Service Unavailable";

impl Server {
    /// Shows the dashboard and answers `/metrics`, `/healthz`, `/readyz` and `/statusz` at an address for
    /// as long as the server serves, and returns the address with the real port.
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
                () = accept(listener, server, address.ip().is_loopback()) => {}
            }
        });
        Ok(address)
    }
}

async fn accept(listener: TcpListener, serving: Weak<tensorfleet_rpc::Server>, is_near: bool) {
    let site = Site { serving, is_near, streams: Arc::new(Semaphore::new(STREAMS)) };
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, _)) => {
                tokio::spawn(site.clone().serve(socket, place));
            }
            // As for want of file descriptors.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// What is answered here, and how many watch.
#[derive(Clone, Debug)]
struct Site {
    serving: Weak<tensorfleet_rpc::Server>,
    /// Whether only this machine is answered.
    is_near: bool,
    streams: Arc<Semaphore>,
}

impl Site {
    async fn serve(self, mut socket: TcpStream, place: OwnedSemaphorePermit) {
        let request = tokio::time::timeout(PATIENCE, Request::read(&mut socket)).await;
        let Ok(Some(request)) = request else { return };
        let Some(server) = self.serving.upgrade() else { return };
        let response = if request.method == "GET" && request.path == "/api/live" {
            match self.watch(&request, &server) {
                Ok((watching, stream)) => {
                    // A page that stays open takes no place from those who ask and go.
                    drop((place, server));
                    live::stream(socket, watching).await;
                    drop(stream);
                    return;
                }
                Err(refused) => refused,
            }
        } else {
            self.answer(&request, &server).await
        };
        drop(server);
        let bytes = response.bytes(&request.method);
        let sent = async {
            // Who does not wait for the answer does not get it.
            let _ = socket.write_all(&bytes).await;
            let _ = socket.shutdown().await;
        };
        let _ = tokio::time::timeout(PATIENCE, sent).await;
    }

    fn watch(
        &self,
        request: &Request,
        server: &tensorfleet_rpc::Server,
    ) -> Result<(Watching, OwnedSemaphorePermit), Response> {
        self.check(request, server, "Status")?;
        match Arc::clone(&self.streams).try_acquire_owned() {
            Ok(stream) => Ok((server.fleet().watch(), stream)),
            Err(_) => {
                Err(Response::text(UNAVAILABLE, format!("{STREAMS} pages are open already\n")))
            }
        }
    }

    async fn answer(&self, request: &Request, server: &tensorfleet_rpc::Server) -> Response {
        let view = server.view();
        match (&*request.method, &*request.path) {
            ("POST", "/api/scalars") => {
                self.take_scalars(request, server).unwrap_or_else(|refused| refused)
            }
            ("GET" | "HEAD", "/metrics") => {
                let (format, kind) = metrics_format(request);
                Response::ok(kind, view.metrics(format))
            }
            ("GET" | "HEAD", "/healthz") => Response::ok(TEXT, "ok\n"),
            ("GET" | "HEAD", "/readyz") if view.is_ready() => Response::ok(TEXT, "ready\n"),
            ("GET" | "HEAD", "/readyz") => Response::text(UNAVAILABLE, "takes no new steps\n"),
            ("GET" | "HEAD", "/statusz") => Response::ok(JSON, view.json()),
            ("GET" | "HEAD", path) if path.starts_with("/api/") => {
                self.answer_api(request, server).await.unwrap_or_else(|refused| refused)
            }
            ("GET" | "HEAD", path) => match dashboard::find(path) {
                Some(page) => self.check_host(request).err().unwrap_or(page),
                None => Response::text(
                    "404 Not Found",
                    "/ /metrics /healthz /readyz /statusz /api/cluster /api/live /api/logs\n",
                ),
            },
            _ => Response::text("405 Method Not Allowed", "GET only\n"),
        }
    }

    async fn answer_api(
        &self,
        request: &Request,
        server: &tensorfleet_rpc::Server,
    ) -> Result<Response, Response> {
        match &*request.path {
            "/api/cluster" => {
                self.check(request, server, "Status")?;
                let picture = server.fleet().watch().next().await;
                Ok(Response::ok(JSON, &*picture.unwrap_or_default()))
            }
            "/api/logs" => {
                self.check(request, server, "Logs")?;
                let task = request.parameter("task").unwrap_or_default();
                let since = request.parameter("since").and_then(|text| text.parse().ok());
                let logs = server.fleet().logs(&task, since.unwrap_or(0)).await;
                logs.map(|logs| Response::ok(JSON, logs)).map_err(|error| failed(&error))
            }
            _ => Err(Response::text("404 Not Found", "/api/cluster /api/live /api/logs\n")),
        }
    }

    fn take_scalars(
        &self,
        request: &Request,
        server: &tensorfleet_rpc::Server,
    ) -> Result<Response, Response> {
        self.check(request, server, "Scalars")?;
        if !request.is_json() {
            let words = "the content type must be application/json\n";
            return Err(Response::text("415 Unsupported Media Type", words));
        }
        let taken = server.scalars().add_json(&request.body);
        taken.map(|()| Response::ok(TEXT, "ok\n")).map_err(|error| failed(&error))
    }

    /// Whether the caller may call a method of the admin service, by the roles that there are.
    fn check(
        &self,
        request: &Request,
        server: &tensorfleet_rpc::Server,
        method: &str,
    ) -> Result<(), Response> {
        self.check_host(request)?;
        let admitted =
            server.fleet().admit(&format!("/tensorfleet.Admin/{method}"), &request.headers);
        admitted.map_err(|error| failed(&error))
    }

    /// A page of another site may give its own name our address and read what its visitors' machines
    /// answer. So what answers one machine alone is known by names of that machine alone.
    fn check_host(&self, request: &Request) -> Result<(), Response> {
        let is_known = |host: &str| {
            host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok()
        };
        if !self.is_near || request.host().is_none_or(is_known) {
            return Ok(());
        }
        let words = "only this machine is answered here: use localhost or 127.0.0.1\n";
        Err(Response::text("421 Misdirected Request", words))
    }
}

/// Which format of metrics the headers ask for, and what that is called.
fn metrics_format(request: &Request) -> (MetricsFormat, &'static str) {
    const OPEN: &str = "application/openmetrics-text";
    let accepted = request.headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if accepted.is_some_and(|kinds| kinds.contains(OPEN)) {
        (MetricsFormat::OpenMetrics, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    } else {
        (MetricsFormat::Prometheus, "text/plain; version=0.0.4; charset=utf-8")
    }
}

/// What a failure is called in HTTP.
fn failed(error: &Error) -> Response {
    let status = match error.code() {
        Code::Unauthenticated => "401 Unauthorized",
        Code::PermissionDenied => "403 Forbidden",
        Code::NotFound => "404 Not Found",
        Code::InvalidArgument => "400 Bad Request",
        Code::ResourceExhausted => "429 Too Many Requests",
        _ => "502 Bad Gateway",
    };
    Response::text(status, format!("{}\n", error.message()))
}

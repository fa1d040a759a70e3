//! A server: one task of a cluster, listening on its address.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tensorfleet_cluster::spec::{Address, ServerSpec};
use tensorfleet_cluster::{Master, Task, Worker};
use tensorfleet_framework::Registry;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::master_service_server::MasterServiceServer;
use tensorfleet_proto::tensorflow::worker_service_server::WorkerServiceServer;
use tensorfleet_runtime::ComputePool;
use tensorfleet_tensor::{Result, invalid_argument, not_found, unavailable};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;

use crate::master::MasterHandler;
use crate::peers::ClusterPeers;
use crate::transport;
use crate::worker::WorkerHandler;

/// What a server is made of.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub spec: ServerSpec,
    /// Where to listen; port 0 takes any free port.
    pub bind: Address,
    pub registry: Arc<Registry>,
    pub pool: Arc<ComputePool>,
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: Arc<Task>,
    serving: Option<JoinHandle<()>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({} at {})", self.task.name, self.address)
    }
}

/// How long calls that are under way may go on when the server stops.
const DRAIN: Duration = Duration::from_millis(500);

impl Server {
    /// Binds the address and starts to serve.
    pub async fn start(config: ServerConfig) -> Result<Server> {
        let listener = listen(&config.bind).await?;
        let address = listener
            .local_addr()
            .map_err(|error| unavailable!("cannot listen on {}: {error}", config.bind))?;
        let session_config =
            pb::ConfigProto::decode(&config.spec.session_config[..]).map_err(|error| {
                invalid_argument!("the default session configuration is broken: {error}")
            })?;
        let cpus = session_config.device_count.get("CPU").copied().unwrap_or(1);
        let name = config.spec.task();
        let task = Arc::new(Task::new(
            &name.job,
            name.index,
            u32::try_from(cpus).unwrap_or(1),
            config.registry,
            config.pool,
        ));
        let peers = Arc::new(ClusterPeers::new(config.spec.cluster(), Handle::current()));
        let worker = Arc::new(Worker::new(Arc::clone(&task), Arc::clone(&peers) as _));
        let master = Arc::new(Master::new(Arc::clone(&task), Arc::clone(&worker), peers));
        let worker_handler = WorkerHandler {
            task: Arc::clone(&task),
            worker,
            recent_runs: Arc::default(),
            recent_tensors: Arc::default(),
        };
        let router = transport::tune_server(tonic::transport::Server::builder())
            .add_service(
                MasterServiceServer::new(MasterHandler { master, recent: Arc::default() })
                    .max_decoding_message_size(usize::MAX)
                    .max_encoding_message_size(usize::MAX),
            )
            .add_service(
                WorkerServiceServer::new(worker_handler)
                    .max_decoding_message_size(usize::MAX)
                    .max_encoding_message_size(usize::MAX),
            );
        let stop = watch::Sender::new(false);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let mut stopped = stop.subscribe();
        let mut forced = stop.subscribe();
        let serving = tokio::spawn(async move {
            let graceful = router.serve_with_incoming_shutdown(incoming, async move {
                // An error means that the server was dropped, which stops it as well.
                let _ = stopped.wait_for(|stop| *stop).await;
            });
            let force = async move {
                let _ = forced.wait_for(|stop| *stop).await;
                tokio::time::sleep(DRAIN).await;
            };
            tokio::select! {
                outcome = graceful => {
                    if let Err(error) = outcome {
                        tracing::error!("the server failed: {error}");
                    }
                }
                () = force => {}
            }
        });
        Ok(Server { address, stop, task, serving: Some(serving) })
    }

    /// The address that the server listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Stops: no new calls are taken, those under way have a moment to end, the port is free
    /// afterwards.
    pub async fn stop(&mut self) {
        self.stop.send_replace(true);
        self.join().await;
    }

    /// Waits until the server has stopped.
    pub async fn join(&mut self) {
        if let Some(serving) = self.serving.take() {
            // A panic of the serving task has been reported by its hook.
            let _ = serving.await;
        }
    }
}

/// Binds an address, with one clear line for what can be wrong with it.
async fn listen(bind: &Address) -> Result<TcpListener> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((bind.host.as_str(), bind.port))
        .await
        .map_err(|error| not_found!("the address {bind} cannot be resolved: {error}"))?
        .collect();
    TcpListener::bind(&addresses[..]).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            unavailable!("port {} of {} is taken", bind.port, bind.host)
        }
        std::io::ErrorKind::AddrNotAvailable => {
            invalid_argument!("{} is not an address of this machine", bind.host)
        }
        _ => unavailable!("cannot listen on {bind}: {error}"),
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

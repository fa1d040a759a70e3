//! One task of a cluster, with calls that wait.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tensorfleet_cluster::{Quotas, Separation};
use tensorfleet_framework::Registry;
use tensorfleet_rpc::{JournalOptions, Limits, Listener, LogTail, ServerConfig, Uses};
use tensorfleet_security::Credentials;
use tensorfleet_security::audit::Audit;
use tensorfleet_spec::{Address, ClusterSpec, ServerSpec, Task, wire};
use tensorfleet_tensor::{Result, failed_precondition, invalid_argument};

use crate::ops::Policy;
use crate::{Config, Host};

/// A server of one task. Its port is taken when it is made; it serves from `start` to `stop`.
/// Dropping it stops it.
///
/// ```
/// use tensorfleet_server::{Config, Server};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let server = Server::create_local_server(&Config::default(), true)?;
/// println!("sessions go to {}", server.target());
/// server.stop()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    spec: ServerSpec,
    host: Arc<Host>,
    network_only: bool,
    grpc_only: bool,
    session_timeout: Option<Duration>,
    task_timeout: Duration,
    limits: Limits,
    slow_step: Option<Duration>,
    credentials: Option<Arc<Credentials>>,
    separation: Separation,
    quotas: Quotas,
    audit: Option<Arc<Audit>>,
    policy: Policy,
    journal: Option<JournalOptions>,
    logs: Arc<LogTail>,
    address: SocketAddr,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Ready(Listener),
    Serving(Arc<tensorfleet_rpc::Server>),
    Stopped,
}

impl Server {
    /// Makes the server of a task and, if told so, starts it. The only protocol is `"grpc"`.
    ///
    /// ```
    /// use tensorfleet_server::{ClusterSpec, Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["localhost:0"])])?;
    /// let server = Server::new(&cluster, "worker", 0, "grpc", &Config::default(), true)?;
    /// assert!(!server.target().ends_with(":0"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(
        cluster: &ClusterSpec,
        job_name: &str,
        task_index: u32,
        protocol: &str,
        config: &Config,
        start: bool,
    ) -> Result<Server> {
        ServerSpec::check_protocol(protocol)?;
        let spec = ServerSpec::new(cluster.clone(), Task::new(job_name, task_index))?;
        let bind = spec.address()?;
        let server = Server::bind(spec, &bind, config)?;
        if start {
            server.start()?;
        }
        Ok(server)
    }

    /// Makes and starts a cluster of one task, `/job:local/task:0`, on a free port.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert_eq!(server.server_def().task().to_string(), "/job:local/replica:0/task:0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_local_server(config: &Config, start: bool) -> Result<Server> {
        let cluster = ClusterSpec::from_lists([("local", vec!["localhost:0"])])?;
        Server::new(&cluster, "local", 0, "grpc", config, start)
    }

    /// Makes a server that listens elsewhere than the cluster says, as on all interfaces.
    ///
    /// ```
    /// use tensorfleet_server::{ClusterSpec, Config, Server, ServerSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["trainer-0.training:2222"])])?;
    /// let spec = ServerSpec::new(cluster, Task::new("worker", 0))?;
    /// // Others find it by its name; here it listens on this machine only.
    /// let server = Server::bind(spec, &"127.0.0.1:0".parse()?, &Config::default())?;
    /// server.start()?;
    /// assert!(server.target().starts_with("grpc://trainer-0.training:"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn bind(spec: ServerSpec, bind: &Address, config: &Config) -> Result<Server> {
        let host = config.host()?;
        let bind = bind.clone();
        let listener = host.wait(async move { Listener::bind(&bind).await })??;
        Server::with_listener(spec, listener, config)
    }

    pub(crate) fn with_listener(
        mut spec: ServerSpec,
        listener: Listener,
        config: &Config,
    ) -> Result<Server> {
        let address = listener.address();
        if config.credentials.is_none() && !config.is_insecure && !address.ip().is_loopback() {
            return Err(invalid_argument!(
                "without credentials everybody who reaches {address} may run code here, and other \
                 machines may: give the server a certificate (`Config::credentials`), or say \
                 `Config::insecure`, in Python TENSORFLEET_INSECURE=1"
            ));
        }
        if let Some(message) = &config.session_config {
            spec.session_config.clone_from(message);
        }
        if let Some(count) = config.cpu_devices {
            spec.session_config = wire::session_config(count);
        }
        Ok(Server {
            journal: config.journal(spec.task()),
            spec,
            host: config.host()?,
            network_only: config.network_only,
            grpc_only: config.grpc_only,
            session_timeout: config.session_timeout(),
            task_timeout: config.task_timeout.unwrap_or(tensorfleet_cluster::Task::TIMEOUT),
            limits: config.limits(),
            slow_step: config.slow_step,
            credentials: config.credentials.clone(),
            separation: config.separation.clone(),
            quotas: config.quotas(),
            audit: config.audit.clone(),
            policy: config.policy()?,
            logs: Arc::clone(&config.logs),
            address: listener.address(),
            state: Mutex::new(State::Ready(listener)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The target for sessions: `grpc://host:port`, or `grpcs://` with credentials, with the real port.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert!(server.target().starts_with("grpc://localhost:"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn target(&self) -> String {
        let host = self.spec.address().map_or_else(|_| "localhost".to_owned(), |own| own.host);
        let scheme = if self.credentials.is_some() { "grpcs" } else { "grpc" };
        format!("{scheme}://{}", Address { host, port: self.address.port() })
    }

    /// Where the server listens.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert_ne!(server.address().port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the server was told: its cluster and its task.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), false)?;
    /// assert_eq!(server.server_def().cluster().jobs().collect::<Vec<_>>(), ["local"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn server_def(&self) -> &ServerSpec {
        &self.spec
    }

    /// Starts to serve. A server that serves already goes on; one that has stopped cannot.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), false)?;
    /// server.start()?;
    /// // A second time changes nothing.
    /// server.start()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(&self) -> Result<()> {
        let mut state = self.lock();
        if let State::Serving(_) = *state {
            return Ok(());
        }
        let State::Ready(listener) = std::mem::replace(&mut *state, State::Stopped) else {
            return Err(failed_precondition!("the server of {} has stopped", self.spec.task()));
        };
        let config = ServerConfig {
            spec: self.spec.clone(),
            registry: self.registry(),
            pool: Arc::clone(&self.host.pool),
            neighbours: if self.network_only {
                Arc::default()
            } else {
                Arc::clone(&self.host.neighbours)
            },
            links: !self.grpc_only,
            session_timeout: self.session_timeout,
            task_timeout: self.task_timeout,
            limits: self.limits.clone(),
            slow_step: self.slow_step,
            credentials: self.credentials.clone(),
            separation: self.separation.clone(),
            quotas: self.quotas.clone(),
            audit: self.audit.clone(),
            journal: self.journal.clone(),
            logs: Arc::clone(&self.logs),
        };
        let _runtime = self.host.handle().enter();
        *state = State::Serving(Arc::new(tensorfleet_rpc::Server::start(listener, config)?));
        Ok(())
    }

    /// The ops that clients may use.
    fn registry(&self) -> Arc<Registry> {
        if self.policy.is_empty() {
            return Arc::clone(&self.host.registry);
        }
        Arc::new(self.host.registry.under(Arc::new(self.policy.clone())))
    }

    /// Waits until the server has stopped, which another thread must cause.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| server.stop());
    ///     server.join()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(&self) -> Result<()> {
        let Some(serving) = self.serving() else { return Ok(()) };
        self.host.wait(async move { serving.join().await })
    }

    /// Waits until the server has stopped, but no longer than `limit`, and says whether it has.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert!(!server.join_for(Duration::from_millis(1))?);
    /// server.stop()?;
    /// assert!(server.join_for(Duration::MAX)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn join_for(&self, limit: Duration) -> Result<bool> {
        let Some(serving) = self.serving() else { return Ok(true) };
        let stopped = async move { tokio::time::timeout(limit, serving.join()).await.is_ok() };
        self.host.wait(stopped)
    }

    /// Ends when the server has stopped, whoever stopped it.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default();
    /// let server = Server::create_local_server(&config, true)?;
    /// let stopped = server.stopped();
    /// server.stop()?;
    /// config.host()?.wait(stopped)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let serving = self.serving().map(|serving| serving.stopped());
        async move {
            if let Some(stopped) = serving {
                stopped.await;
            }
        }
    }

    /// Tells whoever looks at the cluster a number of what is trained here, as its loss, at a step. There
    /// may be a few such curves, each with as many points as one likes.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// server.tell_scalar("loss", 10, 0.25)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn tell_scalar(&self, name: &str, step: i64, value: f64) -> Result<()> {
        match self.serving() {
            Some(serving) => serving.scalars().add(name, step, value),
            None => Err(failed_precondition!("the server of {} does not serve", self.spec.task())),
        }
    }

    /// Tells of steps in the log that take so long or longer from now on; without a time of none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// server.tell_of_steps_above(Some(Duration::from_secs(1)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tell_of_steps_above(&self, slow: Option<Duration>) {
        if let Some(serving) = self.serving() {
            serving.tell_of_steps_above(slow);
        }
    }

    /// How often the server has been used, and whether somebody uses it now; nothing if it does not serve.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// let uses = server.uses().unwrap();
    /// assert_eq!((uses.running, uses.count), (0, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn uses(&self) -> Option<Uses> {
        self.serving().map(|serving| serving.view().uses())
    }

    /// Whether the threads that compute make progress: steps that come now are not kept waiting by others
    /// that hold them all.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert!(server.makes_progress());
    /// # Ok(())
    /// # }
    /// ```
    pub fn makes_progress(&self) -> bool {
        self.serving().is_none_or(|serving| serving.view().makes_progress())
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn serving(&self) -> Option<Arc<tensorfleet_rpc::Server>> {
        match &*self.lock() {
            State::Serving(server) => Some(Arc::clone(server)),
            State::Ready(_) | State::Stopped => None,
        }
    }

    /// Refuses new steps, with `Code::Unavailable`, and waits until those under way have ended, at
    /// most `grace` long and no longer than `hurry` is pending. Says whether all have ended.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// assert!(server.drain(Duration::from_secs(10), std::future::pending())?);
    /// server.stop()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain(
        &self,
        grace: Duration,
        hurry: impl Future<Output = ()> + Send + 'static,
    ) -> Result<bool> {
        let Some(serving) = self.serving() else { return Ok(true) };
        serving.drain();
        self.host.wait(async move {
            tokio::select! {
                biased;
                () = serving.idle() => true,
                () = tokio::time::sleep(grace) => false,
                () = hurry => false,
            }
        })
    }

    /// Stops: calls that are under way have a moment to end, then the port is free.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default(), true)?;
    /// server.stop()?;
    /// assert!(server.start().is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop(&self) -> Result<()> {
        let State::Serving(server) = std::mem::replace(&mut *self.lock(), State::Stopped) else {
            return Ok(());
        };
        self.host.wait(async move { server.stop().await })
    }
}

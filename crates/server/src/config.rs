//! How servers run.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tensorfleet_cluster::spec::Task;
use tensorfleet_framework::Registry;
use tensorfleet_rpc::{Durability, JournalOptions, Limits};
use tensorfleet_security::Credentials;
use tensorfleet_tensor::Result;

use crate::Host;

/// How servers run. Clones share their threads: a process with many servers gives all of them
/// clones of one configuration.
///
/// ```
/// use tensorfleet_server::{Config, Server};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let config = Config::default().cpu_devices(2).threads(2);
/// let server = Server::create_local_server(&config, true)?;
/// assert!(server.target().starts_with("grpc://localhost:"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(crate) cpu_devices: Option<u32>,
    pub(crate) network_only: bool,
    pub(crate) grpc_only: bool,
    /// A serialized `ConfigProto`.
    pub(crate) session_config: Option<Vec<u8>>,
    ops: Option<Arc<Registry>>,
    threads: Option<usize>,
    /// Zero means for ever.
    session_timeout: Option<Duration>,
    failure_timeout: Option<Duration>,
    pub(crate) slow_step: Option<Duration>,
    pub(crate) credentials: Option<Arc<Credentials>>,
    data: Option<(PathBuf, Durability)>,
    host: Arc<OnceLock<Arc<Host>>>,
}

impl Config {
    /// Gives each server so many CPU devices instead of one.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = Server::create_local_server(&Config::default().cpu_devices(4), false)?;
    /// assert!(!server.server_def().session_config.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cpu_devices(mut self, count: u32) -> Config {
        self.cpu_devices = Some(count);
        self
    }

    /// Gives sessions this serialized `ConfigProto` unless they say otherwise, as TensorFlow's servers
    /// do with the `config` that they are made with; it also tells the number of CPU devices.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// // `ConfigProto(device_count={"CPU": 3})`
    /// let message = b"\x0a\x07\x0a\x03CPU\x10\x03".to_vec();
    /// let config = Config::default().session_config(message.clone());
    /// let server = Server::create_local_server(&config, false)?;
    /// assert_eq!(server.server_def().session_config, message);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn session_config(mut self, message: Vec<u8>) -> Config {
        self.session_config = Some(message);
        self
    }

    /// Serves these ops instead of the library's.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().ops(tensorfleet_ops::library());
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn ops(self, ops: Arc<Registry>) -> Config {
        Config { ops: Some(ops), host: Arc::default(), ..self }
    }

    /// Computes on so many threads instead of one for each core.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let one = Config::default().threads(1);
    /// let server = Server::create_local_server(&one, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn threads(self, count: usize) -> Config {
        Config { threads: Some(count), host: Arc::default(), ..self }
    }

    /// Lets servers of this process speak to each other over the network only, as servers of
    /// different processes do.
    ///
    /// ```
    /// use tensorfleet_server::{Config, create_local_cluster};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().network_only();
    /// let cluster = create_local_cluster(1, 1, "grpc", &config, &config)?;
    /// assert_eq!(cluster.servers().count(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn network_only(mut self) -> Config {
        self.network_only = true;
        self
    }

    /// Lets servers speak to other tasks over gRPC only, as TensorFlow's do, even where the others
    /// know faster ways.
    ///
    /// ```
    /// use tensorfleet_server::{Config, create_local_cluster};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().grpc_only();
    /// let cluster = create_local_cluster(1, 1, "grpc", &config, &config)?;
    /// assert_eq!(cluster.servers().count(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn grpc_only(mut self) -> Config {
        self.grpc_only = true;
        self.network_only()
    }

    /// Closes sessions that nobody has used for so long; zero means never. A client that was killed
    /// leaves its sessions behind, and their graphs would stay in memory. Without this call it is
    /// a day.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().close_sessions_after(Duration::from_secs(3600));
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn close_sessions_after(mut self, idle: Duration) -> Config {
        self.session_timeout = Some(idle);
        self
    }

    /// Takes another task, or a client with calls under way, for lost that has not answered for so
    /// long. Without this call it is ten seconds. Calls that wait for it then fail with
    /// `Code::Unavailable`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().notice_failures_after(Duration::from_secs(60));
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn notice_failures_after(mut self, silence: Duration) -> Config {
        self.failure_timeout = Some(silence);
        self
    }

    /// Tells of steps in the log that take so long or longer. Without this call it does not.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().tell_of_steps_above(Duration::from_secs(1));
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn tell_of_steps_above(mut self, slow: Duration) -> Config {
        self.slow_step = Some(slow);
        self
    }

    /// Lets in only who has a certificate of the cluster or a token, over TLS, and speaks to other tasks
    /// the same way. The credentials need a certificate and its key.
    ///
    /// ```
    /// use tensorfleet_security::authority::Authority;
    /// use tensorfleet_security::{Credentials, Files};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("tensorfleet-doc-{}", std::process::id()));
    /// let authority = Authority::init(&directory, "fleet", 365)?;
    /// let issued = authority.issue_task("local", 0, &["localhost".to_owned()], 30)?;
    /// let files = Files {
    ///     certificate: Some(issued.certificate),
    ///     key: Some(issued.key),
    ///     authorities: authority.root(),
    ///     ..Files::default()
    /// };
    /// let config = Config::default().credentials(Credentials::load(files)?);
    /// let server = Server::create_local_server(&config, true)?;
    /// assert!(server.target().starts_with("grpcs://localhost:"));
    /// # std::fs::remove_dir_all(directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn credentials(mut self, credentials: Arc<Credentials>) -> Config {
        self.credentials = Some(credentials);
        self
    }

    /// Keeps the variables of each task in a directory of its own below this one, as `ps-0`, and gives a
    /// task that starts the variables that it had. [`Durability`] says what an answered step is worth.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Durability, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("durable-{}", std::process::id()));
    /// let config = Config::default().data_directory(&directory, Durability::Sync);
    /// let server = Server::create_local_server(&config, true)?;
    /// assert!(directory.join("local-0").is_dir());
    /// # drop(server);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn data_directory(mut self, path: impl Into<PathBuf>, durability: Durability) -> Config {
        self.data = Some((path.into(), durability));
        self
    }

    /// Where and how a task keeps its variables, if it does.
    pub(crate) fn journal(&self, task: &Task) -> Option<JournalOptions> {
        let (path, durability) = self.data.as_ref()?;
        let path = path.join(format!("{}-{}", task.job, task.index));
        Some(JournalOptions::new(path, *durability))
    }

    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::default();
        let silence = self.failure_timeout.unwrap_or(limits.silence);
        Limits { silence: silence.max(Duration::from_millis(30)), ..limits }
    }

    pub(crate) fn session_timeout(&self) -> Option<Duration> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Some(self.session_timeout.unwrap_or(DAY)).filter(|timeout| !timeout.is_zero())
    }

    /// The threads, started by whoever asks first.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tensorfleet_server::Config;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default();
    /// // Clones share their threads.
    /// assert!(Arc::ptr_eq(&config.host()?, &config.clone().host()?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn host(&self) -> Result<Arc<Host>> {
        if let Some(host) = self.host.get() {
            return Ok(Arc::clone(host));
        }
        let ops = self.ops.clone().unwrap_or_else(tensorfleet_ops::library);
        let host = Arc::new(Host::new(ops, self.threads)?);
        Ok(Arc::clone(self.host.get_or_init(|| host)))
    }
}

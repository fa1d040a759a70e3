//! How servers run.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tensorfleet_cluster::{Quotas, Separation};
use tensorfleet_files::ConfinedFileSystem;
use tensorfleet_framework::Registry;
use tensorfleet_rpc::{BackupStore, Durability, JournalOptions, Limits, LogTail};
use tensorfleet_security::Credentials;
use tensorfleet_security::audit::Audit;
use tensorfleet_spec::Task;
use tensorfleet_tensor::Result;

use crate::Host;
use crate::ops::Policy;

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
    pub(crate) task_timeout: Option<Duration>,
    pub(crate) slow_step: Option<Duration>,
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) separation: Separation,
    policy: Policy,
    fs_roots: Vec<String>,
    quotas: Option<Quotas>,
    pub(crate) is_insecure: bool,
    connections_per_address: Option<usize>,
    pub(crate) audit: Option<Arc<Audit>>,
    data: Option<(PathBuf, Durability)>,
    backup: Option<String>,
    restore_from: Option<String>,
    pub(crate) logs: Arc<LogTail>,
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

    /// Waits for so long for another task that keeps its variables ([`Config::data_directory`]) and is
    /// away: steps that need it are held, and go on when it is back. Without this call it is a minute; zero
    /// means that they fail at once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().wait_for_tasks(Duration::from_secs(600));
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn wait_for_tasks(mut self, limit: Duration) -> Config {
        self.task_timeout = Some(limit);
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

    /// Serves other machines without [`Config::credentials`]: everybody who reaches the port may run code.
    /// Without this call only addresses of this machine alone may be listened on.
    ///
    /// ```
    /// use tensorfleet_server::{ClusterSpec, Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["0.0.0.0:0"])])?;
    /// let open = |config: &Config| Server::new(&cluster, "worker", 0, "grpc", config, false);
    /// assert!(open(&Config::default()).is_err());
    /// assert!(open(&Config::default().insecure()).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn insecure(mut self) -> Config {
        self.is_insecure = true;
        self
    }

    /// Gives every session and eager context variables of its own, as if its client had asked for
    /// `isolate_session_state`. Then programs that share variables by name, as the workers of one
    /// training do, cannot.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().isolate_sessions();
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn isolate_sessions(mut self) -> Config {
        self.separation.isolate = true;
        self
    }

    /// Gives somebody, by the name in its certificate or of its token, a container for all that it keeps
    /// on a task: it sees nothing else, and nobody sees into it but those who are given the same one.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().container("alice", "vision").container("bob", "speech");
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn container(mut self, who: impl Into<String>, container: impl Into<String>) -> Config {
        self.separation.rooms.insert(who.into(), container.into());
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

    /// Ships what tasks with a [`Config::data_directory`] keep to a place elsewhere, each below a name of
    /// its own, about a second after it is on the disk: a directory as `file:///mnt/backup`, or object
    /// storage as `s3://bucket/run` if that is compiled in.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Durability, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// # let place = std::env::temp_dir().join(format!("shipped-{}", std::process::id()));
    /// let backup = format!("file://{}/backup", place.display());
    /// let config = Config::default().data_directory(place.join("data"), Durability::Sync);
    /// let server = Server::create_local_server(&config.clone().backup(&backup), true)?;
    /// drop(server);
    /// // Another machine.
    /// let config = Config::default().data_directory(place.join("other"), Durability::Sync);
    /// let server = Server::create_local_server(&config.restore_from(&backup), true)?;
    /// # drop(server);
    /// # std::fs::remove_dir_all(&place).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn backup(mut self, url: impl Into<String>) -> Config {
        self.backup = Some(url.into());
        self
    }

    /// Lets tasks whose data directory is empty start with what was shipped by [`Config::backup`].
    ///
    /// ```
    /// use tensorfleet_server::{Config, Durability};
    ///
    /// let config = Config::default()
    ///     .data_directory("/var/lib/tensorfleet", Durability::Sync)
    ///     .backup("s3://bucket/run")
    ///     .restore_from("s3://bucket/run");
    /// ```
    #[must_use]
    pub fn restore_from(mut self, url: impl Into<String>) -> Config {
        self.restore_from = Some(url.into());
        self
    }

    /// Lets clients use ops that reach the server's files, by name or all of them as `files`. With
    /// [`Config::credentials`] they may not unless they are named here.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().allow_ops(["SaveV2", "RestoreV2"]);
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn allow_ops(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Config {
        self.policy.allow.extend(names.into_iter().map(Into::into));
        self
    }

    /// Refuses to compute ops, by name or all that reach files as `files`. What is named here is refused
    /// even if it is allowed too.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().deny_ops(["files"]);
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deny_ops(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Config {
        self.policy.deny.extend(names.into_iter().map(Into::into));
        self
    }

    /// Lets clients use files below a directory, or objects below a prefix as `s3://bucket/prefix`, and
    /// no others; may be called several times. Neither `..` nor a link leads out. With
    /// [`Config::credentials`] and without this call they may use none.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().fs_root(std::env::temp_dir().display().to_string());
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn fs_root(mut self, directory: impl Into<String>) -> Config {
        self.fs_roots.push(directory.into());
        self
    }

    /// What clients may take of each task: memory, sessions, sizes of graphs. Without this call it is what
    /// [`sensible_quotas`] says.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Quotas, Server, sensible_quotas};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let quotas = Quotas { memory: 8 << 30, sessions: 100, ..sensible_quotas() };
    /// let server = Server::create_local_server(&Config::default().quotas_of_clients(quotas), true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn quotas_of_clients(mut self, quotas: Quotas) -> Config {
        self.quotas = Some(quotas);
        self
    }

    /// Writes down in a log that shows later changes who opens and closes sessions and contexts, who resets,
    /// drains and stops, and who is refused.
    ///
    /// ```
    /// use tensorfleet_security::audit::{Audit, verify};
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("audit-{}", std::process::id()));
    /// let config = Config::default().audit(Audit::open(&path)?);
    /// let server = Server::create_local_server(&config, true)?;
    /// assert_eq!(verify(&path)?.lines, 0);
    /// # std::fs::remove_file(path).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn audit(mut self, audit: Arc<Audit>) -> Config {
        self.audit = Some(audit);
        self
    }

    /// Lets one address have so many connections at a time. Without this call those of other machines have
    /// 2,000, and this one's as many as there are.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = Config::default().connections_per_address(100);
    /// let server = Server::create_local_server(&config, true)?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn connections_per_address(mut self, most: usize) -> Config {
        self.connections_per_address = Some(most);
        self
    }

    pub(crate) fn quotas(&self) -> Quotas {
        self.quotas.clone().unwrap_or_else(sensible_quotas)
    }

    /// Which ops clients may use.
    pub(crate) fn policy(&self) -> Result<Policy> {
        let is_untrusting = self.credentials.is_some();
        let files = match &*self.fs_roots {
            [] => None,
            roots => Some(ConfinedFileSystem::new(roots.iter().map(String::as_str))?),
        };
        let files = files.map(Arc::new);
        let policy = Policy { is_untrusting, files, ..self.policy.clone() };
        policy.check(&self.host()?.registry)?;
        Ok(policy)
    }

    /// Lets operators see the last lines of the log that the process writes into this, too.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tensorfleet_server::{Config, LogTail, Server};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let logs = Arc::new(LogTail::default());
    /// let server = Server::create_local_server(&Config::default().logs(Arc::clone(&logs)), true)?;
    /// logs.add("training begins");
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn logs(mut self, logs: Arc<LogTail>) -> Config {
        self.logs = logs;
        self
    }

    /// Where and how a task keeps its variables, if it does.
    pub(crate) fn journal(&self, task: &Task) -> Option<JournalOptions> {
        let (path, durability) = self.data.as_ref()?;
        let path = path.join(format!("{}-{}", task.job, task.index));
        let store = |url: &String| {
            let url = url.trim_end_matches('/');
            BackupStore::new(format!("{url}/{}-{}", task.job, task.index))
        };
        Some(JournalOptions {
            backup: self.backup.as_ref().map(store),
            restore_from: self.restore_from.as_ref().map(store),
            ..JournalOptions::new(path, *durability)
        })
    }

    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::default();
        let silence = self.failure_timeout.unwrap_or(limits.silence);
        Limits {
            silence: silence.max(Duration::from_millis(30)),
            connections_per_address: self.connections_per_address,
            ..limits
        }
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

/// What clients may take of a task where nothing else is said: most of the memory of the machine or of
/// its container, and numbers that no honest program reaches.
///
/// ```
/// assert!(tensorfleet_server::sensible_quotas().memory > 1 << 20);
/// ```
pub fn sensible_quotas() -> Quotas {
    Quotas { memory: tensorfleet_tensor::account::sensible_limit(), ..Quotas::default() }
}

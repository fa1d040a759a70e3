//! A server: one task of a cluster, listening on its address.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use prost::Message;
use tensorfleet_cluster::collective::CollectiveTable;
use tensorfleet_cluster::{Master, Quotas, RealWorld, Separation, Task, Worker};
use tensorfleet_framework::Registry;
use tensorfleet_journal::{DurableJournal, Options as JournalOptions};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_runtime::ComputePool;
use tensorfleet_security::Credentials;
use tensorfleet_security::audit::Audit;
use tensorfleet_spec::{Address, ServerSpec};
use tensorfleet_tensor::{Result, invalid_argument, not_found, unavailable, unknown_error};
use tensorfleet_transport::{Limits, Memory};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::activity::Activity;
use crate::admin::{self, AdminHandler, Fleet, LogTail, Scalars};
use crate::coordination::CoordinationHandler;
use crate::grpc::Services;
use crate::health::HealthHandler;
use crate::link::{Doors, Introductions, accept};
use crate::master::MasterHandler;
use crate::neighbours::Neighbours;
use crate::peers::ClusterPeers;
use crate::progress;
use crate::wire;
use crate::worker::{Linking, WorkerHandler};

/// What a server is made of.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub spec: ServerSpec,
    pub registry: Arc<Registry>,
    pub pool: Arc<ComputePool>,
    /// The other tasks of this process that it may call.
    pub neighbours: Arc<Neighbours>,
    /// Whether other tensorfleet tasks may use links; without them all calls go over gRPC.
    pub links: bool,
    /// Sessions that nobody has used for so long are closed.
    pub session_timeout: Option<Duration>,
    /// What clients may take of it, and how long others may be silent.
    pub limits: Limits,
    /// Steps that take longer are told of in the log.
    pub slow_step: Option<Duration>,
    /// What is shown to others and asked of them; without it everybody is let in, in plaintext.
    pub credentials: Option<Arc<Credentials>>,
    /// How clients are kept apart.
    pub separation: Separation,
    /// What clients may take of the task.
    pub quotas: Quotas,
    /// Where it is written down who does what, if it is.
    pub audit: Option<Arc<Audit>>,
    /// How long durable tasks that are away are waited for.
    pub task_timeout: Duration,
    /// Where what the task changes is kept, if it is.
    pub journal: Option<JournalOptions>,
    /// Where the process keeps the last lines of its log.
    pub logs: Arc<LogTail>,
}

/// An address that is taken for a server.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Takes an address; port 0 takes any free port.
    pub async fn bind(bind: &Address) -> Result<Listener> {
        let listener = listen(bind).await?;
        let address = listener
            .local_addr()
            .map_err(|error| unavailable!("cannot listen on {bind}: {error}"))?;
        Ok(Listener { listener, address })
    }

    /// The address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    stopped: watch::Receiver<bool>,
    task: Arc<Task>,
    ending: Arc<Ending>,
    view: admin::View,
    fleet: Arc<Fleet>,
    journal: Option<Arc<DurableJournal>>,
}

/// How a server ends, whoever wants it.
#[derive(Debug)]
pub(crate) struct Ending {
    stop: watch::Sender<bool>,
    task: Arc<Task>,
    master: Arc<Master>,
    activity: Arc<Activity>,
    neighbours: Arc<Neighbours>,
    /// How the cluster knows the task.
    known_as: String,
}

impl Ending {
    pub(crate) fn begin(&self) {
        self.activity.close();
        // Clients are told before their connections end.
        self.master.stop();
        self.stop.send_replace(true);
        self.neighbours.remove(&self.known_as);
        // Neighbours wait for tensors without a connection that would break.
        let stopped = unavailable!("{} has stopped", self.task.name).worker_restarted();
        self.task.steps.abort_all(&stopped);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({} at {})", self.task.name, self.address)
    }
}

impl Server {
    /// Starts to serve on the runtime that it is called in.
    pub fn start(listener: Listener, config: ServerConfig) -> Result<Server> {
        let Listener { listener, address } = listener;
        let session_config =
            pb::ConfigProto::decode(&config.spec.session_config[..]).map_err(|error| {
                invalid_argument!("the default session configuration is broken: {error}")
            })?;
        if let Some(credentials) = &config.credentials {
            if let Some(audit) = &config.audit {
                credentials.audited_by(Arc::clone(audit));
            }
            credentials.check_server()?;
            credentials.watch(&Handle::current());
        }
        let cpus = session_config.device_count.get("CPU").copied().unwrap_or(1);
        let name = config.spec.task();
        let cpus = u32::try_from(cpus).unwrap_or(1);
        let world = Arc::new(RealWorld(Handle::current()));
        let task = Task {
            threads: wire::threads(&session_config),
            collectives: CollectiveTable::led_by(wire::group_leader(&session_config)?),
            task_timeout: config.task_timeout,
            ..Task::new(&name.job, name.index, cpus, config.registry, config.pool, world)
        };
        let task = task.separated(config.separation).limited(config.quotas);
        let journal =
            config.journal.map(|options| open_journal(&options, &task)).transpose()?.flatten();
        let task = Arc::new(match &journal {
            None => task,
            Some(journal) => {
                let incarnations = journal.incarnations(&task.incarnations())?;
                task.known_by(&incarnations)
            }
        });
        let activity = Arc::new(Activity::new(
            task.name.to_string(),
            config.slow_step,
            Arc::clone(&task.events),
        ));
        let journal = journal.map(Arc::new);
        let neighbours = config.neighbours;
        let own = || Arc::new(Introductions::new(task.name.to_string()));
        let introductions = config.links.then(own);
        let peers = Arc::new(ClusterPeers::new(
            config.spec.cluster(),
            Handle::current(),
            Arc::clone(&neighbours),
            introductions.clone(),
            config.limits.silence,
            config.credentials.clone(),
            Arc::clone(&task.events),
        ));
        let worker = Arc::new(Worker::new(Arc::clone(&task), Arc::clone(&peers) as _));
        let known_as = config.spec.cluster().address(name)?.to_owned();
        neighbours.insert(known_as.clone(), &worker);
        let master =
            Arc::new(Master::new(Arc::clone(&task), Arc::clone(&worker), Arc::clone(&peers) as _));
        if let Some(timeout) = config.session_timeout {
            tokio::spawn(close_idle_sessions(Arc::downgrade(&master), timeout));
        }
        tokio::spawn(end_stale_contexts(Arc::downgrade(&worker)));
        let silence = config.limits.silence;
        tokio::spawn(progress::watch(Arc::downgrade(&task), Arc::downgrade(&activity), silence));
        let link = introductions.as_ref().map(|introductions| Linking {
            introductions: Arc::clone(introductions),
            peers: Arc::clone(&peers),
        });
        let worker_handler = WorkerHandler {
            task: Arc::clone(&task),
            worker,
            link,
            recent_runs: Arc::default(),
            recent_tensors: Arc::default(),
            activity: Arc::clone(&activity),
        };
        let memory = Memory::new(config.limits.server_memory);
        let stop = watch::Sender::new(false);
        let health = HealthHandler { stop: activity.unready.subscribe() };
        let ended_master = Arc::clone(&master);
        let spec = Arc::new(config.spec);
        let view = admin::View {
            spec: Arc::clone(&spec),
            task: Arc::clone(&task),
            worker: Arc::clone(&worker_handler.worker),
            master: Arc::clone(&master),
            activity: Arc::clone(&activity),
            peers,
            connections: Arc::clone(&memory),
            stop: stop.subscribe(),
            logs: config.logs,
            scalars: Arc::default(),
            journal: journal.as_ref().map(Arc::downgrade).unwrap_or_default(),
            credentials: config.credentials.clone(),
        };
        let credentials = config.credentials.clone();
        let fleet =
            Arc::new(Fleet::new(view.clone(), &spec, address, Handle::current(), credentials));
        let (mut services, mut health_alone) = (Services::default(), Services::default());
        services.audit.clone_from(&config.audit);
        health.add_methods(&mut health_alone);
        health.add_methods(&mut services);
        let recent = Arc::default();
        let counted = Arc::clone(&activity);
        MasterHandler { master, recent, activity: counted }.add_methods(&mut services);
        worker_handler.add_methods(&mut services);
        worker_handler.eager().add_methods(&mut services);
        let doors_stop = stop.subscribe();
        let ended_task = Arc::clone(&task);
        let ending = Arc::new(Ending {
            stop,
            task: ended_task,
            master: ended_master,
            activity,
            neighbours,
            known_as,
        });
        let (shown, ended) = (Arc::clone(&fleet), Arc::clone(&ending));
        AdminHandler { view: view.clone(), fleet: shown, ending: ended }.add_methods(&mut services);
        CoordinationHandler { task: Arc::clone(&task) }.add_methods(&mut services);
        let doors = Doors {
            methods: Arc::new(services.methods),
            health: Arc::new(health_alone.methods),
            handler: worker_handler,
            introductions,
            limits: config.limits,
            memory,
            credentials: config.credentials,
            stop: doors_stop,
        };
        let ended = watch::Sender::new(false);
        let joined = ended.subscribe();
        tokio::spawn(async move {
            accept(listener, doors).await;
            ended.send_replace(true);
        });
        Ok(Server { address, stopped: joined, task, ending, view, fleet, journal })
    }

    /// The address that the server listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// What the server knows of itself.
    pub fn view(&self) -> &admin::View {
        &self.view
    }

    /// Tells of steps in the log that take so long from now on.
    pub fn tell_of_steps_above(&self, slow: Option<Duration>) {
        self.ending.activity.tell_of_work_above(slow);
    }

    /// What the server can tell of all tasks of its cluster.
    pub fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// The curves of what programs train here.
    pub fn scalars(&self) -> &Scalars {
        &self.view.scalars
    }

    /// Refuses new steps from now on.
    pub fn drain(&self) {
        self.ending.activity.drain();
    }

    /// Waits until no step is under way.
    pub async fn idle(&self) {
        self.ending.activity.idle().await;
    }

    /// Stops: no new calls are taken, those under way have a moment to end, the port is free
    /// afterwards.
    pub async fn stop(&self) {
        self.ending.begin();
        self.join().await;
        if let Some(journal) = &self.journal {
            journal.close();
        }
    }

    /// Waits until the server has stopped.
    pub async fn join(&self) {
        self.stopped().await;
    }

    /// Ends when the server has stopped, which it may meanwhile.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.clone();
        async move {
            // An error means that the serving task is gone, which is the end as well.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }
}

/// Gives a task the state that it had, and keeps it from now on.
fn open_journal(options: &JournalOptions, task: &Task) -> Result<Option<DurableJournal>> {
    let devices: Vec<_> = task.devices.iter().map(|local| Arc::clone(&local.resources)).collect();
    DurableJournal::open(options, &task.name.to_string(), &task.registry, &devices)
}

/// Closes sessions that are not used, as long as there is a master.
async fn close_idle_sessions(master: Weak<Master>, timeout: Duration) {
    loop {
        tokio::time::sleep((timeout / 4).max(Duration::from_millis(10))).await;
        let Some(master) = master.upgrade() else { return };
        master.close_idle_sessions(timeout).await;
    }
}

/// Ends eager contexts whose clients are gone, as long as there is a worker.
async fn end_stale_contexts(worker: Weak<Worker>) {
    loop {
        tokio::time::sleep(LEASE_CHECK).await;
        let Some(worker) = worker.upgrade() else { return };
        worker.contexts().end_stale();
    }
}

/// How often leases are looked at; clients ask for seconds.
const LEASE_CHECK: Duration = Duration::from_millis(500);

/// Binds an address, with one clear line for what can be wrong with it.
async fn listen(bind: &Address) -> Result<TcpListener> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((bind.host.as_str(), bind.port))
        .await
        .map_err(|error| not_found!("the address {bind} cannot be resolved: {error}"))?
        .collect();
    TcpListener::bind(&addresses[..]).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            // TensorFlow's code and words, and what it leaves out.
            unknown_error!(
                "Could not start gRPC server: port {} of {} is taken",
                bind.port,
                bind.host
            )
        }
        std::io::ErrorKind::AddrNotAvailable => {
            invalid_argument!("{} is not an address of this machine", bind.host)
        }
        _ => unavailable!("cannot listen on {bind}: {error}"),
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.begin();
    }
}

//! A cluster in a simulation: its tasks boot, die and boot again.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_cluster::{Master, Task, Worker, World};
use tensorfleet_framework::{DeviceName, Registry, Variable};
use tensorfleet_graph::{AttrMap, AttrValue};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor};

use crate::durable::{SimDisk, SimJournal};
use crate::executor::{Handle, NodeId};
use crate::network::Network;
use crate::peers::{Server, Servers, SimPeers};
use crate::world::{NodeWorld, pool};

/// Sessions that nobody has used for so long are closed.
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);

/// The name of the variable that each task holds.
pub(crate) const VARIABLE: &str = "total";

/// The tasks of a cluster, on the nodes from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) handle: Handle,
    pub(crate) network: Network,
    pub(crate) servers: Servers,
    pub(crate) names: Arc<Vec<DeviceName>>,
    registry: Arc<Registry>,
    /// The disks of those that have one.
    disks: Arc<Vec<Option<SimDisk>>>,
}

impl Cluster {
    pub(crate) fn new(
        network: &Network,
        disks: Vec<Option<SimDisk>>,
        registry: &Arc<Registry>,
    ) -> Cluster {
        let name = |task: usize| DeviceName {
            job: Some("sim".to_owned()),
            replica: Some(0),
            task: Some(task as u32),
            ..DeviceName::default()
        };
        Cluster {
            handle: network.handle.clone(),
            network: network.clone(),
            servers: Servers::default(),
            names: Arc::new((0..disks.len()).map(name).collect()),
            registry: Arc::clone(registry),
            disks: Arc::new(disks),
        }
    }

    /// The device of a task.
    pub(crate) fn device(&self, node: NodeId) -> String {
        format!("{}/device:CPU:0", self.names[node])
    }

    /// Which life of a task's variable this is: one with a disk has only one.
    pub(crate) fn life_of_variable(&self, node: NodeId) -> u64 {
        match &self.disks[node] {
            Some(_) => 1,
            None => self.servers.get(node).map_or(0, |server| server.life.number),
        }
    }

    /// Starts a task, with its variable at zero or where it was.
    pub(crate) fn boot(&self, node: NodeId) {
        let life = self.handle.boot(node);
        let world = NodeWorld { handle: self.handle.clone(), life };
        let compute = Arc::new(pool(&world));
        let world: Arc<dyn World> = Arc::new(world);
        let registry = Arc::clone(&self.registry);
        let task = Task::new("sim", node as u32, 1, registry, compute, Arc::clone(&world));
        let (task, value) = match &self.disks[node] {
            None => (task, 0),
            Some(disk) => {
                let (disk, handle) = (disk.clone(), self.handle.clone());
                let (incarnation, value) = (disk.incarnation(), disk.value());
                let journal = Arc::new(SimJournal { disk, handle, life });
                task.devices[0].resources.keep_in(journal, 0);
                (task.known_by(&[incarnation]), value)
            }
        };
        let task = Arc::new(task);
        let peers = Arc::new(SimPeers {
            own: life,
            names: Arc::clone(&self.names),
            network: self.network.clone(),
            servers: self.servers.clone(),
        });
        let worker = Arc::new(Worker::new(Arc::clone(&task), Arc::clone(&peers) as _));
        let master = Arc::new(Master::new(Arc::clone(&task), Arc::clone(&worker), peers));
        let closing = Arc::downgrade(&master);
        let clock = self.handle.clone();
        world.spawn(Box::pin(async move {
            loop {
                clock.sleep(SESSION_TIMEOUT / 4).await;
                let Some(master) = closing.upgrade() else { return };
                master.close_idle_sessions(SESSION_TIMEOUT).await;
            }
        }));
        start_variable(&task, value).expect("a new task has room for a variable");
        let server = Server { life, task, worker, master };
        self.servers.set(node, Some(server));
        self.network.join(life, &self.names[node].to_string());
        self.handle.note(|| format!("task {node} boots, life {}", life.number));
    }

    /// Ends a task in the middle of whatever it does.
    pub(crate) fn kill(&self, node: NodeId) {
        self.handle.note(|| format!("task {node} dies"));
        self.network.leave(node);
        self.handle.kill(node);
        self.servers.set(node, None);
    }
}

/// The attributes of a handle of a task's variable.
pub(crate) fn handle_attrs() -> AttrMap {
    AttrMap::from([
        ("dtype".to_owned(), AttrValue::Type(DType::Int64)),
        ("shape".to_owned(), AttrValue::Shape(PartialShape::scalar())),
        ("shared_name".to_owned(), VARIABLE.into()),
    ])
}

/// Gives a task its variable.
fn start_variable(task: &Task, value: i64) -> Result<()> {
    let variable = Variable::new(VARIABLE, DType::Int64);
    variable.assign(Tensor::scalar(value))?;
    task.devices[0].resources.create("", VARIABLE, Arc::new(variable))
}

/// What the variable of a task holds.
pub(crate) fn variable_value(server: &Server) -> Result<i64> {
    let resources = &server.task.devices[0].resources;
    resources.lookup::<Variable>("", VARIABLE)?.read()?.scalar_value()
}

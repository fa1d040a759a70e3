//! The tasks of a simulated cluster as they know each other.

use std::sync::{Arc, Mutex, MutexGuard};

use tensorfleet_cluster::client::{
    CreateWorkerSession, Peers, RunGraph, RunGraphReply, WorkerClient,
};
use tensorfleet_cluster::eager::{Item, Operation, Output, Reply};
use tensorfleet_cluster::{LocalWorker, Master, Task, Watches, Worker};
use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_spec::ClusterSpec;
use tensorfleet_tensor::{Result, invalid_argument, unimplemented_error};

use crate::executor::{Life, NodeId};
use crate::network::Network;

/// What a node serves in its present life.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) life: Life,
    pub(crate) task: Arc<Task>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) master: Arc<Master>,
}

/// All servers, by the number of their node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers(Arc<Mutex<Vec<Option<Server>>>>);

impl Servers {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<Server>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn set(&self, node: NodeId, server: Option<Server>) {
        let old = {
            let mut servers = self.lock();
            if servers.len() <= node {
                servers.resize(node + 1, None);
            }
            std::mem::replace(&mut servers[node], server)
        };
        // What a server owns may look for servers when it is dropped.
        drop(old);
    }

    pub(crate) fn get(&self, node: NodeId) -> Option<Server> {
        self.lock().get(node).cloned().flatten()
    }

    /// The server of a life, if it is the present one.
    pub(crate) fn of(&self, life: Life) -> Option<Server> {
        self.get(life.node).filter(|server| server.life == life)
    }

    pub(crate) fn all(&self) -> Vec<Server> {
        self.lock().iter().flatten().cloned().collect()
    }
}

/// The cluster as one of its tasks sees it.
#[derive(Debug)]
pub(crate) struct SimPeers {
    pub(crate) own: Life,
    pub(crate) names: Arc<Vec<DeviceName>>,
    pub(crate) network: Network,
    pub(crate) servers: Servers,
}

impl Peers for SimPeers {
    fn tasks(&self) -> Vec<(DeviceName, String)> {
        let address = |(node, name): (NodeId, &DeviceName)| (name.clone(), format!("node:{node}"));
        self.names.iter().enumerate().map(address).collect()
    }

    fn worker(&self, task: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        let found = self.names.iter().position(|name| name == task);
        let to = found.ok_or_else(|| invalid_argument!("there is no {task}"))?;
        let (network, servers) = (self.network.clone(), self.servers.clone());
        Ok(Arc::new(SimWorker { from: self.own, to, network, servers }))
    }

    fn with_cluster(&self, _: &ClusterSpec) -> Result<Arc<dyn Peers>> {
        Err(unimplemented_error!("simulated sessions bring no cluster"))
    }
}

/// A worker over the network.
#[derive(Clone, Debug)]
struct SimWorker {
    from: Life,
    to: NodeId,
    network: Network,
    servers: Servers,
}

impl SimWorker {
    /// Makes a call as the worker's own process would, over there.
    fn call<T: Send + 'static>(
        &self,
        serve: impl FnOnce(LocalWorker) -> BoxFuture<Result<T>> + Send + 'static,
    ) -> BoxFuture<Result<T>> {
        let servers = self.servers.clone();
        self.network.call(self.from, self.to, move |life| {
            Box::pin(async move {
                match servers.of(life) {
                    Some(Server { worker, task, .. }) => {
                        serve(LocalWorker::new(&worker, &task.name)).await
                    }
                    // It dies this very moment, and takes the call with it.
                    None => std::future::pending().await,
                }
            })
        })
    }
}

impl WorkerClient for SimWorker {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        self.call(|worker| worker.get_status())
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.create_session(request))
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.delete_session(handle))
    }

    fn register_graph(
        &self,
        session: String,
        graph: Arc<Graph>,
        watches: Option<Arc<Watches>>,
    ) -> BoxFuture<Result<String>> {
        self.call(|worker| worker.register_graph(session, graph, watches))
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        self.call(|worker| worker.run_graph(request))
    }

    fn deregister_graph(&self, session: String, graph: String) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.deregister_graph(session, graph))
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        self.call(move |worker| worker.cleanup_graph(step))
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        self.call(|worker| worker.cleanup_all(containers))
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        self.call(move |worker| worker.recv_tensor(step, key))
    }

    fn enqueue(&self, context: u64, items: Vec<Item>) -> BoxFuture<Result<Vec<Reply>>> {
        self.call(move |worker| worker.enqueue(context, items))
    }

    fn run_component(
        &self,
        context: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> BoxFuture<Result<Vec<Output>>> {
        self.call(move |worker| worker.run_component(context, operation, outputs))
    }
}

//! Functions that run on a device of another task.
//!
//! The body is registered with the worker there as a graph of the session, with both ends of edges
//! in place of arguments and results, and each call is a small step of its own: what TensorFlow's
//! workers understand, ours understand too.

use std::sync::Arc;

use tensorfleet_framework::{BoxFuture, DeviceName, Function, StepContext, StepId};
use tensorfleet_graph::{ControlFlow, Func, FunctionLibrary, Graph, NodeId};
use tensorfleet_planner::{Device, Options, plan_function};
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};
use tokio::sync::OnceCell;

use crate::client::{CreateWorkerSession, RunGraph, WorkerClient};
use crate::engine::{Folding, RemoteFunctions};
use crate::held::HeldWorker;
use crate::partial_run::{feed_key, fetch_key, key_prefix_of, through_rendezvous};
use crate::release::{STEP_TRIES, release};
use crate::task::Task;
use crate::view::View;

/// A function with the worker that runs it.
#[derive(Debug)]
struct RemoteFunction {
    shared: Arc<Shared>,
    outputs: usize,
}

#[derive(Debug)]
struct Shared {
    body: Graph,
    target: DeviceName,
    client: Arc<dyn WorkerClient>,
    session: String,
    task: Arc<Task>,
    registered: OnceCell<Registered>,
}

/// What the worker knows the function by.
#[derive(Debug)]
struct Registered {
    graph: String,
    key_prefix: String,
}

/// Runs functions of a session on the session's other workers.
#[derive(Debug)]
pub(crate) struct SessionFunctions {
    pub(crate) session: String,
    /// How the session was made here.
    pub(crate) made: CreateWorkerSession,
    pub(crate) task: Arc<Task>,
    pub(crate) view: Arc<View>,
}

impl SessionFunctions {
    /// A client of another task of the session.
    fn worker(&self, name: DeviceName) -> Result<Arc<dyn WorkerClient>> {
        let peers = &self.view.peers;
        if !self.view.durable.contains(&name) {
            return peers.worker(&name);
        }
        let session = CreateWorkerSession { task_name: name.clone(), ..self.made.clone() };
        Ok(Arc::new(HeldWorker::new(&self.task, &name, None, peers).in_session(session)))
    }
}

impl RemoteFunctions for SessionFunctions {
    fn prepare(
        &self,
        function: &Func,
        device: &DeviceName,
        library: &Arc<FunctionLibrary>,
    ) -> Result<Arc<dyn Function>> {
        let (registry, options) = (&self.task.registry, Options::default());
        let body = plan_function(function, library, registry, &Folding::new(registry), &options)?;
        let outputs = body.nodes().iter().filter(|node| node.steers(ControlFlow::Retval)).count();
        let shared = Shared {
            body,
            target: device.clone(),
            client: self.worker(device.task_name())?,
            session: self.session.clone(),
            task: Arc::clone(&self.task),
            registered: OnceCell::new(),
        };
        Ok(Arc::new(RemoteFunction { shared: Arc::new(shared), outputs }))
    }
}

impl Shared {
    /// Makes the function known to its worker.
    async fn register(&self) -> Result<Registered> {
        let devices = self.client.get_status().await?;
        let device = devices.into_iter().find(|device| self.target.matches(&device.name));
        let device: Device = device
            .ok_or_else(|| invalid_argument!("{} is not a device of its task", self.target))?;
        let mut graph = self.body.clone();
        let name: Arc<str> = device.name.to_string().into();
        for index in 0..graph.len() {
            graph.node_mut(NodeId(index as u32)).device = Arc::clone(&name);
        }
        let graph = Arc::new(through_rendezvous(&graph, &device, &self.task.registry)?);
        let graph = self.client.register_graph(self.session.clone(), graph, None).await?;
        Ok(Registered { graph, key_prefix: key_prefix_of(&device) })
    }

    async fn run(&self, args: Vec<Tensor>, outputs: usize) -> Result<Vec<Tensor>> {
        let registered = self.registered.get_or_try_init(|| self.register()).await?;
        let (client, task) = (Arc::clone(&self.client), Arc::clone(&self.task));
        let id = task.world.random_step_id();
        let step = Ending { client, task, step: id };
        let prefix = &registered.key_prefix;
        let sends = args.into_iter().enumerate().map(|(i, arg)| (feed_key(prefix, i), arg));
        let recv_keys: Vec<String> = (0..outputs).map(|index| fetch_key(prefix, index)).collect();
        let run = RunGraph {
            session: self.session.clone(),
            graph: registered.graph.clone(),
            step: step.step.0,
            sends: sends.collect(),
            recv_keys: recv_keys.clone(),
            ..RunGraph::default()
        };
        let mut received = self.client.run_graph(run).await?.recvs;
        let take = |key: &String| {
            let at = received.iter().position(|(name, _)| name == key);
            at.map(|at| received.swap_remove(at).1)
                .ok_or_else(|| internal!("{} did not return {key}", self.target))
        };
        recv_keys.iter().map(take).collect()
    }
}

impl Function for RemoteFunction {
    fn num_outputs(&self) -> usize {
        self.outputs
    }

    fn call(&self, _: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        let (shared, outputs) = (Arc::clone(&self.shared), self.outputs);
        Box::pin(async move { shared.run(args, outputs).await })
    }
}

/// Ends the step of a call on its worker, however the call ended.
struct Ending {
    client: Arc<dyn WorkerClient>,
    task: Arc<Task>,
    step: StepId,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let (client, step) = (Arc::clone(&self.client), self.step);
        let first = client.cleanup_graph(step);
        release(&self.task, first, STEP_TRIES, move || client.cleanup_graph(step));
    }
}

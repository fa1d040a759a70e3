//! Where a session's steps run: on a master of this process, or on one behind the network.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_cluster as cluster;
use tensorfleet_cluster::{Callable, Master, StepCall, StepReply};
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_rpc::{RemoteMaster, RemoteSession};
use tensorfleet_tensor::{Code, Result, Tensor};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::graph::Graph;

/// A master to open a session on.
pub(super) enum Target {
    Local(Arc<Master>),
    Remote(RemoteMaster),
}

impl Target {
    pub(super) fn remote(target: &str, runtime: &Handle) -> Result<Target> {
        Ok(Target::Remote(RemoteMaster::new(target, runtime)?))
    }
}

/// An open session.
#[derive(Debug)]
pub(super) struct Backend {
    place: Place,
    /// How much of the graph the master has. Locked while it is brought up to date, so that two
    /// steps do not send the same nodes.
    sent: Mutex<Sent>,
    /// The number of nodes that the master has, for a look without waiting.
    known: std::sync::atomic::AtomicUsize,
}

#[derive(Debug)]
enum Place {
    Local { master: Arc<Master>, session: Arc<cluster::Session> },
    Remote { master: RemoteMaster, handle: String },
}

#[derive(Debug)]
struct Sent {
    nodes: usize,
    functions: FxHashSet<String>,
    remote: Option<RemoteSession>,
}

impl Sent {
    /// Takes what the master does not have yet.
    fn news(&mut self, graph: &Graph) -> (Vec<NodeDef>, FunctionLibrary) {
        let (nodes, library) = graph.nodes_from(self.nodes);
        self.nodes += nodes.len();
        let mut new = FunctionLibrary::default();
        for function in library.iter() {
            if self.functions.insert(function.signature.name.clone()) {
                new.insert(Arc::clone(function));
            }
        }
        (nodes, new)
    }
}

impl Backend {
    pub(super) async fn open(
        target: Target,
        graph: &Graph,
        options: cluster::SessionOptions,
    ) -> Result<Backend> {
        let mut sent = Sent { nodes: 0, functions: FxHashSet::default(), remote: None };
        let (nodes, library) = sent.news(graph);
        let known = sent.nodes;
        let place = match target {
            Target::Local(master) => {
                let session = master.create_session(nodes, library, options).await?;
                Place::Local { master, session }
            }
            Target::Remote(master) => {
                let session = master.create_session(&nodes, &library, &options).await?;
                let handle = session.handle.clone();
                sent.remote = Some(session);
                Place::Remote { master, handle }
            }
        };
        Ok(Backend { place, sent: Mutex::new(sent), known: known.into() })
    }

    pub(super) async fn run(&self, graph: &Graph, call: StepCall) -> Result<StepReply> {
        self.update(graph).await?;
        match &self.place {
            Place::Local { session, .. } => session.run(call).await,
            Place::Remote { master, handle } => master.run_step(handle, call).await,
        }
    }

    /// Prepares a step; returns by which number the master knows it.
    pub(super) async fn make_callable(&self, graph: &Graph, callable: Callable) -> Result<i64> {
        self.update(graph).await?;
        match &self.place {
            Place::Local { session, .. } => session.make_callable(callable).await,
            Place::Remote { master, handle } => master.make_callable(handle, callable).await,
        }
    }

    pub(super) async fn run_callable(
        &self,
        callable: i64,
        feeds: Vec<Tensor>,
    ) -> Result<StepReply> {
        match &self.place {
            Place::Local { session, .. } => session.run_callable(callable, feeds).await,
            Place::Remote { master, handle } => master.run_callable(handle, callable, &feeds).await,
        }
    }

    pub(super) async fn release_callable(&self, callable: i64) -> Result<()> {
        match &self.place {
            Place::Local { session, .. } => {
                session.release_callable(callable);
                Ok(())
            }
            Place::Remote { master, handle } => master.release_callable(handle, callable).await,
        }
    }

    /// Sends the nodes that the graph has gained.
    async fn update(&self, graph: &Graph) -> Result<()> {
        use std::sync::atomic::Ordering;

        if graph.len() == self.known.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut sent = self.sent.lock().await;
        let before = sent.nodes;
        let (nodes, library) = sent.news(graph);
        if nodes.is_empty() {
            return Ok(());
        }
        let outcome = match &self.place {
            Place::Local { session, .. } => session.extend(nodes, library, None).map(|_| ()),
            Place::Remote { master, .. } => match &mut sent.remote {
                Some(remote) => master.extend_session(remote, &nodes, &library).await,
                None => Ok(()),
            },
        };
        if outcome.is_err() {
            sent.nodes = before;
        }
        self.known.store(sent.nodes, Ordering::Release);
        outcome
    }

    pub(super) async fn devices(&self) -> Result<Vec<Device>> {
        match &self.place {
            Place::Local { session, .. } => Ok(session.devices.clone()),
            Place::Remote { master, handle } => master.list_devices(handle).await,
        }
    }

    pub(super) async fn close(&self) -> Result<()> {
        let outcome = match &self.place {
            Place::Local { master, session } => master.close_session(&session.handle).await,
            Place::Remote { master, handle } => master.close_session(handle).await,
        };
        match outcome {
            // It is closed already.
            Err(error) if error.code() == Code::Aborted => Ok(()),
            outcome => outcome,
        }
    }
}

//! An open session, and how much of the graph its master has.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_cluster::client::{MasterClient, SessionClient};
use tensorfleet_cluster::{Callable, SessionOptions, StepCall, StepReply};
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Code, Result, Tensor};
use tokio::sync::Mutex;

use crate::graph::Graph;

/// An open session.
#[derive(Debug)]
pub(super) struct Backend {
    session: Arc<dyn SessionClient>,
    /// How much of the graph the master has. Locked while it is brought up to date, so that two
    /// steps do not send the same nodes.
    sent: Mutex<Sent>,
    /// The number of nodes that the master has, for a look without waiting.
    known: std::sync::atomic::AtomicUsize,
}

#[derive(Debug)]
struct Sent {
    nodes: usize,
    functions: FxHashSet<String>,
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
        master: &dyn MasterClient,
        graph: &Graph,
        options: SessionOptions,
    ) -> Result<Backend> {
        let mut sent = Sent { nodes: 0, functions: FxHashSet::default() };
        let (nodes, library) = sent.news(graph);
        let known = sent.nodes;
        let session = master.create_session(nodes, library, options).await?;
        Ok(Backend { session, sent: Mutex::new(sent), known: known.into() })
    }

    pub(super) async fn run(&self, graph: &Graph, call: StepCall) -> Result<StepReply> {
        self.update(graph).await?;
        self.session.run(call).await
    }

    /// Prepares a step; returns by which number the master knows it.
    pub(super) async fn make_callable(&self, graph: &Graph, callable: Callable) -> Result<i64> {
        self.update(graph).await?;
        self.session.make_callable(callable).await
    }

    pub(super) async fn run_callable(
        &self,
        callable: i64,
        feeds: Vec<Tensor>,
    ) -> Result<StepReply> {
        self.session.run_callable(callable, feeds).await
    }

    pub(super) async fn release_callable(&self, callable: i64) -> Result<()> {
        self.session.release_callable(callable).await
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
        let outcome = self.session.extend(nodes, library).await;
        if outcome.is_err() {
            sent.nodes = before;
        }
        self.known.store(sent.nodes, Ordering::Release);
        outcome
    }

    pub(super) async fn devices(&self) -> Result<Vec<Device>> {
        self.session.devices().await
    }

    pub(super) async fn close(&self) -> Result<()> {
        match self.session.close().await {
            // It is closed already.
            Err(error) if error.code() == Code::Aborted => Ok(()),
            outcome => outcome,
        }
    }
}

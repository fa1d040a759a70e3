//! A durable worker that may die and come back: calls are held meanwhile, the session and its graphs are
//! made again over there, and the call is made again.
//!
//! A call that was done before the worker died is not done twice: the worker recognises it. What other
//! tasks had sent to the part of a step that is run again they have kept, and what they wait for they go
//! on waiting for, so nothing but the lost part is run again.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, DeviceName, Parcel, StepId};
use tensorfleet_graph::Graph;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Code, Error, Result, aborted};

use crate::absence::wait_for_return;
use crate::client::{CreateWorkerSession, Peers, RunGraph, RunGraphReply, WorkerClient};
use crate::debugger::Watches;
use crate::eager::{Item, Operation, Output, Reply};
use crate::session::lock;
use crate::task::Task;

/// How long a worker that says that it has just begun, or is about to end, is left alone.
const MOMENT: Duration = Duration::from_millis(50);

/// How soon and how often a worker that has run its part is looked after. Most steps are over before.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// A durable worker in one session.
#[derive(Clone, Debug)]
pub(crate) struct HeldWorker(Arc<Held>);

#[derive(Debug)]
struct Held {
    own: Arc<Task>,
    name: DeviceName,
    /// The number that it must come back with, where that is known.
    incarnation: Option<u64>,
    /// Where it is found: one of this process is another worker in each life.
    peers: Arc<dyn Peers>,
    /// How the session was made there.
    session: Mutex<Option<CreateWorkerSession>>,
    /// The graphs of the session, by the handles that they got first.
    graphs: Mutex<FxHashMap<String, Registered>>,
    /// How often the session was made again.
    openings: AtomicU64,
    /// Held by whoever makes it again.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct Registered {
    graph: Arc<Graph>,
    watches: Option<Arc<Watches>>,
    /// By what the worker knows it, and in which opening.
    handle: String,
    opening: u64,
}

impl HeldWorker {
    /// A worker in a session that is yet to be made.
    pub(crate) fn new(
        own: &Arc<Task>,
        name: &DeviceName,
        incarnation: Option<u64>,
        peers: &Arc<dyn Peers>,
    ) -> HeldWorker {
        HeldWorker(Arc::new(Held {
            own: Arc::clone(own),
            name: name.clone(),
            incarnation,
            peers: Arc::clone(peers),
            session: Mutex::default(),
            graphs: Mutex::default(),
            openings: AtomicU64::new(0),
            opening: tokio::sync::Mutex::new(()),
        }))
    }

    /// A worker in a session that somebody else has made, in this way.
    pub(crate) fn in_session(self, session: CreateWorkerSession) -> HeldWorker {
        *lock(&self.0.session) = Some(session);
        self
    }
}

impl Held {
    fn openings(&self) -> u64 {
        self.openings.load(Ordering::Acquire)
    }

    /// The worker as it is found now.
    fn client(&self) -> Result<Arc<dyn WorkerClient>> {
        self.peers.worker(&self.name)
    }

    /// Makes a call until the worker answers it.
    async fn hold<T, F: Future<Output = Result<T>>>(&self, call: impl Fn() -> F) -> Result<T> {
        let mut patience = self.own.task_timeout;
        loop {
            let seen = self.openings();
            let error = match call().await {
                Err(error) if error.is_unreached() || error.is_worker_restarted() => error,
                outcome => return outcome,
            };
            let again = if error.is_unreached() {
                let (own, name, peers) = (&self.own, &self.name, &self.peers);
                wait_for_return(own, name, &**peers, self.incarnation, &error).await?;
                Ok(())
            } else if patience < MOMENT {
                return Err(error);
            } else {
                patience -= MOMENT;
                let session = lock(&self.session).clone();
                match session {
                    // It is about to end.
                    _ if error.code() == Code::Unavailable => Err(error),
                    Some(session) => self.open_again(session, seen).await,
                    None => return Err(error),
                }
            };
            match again {
                // Found out soon enough.
                Err(error) if error.is_unreached() => {}
                Err(error) if error.is_worker_restarted() => {
                    self.own.world.sleep(MOMENT).await;
                }
                outcome => outcome?,
            }
        }
    }

    /// Makes a call once.
    async fn ask<T>(
        &self,
        call: impl Fn(Arc<dyn WorkerClient>) -> BoxFuture<Result<T>>,
    ) -> Result<T> {
        call(self.client()?).await
    }

    /// Makes a call that nobody holds.
    fn once<T: Send + 'static>(
        &self,
        call: impl FnOnce(Arc<dyn WorkerClient>) -> BoxFuture<Result<T>>,
    ) -> BoxFuture<Result<T>> {
        match self.client() {
            Ok(client) => call(client),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Makes the session once more, because the worker does not know it or one of its graphs.
    async fn open_again(&self, session: CreateWorkerSession, seen: u64) -> Result<()> {
        let _alone = self.opening.lock().await;
        // Somebody else may have been faster.
        if self.openings() == seen {
            self.client()?.create_session(session).await?;
            self.openings.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Runs a graph under the handle that it has now.
    async fn run(&self, request: RunGraph) -> Result<RunGraphReply> {
        let graph = self.handle_of(&request.graph).await?;
        self.client()?.run_graph(RunGraph { graph, ..request }).await
    }

    async fn handle_of(&self, graph: &str) -> Result<String> {
        let known = || lock(&self.graphs).get(graph).cloned();
        let unknown = || aborted!("Graph handle is not found: {graph}");
        let opening = self.openings();
        let registered = known().ok_or_else(unknown)?;
        if registered.opening == opening {
            return Ok(registered.handle);
        }
        let session = lock(&self.session).as_ref().map(|session| session.handle.clone());
        let Registered { graph: body, watches, .. } = registered.clone();
        let register = self.client()?.register_graph(session.unwrap_or_default(), body, watches);
        let handle = register.await?;
        let registered = Registered { handle: handle.clone(), opening, ..registered };
        lock(&self.graphs).insert(graph.to_owned(), registered);
        Ok(handle)
    }
}

impl WorkerClient for HeldWorker {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        let held = Arc::clone(&self.0);
        let ask = move |client: Arc<dyn WorkerClient>| client.get_status();
        Box::pin(async move { held.hold(|| held.ask(ask)).await })
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        *lock(&self.0.session) = Some(request.clone());
        let held = Arc::clone(&self.0);
        let ask = move |client: Arc<dyn WorkerClient>| client.create_session(request.clone());
        Box::pin(async move { held.hold(|| held.ask(&ask)).await })
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        self.0.once(|client| client.delete_session(handle))
    }

    fn register_graph(
        &self,
        session: String,
        graph: Arc<Graph>,
        watches: Option<Arc<Watches>>,
    ) -> BoxFuture<Result<String>> {
        let held = Arc::clone(&self.0);
        Box::pin(async move {
            let register = || async {
                let opening = held.openings();
                let (graph, watches) = (Arc::clone(&graph), watches.clone());
                let handle = held.client()?.register_graph(session.clone(), graph, watches).await?;
                Ok((handle, opening))
            };
            let (handle, opening) = held.hold(register).await?;
            let known = Registered { graph, watches, handle: handle.clone(), opening };
            lock(&held.graphs).insert(handle.clone(), known);
            Ok(handle)
        })
    }

    fn deregister_graph(&self, session: String, graph: String) -> BoxFuture<Result<()>> {
        let known = lock(&self.0.graphs).remove(&graph);
        let handle = known.map_or(graph, |registered| registered.handle);
        self.0.once(|client| client.deregister_graph(session, handle))
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        let held = Arc::clone(&self.0);
        Box::pin(async move { held.hold(|| held.run(request.clone())).await })
    }

    fn stay_run(&self, request: RunGraph) -> Option<BoxFuture<Error>> {
        let held = Arc::clone(&self.0);
        Some(Box::pin(async move {
            let mut pause = FIRST_LOOK;
            loop {
                held.own.world.sleep(pause).await;
                // As long as it lives it knows that it has done this; the next life does it again.
                if let Err(error) = held.hold(|| held.run(request.clone())).await {
                    return error;
                }
                pause = (pause * 2).min(LAST_LOOK);
            }
        }))
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        self.0.once(|client| client.cleanup_graph(step))
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        self.0.once(|client| client.cleanup_all(containers))
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        let held = Arc::clone(&self.0);
        let ask = move |client: Arc<dyn WorkerClient>| client.recv_tensor(step, key.clone());
        Box::pin(async move { held.hold(|| held.ask(&ask)).await })
    }

    fn enqueue(&self, context: u64, items: Vec<Item>) -> BoxFuture<Result<Vec<Reply>>> {
        self.0.once(|client| client.enqueue(context, items))
    }

    fn run_component(
        &self,
        context: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> BoxFuture<Result<Vec<Output>>> {
        self.0.once(|client| client.run_component(context, operation, outputs))
    }
}

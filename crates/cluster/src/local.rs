//! Masters and workers of this process: calls, nothing encoded.

use std::sync::{Arc, Weak};

use tensorfleet_framework::{BoxFuture, DeviceName, Group, Parcel, StepId};
use tensorfleet_graph::{FunctionLibrary, Graph, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Error, Result, Tensor, unavailable};

use crate::client::{
    CreateWorkerSession, MasterClient, RunGraph, RunGraphReply, SessionClient, WorkerClient,
};
use crate::collective::{CollectivePeer, CompleteGroup, CompleteInstance, RecvBuf};
use crate::coordination::LeaderClient;
use crate::debugger::Watches;
use crate::eager::{Item, Operation, Output, Reply};
use crate::master::Master;
use crate::owner::Owner;
use crate::session::{Callable, Session, SessionOptions, StepCall, StepReply};
use crate::worker::Worker;
use tensorfleet_spec as spec;

/// A worker of this process, which may stop while others still know it.
#[derive(Clone, Debug)]
pub struct LocalWorker {
    worker: Weak<Worker>,
    task: DeviceName,
}

impl LocalWorker {
    /// A client of a worker that is known as `task`.
    pub fn new(worker: &Arc<Worker>, task: &DeviceName) -> LocalWorker {
        LocalWorker { worker: Arc::downgrade(worker), task: task.clone() }
    }

    fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(Arc<Worker>) -> BoxFuture<Result<T>>,
    ) -> BoxFuture<Result<T>> {
        match self.worker.upgrade() {
            Some(worker) => call(worker),
            None => done(Err(unavailable!("{} has stopped", self.task).unreached(true))),
        }
    }
}

/// What is known without waiting.
fn done<T: Send + 'static>(outcome: Result<T>) -> BoxFuture<Result<T>> {
    Box::pin(std::future::ready(outcome))
}

impl WorkerClient for LocalWorker {
    fn get_status(&self) -> BoxFuture<Result<Vec<Device>>> {
        self.call(|worker| done(Ok(worker.devices())))
    }

    fn create_session(&self, request: CreateWorkerSession) -> BoxFuture<Result<()>> {
        self.call(|worker| done(worker.create_session(request)))
    }

    fn delete_session(&self, handle: String) -> BoxFuture<Result<()>> {
        self.call(|worker| {
            worker.delete_session(&handle);
            done(Ok(()))
        })
    }

    fn register_graph(
        &self,
        session: String,
        graph: Arc<Graph>,
        watches: Option<Arc<Watches>>,
    ) -> BoxFuture<Result<String>> {
        self.call(|worker| {
            Box::pin(async move { worker.register_graph(&session, &graph, watches.as_deref()) })
        })
    }

    fn run_graph(&self, request: RunGraph) -> BoxFuture<Result<RunGraphReply>> {
        // Whoever the worker itself could not reach, it has answered.
        let answered = |error: Error| error.unreached(false);
        self.call(|worker| {
            Box::pin(async move { worker.run_graph(request).await.map_err(answered) })
        })
    }

    fn deregister_graph(&self, session: String, graph: String) -> BoxFuture<Result<()>> {
        self.call(|worker| done(worker.deregister_graph(&session, &graph)))
    }

    fn cleanup_graph(&self, step: StepId) -> BoxFuture<Result<()>> {
        self.call(|worker| {
            worker.cleanup_graph(step);
            done(Ok(()))
        })
    }

    fn cleanup_all(&self, containers: Vec<String>) -> BoxFuture<Result<()>> {
        self.call(|worker| Box::pin(async move { worker.cleanup_all(&containers).await }))
    }

    fn recv_tensor(&self, step: StepId, key: String) -> BoxFuture<Result<Parcel>> {
        self.call(|worker| Box::pin(async move { worker.recv_tensor(step, &key).await }))
    }

    fn enqueue(&self, context: u64, items: Vec<Item>) -> BoxFuture<Result<Vec<Reply>>> {
        self.call(|worker| {
            let enqueue =
                async move { worker.contexts().enqueue(&Owner::default(), context, items).await };
            Box::pin(enqueue)
        })
    }

    fn run_component(
        &self,
        context: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> BoxFuture<Result<Vec<Output>>> {
        self.call(|worker| {
            Box::pin(async move {
                let caller = Owner::default();
                worker.contexts().run_component(&caller, context, operation, outputs).await
            })
        })
    }

    fn collectives(&self) -> Option<&dyn CollectivePeer> {
        Some(self)
    }

    fn coordination(&self) -> Option<&dyn LeaderClient> {
        Some(self)
    }
}

impl CollectivePeer for LocalWorker {
    fn complete_group(&self, request: CompleteGroup) -> BoxFuture<Result<Arc<Group>>> {
        self.call(|worker| Box::pin(async move { worker.task().complete_group(request).await }))
    }

    fn complete_instance(&self, request: CompleteInstance) -> BoxFuture<Result<Option<usize>>> {
        self.call(|worker| Box::pin(async move { worker.task().complete_instance(request).await }))
    }

    fn recv_buf(&self, request: RecvBuf) -> BoxFuture<Result<Tensor>> {
        let RecvBuf { step, key, from, .. } = request;
        self.call(|worker| Box::pin(async move { worker.task().recv_buf(step, key, &from).await }))
    }

    fn step_sequence(&self, graph_key: i64) -> BoxFuture<Result<i64>> {
        self.call(|worker| done(Ok(worker.task().step_sequence(graph_key))))
    }
}

impl LeaderClient for LocalWorker {
    fn register(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        self.call(|worker| {
            let leader = worker.task().coordination.leader();
            done(leader.and_then(|leader| leader.register(&task, incarnation)))
        })
    }

    fn heartbeat(&self, task: spec::Task, incarnation: u64) -> BoxFuture<Result<u64>> {
        self.call(|worker| {
            let leader = worker.task().coordination.leader();
            done(leader.and_then(|leader| leader.heartbeat(&task, incarnation)))
        })
    }
}

/// A master of this process.
#[derive(Clone, Debug)]
pub struct LocalMaster(pub Arc<Master>);

impl MasterClient for LocalMaster {
    fn create_session(
        &self,
        nodes: Vec<NodeDef>,
        library: FunctionLibrary,
        options: SessionOptions,
    ) -> BoxFuture<Result<Arc<dyn SessionClient>>> {
        let master = Arc::clone(&self.0);
        Box::pin(async move {
            let session = master.create_session(nodes, library, options).await?;
            Ok(Arc::new(LocalSession { master, session }) as Arc<dyn SessionClient>)
        })
    }
}

/// A session on a master of this process.
#[derive(Clone, Debug)]
struct LocalSession {
    master: Arc<Master>,
    session: Arc<Session>,
}

impl SessionClient for LocalSession {
    fn extend(&self, nodes: Vec<NodeDef>, library: FunctionLibrary) -> BoxFuture<Result<()>> {
        done(self.session.extend(nodes, library, None).map(|_| ()))
    }

    fn run(&self, call: StepCall) -> BoxFuture<Result<StepReply>> {
        let session = Arc::clone(&self.session);
        Box::pin(async move { session.run(call).await })
    }

    fn make_callable(&self, callable: Callable) -> BoxFuture<Result<i64>> {
        let session = Arc::clone(&self.session);
        Box::pin(async move { session.make_callable(callable).await })
    }

    fn run_callable(&self, callable: i64, feeds: Vec<Tensor>) -> BoxFuture<Result<StepReply>> {
        let session = Arc::clone(&self.session);
        Box::pin(async move { session.run_callable(callable, feeds).await })
    }

    fn release_callable(&self, callable: i64) -> BoxFuture<Result<()>> {
        self.session.release_callable(callable);
        done(Ok(()))
    }

    fn devices(&self) -> BoxFuture<Result<Vec<Device>>> {
        done(Ok(self.session.devices.clone()))
    }

    fn close(&self) -> BoxFuture<Result<()>> {
        let LocalSession { master, session } = self.clone();
        Box::pin(async move { master.close_session(&session.handle).await })
    }
}

//! A session on a master behind the network, as clients of any master use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tensorfleet_cluster::client::{MasterClient, SessionClient};
use tensorfleet_cluster::{Callable, SessionOptions, StepCall, StepReply};
use tensorfleet_framework::BoxFuture;
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Result, Tensor};

use crate::master_client::{RemoteMaster, RemoteSession};

impl MasterClient for RemoteMaster {
    fn create_session(
        &self,
        nodes: Vec<NodeDef>,
        library: FunctionLibrary,
        options: SessionOptions,
    ) -> BoxFuture<Result<Arc<dyn SessionClient>>> {
        let master = self.clone();
        Box::pin(async move {
            let session = RemoteMaster::create_session(&master, &nodes, &library, &options).await?;
            let version = Arc::new(AtomicI64::new(session.graph_version));
            let opened = OpenSession { master, handle: session.handle.into(), version };
            Ok(Arc::new(opened) as Arc<dyn SessionClient>)
        })
    }
}

/// A session that is open on a master.
#[derive(Clone, Debug)]
struct OpenSession {
    master: RemoteMaster,
    handle: Arc<str>,
    /// The version of the session's graph; extensions come one after the other.
    version: Arc<AtomicI64>,
}

impl SessionClient for OpenSession {
    fn extend(&self, nodes: Vec<NodeDef>, library: FunctionLibrary) -> BoxFuture<Result<()>> {
        let this = self.clone();
        Box::pin(async move {
            let graph_version = this.version.load(Ordering::Acquire);
            let mut session = RemoteSession { handle: this.handle.to_string(), graph_version };
            this.master.extend_session(&mut session, &nodes, &library).await?;
            this.version.store(session.graph_version, Ordering::Release);
            Ok(())
        })
    }

    fn run(&self, call: StepCall) -> BoxFuture<Result<StepReply>> {
        let this = self.clone();
        Box::pin(async move { this.master.run_step(&this.handle, call).await })
    }

    fn make_callable(&self, callable: Callable) -> BoxFuture<Result<i64>> {
        let this = self.clone();
        Box::pin(async move { this.master.make_callable(&this.handle, callable).await })
    }

    fn run_callable(&self, callable: i64, feeds: Vec<Tensor>) -> BoxFuture<Result<StepReply>> {
        let this = self.clone();
        Box::pin(async move { this.master.run_callable(&this.handle, callable, &feeds).await })
    }

    fn release_callable(&self, callable: i64) -> BoxFuture<Result<()>> {
        let this = self.clone();
        Box::pin(async move { this.master.release_callable(&this.handle, callable).await })
    }

    fn devices(&self) -> BoxFuture<Result<Vec<Device>>> {
        let this = self.clone();
        Box::pin(async move { this.master.list_devices(&this.handle).await })
    }

    fn close(&self) -> BoxFuture<Result<()>> {
        let this = self.clone();
        Box::pin(async move { this.master.close_session(&this.handle).await })
    }
}

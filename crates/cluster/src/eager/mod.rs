//! Eager contexts: how a TensorFlow 2 program drives a task.
//!
//! A client opens a context on every task of its cluster and then enqueues ops and calls of
//! functions. Tensors stay in the context's table under numbers that the client gave; variables and
//! functions are the engine's, as they are for sessions. The task that is asked to run a function
//! plans it, and has other tasks run their parts as components.

mod calls;
mod component;
mod context;
mod function;
mod handles;
mod ops;
mod peers;

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Error, Result, aborted, invalid_argument};

pub use calls::{
    CreateContext, Handle, Input, Item, Operation, Output, RegisterFunction, Reply, UpdateContext,
};
use context::Context;

use crate::client::Peers;
use crate::session::lock;
use crate::task::Task;

/// The contexts of a task.
#[derive(Debug)]
pub struct Contexts {
    task: Arc<Task>,
    peers: Arc<dyn Peers>,
    table: Mutex<FxHashMap<u64, Arc<Context>>>,
}

impl Contexts {
    pub(crate) fn new(task: Arc<Task>, peers: Arc<dyn Peers>) -> Contexts {
        Contexts { task, peers, table: Mutex::default() }
    }

    fn find(&self, id: u64) -> Result<Arc<Context>> {
        let context = lock(&self.table).get(&id).cloned().ok_or_else(|| unknown(id))?;
        context.touch();
        Ok(context)
    }

    /// Makes a context and returns the task's devices. A newer view replaces an older one.
    pub fn create(&self, request: CreateContext) -> Result<Vec<Device>> {
        let (id, view, clear) = (request.id, request.view, request.clear_existing);
        if id == 0 {
            return Err(invalid_argument!(
                "Failed to initialize remote for worker context due to invalid context id"
            ));
        }
        let current = lock(&self.table).get(&id).map(|context| context.view_id());
        if current.is_some_and(|current| view < current) {
            return Err(invalid_argument!(
                "EagerService:CreateContext failed. Context id: <{id}> already exists."
            ));
        }
        let peers = match &request.cluster {
            Some(cluster) => self.peers.with_cluster(cluster)?,
            None => Arc::clone(&self.peers),
        };
        // They end first: the new one may have the number of an old one, and with it its step.
        let ended: Vec<Arc<Context>> = {
            let mut table = lock(&self.table);
            let ends = |&of: &u64, _: &mut Arc<Context>| clear || of == id;
            table.extract_if(ends).map(|(_, context)| context).collect()
        };
        for context in &ended {
            context.end();
        }
        let context = Arc::new(Context::new(&self.task, request, peers)?);
        let devices = context.own_devices();
        lock(&self.table).insert(id, context);
        tracing::info!("opened context {id:x}, view {view}");
        Ok(devices)
    }

    /// Changes the cluster of a context; returns the task's devices if it did.
    pub fn update(&self, request: UpdateContext) -> Result<Vec<Device>> {
        let context = self.find(request.id)?;
        let peers = match &request.cluster {
            Some(cluster) if !request.devices.is_empty() => Some(self.peers.with_cluster(cluster)?),
            _ => None,
        };
        context.update(request.view, request.devices, peers)
    }

    /// Does what is asked for, in order. The first failure ends it.
    pub async fn enqueue(&self, id: u64, items: Vec<Item>) -> Result<Vec<Reply>> {
        let context = self.find(id)?;
        let _under_way = context.begin();
        let mut replies = Vec::with_capacity(items.len());
        for item in items {
            replies.push(context.handle(item).await?);
        }
        Ok(replies)
    }

    /// Runs this task's part of a function. Output `i` becomes number `outputs[i]` of the whole.
    pub async fn run_component(
        &self,
        id: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> Result<Vec<Output>> {
        let context = self.find(id)?;
        let _under_way = context.begin();
        context.run_component(operation, &outputs).await
    }

    /// Waits for all that was begun before.
    pub async fn wait_until_done(&self, id: u64) -> Result<()> {
        self.find(id)?.wait_until_done().await;
        Ok(())
    }

    /// Renews a context's lease and returns its view.
    pub fn keep_alive(&self, id: u64) -> Result<u64> {
        Ok(self.find(id)?.view_id())
    }

    /// Ends a context, unless it has a newer view by now; unknown ones are fine.
    pub fn close(&self, id: u64, view: u64) {
        let closed = {
            let mut table = lock(&self.table);
            let is_meant = table.get(&id).is_some_and(|context| context.view_id() <= view);
            if is_meant { table.remove(&id) } else { None }
        };
        if let Some(context) = closed {
            context.end();
        }
    }

    /// Ends the contexts whose clients have not been heard of for as long as they had promised.
    pub fn end_stale(&self) {
        let stale: Vec<Arc<Context>> = {
            let mut table = lock(&self.table);
            table.extract_if(|_, context| context.is_stale()).map(|(_, context)| context).collect()
        };
        for context in stale {
            context.end();
        }
    }

    /// The numbers of the contexts.
    pub fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = lock(&self.table).keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The number of contexts.
    pub fn len(&self) -> usize {
        lock(&self.table).len()
    }

    /// Whether there are no contexts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a client is told that comes back to a task which has forgotten it.
fn unknown(id: u64) -> Error {
    aborted!(
        "Unable to find a context_id matching the specified one ({id}). Perhaps the worker was \
         restarted, or the context was GC'd?"
    )
}

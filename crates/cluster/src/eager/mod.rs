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
mod written;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_framework::StepId;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Error, Result, aborted, invalid_argument, not_found};

pub use calls::{
    CreateContext, Handle, Input, Item, Operation, Output, RegisterFunction, Reply, UpdateContext,
};
use context::Context;

use crate::client::Peers;
use crate::events::EventKind;
use crate::owner::Owner;
use crate::quota;
use crate::session::lock;
use crate::task::Task;

/// What an operator sees of a context.
#[derive(Clone, Debug)]
pub struct ContextSummary {
    pub id: u64,
    /// Whose it is.
    pub owner: Arc<str>,
    /// From where it was opened.
    pub client: String,
    /// Counts the changes of the cluster.
    pub view: u64,
    pub age: Duration,
    /// How long nothing was heard of its client.
    pub idle: Duration,
    /// How many calls have begun, and how many are under way.
    pub calls: u64,
    pub under_way: usize,
    /// How many tensors and functions it holds.
    pub tensors: usize,
    pub functions: usize,
    /// Parts of functions that this task runs for others.
    pub components: usize,
}

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

    /// Finds a context for somebody. One of others is not there.
    fn find(&self, caller: &Owner, id: u64) -> Result<Arc<Context>> {
        let context = lock(&self.table).get(&id).cloned().ok_or_else(|| unknown(id))?;
        if !caller.reaches(&context.owner) {
            return Err(not_found!("{}", unknown(id).message()));
        }
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
        let caller = request.owner.clone();
        let is_taken =
            |current: &Arc<Context>| view < current.view_id() || !caller.reaches(&current.owner);
        if lock(&self.table).get(&id).is_some_and(is_taken) {
            return Err(invalid_argument!(
                "EagerService:CreateContext failed. Context id: <{id}> already exists."
            ));
        }
        let has = {
            let table = lock(&self.table);
            let is_own = |context: &&Arc<Context>| context.owner.name == caller.name;
            table.iter().filter(|(of, _)| **of != id).map(|(_, c)| c).filter(is_own).count()
        };
        quota::check(
            if clear { 0 } else { has },
            self.task.ledger.quotas.contexts,
            &format!("contexts of {}", caller.name),
            "max-contexts",
        )?;
        let peers = match &request.cluster {
            Some(cluster) => self.peers.with_cluster(cluster)?,
            None => Arc::clone(&self.peers),
        };
        // They end first: the new one may have the number of an old one, and with it its step.
        let ended: Vec<Arc<Context>> = {
            let mut table = lock(&self.table);
            let ends = |&of: &u64, context: &mut Arc<Context>| {
                (clear || of == id) && caller.reaches(&context.owner)
            };
            table.extract_if(ends).map(|(_, context)| context).collect()
        };
        for context in &ended {
            context.end();
        }
        let context = Arc::new(Context::new(&self.task, request, peers)?);
        let devices = context.own_devices();
        lock(&self.table).insert(id, context);
        let text = format!("opened context {id:x} of {}, view {view}", caller.name);
        self.task.tell(EventKind::ContextOpened, text);
        Ok(devices)
    }

    /// Changes the cluster of a context; returns the task's devices if it did.
    pub fn update(&self, caller: &Owner, request: UpdateContext) -> Result<Vec<Device>> {
        let context = self.find(caller, request.id)?;
        let peers = match &request.cluster {
            Some(cluster) if !request.devices.is_empty() => Some(self.peers.with_cluster(cluster)?),
            _ => None,
        };
        context.update(request.view, request.devices, peers)
    }

    /// Does what is asked for, in order. The first failure ends it.
    pub async fn enqueue(&self, caller: &Owner, id: u64, items: Vec<Item>) -> Result<Vec<Reply>> {
        let context = self.find(caller, id)?;
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
        caller: &Owner,
        id: u64,
        operation: Operation,
        outputs: Vec<i32>,
    ) -> Result<Vec<Output>> {
        let context = self.find(caller, id)?;
        let _under_way = context.begin();
        context.run_component(operation, &outputs).await
    }

    /// Waits for all that was begun before.
    pub async fn wait_until_done(&self, caller: &Owner, id: u64) -> Result<()> {
        self.find(caller, id)?.wait_until_done().await;
        Ok(())
    }

    /// Renews a context's lease and returns its view.
    pub fn keep_alive(&self, caller: &Owner, id: u64) -> Result<u64> {
        Ok(self.find(caller, id)?.view_id())
    }

    /// Lets somebody have a tensor of a step, if the step is of one of its contexts.
    pub fn check_step(&self, caller: &Owner, step: StepId) -> Result<()> {
        if caller.reaches_all {
            return Ok(());
        }
        let own: Vec<Arc<Context>> = {
            let table = lock(&self.table);
            table.values().filter(|context| caller.reaches(&context.owner)).cloned().collect()
        };
        if own.iter().any(|context| context.runs(step)) {
            return Ok(());
        }
        Err(not_found!("Step {} is not one of {}", step.0, caller.name))
    }

    /// Ends a context, unless it has a newer view by now; unknown ones are fine.
    pub fn close(&self, caller: &Owner, id: u64, view: u64) -> Result<()> {
        let closed = {
            let mut table = lock(&self.table);
            if table.get(&id).is_some_and(|context| !caller.reaches(&context.owner)) {
                return Err(not_found!("{}", unknown(id).message()));
            }
            let is_meant = table.get(&id).is_some_and(|context| context.view_id() <= view);
            if is_meant { table.remove(&id) } else { None }
        };
        if let Some(context) = closed {
            context.end();
        }
        Ok(())
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

    /// The contexts, the oldest first.
    pub fn summaries(&self) -> Vec<ContextSummary> {
        let contexts: Vec<Arc<Context>> = lock(&self.table).values().cloned().collect();
        let mut summaries: Vec<_> = contexts.iter().map(|context| context.summary()).collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.age));
        summaries
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

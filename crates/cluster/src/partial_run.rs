//! Partial runs: a step whose feeds come and whose fetches leave in several calls.
//!
//! The step runs in the background from the start. Its arguments are received from the step's
//! rendezvous and its results are sent there, so that a call only has to leave and fetch tensors.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{Delivery, Parcel, Registry, Rendezvous, key_prefix};
use tensorfleet_graph::{
    AttrMap, AttrValue, FunctionLibrary, Graph, NodeId, Output, parse_tensor_name, signature,
};
use tensorfleet_planner::{Arg, Device, StepSpec};
use tensorfleet_runtime::LocalRendezvous;
use tensorfleet_tensor::{Error, Result, Tensor, internal, invalid_argument};
use tokio::sync::watch;

use crate::quota;
use crate::session::{Route, Session, StepCall, StepGuard, StepReply, blame, check_type, lock};

/// A step that is under way.
#[derive(Debug)]
pub(crate) struct PartialRun {
    spec: StepSpec,
    /// The arguments of the master's own part.
    args: Vec<Arg>,
    rendezvous: Arc<LocalRendezvous>,
    key_prefix: String,
    /// Which feeds each fetch depends on, the nearest first.
    needs: FxHashMap<String, Vec<String>>,
    fed: FxHashSet<String>,
    fetched: FxHashSet<String>,
    /// The outcome of the step, once it has one.
    outcome: watch::Receiver<Option<Result<()>>>,
}

impl Session {
    /// Starts a step and returns the handle for its calls.
    pub async fn partial_run_setup(
        &self,
        feeds: Vec<String>,
        fetches: Vec<String>,
        targets: Vec<String>,
    ) -> Result<String> {
        quota::check(
            lock(&self.partial_runs).len(),
            self.task.ledger.quotas.partial_runs,
            "partial runs of a session under way",
            "max-partial-runs",
        )?;
        let spec = StepSpec { feeds, fetches, targets, ..StepSpec::default() };
        let graph = self.graph();
        let plan = self.plan(spec.clone(), Route::Rendezvous).await?;
        // What a branch or a loop does not compute is not waited for, though the graph leads there.
        let needs_of = |fetch: &String| {
            let mut needs = feeds_needed(&graph, fetch, &spec.feeds);
            needs.retain(|feed| plan.args.iter().any(|arg| spec.feeds[arg.feed] == *feed));
            (fetch.clone(), needs)
        };
        let needs = spec.fetches.iter().map(needs_of).collect();
        let step = StepGuard { plan: Arc::clone(&plan), id: self.task.world.random_step_id() };
        let state = self.task.steps.begin(step.id, &self.handle);
        let args = plan.args.clone();
        let (sender, outcome) = watch::channel(None);
        let (session, id) = (self.handle.clone(), step.id);
        let (mut closed, task) = (self.closed.subscribe(), Arc::clone(&self.task));
        self.task.world.spawn(Box::pin(async move {
            let run = plan.run(&session, id, Vec::new(), None, false);
            let outcome = tokio::select! {
                biased;
                outcome = run => outcome.map(|_| ()),
                _ = closed.wait_for(|closed| *closed) => Err(crate::session::closed_error(&task)),
            };
            sender.send_replace(Some(outcome));
            // The step ends when the last call has let go of the outcome.
            sender.closed().await;
            drop(step);
        }));
        let run = PartialRun {
            key_prefix: key_prefix_of(&self.client_device),
            rendezvous: Arc::clone(&state.rendezvous),
            spec,
            args,
            needs,
            fed: FxHashSet::default(),
            fetched: FxHashSet::default(),
            outcome,
        };
        let handle = self.task.world.random_handle();
        lock(&self.partial_runs).insert(handle.clone(), run);
        Ok(handle)
    }

    /// Feeds and fetches a part of a step.
    pub async fn partial_run(&self, handle: &str, call: StepCall) -> Result<StepReply> {
        let (rendezvous, fetch_keys, mut outcome, is_last) = {
            let mut runs = lock(&self.partial_runs);
            let run = runs.get_mut(handle).ok_or_else(unknown)?;
            // A call that asks for too much changes nothing: the next one may ask for less.
            let feeds = run.feeds(&call.feeds)?;
            let fetches = run.fetches(&call.fetches, &call.feeds)?;
            for (feed, (name, tensor)) in feeds.into_iter().zip(call.feeds) {
                run.fed.insert(name);
                // Nobody waits for a feed that the step does not need.
                let Some(index) = run.args.iter().position(|arg| arg.feed == feed) else {
                    continue;
                };
                if let Err(error) = check_type(&run.args[index], &tensor) {
                    runs.remove(handle);
                    return Err(blame(error, &self.workers[0].0));
                }
                let key = feed_key(&run.key_prefix, index);
                // A step that has failed already takes nothing; its outcome says why.
                let _ = run.rendezvous.send(&key, Parcel { tensor, is_dead: false });
            }
            run.fetched.extend(call.fetches);
            let keys: Vec<String> =
                fetches.iter().map(|&index| fetch_key(&run.key_prefix, index)).collect();
            let is_last = run.fed.len() == run.spec.feeds.len()
                && run.spec.fetches.iter().all(|fetch| run.fetched.contains(fetch));
            let parts = (Arc::clone(&run.rendezvous), keys, run.outcome.clone(), is_last);
            if is_last {
                runs.remove(handle);
            }
            parts
        };
        let mut reply = StepReply::default();
        for key in fetch_keys {
            let tensor = fetch(&rendezvous, &key, &mut outcome).await;
            // A step that failed takes no more calls.
            reply.tensors.push(tensor.inspect_err(|_| {
                lock(&self.partial_runs).remove(handle);
            })?);
        }
        if is_last {
            let ended = outcome.wait_for(Option::is_some).await;
            ended
                .map_err(|_| internal!("the step ended without an outcome"))?
                .clone()
                .transpose()?;
        }
        Ok(reply)
    }
}

/// Waits for a fetched tensor, or for the failure of the step.
async fn fetch(
    rendezvous: &LocalRendezvous,
    key: &str,
    outcome: &mut watch::Receiver<Option<Result<()>>>,
) -> Result<Tensor> {
    let parcel = match rendezvous.recv(key) {
        Ok(Delivery::Now(parcel)) => Ok(parcel),
        Ok(Delivery::Later(parcel)) => tokio::select! {
            biased;
            parcel = parcel => parcel,
            _ = outcome.wait_for(|outcome| matches!(outcome, Some(Err(_)))) => {
                Err(internal!("the step ended without an outcome"))
            }
        },
        Err(error) => Err(error),
    };
    let parcel = match parcel {
        Ok(parcel) => parcel,
        // A rendezvous ends with its step, which knows better what went wrong.
        Err(error) => {
            return match outcome.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Err(cause))) => Err(cause.clone()),
                _ => Err(error),
            };
        }
    };
    if parcel.is_dead {
        return Err(invalid_argument!("The tensor returned for {key} was not valid."));
    }
    Ok(parcel.tensor)
}

fn unknown() -> Error {
    invalid_argument!("Must run PartialRunSetup before performing partial runs")
}

impl PartialRun {
    /// The positions of the feeds of a call among those of the step.
    fn feeds(&self, feeds: &[(String, Tensor)]) -> Result<Vec<usize>> {
        let find = |(name, _): &(String, Tensor)| {
            let index = self.spec.feeds.iter().position(|feed| feed == name).ok_or_else(|| {
                invalid_argument!("The feed {name} was not specified in partial_run_setup.")
            })?;
            if self.fed.contains(name) {
                return Err(invalid_argument!("The feed {name} has already been fed."));
            }
            Ok(index)
        };
        let found = feeds.iter().map(find).collect::<Result<Vec<usize>>>()?;
        let mut names = FxHashSet::default();
        match feeds.iter().find(|(name, _)| !names.insert(name)) {
            Some((name, _)) => Err(invalid_argument!("Duplicated feeds: {name}")),
            None => Ok(found),
        }
    }

    /// The positions of the fetches of a call, which also feeds `feeds`, among those of the step.
    fn fetches(&self, fetches: &[String], feeds: &[(String, Tensor)]) -> Result<Vec<usize>> {
        let find = |name: &String| {
            let index = self.spec.fetches.iter().position(|fetch| fetch == name);
            let index = index.ok_or_else(|| {
                invalid_argument!("The fetch {name} was not specified in partial_run_setup.")
            })?;
            if self.fetched.contains(name) {
                return Err(invalid_argument!("The fetch {name} has already been fetched."));
            }
            Ok(index)
        };
        let found = fetches.iter().map(find).collect::<Result<_>>()?;
        let is_fed =
            |feed: &String| self.fed.contains(feed) || feeds.iter().any(|(name, _)| name == feed);
        let needs = fetches.iter().filter_map(|name| self.needs.get(name)).flatten();
        match needs.into_iter().find(|feed| !is_fed(feed)) {
            Some(missing) => Err(invalid_argument!(
                "Fetch {missing} can't be computed from the feeds that have been fed so far."
            )),
            None => Ok(found),
        }
    }
}

pub(crate) fn key_prefix_of(device: &Device) -> String {
    let name = device.name.to_string();
    key_prefix(&name, device.incarnation, &name, "")
}

fn key(prefix: &str, edge: &str) -> String {
    // The prefix ends with an empty edge name and its separator.
    format!("{}{edge};0:0", prefix.strip_suffix(';').unwrap_or(prefix))
}

pub(crate) fn feed_key(prefix: &str, index: usize) -> String {
    key(prefix, &format!("feed_{index}"))
}

pub(crate) fn fetch_key(prefix: &str, index: usize) -> String {
    key(prefix, &format!("fetch_{index}"))
}

/// Replaces arguments and results of a graph by both ends of edges at the step's rendezvous.
pub(crate) fn through_rendezvous(graph: &Graph, device: &Device, ops: &Registry) -> Result<Graph> {
    let mut rewritten = graph.clone();
    for (id, node) in graph.iter() {
        let (op, type_attr, prefix) = match &*node.op {
            "_Arg" => ("_Recv", "tensor_type", "feed"),
            "_Retval" => ("_Send", "T", "fetch"),
            _ => continue,
        };
        let (Some(AttrValue::Type(dtype)), Some(AttrValue::Int(index))) =
            (node.attrs.get("T"), node.attrs.get("index"))
        else {
            return Err(internal!("{} has no type or index", node.name));
        };
        let text = |text: String| AttrValue::String(text.into());
        let attrs: AttrMap = [
            (type_attr, AttrValue::Type(*dtype)),
            ("tensor_name", text(format!("{prefix}_{index}"))),
            ("send_device", text(device.name.to_string())),
            ("recv_device", text(device.name.to_string())),
            ("send_device_incarnation", AttrValue::Int(device.incarnation as i64)),
            ("client_terminated", AttrValue::Bool(true)),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let (attrs, signature) = signature(op, attrs, &FunctionLibrary::default(), ops)?;
        let node = rewritten.node_mut(id);
        node.op = op.into();
        node.attrs = attrs;
        node.signature = Some(signature);
    }
    Ok(rewritten)
}

/// The feeds that a fetch depends on, the nearest first.
fn feeds_needed(graph: &Graph, fetch: &str, feeds: &[String]) -> Vec<String> {
    let fed: FxHashMap<Output, &String> = feeds
        .iter()
        .filter_map(|feed| {
            let (name, index) = parse_tensor_name(feed);
            Some((Output { node: graph.find(name)?, index }, feed))
        })
        .collect();
    let mut needed: Vec<String> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut waiting: Vec<NodeId> = graph.find(parse_tensor_name(fetch).0).into_iter().collect();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = graph.node(id);
        for input in &node.inputs {
            match fed.get(input) {
                Some(&feed) if needed.contains(feed) => {}
                Some(&feed) => needed.push(feed.clone()),
                None => waiting.push(input.node),
            }
        }
        waiting.extend(&node.control_inputs);
    }
    needed
}

//! Partial runs: a step whose feeds come and whose fetches leave in several calls.
//!
//! The step runs in the background from the start. Its arguments are received from the step's
//! rendezvous and its results are sent there, so that a call only has to leave and fetch tensors.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{Delivery, Parcel, Registry, Rendezvous, key_prefix};
use tensorfleet_graph::{
    AttrMap, AttrValue, FunctionLibrary, Graph, NodeId, parse_tensor_name, signature,
};
use tensorfleet_planner::{Device, StepSpec};
use tensorfleet_runtime::LocalRendezvous;
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};
use tokio::sync::watch;

use crate::session::{Session, StepCall, StepGuard, StepReply, lock};

/// A step that is under way.
#[derive(Debug)]
pub(crate) struct PartialRun {
    spec: StepSpec,
    rendezvous: Arc<LocalRendezvous>,
    key_prefix: String,
    /// Which feeds each fetch depends on.
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
        let spec = StepSpec { feeds, fetches, targets };
        let graph = self.graph();
        let needs = spec
            .fetches
            .iter()
            .map(|fetch| (fetch.clone(), feeds_needed(&graph, fetch, &spec.feeds)))
            .collect();
        let plan = self
            .compile(&spec, &|graph| {
                through_rendezvous(graph, &self.client_device, &self.task.registry)
            })
            .await?;
        let step = StepGuard { plan: Arc::clone(&plan), id: crate::random::random_step_id() };
        let state = self.task.steps.begin(step.id, &self.handle);
        let (sender, outcome) = watch::channel(None);
        let (session, id) = (self.handle.clone(), step.id);
        let mut closed = self.closed.subscribe();
        tokio::spawn(async move {
            let run = plan.run(&session, id, Vec::new(), None, false);
            let outcome = tokio::select! {
                outcome = run => outcome.map(|_| ()),
                _ = closed.wait_for(|closed| *closed) => Err(crate::session::closed_error()),
            };
            sender.send_replace(Some(outcome));
            // The step ends when the last call has let go of the outcome.
            sender.closed().await;
            drop(step);
        });
        let run = PartialRun {
            key_prefix: key_prefix_of(&self.client_device),
            rendezvous: Arc::clone(&state.rendezvous),
            spec,
            needs,
            fed: FxHashSet::default(),
            fetched: FxHashSet::default(),
            outcome,
        };
        let handle = crate::random::random_handle();
        lock(&self.partial_runs).insert(handle.clone(), run);
        Ok(handle)
    }

    /// Feeds and fetches a part of a step.
    pub async fn partial_run(&self, handle: &str, call: StepCall) -> Result<StepReply> {
        let (rendezvous, fetch_keys, mut outcome, is_last) = {
            let mut runs = lock(&self.partial_runs);
            let run = runs.get_mut(handle).ok_or_else(|| {
                invalid_argument!("Must run 'setup' before performing partial runs.")
            })?;
            for (name, tensor) in call.feeds {
                let index = run.claim_feed(&name)?;
                let key = feed_key(&run.key_prefix, index);
                run.rendezvous.send(&key, Parcel { tensor, is_dead: false })?;
            }
            let keys: Vec<String> = call
                .fetches
                .iter()
                .map(|name| {
                    let index = run.claim_fetch(name)?;
                    Ok(fetch_key(&run.key_prefix, index))
                })
                .collect::<Result<_>>()?;
            let is_last = run.fed.len() == run.spec.feeds.len()
                && run.fetched.len() == run.spec.fetches.len();
            let parts = (Arc::clone(&run.rendezvous), keys, run.outcome.clone(), is_last);
            if is_last {
                runs.remove(handle);
            }
            parts
        };
        let mut reply = StepReply::default();
        for key in fetch_keys {
            reply.tensors.push(fetch(&rendezvous, &key, &mut outcome).await?);
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
    let parcel = match rendezvous.recv(key)? {
        Delivery::Now(parcel) => parcel,
        Delivery::Later(parcel) => tokio::select! {
            biased;
            parcel = parcel => parcel?,
            failed = outcome.wait_for(|outcome| matches!(outcome, Some(Err(_)))) => {
                return match failed.as_deref() {
                    Ok(Some(Err(error))) => Err(error.clone()),
                    _ => Err(internal!("the step ended without an outcome")),
                };
            }
        },
    };
    if parcel.is_dead {
        return Err(invalid_argument!("The tensor returned for {key} was not valid."));
    }
    Ok(parcel.tensor)
}

impl PartialRun {
    fn claim_feed(&mut self, name: &str) -> Result<usize> {
        let index = self.spec.feeds.iter().position(|feed| feed == name).ok_or_else(|| {
            invalid_argument!("The feed {name} was not specified in partial_run_setup.")
        })?;
        if !self.fed.insert(name.to_owned()) {
            return Err(invalid_argument!("The feed {name} has already been fed."));
        }
        Ok(index)
    }

    fn claim_fetch(&mut self, name: &str) -> Result<usize> {
        let index = self.spec.fetches.iter().position(|fetch| fetch == name).ok_or_else(|| {
            invalid_argument!("The fetch {name} was not specified in partial_run_setup.")
        })?;
        let needs = self.needs.get(name).map_or(&[][..], Vec::as_slice);
        if !needs.iter().all(|feed| self.fed.contains(feed)) {
            return Err(invalid_argument!(
                "Fetch {name} can't be computed from the feeds that have been fed so far."
            ));
        }
        if !self.fetched.insert(name.to_owned()) {
            return Err(invalid_argument!("The fetch {name} has already been fetched."));
        }
        Ok(index)
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

/// The feeds that a fetch depends on.
fn feeds_needed(graph: &Graph, fetch: &str, feeds: &[String]) -> Vec<String> {
    let fed: FxHashMap<(NodeId, u32), &String> = feeds
        .iter()
        .filter_map(|feed| {
            let (name, index) = parse_tensor_name(feed);
            Some(((graph.find(name)?, index), feed))
        })
        .collect();
    let (name, index) = parse_tensor_name(fetch);
    let Some(start) = graph.find(name) else { return Vec::new() };
    let mut needed = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let mut waiting = vec![(start, Some(index))];
    while let Some((id, output)) = waiting.pop() {
        if let Some(feed) = output.and_then(|output| fed.get(&(id, output))) {
            needed.insert((*feed).clone());
            continue;
        }
        if !seen.insert(id) {
            continue;
        }
        let node = graph.node(id);
        waiting.extend(node.inputs.iter().map(|input| (input.node, Some(input.index))));
        waiting.extend(node.control_inputs.iter().map(|&id| (id, None)));
    }
    needed.into_iter().collect()
}

//! What the first debugger of TensorFlow wants to know of a step, beside the tensors that it watches:
//! what the step was, and the graphs that it ran, in files beside those of the tensors.

mod wire;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tensorfleet_framework::Registry;
use tensorfleet_graph::Graph;
use tensorfleet_planner::{StepSpec, Watch};
use tensorfleet_tensor::{Code, Result, failed_precondition, permission_denied};

/// What a debugger asks of a step.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    pub tensors: Vec<Watch>,
    /// The number that the client gives to the step.
    pub global_step: i64,
}

impl Watches {
    /// The directories that are written to, each once.
    fn roots(&self) -> Vec<&str> {
        let urls = self.tensors.iter().flat_map(|watch| &watch.urls);
        let mut roots: Vec<&str> = urls.filter_map(|url| url.strip_prefix("file://")).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// Refuses to write where ops that write the same may not.
    fn check_allowed(&self, registry: &Registry) -> Result<()> {
        let policy = registry.policy().filter(|_| !self.roots().is_empty());
        match policy.and_then(|policy| policy.refuse_files("DebugIdentity")) {
            Some(why) => Err(permission_denied!("{why}")),
            None => Ok(()),
        }
    }

    /// Says which step is about to run.
    pub(crate) fn publish_step(&self, spec: &StepSpec, registry: &Registry) -> Result<()> {
        self.check_allowed(registry)?;
        let now = now();
        let event = wire::step(now, self.global_step, spec);
        for root in self.roots() {
            let name = format!("_tfdbg_core_metadata_sessionrun{:014}_{}", 0, now.as_micros());
            write(registry, root, &name, &event)?;
        }
        Ok(())
    }

    /// The graph of a partition with the nodes that record what is watched.
    pub(crate) fn watched(&self, graph: &Graph, registry: &Registry) -> Result<Graph> {
        let mut watched = graph.clone();
        tensorfleet_planner::watch(&mut watched, &self.tensors, registry)?;
        Ok(watched)
    }

    /// Says which graph a device is about to run.
    pub(crate) fn publish_graph(&self, graph: &Graph, registry: &Registry) -> Result<()> {
        self.check_allowed(registry)?;
        let Some(node) = graph.nodes().first() else { return Ok(()) };
        let now = now();
        let (hash, event) = wire::graph(now, graph)?;
        let name = format!("_tfdbg_graph_hash{hash}_{}", now.as_micros());
        let device = node.device.replace(':', "_").replace('/', ",");
        for root in self.roots() {
            write(registry, &format!("{root}/_tfdbg_device_{device}"), &name, &event)?;
        }
        Ok(())
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn write(registry: &Registry, directory: &str, name: &str, content: &[u8]) -> Result<()> {
    let (files, path) = (registry.files(), format!("{directory}/{name}"));
    let write = || {
        files.create_dirs(directory)?;
        let mut file = files.create(&path)?;
        file.append(content)?;
        file.finish()
    };
    write().map_err(|error| match error.code() {
        Code::PermissionDenied => error,
        _ => failed_precondition!("{path}: {}", error.message()),
    })
}

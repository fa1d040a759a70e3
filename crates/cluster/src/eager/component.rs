//! Parts of functions that another task has planned.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Rendezvous, StepId};
use tensorfleet_graph::{AttrMap, Func, FunctionLibrary, NodeId};
use tensorfleet_planner::{Options, plan_function};
use tensorfleet_tensor::{Result, internal};
use tokio::sync::OnceCell;

use super::calls::{Operation, Output, RegisterFunction};
use super::context::{Context, not_registered};
use crate::engine::{Folding, Instance, RunLimits, Step};
use crate::session::lock;
use crate::steps::Steps;

/// The components that a context has been told of. They are no functions that anybody else could
/// call.
#[derive(Debug, Default)]
pub(super) struct Components {
    table: Mutex<FxHashMap<String, Arc<Component>>>,
}

#[derive(Debug)]
struct Component {
    /// The component with all that it calls.
    library: Arc<FunctionLibrary>,
    /// Made when it first runs, on the device that it then runs on.
    instance: OnceCell<Instance>,
}

impl Components {
    pub(super) fn register(&self, request: RegisterFunction) {
        let name = request.function.signature.name.clone();
        let mut library = Arc::unwrap_or_clone(request.library);
        library.insert(request.function);
        let component = Component { library: Arc::new(library), instance: OnceCell::new() };
        lock(&self.table).insert(name, Arc::new(component));
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.table).len()
    }

    /// Forgets a component. Returns whether there was one.
    pub(super) fn remove(&self, name: &str) -> bool {
        let removed = lock(&self.table).remove(name);
        removed.is_some()
    }

    fn find(&self, name: &str) -> Result<Arc<Component>> {
        lock(&self.table).get(name).cloned().ok_or_else(|| not_registered(name))
    }
}

/// A component that is under way. If it is given up, nobody waits for tensors of its step any more, and
/// the message that ends the step may have been here before the step began.
struct EndOnDrop<'a> {
    steps: &'a Steps,
    id: StepId,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.steps.end(self.id);
    }
}

impl Context {
    /// Runs a component in the step that the planner of the whole function has drawn. The step ends
    /// when that task says so, because it may still want tensors of it.
    pub(super) async fn run_component(
        &self,
        operation: Operation,
        outputs: &[i32],
    ) -> Result<Vec<Output>> {
        if !operation.is_function || !operation.is_component {
            return Err(internal!(
                "Request must be a component function, but {} is not",
                operation.name
            ));
        }
        let device = &self.device(&operation.device)?.name;
        let mut args = Vec::with_capacity(operation.inputs.len());
        for input in operation.inputs {
            args.push(self.arg(input, device)?.on(self, device)?);
        }
        let component = self.components.find(&operation.name)?;
        let make = || self.compile(&operation.name, &component.library, device);
        let instance = component.instance.get_or_try_init(make).await?;
        let id = StepId(operation.step);
        let state = self.task.steps.begin(id, &self.session);
        let rendezvous = Arc::clone(&state.rendezvous);
        let cancelled = EndOnDrop { steps: &self.task.steps, id };
        let run = self.engine.run(instance, &Step { id, state }, args, RunLimits::default()).await;
        std::mem::forget(cancelled);
        // Whoever waits for a tensor of a component that failed waits in vain.
        let outcome = run.inspect_err(|error| rendezvous.abort(error.clone().derived()))?;
        // A caller that does not number the outputs takes them as they come.
        let all: Vec<i32> = (0..).take(outcome.retvals.len()).collect();
        let numbers = if outputs.is_empty() { &all[..] } else { outputs };
        Ok(self.keep(operation.id, numbers, outcome.retvals, device))
    }

    async fn compile(
        &self,
        name: &str,
        library: &Arc<FunctionLibrary>,
        device: &Arc<str>,
    ) -> Result<Instance> {
        let func = Func { name: name.to_owned(), attrs: AttrMap::new() };
        let (registry, library) = (Arc::clone(&self.task.registry), Arc::clone(library));
        let plan = self.task.world.aside(move |given_up| {
            let folding = Folding::new(&registry).until(given_up);
            let options = Options::default();
            plan_function(&func, &library, &registry, &folding, &options)
        });
        let mut graph = plan.await?;
        for index in 0..graph.len() {
            graph.node_mut(NodeId(index as u32)).device = Arc::clone(device);
        }
        self.engine.instantiate_function(&graph)
    }
}

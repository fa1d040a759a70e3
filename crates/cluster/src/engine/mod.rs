//! The engine: makes graphs, functions and single ops run on the devices of a task.
//!
//! It knows nothing of sessions or eager contexts. Each of them has an engine over the task and its
//! view of the cluster, and adds what it alone has: handles, masters, tensor handles. The engine has
//! three verbs. [`Engine::instantiate`] compiles a graph, [`Engine::run`] runs it as a step, and
//! [`Engine::execute`] runs one op. Dropping what they return cancels it.

mod call;
mod folding;
mod functions;
mod kernels;
mod rendezvous;

use std::sync::Arc;

use futures_util::future::try_join_all;
use tensorfleet_framework::{CallId, Journal, StepContext, StepId, Surroundings, Unit, Value};
use tensorfleet_graph::{AttrMap, Func, Graph, Node, signature};
use tensorfleet_planner::Device;
use tensorfleet_runtime::{Executable, KernelCache, NewKernels, NodeRecord, Operation, Run, Trace};
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};

use self::functions::DeviceFunctions;
use self::kernels::Kernels;
use self::rendezvous::ClusterRendezvous;
use crate::steps::StepState;
use crate::task::{LocalDevice, Task};
use crate::view::View;

pub(crate) use self::folding::Folding;
pub use self::functions::{Functions, RemoteFunctions};

/// Runs what a session or a context has on a task.
#[derive(Debug)]
pub struct Engine {
    task: Arc<Task>,
    view: Arc<View>,
    functions: Arc<Functions>,
    kernels: Kernels,
    /// For each device of the view, what kernels of single ops find there.
    surroundings: Vec<Surroundings>,
}

/// A graph made ready to run, on each of the task's devices that it uses.
#[derive(Debug)]
pub struct Instance {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    surroundings: Surroundings,
    executable: Arc<Executable>,
}

/// A single op on a device, ready to run.
#[derive(Debug)]
pub struct PreparedOp {
    node: Node,
    /// The number of its device.
    place: usize,
    operation: Arc<Operation>,
}

/// The step in which something runs.
#[derive(Clone, Debug)]
pub struct Step {
    pub id: StepId,
    /// Where the parts of the step on this task meet.
    pub state: Arc<StepState>,
}

/// How a graph is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunLimits {
    /// How many nodes run at once, where the step says otherwise than the view.
    pub inter_op: Option<usize>,
    pub trace: bool,
    /// Whether the results are what a session fetches, and not those of a function.
    pub is_fetched: bool,
    /// The call that it belongs to, where that may be made again.
    pub call: Option<CallId>,
}

/// What a run returned.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The values of the graph's results, in the order of their numbers.
    pub retvals: Vec<Tensor>,
    /// For a traced run, by device.
    pub trace: Vec<(String, Vec<NodeRecord>)>,
}

impl Engine {
    /// Makes an engine without functions. `remote` runs functions on other tasks, if they can be.
    pub fn new(
        task: Arc<Task>,
        view: Arc<View>,
        remote: Option<Arc<dyn RemoteFunctions>>,
    ) -> Engine {
        let functions = Arc::new(Functions::new(&task, &view, remote));
        let around = |device| surroundings(&task, &view, device, &functions);
        let surroundings = view.devices.iter().map(around).collect();
        Engine { task, view, functions, kernels: Kernels::default(), surroundings }
    }

    /// The task's place in the cluster.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The functions that all graphs and ops may call. They may come and go while steps run.
    pub fn functions(&self) -> &Arc<Functions> {
        &self.functions
    }

    /// Compiles a graph whose nodes are on devices of this task.
    pub fn instantiate(&self, graph: &Graph) -> Result<Instance> {
        let functions = self.functions.with(graph.library());
        self.compile(graph, &functions, |device| Box::new(self.kernels.on(device)))
    }

    /// Compiles the body of a function, or a part of it, whose nodes are on devices of this task.
    /// Names of nodes repeat from function to function, so it has kernels of its own; and it keeps
    /// the functions that it calls, even if they are removed.
    pub fn instantiate_function(&self, body: &Graph) -> Result<Instance> {
        let functions = self.functions.only(body.library());
        self.compile(body, &functions, |_| Box::new(NewKernels))
    }

    fn compile<'a>(
        &'a self,
        graph: &Graph,
        functions: &Arc<Functions>,
        kernels: impl Fn(&'a Arc<str>) -> Box<dyn KernelCache + 'a>,
    ) -> Result<Instance> {
        let devices: Vec<Device> =
            self.view.devices.iter().map(|local| local.device.clone()).collect();
        let registry = &self.task.registry;
        let mut parts = Vec::new();
        for partition in tensorfleet_planner::partition(graph, &devices, &**registry)? {
            let device = self.view.device(&partition.device.name)?;
            let kind = partition.device.name.kind.as_deref().unwrap_or("CPU");
            let kernels = kernels(&device.name);
            let executable = Executable::new(&partition.graph, registry, kind, &*kernels)?;
            let surroundings = surroundings(&self.task, &self.view, device, functions);
            parts.push(Part { surroundings, executable: Arc::new(executable) });
        }
        Ok(Instance { parts })
    }

    /// Runs a graph as a part of a step. Each device takes those of the arguments that it has use for.
    pub async fn run(
        &self,
        instance: &Instance,
        step: &Step,
        args: Vec<Tensor>,
        limits: RunLimits,
    ) -> Result<RunOutcome> {
        self.adopt(&args);
        let inter_op = limits.inter_op.or(self.view.threads.inter_op);
        let is_recorded = self.task.recorder.is_on();
        let unit = match (limits.call, self.journal()) {
            (Some(call), Some(journal)) => Some(journal.begin_call(call)),
            _ => self.begin_unit(),
        };
        let mut runs = Vec::with_capacity(instance.parts.len());
        let mut traces = Vec::new();
        for Part { surroundings, executable } in &instance.parts {
            let trace = (limits.trace || is_recorded).then(|| Arc::new(Trace::default()));
            if let Some(trace) = &trace {
                traces.push((surroundings.device.to_string(), Arc::clone(trace)));
            }
            let args = if executable.args().is_empty() { Vec::new() } else { args.clone() };
            let context = self.step_context(surroundings, step, unit.clone());
            let pool = Arc::clone(&self.task.pool);
            let mut run = Run::new(Arc::clone(executable), context, pool, args, trace)?;
            if let Some(limit) = inter_op {
                run = run.at_most_at_once(limit);
            }
            if limits.is_fetched {
                run = run.fetched();
            }
            runs.push(run);
        }
        drop(args);
        // One partition is by far the commonest, and needs no joining.
        let retvals = if runs.len() == 1 {
            runs.pop().expect("there is one").await?
        } else {
            in_order(instance, try_join_all(runs).await?)
        };
        ended(unit).await?;
        let mut trace: Vec<_> =
            traces.into_iter().map(|(device, trace)| (device, trace.records())).collect();
        if is_recorded {
            self.task.recorder.keep(step.id, self.task.world.now(), &trace);
            if !limits.trace {
                trace.clear();
            }
        }
        Ok(RunOutcome { retvals, trace })
    }

    /// Makes the node of a single op, or of a call of a function, on a device of this task.
    pub fn node(&self, name: &str, op: &str, device: &str, attrs: AttrMap) -> Result<Node> {
        let library = self.functions.library();
        let (attrs, signature) = signature(op, attrs, &library, &*self.task.registry)?;
        Ok(Node {
            name: name.into(),
            op: op.into(),
            device: device.into(),
            attrs,
            inputs: Vec::new(),
            control_inputs: Vec::new(),
            signature: Some(signature),
        })
    }

    /// Runs one op, or one function, on the device that its node names.
    pub async fn execute(
        &self,
        node: &Node,
        step: &Step,
        inputs: Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        if self.functions.library().find(&node.op).is_some() {
            check_inputs(node, &inputs)?;
            let surroundings = &self.surroundings[self.place(node)?];
            let function = Func { name: node.op.to_string(), attrs: AttrMap::clone(&node.attrs) };
            let function = self.functions.instantiate(&function, &surroundings.device)?;
            let unit = self.begin_unit();
            let context = self.step_context(surroundings, step, unit.clone());
            let outputs = function.call(&context, inputs).await?;
            ended(unit).await?;
            return Ok(outputs);
        }
        self.execute_prepared(&self.prepare(node.clone())?, step, inputs).await
    }

    /// Prepares a single op for being run often.
    pub fn prepare(&self, node: Node) -> Result<PreparedOp> {
        let place = self.place(&node)?;
        let operation = self
            .kernels
            .operation(&node.device, &node, || Operation::new(&node, &self.task.registry, "CPU"))?;
        Ok(PreparedOp { node, place, operation })
    }

    /// The number of the device that a node names.
    fn place(&self, node: &Node) -> Result<usize> {
        let found = self.surroundings.iter().position(|around| around.device == node.device);
        found.ok_or_else(|| internal!("{} is not a device of {}", node.device, self.view.name))
    }

    /// Runs a prepared op.
    pub async fn execute_prepared(
        &self,
        op: &PreparedOp,
        step: &Step,
        inputs: Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let PreparedOp { node, place, operation } = op;
        check_inputs(node, &inputs)?;
        self.adopt(&inputs);
        let unit = self.begin_unit();
        let context = self.step_context(&self.surroundings[*place], step, unit.clone());
        let operation = Arc::clone(operation);
        let inputs = inputs.into_iter().map(Value::Tensor).collect();
        let outputs = operation.run(context, &self.task.pool, inputs).await?;
        ended(unit).await?;
        outputs.into_iter().map(|value| tensor(value, node)).collect()
    }

    /// Charges for tensors that came from elsewhere, as feeds do.
    fn adopt(&self, tensors: &[Tensor]) {
        let _entered = self.view.account.enter();
        tensors.iter().for_each(Tensor::adopt);
    }

    /// Where changes of steps are told, if they are.
    pub(crate) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.surroundings.first().and_then(|around| around.resources.journal())
    }

    /// The number of the first device that an instance runs on.
    pub(crate) fn device_of(&self, instance: &Instance) -> u32 {
        let device = instance.parts.first().map(|part| &part.surroundings.device);
        let known = device.and_then(|device| {
            self.surroundings.iter().position(|around| around.device == *device)
        });
        known.unwrap_or_default() as u32
    }

    /// What a step that begins now changes, if the task has a journal. All devices share it.
    fn begin_unit(&self) -> Option<Arc<dyn Unit>> {
        self.surroundings.first().and_then(|around| around.resources.begin_unit())
    }

    fn step_context(
        &self,
        surroundings: &Surroundings,
        step: &Step,
        unit: Option<Arc<dyn Unit>>,
    ) -> Arc<StepContext> {
        let rendezvous = ClusterRendezvous {
            step: step.id,
            state: Arc::clone(&step.state),
            unit: unit.clone(),
            view: Arc::clone(&self.view),
            task: Arc::clone(&self.task),
        };
        let resources = Arc::clone(&step.state.resources);
        surroundings.step(step.id, resources, Arc::new(rendezvous), unit)
    }
}

/// Waits until what a step has changed may be relied on.
pub(crate) async fn ended(unit: Option<Arc<dyn Unit>>) -> Result<()> {
    match unit.and_then(|unit| unit.end()) {
        Some(durable) => durable.await,
        None => Ok(()),
    }
}

/// What kernels find on a device.
fn surroundings(
    task: &Arc<Task>,
    view: &View,
    device: &LocalDevice,
    functions: &Arc<Functions>,
) -> Surroundings {
    let threads = task.pool.threads();
    let functions = Arc::clone(functions);
    Surroundings {
        device: Arc::clone(&device.name),
        resources: Arc::clone(&device.resources),
        functions: Arc::new(DeviceFunctions { functions, device: Arc::clone(&device.name) }),
        spawner: Arc::clone(&task.pool) as _,
        parallelism: view.threads.intra_op.map_or(threads, |limit| limit.min(threads)),
        policy: task.registry.policy().cloned(),
        account: Some(Arc::clone(&view.account)),
    }
}

/// The results of all parts by their numbers.
fn in_order(instance: &Instance, values: Vec<Vec<Tensor>>) -> Vec<Tensor> {
    let numbers = instance.parts.iter().map(|part| part.executable.retvals());
    let mut retvals: Vec<(usize, Tensor)> = numbers
        .zip(values)
        .flat_map(|(numbers, values)| numbers.iter().copied().zip(values))
        .collect();
    retvals.sort_unstable_by_key(|(number, _)| *number);
    retvals.into_iter().map(|(_, tensor)| tensor).collect()
}

fn check_inputs(node: &Node, inputs: &[Tensor]) -> Result<()> {
    let wanted = node.input_types();
    if inputs.len() != wanted.len() {
        return Err(invalid_argument!(
            "{} expected {} inputs, got {}",
            node.op,
            wanted.len(),
            inputs.len()
        ));
    }
    for (index, (input, wanted)) in inputs.iter().zip(wanted).enumerate() {
        if input.dtype() != wanted.dtype {
            return Err(invalid_argument!(
                "cannot compute {} as input #{index}(zero-based) was expected to be a {} tensor but is a \
                 {} tensor",
                node.op,
                wanted.dtype,
                input.dtype()
            ));
        }
    }
    Ok(())
}

fn tensor(value: Value, node: &Node) -> Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        Value::Ref(variable) => variable.read(),
        Value::Empty => Err(internal!("an output of {} is missing", node.op)),
    }
}

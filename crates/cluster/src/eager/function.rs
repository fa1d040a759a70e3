//! Functions that the context's client calls on this task: planned here, run on all devices that
//! they need.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesUnordered;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{Rendezvous, StepId};
use tensorfleet_graph::{AttrMap, Func, FunctionLibrary};
use tensorfleet_planner::{
    Devices, FunctionPart, Options, as_function, plan_multi_device_function,
};
use tensorfleet_tensor::{Error, Result, internal};
use tokio::sync::OnceCell;

use super::calls::{Item, Operation, Output, RegisterFunction};
use super::context::{Arg, Context, not_registered};
use super::written::in_function;
use crate::client::WorkerClient;
use crate::engine::{Folding, Instance, RunLimits, Step};
use crate::session::lock;
use crate::steps::StepState;
use crate::world::World;

/// The functions that a context has planned.
#[derive(Debug, Default)]
pub(super) struct PlacedFunctions {
    table: Mutex<FxHashMap<Call, Arc<OnceCell<Arc<PlacedFunction>>>>>,
}

/// What a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call {
    function: String,
    /// Values of the function's open attributes, written out.
    attrs: String,
    device: Arc<str>,
    arg_devices: Vec<Arc<str>>,
}

/// A function with a part on every device that it needs.
#[derive(Debug)]
struct PlacedFunction {
    local: Vec<LocalPart>,
    remote: Vec<RemotePart>,
    num_results: usize,
}

#[derive(Debug)]
struct LocalPart {
    device: Arc<str>,
    instance: Instance,
    args: Vec<usize>,
    returns: Vec<usize>,
}

#[derive(Debug)]
struct RemotePart {
    component: Registered,
    device: String,
    args: Vec<usize>,
    returns: Vec<usize>,
}

/// A component that another task knows, as long as this is held and the context is open.
#[derive(Debug)]
struct Registered {
    client: Arc<dyn WorkerClient>,
    name: String,
    context: u64,
    has_ended: Arc<AtomicBool>,
    world: Arc<dyn World>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The other task's context ends with ours, and all components with it.
        if !self.has_ended.load(Ordering::Relaxed) {
            let forget = vec![Item::RemoveFunction(std::mem::take(&mut self.name))];
            tell(&*self.world, self.context, &*self.client, forget);
        }
    }
}

impl PlacedFunctions {
    /// Forgets all functions, here and, when the last call has ended, where their components are.
    pub(super) fn clear(&self) {
        let cleared = std::mem::take(&mut *lock(&self.table));
        drop(cleared);
    }

    /// Forgets a function, as [`PlacedFunctions::clear`] does with all.
    pub(super) fn remove(&self, name: &str) {
        let removed: Vec<_> = {
            let mut table = lock(&self.table);
            table.extract_if(|call, _| call.function == name).map(|(_, cell)| cell).collect()
        };
        drop(removed);
    }
}

/// Has another task do something that nobody waits for. If it cannot be reached, it has nothing left
/// to forget.
fn tell(world: &dyn World, context: u64, client: &dyn WorkerClient, items: Vec<Item>) {
    let call = client.enqueue(context, items);
    let call = async move {
        let _ = call.await;
    };
    world.spawn(Box::pin(call));
}

impl Context {
    /// Calls a function on a device of this task.
    pub(super) async fn call(&self, operation: Operation) -> Result<Vec<Output>> {
        let device = &self.device(&operation.device)?.name;
        let Operation { id, name, inputs, attrs, .. } = operation;
        let args: Vec<Arg> =
            inputs.into_iter().map(|input| self.arg(input, device)).collect::<Result<_>>()?;
        let function = self.placed(name.clone(), attrs, device, &args).await?;
        let outputs = function.run(self, id, device, &args).await;
        outputs.map_err(|error| self.in_function(&name, &error))
    }

    fn in_function(&self, name: &str, error: &Error) -> Error {
        in_function(name, &self.engine.functions().library(), error)
    }

    /// The plan of a call, made by the first who needs it.
    async fn placed(
        &self,
        name: String,
        attrs: AttrMap,
        device: &Arc<str>,
        args: &[Arg],
    ) -> Result<Arc<PlacedFunction>> {
        let arg_devices = args.iter().map(|arg| match arg {
            Arg::Here(_, device) => Arc::clone(device),
            Arg::There(handle) => handle.device.as_str().into(),
            Arg::Everywhere(_) => "".into(),
        });
        let attrs: AttrMap =
            attrs.into_iter().filter(|(name, _)| !is_about_running(name)).collect();
        let written = if attrs.is_empty() { String::new() } else { format!("{attrs:#?}") };
        let call = Call {
            function: name,
            attrs: written,
            device: Arc::clone(device),
            arg_devices: arg_devices.collect(),
        };
        let cell = {
            let mut table = lock(&self.functions.table);
            match table.get(&call) {
                Some(cell) => Arc::clone(cell),
                None => Arc::clone(table.entry(call.clone()).or_default()),
            }
        };
        if let Some(function) = cell.get() {
            return Ok(Arc::clone(function));
        }
        let made = cell.get_or_try_init(|| self.place(&call, attrs)).await;
        if made.is_err() {
            // A function that fails to instantiate need not be remembered.
            lock(&self.functions.table).retain(|_, other| !Arc::ptr_eq(other, &cell));
        }
        made.cloned()
    }

    /// Plans a function and makes its parts known to the tasks that run them.
    async fn place(&self, call: &Call, attrs: AttrMap) -> Result<Arc<PlacedFunction>> {
        let func = Func { name: call.function.clone(), attrs };
        let library = self.engine.functions().library();
        if library.find(&func.name).is_none() {
            return Err(not_registered(&func.name));
        }
        let devices = self.devices();
        for device in call.arg_devices.iter().filter(|device| !device.is_empty()) {
            self.known_device(device)?;
        }
        let (own, _) = self.known_device(&call.device)?;
        let (registry, arg_devices) = (Arc::clone(&self.task.registry), call.arg_devices.clone());
        let plan = self.task.world.aside(move |given_up| {
            plan_multi_device_function(
                &func,
                &library,
                &arg_devices,
                &Devices { all: &devices, client: &devices[own] },
                &registry,
                &Folding::new(&registry).until(given_up),
                &Options { allow_soft_placement: true, keep_noinline: false, ..Options::default() },
            )
        });
        let plan = plan.await.map_err(|error| self.in_function(&call.function, &error))?;
        let num_results = plan.returned_by.len();
        let (here, there): (Vec<FunctionPart>, Vec<FunctionPart>) = plan
            .parts
            .into_iter()
            .partition(|part| self.engine.view().name.matches(&part.device.name));
        let local = here.into_iter().map(|part| {
            Ok(LocalPart {
                device: part.device.name.to_string().into(),
                instance: self.engine.instantiate_function(&part.graph)?,
                args: part.args,
                returns: part.returns,
            })
        });
        let local = local.collect::<Result<_>>()?;
        let instance = self.task.world.random();
        let remote = there.into_iter().enumerate().map(|(index, part)| {
            let name = format!("{}_partitioned_{instance}_{index}", call.function);
            self.register(name, part)
        });
        let remote = try_join_all(remote).await?;
        Ok(Arc::new(PlacedFunction { local, remote, num_results }))
    }

    /// Makes a component known to its task.
    async fn register(&self, name: String, part: FunctionPart) -> Result<RemotePart> {
        let client = self.client(&part.device.name)?;
        let function = Arc::new(as_function(&name, &part.graph)?);
        let library: Arc<FunctionLibrary> = Arc::clone(part.graph.library());
        let register = RegisterFunction { function, is_component: true, library };
        client.enqueue(self.id, vec![Item::RegisterFunction(register)]).await?;
        let device = part.device.name.to_string();
        let (has_ended, world) = (Arc::clone(&self.has_ended), Arc::clone(&self.task.world));
        let component = Registered { client, name, context: self.id, has_ended, world };
        Ok(RemotePart { component, device, args: part.args, returns: part.returns })
    }
}

/// Whether an attribute of a call says how to run the function, not what it computes.
fn is_about_running(attr: &str) -> bool {
    matches!(attr, "config_proto" | "executor_type" | "config") || attr.starts_with('_')
}

/// What a part gave: the numbers of the results, with what is told of them.
type Given = Result<Vec<(usize, Output)>>;

impl PlacedFunction {
    async fn run(
        &self,
        context: &Context,
        id: Option<i64>,
        device: &Arc<str>,
        args: &[Arg],
    ) -> Result<Vec<Output>> {
        // Steps of functions have the highest bit set: sessions draw others.
        let step = StepId((context.task.world.random() | 1 << 63) as i64);
        if let ([part], []) = (&self.local[..], &self.remote[..]) {
            let step = Step { id: step, state: Arc::new(StepState::new()) };
            let given = part.run(context, &step, id, device, args).await?;
            return self.in_order(given);
        }
        let state = context.task.steps.begin(step, &context.session);
        let rendezvous = Arc::clone(&state.rendezvous);
        let _running = Running { context, function: self, step };
        let step = Step { id: step, state };
        let mut parts: FuturesUnordered<Pin<Box<dyn Future<Output = Given> + Send + '_>>> =
            FuturesUnordered::new();
        for part in &self.remote {
            parts.push(Box::pin(part.run(context, step.id, id, args)));
        }
        for part in &self.local {
            parts.push(Box::pin(part.run(context, &step, id, device, args)));
        }
        let mut results = Vec::with_capacity(self.num_results);
        let mut consequence: Option<Error> = None;
        while let Some(given) = parts.next().await {
            match given {
                Ok(given) => results.extend(given),
                // The others end with the step: nobody needs them any more.
                Err(error) if !error.is_derived() => return Err(error),
                Err(error) => {
                    // Some other part knows why.
                    rendezvous.abort(error.clone());
                    consequence.get_or_insert(error);
                }
            }
        }
        match consequence {
            None => self.in_order(results),
            Some(error) => Err(error),
        }
    }

    fn in_order(&self, given: Vec<(usize, Output)>) -> Result<Vec<Output>> {
        let mut results: Vec<Option<Output>> = vec![None; self.num_results];
        for (number, output) in given {
            results[number] = Some(output);
        }
        let missing = || internal!("a result of a function is missing");
        results.into_iter().map(|result| result.ok_or_else(missing)).collect()
    }
}

impl LocalPart {
    async fn run(
        &self,
        context: &Context,
        step: &Step,
        id: Option<i64>,
        device: &Arc<str>,
        args: &[Arg],
    ) -> Given {
        let args = self.args.iter().map(|&index| args[index].on(context, &self.device));
        let args = args.collect::<Result<_>>()?;
        let outcome = context.engine.run(&self.instance, step, args, RunLimits::default()).await?;
        let numbers: Vec<i32> = self.returns.iter().map(|&number| number as i32).collect();
        let mut outputs = context.keep(id, &numbers, outcome.retvals, &self.device);
        if *self.device != **device {
            for output in &mut outputs {
                output.device = self.device.to_string();
            }
        }
        Ok(self.returns.iter().copied().zip(outputs).collect())
    }
}

impl RemotePart {
    async fn run(&self, context: &Context, step: StepId, id: Option<i64>, args: &[Arg]) -> Given {
        let inputs = self.args.iter().map(|&index| args[index].input(&self.device));
        let operation = Operation {
            id,
            name: self.component.name.clone(),
            inputs: inputs.collect::<Result<_>>()?,
            device: self.device.clone(),
            is_function: true,
            is_component: true,
            step: step.0,
            ..Operation::default()
        };
        let numbers: Vec<i32> = self.returns.iter().map(|&number| number as i32).collect();
        let call = self.component.client.run_component(context.id, operation, numbers);
        let outputs = call.await?;
        let elsewhere = |output: Output| match output.value {
            // The caller gave no number, so the value itself has come.
            Some(_) => output,
            None => Output { device: self.device.clone(), ..output },
        };
        Ok(self.returns.iter().copied().zip(outputs.into_iter().map(elsewhere)).collect())
    }
}

/// A call that is under way. When it ends, however it does, its step ends on all tasks.
struct Running<'a> {
    context: &'a Context,
    function: &'a PlacedFunction,
    step: StepId,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.context.task.steps.end(self.step);
        for part in &self.function.remote {
            let end = vec![Item::CleanupFunction(self.step)];
            let world = &*self.context.task.world;
            tell(world, self.context.id, &*part.component.client, end);
        }
    }
}

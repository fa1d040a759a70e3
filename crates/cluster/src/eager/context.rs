//! One client's context on one task.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{DeviceName, StepId, key_in_frame, key_prefix};
use tensorfleet_graph::{AttrMap, AttrValue, OpLookup};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{DType, Error, Result, Tensor, internal, invalid_argument, not_found};
use tokio::sync::Notify;

use super::ContextSummary;
use super::calls::{
    CreateContext, Handle, Input, Item, Operation, Output, RegisterFunction, Reply,
};
use super::component::Components;
use super::function::PlacedFunctions;
use super::handles::{Handles, Held};
use super::ops::Ops;
use super::peers::ChangingPeers;
use crate::client::{Peers, WorkerClient};
use crate::coordination::Share;
use crate::engine::{Engine, Step};
use crate::events::EventKind;
use crate::owner::Owner;
use crate::session::lock;
use crate::task::{LocalDevice, Task};
use crate::view::View;

/// A context.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) id: u64,
    pub(super) owner: Owner,
    /// Steps of the context belong to a session of this name.
    pub(super) session: String,
    view: AtomicU64,
    pub(super) task: Arc<Task>,
    pub(super) engine: Engine,
    peers: Arc<ChangingPeers>,
    /// All devices that the context may use.
    devices: Mutex<Arc<[Device]>>,
    /// The step of single ops: where tensors meet that are sent from task to task.
    step: Step,
    handles: Handles,
    ops: Ops,
    /// How often each function was registered.
    registered: Mutex<FxHashMap<String, usize>>,
    pub(super) components: Components,
    pub(super) functions: PlacedFunctions,
    /// Whether the context is over, though calls under way may still hold it.
    pub(super) has_ended: Arc<AtomicBool>,
    _coordination: Option<Share>,
    /// From where it was opened, and when.
    client: String,
    opened: Instant,
    keep_alive: Duration,
    last_used: Mutex<Instant>,
    under_way: Mutex<BTreeSet<u64>>,
    begun: AtomicU64,
    ended: Notify,
}

/// An argument of a function: here, or on another task.
#[derive(Debug)]
pub(super) enum Arg {
    Here(Tensor, Arc<str>),
    There(Handle),
    /// A tensor on each of several devices.
    Everywhere(Arc<[Input]>),
}

impl Arg {
    /// The tensor on a device of this task.
    pub(super) fn on(&self, context: &Context, device: &Arc<str>) -> Result<Tensor> {
        match self {
            Arg::Here(tensor, _) => Ok(tensor.clone()),
            Arg::There(handle) => Err(internal!("an argument on {device} is on {}", handle.device)),
            Arg::Everywhere(members) => {
                context.arg(member(members, device)?, device)?.on(context, device)
            }
        }
    }

    /// The argument as a device of another task is told of it.
    pub(super) fn input(&self, device: &str) -> Result<Input> {
        match self {
            Arg::Here(tensor, device) => Ok(Input::Tensor(tensor.clone(), device.to_string())),
            Arg::There(handle) => Ok(Input::Handle(handle.clone())),
            Arg::Everywhere(members) => member(members, device),
        }
    }
}

impl Context {
    pub(super) fn new(
        task: &Arc<Task>,
        request: CreateContext,
        peers: Arc<dyn Peers>,
    ) -> Result<Context> {
        let CreateContext { id, task_name, threads, isolate, coordination, owner, .. } = request;
        let coordination =
            coordination.map(|options| task.coordination.take_part(task, &*peers, options));
        let peers = Arc::new(ChangingPeers::new(peers));
        let seen = Arc::clone(&peers) as _;
        let whose = (&owner, &*format!("context {id:x}"));
        let view = View::new(task, task_name, seen, threads, isolate, whose);
        let engine = Engine::new(Arc::clone(task), Arc::new(view), None);
        let session = format!("eager_{id}");
        let step = StepId(id as i64);
        let state = task.steps.begin(step, &session);
        Ok(Context {
            id,
            owner,
            session,
            view: AtomicU64::new(request.view),
            task: Arc::clone(task),
            engine,
            peers,
            devices: Mutex::new(request.devices.into()),
            step: Step { id: step, state },
            handles: Handles::default(),
            ops: Ops::default(),
            registered: Mutex::default(),
            components: Components::default(),
            functions: PlacedFunctions::default(),
            has_ended: Arc::default(),
            _coordination: coordination.transpose()?,
            client: request.client,
            opened: task.world.now(),
            keep_alive: request.keep_alive,
            last_used: Mutex::new(task.world.now()),
            under_way: Mutex::default(),
            begun: AtomicU64::new(0),
            ended: Notify::new(),
        })
    }

    /// Whether a step is one of this context's: of its single ops, or of a function that it calls.
    pub(super) fn runs(&self, step: StepId) -> bool {
        step == self.step.id || self.task.steps.is_of_session(step, &self.session)
    }

    pub(super) fn view_id(&self) -> u64 {
        self.view.load(Ordering::Relaxed)
    }

    pub(super) fn own_devices(&self) -> Vec<Device> {
        self.engine.view().devices.iter().map(|local| local.device.clone()).collect()
    }

    /// All devices of the cluster as the context sees it, its own task's among them.
    pub(super) fn devices(&self) -> Arc<[Device]> {
        Arc::clone(&lock(&self.devices))
    }

    pub(super) fn update(
        &self,
        view: u64,
        devices: Vec<Device>,
        peers: Option<Arc<dyn Peers>>,
    ) -> Result<Vec<Device>> {
        let expected = self.view_id().wrapping_add(1);
        if view != expected {
            return Err(invalid_argument!(
                "EagerService:UpdateContext failed. Context id: <{}> currently at view #{} but \
                 received update request at view #{view}. View id should only be continuously \
                 incremented.",
                self.id,
                self.view_id()
            ));
        }
        self.view.store(view, Ordering::Relaxed);
        if devices.is_empty() {
            return Ok(Vec::new());
        }
        *lock(&self.devices) = devices.into();
        if let Some(peers) = peers {
            self.peers.change(peers);
        }
        // Tasks that came back have forgotten their parts of functions.
        self.functions.clear();
        Ok(self.own_devices())
    }

    pub(super) fn touch(&self) {
        *lock(&self.last_used) = self.task.world.now();
    }

    pub(super) fn is_stale(&self) -> bool {
        !self.keep_alive.is_zero()
            && lock(&self.under_way).is_empty()
            && self.task.world.now().duration_since(*lock(&self.last_used)) > self.keep_alive
    }

    /// What an operator sees of it.
    pub(super) fn summary(&self) -> ContextSummary {
        let now = self.task.world.now();
        ContextSummary {
            id: self.id,
            owner: Arc::clone(&self.owner.name),
            client: self.client.clone(),
            view: self.view_id(),
            age: now.saturating_duration_since(self.opened),
            idle: now.saturating_duration_since(*lock(&self.last_used)),
            calls: self.begun.load(Ordering::Relaxed),
            under_way: lock(&self.under_way).len(),
            tensors: self.handles.len(),
            functions: lock(&self.registered).len(),
            components: self.components.len(),
        }
    }

    /// Ends the steps of the context; what runs gets an error.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.task.steps.end_session(&self.session);
        let begun = self.begun.load(Ordering::Relaxed);
        let (id, view) = (self.id, self.view_id());
        let text = format!("closed context {id:x}, view {view}, after {begun} calls");
        self.task.tell(EventKind::ContextClosed, text);
    }

    /// Notes that something is being done, until the guard is dropped.
    pub(super) fn begin(&self) -> UnderWay<'_> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        lock(&self.under_way).insert(number);
        UnderWay { context: self, number }
    }

    pub(super) async fn wait_until_done(&self) {
        let last = self.begun.load(Ordering::Relaxed);
        loop {
            let ended = self.ended.notified();
            if lock(&self.under_way).first().is_none_or(|&first| first >= last) {
                return;
            }
            ended.await;
        }
    }

    /// Does one thing.
    pub(super) async fn handle(&self, item: Item) -> Result<Reply> {
        match item {
            Item::Operation(operation) => return self.operate(operation).await,
            Item::SendTensor { op_id, device, tensors } => {
                let device = &self.device(&device)?.name;
                for (output, tensor) in (0..).zip(tensors) {
                    self.handles.insert(op_id, output, Held::Tensor(tensor, Arc::clone(device)));
                }
            }
            Item::SendPackedHandle { op_id, members } => {
                self.handles.insert(op_id, 0, Held::Packed(members.into()));
            }
            Item::RegisterFunction(function) if function.is_component => {
                self.components.register(function);
            }
            Item::RegisterFunction(RegisterFunction { function, library, .. }) => {
                let name = function.signature.name.clone();
                let mut library = Arc::unwrap_or_clone(library);
                library.insert(function);
                self.engine.functions().add(&library)?;
                *lock(&self.registered).entry(name).or_default() += 1;
            }
            Item::RemoveFunction(name) => self.remove_function(&name)?,
            Item::CleanupFunction(step) => self.task.steps.end_of_session(step, &self.session),
            Item::Decref(handle) => self.handles.remove(&handle)?,
            Item::Sync => {}
        }
        Ok(Reply::default())
    }

    /// Removes a function as soon as that was asked for as often as it was registered: clients trace
    /// a function anew before they let go of the old one, and both have the same inner functions.
    fn remove_function(&self, name: &str) -> Result<()> {
        if self.components.remove(name) {
            return Ok(());
        }
        {
            let mut registered = lock(&self.registered);
            let Some(count) = registered.get_mut(name) else {
                return Err(invalid_argument!("Tried to remove non-existent function '{name}'."));
            };
            *count -= 1;
            if *count > 0 {
                return Ok(());
            }
            registered.remove(name);
        }
        self.engine.functions().remove(name);
        self.functions.remove(name);
        Ok(())
    }

    async fn operate(&self, operation: Operation) -> Result<Reply> {
        if operation.is_component {
            return Err(invalid_argument!(
                "component function {} must be run by RunComponentFunction",
                operation.name
            ));
        }
        if operation.is_function {
            let outputs = self.call(operation).await?;
            return Ok(Reply { outputs, is_function: true });
        }
        let device = &self.device(&operation.device)?.name;
        let Operation { id, name, inputs, attrs, .. } = operation;
        let mut tensors = Vec::with_capacity(inputs.len());
        for input in inputs {
            tensors.push(self.input(input, device).await?);
        }
        if self.task.registry.op_def(&name).is_none() {
            return Err(not_registered(&name));
        }
        let op = self.ops.find(&self.engine, &name, device, attrs)?;
        let values = self.engine.execute_prepared(&op, &self.step, tensors).await?;
        let numbers: Vec<i32> = (0..).take(values.len()).collect();
        Ok(Reply { outputs: self.keep(id, &numbers, values, device), is_function: false })
    }

    /// The device of this task with this name.
    pub(super) fn device(&self, name: &str) -> Result<&LocalDevice> {
        let devices = &self.engine.view().devices;
        if name.is_empty() {
            return Ok(&devices[0]);
        }
        if let Some(device) = devices.iter().find(|device| &*device.name == name) {
            return Ok(device);
        }
        let pattern = DeviceName::parse(name)?;
        devices
            .iter()
            .find(|device| pattern.matches(&device.device.name))
            .ok_or_else(|| invalid_argument!("{name} unknown device."))
    }

    /// Keeps outputs for the client, or returns them if it gave no number.
    pub(super) fn keep(
        &self,
        id: Option<i64>,
        numbers: &[i32],
        values: Vec<Tensor>,
        device: &Arc<str>,
    ) -> Vec<Output> {
        let keep = |(&number, tensor): (&i32, Tensor)| {
            let shape = tensor.shape().clone();
            let value = match id {
                Some(id) => {
                    self.handles.insert(id, number, Held::Tensor(tensor, Arc::clone(device)));
                    None
                }
                None => Some(tensor),
            };
            Output { shape, device: String::new(), value }
        };
        numbers.iter().zip(values).map(keep).collect()
    }

    /// An argument of a function: what is on another task stays there.
    pub(super) fn arg(&self, input: Input, device: &Arc<str>) -> Result<Arg> {
        match input {
            Input::Tensor(tensor, _) => Ok(self.here(tensor, device)),
            Input::Handle(handle) if self.is_elsewhere(&handle)? => Ok(Arg::There(handle)),
            Input::Handle(handle) => match self.handles.get(&handle)? {
                Held::Tensor(tensor, device) => Ok(self.here(tensor, &device)),
                Held::Packed(members) => Ok(Arg::Everywhere(members)),
            },
        }
    }

    /// A tensor of this task. The handle of a resource belongs where the resource is.
    fn here(&self, tensor: Tensor, device: &Arc<str>) -> Arg {
        if let Ok([handle, ..]) = tensor.resources()
            && *handle.device != **device
            && self.devices().iter().any(|known| known.name.to_string() == handle.device)
        {
            let device = handle.device.as_str().into();
            return Arg::Here(tensor, device);
        }
        Arg::Here(tensor, Arc::clone(device))
    }

    /// An input of an op: what is on another task is fetched.
    async fn input(&self, input: Input, device: &Arc<str>) -> Result<Tensor> {
        let mut input = input;
        loop {
            let handle = match input {
                Input::Tensor(tensor, _) => return Ok(tensor),
                Input::Handle(handle) if self.is_elsewhere(&handle)? => {
                    return self.fetch(handle, device).await;
                }
                Input::Handle(handle) => handle,
            };
            match self.handles.get(&handle)? {
                Held::Tensor(tensor, _) => return Ok(tensor),
                Held::Packed(members) => input = member(&members, device)?,
            }
        }
    }

    /// Whether another task has a tensor. What this task was sent is in its table though another
    /// task may have made it.
    fn is_elsewhere(&self, handle: &Handle) -> Result<bool> {
        Ok(!self.is_own(&handle.device)? && !self.is_own(&handle.op_device)?)
    }

    fn is_own(&self, device: &str) -> Result<bool> {
        let view = self.engine.view();
        Ok(device.is_empty()
            || view.devices.iter().any(|local| *local.name == *device)
            || view.name.matches(&DeviceName::parse(device)?))
    }

    /// The worker of another task.
    pub(super) fn client(&self, device: &DeviceName) -> Result<Arc<dyn WorkerClient>> {
        self.engine.view().peers.worker(&device.task_name())
    }

    /// Has another task send a tensor of its table here.
    async fn fetch(&self, handle: Handle, to: &Arc<str>) -> Result<Tensor> {
        let (_, incarnation) = self.known_device(&handle.device)?;
        let from = DeviceName::parse(&handle.device)?;
        let client = self.client(&from)?;
        let edge = format!("{}_{}_{}", self.task.world.random(), handle.op_id, handle.output);
        let text = |text: &str| AttrValue::String(text.as_bytes().to_vec().into());
        let attrs = AttrMap::from([
            ("T".to_owned(), AttrValue::Type(handle.dtype.unwrap_or(DType::Float))),
            ("tensor_name".to_owned(), text(&edge)),
            ("send_device".to_owned(), text(&handle.device)),
            ("send_device_incarnation".to_owned(), AttrValue::Int(incarnation as i64)),
            ("recv_device".to_owned(), text(to)),
            ("client_terminated".to_owned(), AttrValue::Bool(false)),
        ]);
        let prefix = key_prefix(&handle.device, incarnation, to, &edge);
        let key = key_in_frame(&prefix, Default::default());
        let send = Operation {
            name: "_Send".to_owned(),
            device: handle.device.clone(),
            inputs: vec![Input::Handle(handle)],
            attrs,
            ..Operation::default()
        };
        client.enqueue(self.id, vec![Item::Operation(send)]).await?;
        Ok(client.recv_tensor(self.step.id, key).await?.tensor)
    }

    /// A device of the cluster, with its incarnation.
    pub(super) fn known_device(&self, name: &str) -> Result<(usize, u64)> {
        let pattern = DeviceName::parse(name)?;
        let devices = self.devices();
        let found = devices.iter().position(|device| device.name == pattern);
        found
            .map(|index| (index, devices[index].incarnation))
            .ok_or_else(|| invalid_argument!("{name} unknown device."))
    }
}

/// The member of a packed handle that a device uses.
pub(super) fn member(members: &[Input], device: &str) -> Result<Input> {
    let of = |input: &&Input| match input {
        Input::Tensor(_, of) => of == device,
        Input::Handle(handle) => handle.device == device,
    };
    members
        .iter()
        .find(of)
        .cloned()
        .ok_or_else(|| invalid_argument!("a packed handle has no tensor on {device}"))
}

pub(super) fn not_registered(name: &str) -> Error {
    not_found!(
        "'{name}' is neither a type of a primitive operation nor a name of a function registered in \
         binary running on tensorfleet. One possible root cause is the client and server binaries \
         are not built with the same version. Please make sure the operation or function is \
         registered in the binary running in this process."
    )
}

/// Something that a context does.
#[derive(Debug)]
pub(super) struct UnderWay<'a> {
    context: &'a Context,
    number: u64,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(&self.context.under_way).remove(&self.number);
        self.context.touch();
        self.context.ended.notify_waiters();
    }
}

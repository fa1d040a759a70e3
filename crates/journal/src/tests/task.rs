//! A device with a journal, and steps that run single ops on it.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tensorfleet_framework::{
    Outcome, Parcel, RefVariable, Registry, Resources, Started, StepContext, Unit, Value, Variable,
};
use tensorfleet_graph::{AttrMap, AttrValue, FunctionLibrary, Node, signature};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{DType, Result, Tensor};

use super::bad_disk::BadDisk;
use crate::{Durability, DurableJournal, Options};

pub(super) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(tensorfleet_ops::library)
}

/// A task with one device.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) resources: Arc<Resources>,
    pub(super) journal: DurableJournal,
}

pub(super) const SMALL: u64 = 4096;

pub(super) fn options(durability: Durability) -> Options {
    let (segment_bytes, snapshot_after) = (SMALL, u64::MAX);
    Options { segment_bytes, snapshot_after, ..Options::new("", durability) }
}

impl Task {
    pub(super) fn start(disk: &BadDisk) -> Result<Task> {
        Task::start_with(disk, &options(Durability::Sync))
    }

    pub(super) fn start_with(disk: &BadDisk, options: &Options) -> Result<Task> {
        let resources = Arc::new(Resources::new("ps"));
        let devices = [Arc::clone(&resources)];
        let disk = Arc::new(disk.clone());
        let journal = DurableJournal::on(disk, options, registry(), &devices, None)?;
        Ok(Task { resources, journal })
    }

    pub(super) fn begin(&self) -> Step {
        self.begin_with(self.resources.begin_unit())
    }

    pub(super) fn begin_with(&self, unit: Option<Arc<dyn Unit>>) -> Step {
        let step = StepContext {
            resources: Arc::clone(&self.resources),
            unit,
            ..StepContext::clone(&StepContext::bare())
        };
        Step(Arc::new(step))
    }

    /// Runs one step.
    pub(super) fn run(&self, step: impl FnOnce(&Step) -> Result<()>) -> Result<()> {
        let running = self.begin();
        step(&running)?;
        running.end()
    }

    /// Adds to a counter, which must be there.
    pub(super) fn add(&self, name: &str, amount: i64) -> Result<()> {
        self.run(|step| step.add(name, amount))
    }

    /// The value of a variable, zero if there is none.
    pub(super) fn counter(&self, name: &str) -> i64 {
        self.value(name).map_or(0, |value| value.scalar_value().unwrap())
    }

    pub(super) fn value(&self, name: &str) -> Option<Tensor> {
        self.resources.lookup::<Variable>("", name).ok()?.get()
    }

    /// All variables by name with their values' bytes.
    pub(super) fn state(&self) -> Vec<(String, Vec<u8>)> {
        let mut state = Vec::new();
        self.resources.for_each_variable(|variable, container, name, kind| {
            if let Some(value) = variable.get() {
                let bytes = match value.strings() {
                    Ok(strings) => strings.concat(),
                    Err(_) => value.raw().to_vec(),
                };
                let label = variable.name();
                state.push((format!("{kind} {container}/{name} {label} {}", value.shape()), bytes));
            }
        });
        state.sort();
        state
    }
}

/// A step under way.
#[derive(Debug)]
pub(super) struct Step(Arc<StepContext>);

impl Step {
    pub(super) fn send(&self, key: &str, parcel: &Parcel) {
        self.0.unit.as_ref().unwrap().sent(key, parcel);
    }

    pub(super) fn end(self) -> Result<()> {
        match self.0.unit.as_ref().and_then(|unit| unit.end()) {
            Some(durable) => block_on(durable),
            None => Ok(()),
        }
    }

    pub(super) fn op(
        &self,
        op: &str,
        attrs: &[(&str, AttrValue)],
        inputs: Vec<Value>,
    ) -> Result<Vec<Value>> {
        let attrs: AttrMap =
            attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (attrs, signature) = signature(op, attrs, &FunctionLibrary::default(), registry())?;
        let node = Node {
            name: "node".into(),
            op: op.into(),
            device: "".into(),
            attrs,
            inputs: Vec::new(),
            control_inputs: Vec::new(),
            signature: Some(signature),
        };
        let operation = Operation::new(&node, registry(), "CPU")?;
        match operation.start(&self.0, inputs.into())? {
            Started::Done(Outcome::Values(values)) => Ok(values.into_vec()),
            _ => panic!("{op} waits"),
        }
    }

    pub(super) fn handle(&self, name: &str) -> Value {
        let handle = self.0.resources.handle::<Variable>("", "", name, Vec::new());
        Value::Tensor(Tensor::resource(handle))
    }

    pub(super) fn assign(&self, name: &str, value: Tensor) -> Result<()> {
        let dtype = [("dtype", AttrValue::Type(value.dtype()))];
        let inputs = vec![self.handle(name), Value::Tensor(value)];
        self.op("AssignVariableOp", &dtype, inputs).map(drop)
    }

    pub(super) fn add(&self, name: &str, amount: i64) -> Result<()> {
        let dtype = [("dtype", AttrValue::Type(DType::Int64))];
        let inputs = vec![self.handle(name), Value::Tensor(Tensor::scalar(amount))];
        self.op("AssignAddVariableOp", &dtype, inputs).map(drop)
    }

    /// A variable of TensorFlow 1.
    pub(super) fn reference(&self, name: &str, dtype: DType) -> Value {
        let make = || Ok(RefVariable(Arc::new(Variable::new("label", dtype))));
        let found = self.0.resources.lookup_or_create("box", name, make).unwrap();
        Value::Ref(Arc::clone(&found.0))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Numbers that look random and are the same for the same seed.
pub(super) fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    }
}

//! Looks into a data directory that no task has, and makes one out of tensors.

use std::fs::File;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Polling, Poll, Waker};

use tensorfleet_framework::{
    Event, RefVariable, Registry, Resource, Resources, StepContext, Value, Variable,
};
use tensorfleet_graph::{AttrMap, AttrValue, FunctionLibrary, Node, signature};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{Context, Result, Tensor, failed_precondition, internal, not_found};

use crate::directory::{DurableJournal, Options, has_log, lock};
use crate::disk::{Disk, LocalDisk};
use crate::durability::Durability;
use crate::recover::recover;
use crate::segment::numbered;
use crate::snapshot;

/// As many devices as any task has.
const DEVICES: usize = 256;

/// What a data directory has.
#[derive(Debug)]
pub struct Contents {
    /// Whose it is.
    pub task: String,
    /// Its files with their lengths.
    pub files: Vec<(String, u64)>,
    /// The last record that the newest snapshot has in it, if there is one; and the last of all.
    pub snapshot: Option<u64>,
    pub last: u64,
    /// How many changes the log has after the snapshot.
    pub changes: u64,
    /// Steps that had not ended: they are left out.
    pub unfinished: usize,
    pub variables: Vec<KeptVariable>,
    pub resources: Vec<KeptResource>,
}

/// A variable of a data directory.
#[derive(Clone, Debug)]
pub struct KeptVariable {
    pub device: usize,
    pub container: String,
    pub name: String,
    pub by_reference: bool,
    pub value: Tensor,
}

/// Another resource of a data directory: what makes it out of a new one.
#[derive(Clone, Debug)]
pub struct KeptResource {
    pub device: usize,
    pub container: String,
    pub name: String,
    pub type_name: &'static str,
    pub events: Vec<Event>,
}

impl Contents {
    /// Reads all of a data directory, as a task does that starts, and changes nothing.
    pub fn read(directory: &Path, registry: &Registry) -> Result<Contents> {
        read(directory, registry).context(|| format!("data directory {}", directory.display()))
    }
}

fn read(directory: &Path, registry: &Registry) -> Result<Contents> {
    let task = owner(directory)?;
    let _lock: File = lock(directory)?;
    let disk = LocalDisk::new(directory);
    let unreadable = |error| failed_precondition!("cannot be read: {error}");
    let mut files = Vec::new();
    for name in disk.list().map_err(unreadable)? {
        let len = disk.open(&name).and_then(|file| file.size()).map_err(unreadable)?;
        files.push((name, len));
    }
    files.sort();
    let devices: Vec<Arc<Resources>> =
        (0..DEVICES).map(|_| Arc::new(Resources::default())).collect();
    let recovered = recover(&disk, registry, &devices)?;
    let (mut variables, mut resources) = (Vec::new(), Vec::new());
    for (device, found) in devices.iter().enumerate() {
        found.for_each_variable(|variable, container, name, type_name| {
            variables.extend(variable.get().map(|value| KeptVariable {
                device,
                container: container.to_owned(),
                name: name.to_owned(),
                by_reference: type_name == RefVariable::TYPE_NAME,
                value,
            }));
        });
        found.for_each_durable(|resource, container, name, type_name| {
            resources.push(resource.events().map(|events| KeptResource {
                device,
                container: container.to_owned(),
                name: name.to_owned(),
                type_name,
                events,
            }));
        });
    }
    variables.sort_by(|a, b| (&a.container, &a.name).cmp(&(&b.container, &b.name)));
    let mut resources = resources.into_iter().collect::<Result<Vec<_>>>()?;
    resources.sort_by(|a, b| (&a.container, &a.name).cmp(&(&b.container, &b.name)));
    let snapshots = files.iter().filter_map(|(name, _)| numbered(name, snapshot::PREFIX));
    Ok(Contents {
        task,
        snapshot: snapshots.max(),
        last: recovered.end.next - 1,
        changes: recovered.changes,
        unfinished: recovered.undone,
        files,
        variables,
        resources,
    })
}

fn owner(directory: &Path) -> Result<String> {
    let text = std::fs::read_to_string(directory.join("task"))
        .map_err(|_| not_found!("it is no data directory: it has no file `task`"))?;
    let task = text.lines().nth(1).unwrap_or_default();
    Ok(task.to_owned())
}

/// Makes a data directory for a task of a job, whose variables have these values. One that has something
/// is refused.
pub fn fill(
    directory: &Path,
    (task, job): (&str, &str),
    registry: &Registry,
    by_reference: bool,
    variables: impl IntoIterator<Item = Result<(String, Tensor)>>,
) -> Result<usize> {
    if has_log(directory) {
        let directory = directory.display();
        return Err(failed_precondition!("data directory {directory} has variables already"));
    }
    let resources = Arc::new(Resources::new(job));
    let options = Options::new(directory, Durability::Sync);
    let devices = [Arc::clone(&resources)];
    let journal = DurableJournal::open(&options, task, registry, &devices)?
        .ok_or_else(|| internal!("a journal with durability was not opened"))?;
    let unit = resources.begin_unit();
    let step = Arc::new(StepContext {
        resources: Arc::clone(&resources),
        unit: unit.clone(),
        ..StepContext::clone(&StepContext::bare())
    });
    let mut count = 0;
    for variable in variables {
        let (name, value) = variable?;
        assign(&step, registry, by_reference, &name, value)
            .context(|| format!("variable {name}"))?;
        count += 1;
    }
    let durable = unit.as_ref().and_then(|unit| unit.end());
    journal.close();
    match durable.map(|durable| pin!(durable).poll(&mut Polling::from_waker(Waker::noop()))) {
        None => Ok(count),
        Some(Poll::Ready(ended)) => ended.map(|()| count),
        Some(Poll::Pending) => Err(internal!("a journal was closed and something still waits")),
    }
}

fn assign(
    step: &Arc<StepContext>,
    registry: &Registry,
    by_reference: bool,
    name: &str,
    value: Tensor,
) -> Result<()> {
    let (op, attr, target) = match by_reference {
        true => {
            let (dtype, shape) = (value.dtype(), value.shape().clone());
            let make = || Ok(RefVariable(Arc::new(Variable::with_shape(name, dtype, shape))));
            let found = step.resources.lookup_or_create("", name, make)?;
            ("Assign", "T", Value::Ref(Arc::clone(&found.0)))
        }
        false => {
            let handle = step.resources.handle::<Variable>("", "", name, Vec::new());
            ("AssignVariableOp", "dtype", Value::Tensor(Tensor::resource(handle)))
        }
    };
    let attrs: AttrMap = [(attr.to_owned(), AttrValue::Type(value.dtype()))].into_iter().collect();
    let (attrs, signature) = signature(op, attrs, &FunctionLibrary::default(), registry)?;
    let node = Node {
        name: name.into(),
        op: op.into(),
        device: "".into(),
        attrs,
        inputs: Vec::new(),
        control_inputs: Vec::new(),
        signature: Some(signature),
    };
    let operation = Operation::new(&node, registry, "CPU")?;
    operation.start(step, [target, Value::Tensor(value)].into_iter().collect()).map(drop)
}

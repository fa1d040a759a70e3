//! Makes changes again, by the kernels that made them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{
    Durable, Outcome, RefVariable, Registry, Resource, Resources, Started, StepContext, Value,
    Values, Variable, anonymous_handle,
};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{Context, Result, Tensor, data_loss, failed_precondition};

use crate::frame::Kind;
use crate::payload::Reader;
use crate::record::{Changed, Description, Input, read_deleted};
use crate::resource::{Described, Happened};
use crate::wire;

/// The resources of a task as the records so far leave them.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    registry: &'a Registry,
    step: Arc<StepContext>,
    ops: FxHashMap<u32, Operation>,
    variables: FxHashMap<u64, (Description, Arc<Variable>)>,
    /// Resources that are no variables.
    others: FxHashMap<u64, (Described, Arc<dyn Durable>)>,
    /// What is found at a place: a device, a type, a container and a name.
    found: FxHashMap<(u32, String, String, String), u64>,
    /// By resource, the units that have not ended and whose changes of it were left out.
    left_out: FxHashMap<u64, FxHashSet<u64>>,
    /// Units on which others that have ended are built: they cannot be left out.
    pub(crate) needed: FxHashSet<u64>,
    /// Resources up to this number that are not known were deleted before the snapshot.
    pub(crate) numbered: u64,
}

impl Replay<'_> {
    pub(crate) fn new(registry: &Registry) -> Replay<'_> {
        Replay {
            registry,
            step: StepContext::bare(),
            ops: FxHashMap::default(),
            variables: FxHashMap::default(),
            others: FxHashMap::default(),
            found: FxHashMap::default(),
            left_out: FxHashMap::default(),
            needed: FxHashSet::default(),
            numbered: 0,
        }
    }

    /// Makes a variable known.
    pub(crate) fn create(&mut self, description: Description, value: Option<Tensor>) -> Result<()> {
        let number = description.number;
        if self.variables.contains_key(&number) {
            // It was made while the snapshot was taken.
            return Ok(());
        }
        let variable = description.variable();
        if let Some(value) = value {
            variable.assign(value)?;
        }
        let Description { device, is_ref, container, name, .. } = description.clone();
        let kind = if is_ref { RefVariable::TYPE_NAME } else { Variable::TYPE_NAME };
        self.found.insert((device, kind.to_owned(), container, name), number);
        self.variables.insert(number, (description, Arc::new(variable)));
        self.numbered = self.numbered.max(number);
        Ok(())
    }

    /// Makes a resource known that is no variable.
    pub(crate) fn describe(&mut self, described: Described) -> Result<()> {
        let number = described.number;
        if self.others.contains_key(&number) {
            // It was made while the snapshot was taken.
            return Ok(());
        }
        let resource = described.make(self.registry)?;
        let Described { device, container, name, type_name, .. } = &described;
        let place = (*device, type_name.clone(), container.clone(), name.clone());
        self.found.insert(place, number);
        self.others.insert(number, (described, resource));
        self.numbered = self.numbered.max(number);
        Ok(())
    }

    /// Lets something happen again.
    pub(crate) fn happen(&mut self, happened: Happened) -> Result<()> {
        let Happened { resource: number, failed, event, .. } = happened;
        let again = match self.others.get(&number) {
            Some((_, resource)) => resource.replay(&event),
            None if number <= self.numbered => return Ok(()),
            None => return Err(data_loss!("resource {number} was never made")),
        };
        self.compare(&[number], again, failed)
    }

    /// What comes of a change must be what came of it before. If it is not, because a unit was left
    /// out that it is built on, that unit is needed.
    fn compare<T>(&mut self, numbers: &[u64], again: Result<T>, failed: bool) -> Result<()> {
        if again.is_err() != failed {
            let units = numbers.iter().filter_map(|number| self.left_out.get(number));
            self.needed = units.flatten().copied().collect();
        }
        match again {
            Ok(_) if failed => Err(data_loss!("a change that once failed succeeds now")),
            Err(error) if !failed => {
                Err(error).context(|| "a change that once succeeded fails now")
            }
            _ => Ok(()),
        }
    }

    /// Does what a frame says, if its unit has ended.
    pub(crate) fn apply(
        &mut self,
        kind: Kind,
        payload: &[u8],
        ended: &FxHashSet<u64>,
    ) -> Result<()> {
        let mut reader = Reader(payload);
        match kind {
            Kind::Op => {
                let number = reader.word()?;
                let node = wire::decode_node(reader.bytes()?, self.registry)?;
                self.ops.insert(number, Operation::new(&node, self.registry, "CPU")?);
                reader.end()
            }
            Kind::Created => {
                let description = Description::decode(&mut reader)?;
                reader.end()?;
                self.create(description, None)
            }
            Kind::Changed => {
                let changed = Changed::decode(reader)?;
                if ended.contains(&changed.unit) {
                    return self.change(changed);
                }
                for variable in changed.variables {
                    self.left_out.entry(variable).or_default().insert(changed.unit);
                }
                Ok(())
            }
            Kind::Described => self.describe(Described::decode(reader)?),
            Kind::Happened => {
                let happened = Happened::decode(reader)?;
                if ended.contains(&happened.unit) {
                    return self.happen(happened);
                }
                self.left_out.entry(happened.resource).or_default().insert(happened.unit);
                Ok(())
            }
            Kind::Deleted => {
                let (unit, numbers) = read_deleted(reader)?;
                if ended.contains(&unit) {
                    self.found.retain(|_, number| !numbers.contains(number));
                }
                Ok(())
            }
            Kind::Ended | Kind::Begun | Kind::Outcome => Ok(()),
            Kind::End | Kind::Snapshot | Kind::Variable | Kind::Segment => {
                Err(data_loss!("a {kind:?} stands in the log"))
            }
        }
    }

    fn change(&mut self, changed: Changed) -> Result<()> {
        let mut variables = Vec::with_capacity(changed.variables.len());
        for number in &changed.variables {
            match self.variables.get(number) {
                Some((_, variable)) => variables.push(Arc::clone(variable)),
                // Nobody can find it any more, and a step that still held it has changed it last.
                None if *number <= self.numbered => return Ok(()),
                None => return Err(data_loss!("variable {number} was never made")),
            }
        }
        let operation =
            self.ops.get(&changed.op).ok_or_else(|| data_loss!("op {} is unknown", changed.op))?;
        let mut next = variables.into_iter();
        let mut next = || next.next().ok_or_else(|| data_loss!("an op has too few variables"));
        let inputs: Values = changed
            .inputs
            .into_iter()
            .map(|input| {
                Ok(match input {
                    Input::Handle => {
                        Value::Tensor(Tensor::resource(anonymous_handle("", "", next()?)))
                    }
                    Input::Reference => Value::Ref(next()?),
                    Input::Tensor(tensor) => Value::Tensor(tensor),
                    Input::Empty => Value::Empty,
                })
            })
            .collect::<Result<_>>()?;
        let again = operation.start(&self.step, inputs).and_then(|started| match started {
            Started::Done(Outcome::Values(_)) => Ok(()),
            _ => Err(data_loss!("a change cannot be made at once")),
        });
        self.compare(&changed.variables, again, changed.failed)
    }

    /// Hands variables that have values, and everything else, to the devices. Returns how many.
    pub(crate) fn install(self, devices: &[Arc<Resources>]) -> Result<(usize, usize)> {
        let resources_of = |device: u32| {
            devices.get(device as usize).ok_or_else(|| {
                failed_precondition!(
                    "the data directory is of a task with more than {} devices",
                    devices.len()
                )
            })
        };
        let (mut variables, mut others) = (0, 0);
        for number in self.found.values() {
            if let Some((described, resource)) = self.others.get(number) {
                let Described { device, container, name, .. } = described;
                resource.kept().set_number(*number);
                Arc::clone(resource).install(resources_of(*device)?, container, name)?;
                others += 1;
                continue;
            }
            let (description, variable) = &self.variables[number];
            if !variable.is_initialized() {
                continue;
            }
            let Description { device, container, name, .. } = description;
            let resources = resources_of(*device)?;
            if description.is_ref {
                let variable = RefVariable(Arc::clone(variable));
                resources.restore(container, name, Arc::new(variable))?;
            } else {
                resources.restore(container, name, Arc::clone(variable))?;
            }
            variables += 1;
        }
        Ok((variables, others))
    }
}

//! Makes changes again, by the kernels that made them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{
    Outcome, RefVariable, Registry, Resources, Started, StepContext, Value, Values, Variable,
    anonymous_handle,
};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{Context, Result, Tensor, data_loss, failed_precondition};

use crate::frame::Kind;
use crate::payload::Reader;
use crate::record::{Changed, Description, Input, read_deleted};
use crate::wire;

/// The variables of a task as the records so far leave them.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    registry: &'a Registry,
    step: Arc<StepContext>,
    ops: FxHashMap<u32, Operation>,
    variables: FxHashMap<u64, (Description, Arc<Variable>)>,
    /// Which variable is found at a place.
    found: FxHashMap<(u32, bool, String, String), u64>,
    /// By variable, the units that have not ended and whose changes of it were left out.
    left_out: FxHashMap<u64, FxHashSet<u64>>,
    /// Units on which others that have ended are built: they cannot be left out.
    pub(crate) needed: FxHashSet<u64>,
    /// Variables up to this number that are not known were deleted before the snapshot.
    pub(crate) numbered: u64,
}

impl Replay<'_> {
    pub(crate) fn new(registry: &Registry) -> Replay<'_> {
        Replay {
            registry,
            step: StepContext::bare(),
            ops: FxHashMap::default(),
            variables: FxHashMap::default(),
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
        self.found.insert((device, is_ref, container, name), number);
        self.variables.insert(number, (description, Arc::new(variable)));
        self.numbered = self.numbered.max(number);
        Ok(())
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
            Kind::Deleted => {
                let (unit, numbers) = read_deleted(reader)?;
                if ended.contains(&unit) {
                    self.found.retain(|_, number| !numbers.contains(number));
                }
                Ok(())
            }
            Kind::Ended => Ok(()),
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
        let again = operation.start(&self.step, inputs);
        if again.is_err() != changed.failed {
            let units = changed.variables.iter().filter_map(|number| self.left_out.get(number));
            self.needed = units.flatten().copied().collect();
        }
        match again {
            Ok(Started::Done(Outcome::Values(_))) if !changed.failed => Ok(()),
            Err(_) if changed.failed => Ok(()),
            Err(error) => Err(error).context(|| "a change that once succeeded fails now"),
            Ok(_) => Err(data_loss!("a change that once failed succeeds now")),
        }
    }

    /// Hands the variables that have values to the devices.
    pub(crate) fn install(self, devices: &[Arc<Resources>]) -> Result<usize> {
        let mut count = 0;
        for number in self.found.values() {
            let (description, variable) = &self.variables[number];
            if !variable.is_initialized() {
                continue;
            }
            let Description { device, container, name, .. } = description;
            let Some(resources) = devices.get(*device as usize) else {
                return Err(failed_precondition!(
                    "the data directory is of a task with more than {} devices",
                    devices.len()
                ));
            };
            if description.is_ref {
                let variable = RefVariable(Arc::clone(variable));
                resources.create(container, name, Arc::new(variable))?;
            } else {
                resources.create(container, name, Arc::clone(variable))?;
            }
            count += 1;
        }
        Ok(count)
    }
}

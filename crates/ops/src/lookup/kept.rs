//! Tables as a journal keeps them.

use std::sync::Arc;

use tensorfleet_framework::{Durable, DurableType, Event, Kept, Resource, Resources};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss};

use super::dense::{Dense, MOST_PLACES};
use super::table::{Cell, Cells, Kind, Signature, Table, assemble};
use crate::kept::{Numbers, Words, at, unknown};

pub(crate) const TABLES: DurableType = DurableType { type_name: Table::TYPE_NAME, make };

/// What can happen to a table.
pub(super) mod event {
    use tensorfleet_framework::Event;

    use super::super::table::Cells;

    pub(super) const INSERT: u8 = 0;
    pub(super) const REMOVE: u8 = 1;
    pub(super) const IMPORT: u8 = 2;
    pub(super) const INITIALIZE: u8 = 3;

    pub(in super::super) fn insert(keys: Cells<'_>, values: Cells<'_>) -> Event {
        Event { kind: INSERT, tensors: vec![keys.tensor(), values.tensor()] }
    }

    pub(in super::super) fn remove(keys: Cells<'_>) -> Event {
        Event { kind: REMOVE, tensors: vec![keys.tensor()] }
    }

    pub(in super::super) fn import(keys: Cells<'_>, values: Cells<'_>) -> Event {
        Event { kind: IMPORT, tensors: vec![keys.tensor(), values.tensor()] }
    }

    pub(in super::super) fn initialize(keys: Cells<'_>, values: Cells<'_>) -> Event {
        Event { kind: INITIALIZE, tensors: vec![keys.tensor(), values.tensor()] }
    }
}

impl Durable for Table {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn description(&self) -> Result<Vec<Tensor>> {
        let Signature { kind, key_dtype, key_shape, value_dtype, value_shape } = &self.signature;
        let number = match kind {
            Kind::Immutable => 0,
            Kind::Mutable => 1,
            Kind::Dense(_) => 2,
        };
        let numbers = Numbers::default()
            .number(number)
            .dtype(*key_dtype)
            .shape(key_shape)
            .dtype(*value_dtype)
            .shape(value_shape);
        let Kind::Dense(dense) = kind else { return Ok(vec![numbers.tensor()?]) };
        let key = |cell: &Cell| assemble(*key_dtype, key_shape.clone(), std::iter::once(cell));
        Ok(vec![
            numbers.number(dense.initial_places as i64).tensor()?,
            key(&dense.empty)?,
            key(&dense.deleted)?,
            Tensor::scalar(dense.max_load),
        ])
    }

    fn events(&self) -> Result<Vec<Event>> {
        if !self.is_filled() {
            return Ok(Vec::new());
        }
        let kind = match self.signature.kind {
            Kind::Immutable => event::INITIALIZE,
            Kind::Mutable | Kind::Dense(_) => event::IMPORT,
        };
        let (keys, values) = self.export()?;
        Ok(vec![Event { kind, tensors: vec![keys, values] }])
    }

    fn replay(&self, event: &Event) -> Result<()> {
        let Signature { key_dtype, key_shape, value_dtype, value_shape, .. } = &self.signature;
        let keys = cells(&event.tensors, 0, *key_dtype, key_shape)?;
        if event.kind == event::REMOVE {
            return self.remove(None, keys);
        }
        let values = cells(&event.tensors, 1, *value_dtype, value_shape)?;
        if values.len() != keys.len() {
            return Err(data_loss!("{} keys have {} values", keys.len(), values.len()));
        }
        match event.kind {
            event::INSERT => self.insert(None, keys, values),
            event::IMPORT => self.import(None, keys, values),
            event::INITIALIZE => self.initialize(None, keys, values),
            other => Err(unknown("table", other)),
        }
    }

    fn install(self: Arc<Self>, resources: &Resources, place: &str, name: &str) -> Result<()> {
        resources.restore(place, name, self)
    }
}

fn cells<'a>(
    tensors: &'a [Tensor],
    index: usize,
    dtype: DType,
    shape: &Shape,
) -> Result<Cells<'a>> {
    let tensor = at(tensors, index)?;
    if tensor.dtype() != dtype {
        return Err(data_loss!("a table of {dtype} has {} in it", tensor.dtype()));
    }
    Cells::new(tensor, shape)
}

fn make(name: &str, description: &[Tensor]) -> Result<Arc<dyn Durable>> {
    let mut words = Words::new(description, 0)?;
    let kind = words.number()?;
    let (key_dtype, key_shape) = (words.dtype()?, words.shape()?);
    let (value_dtype, value_shape) = (words.dtype()?, words.shape()?);
    let kind = match kind {
        0 => Kind::Immutable,
        1 => Kind::Mutable,
        2 => {
            let initial_places = words.count()?;
            if initial_places > MOST_PLACES || !initial_places.is_power_of_two() {
                return Err(data_loss!("no table has {initial_places} buckets"));
            }
            let key = |index| cells(description, index, key_dtype, &key_shape)?.get(0);
            Kind::Dense(Dense {
                key_dtype,
                empty: key(1)?,
                deleted: key(2)?,
                initial_places,
                max_load: at(description, 3)?.scalar_value()?,
            })
        }
        other => return Err(data_loss!("{other} is no kind of table")),
    };
    let signature = Signature { kind, key_dtype, key_shape, value_dtype, value_shape };
    Ok(Arc::new(Table::new(name, signature)))
}

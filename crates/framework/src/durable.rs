//! Resources other than variables that a journal keeps: tables, queues, accumulators, barriers.
//!
//! What changes them is told as an event: what was put, what was taken, and not which op did it. Ops on
//! them wait in line, and one that is served changes what another one has asked for; an event says what
//! has become of it. A snapshot of such a resource is a list of events too, those that make it out of a
//! new one.

use std::fmt;
use std::sync::{Arc, OnceLock, RwLockReadGuard};

use tensorfleet_tensor::{Result, Tensor, internal};

use crate::{Resources, Unit};

/// A resource that a journal keeps, if it has a name that it can be found by.
pub trait Durable: fmt::Debug + Send + Sync {
    /// How the journal calls it.
    fn kept(&self) -> &Kept;

    /// What it is made from when it is made again.
    fn description(&self) -> Result<Vec<Tensor>>;

    /// What makes its present state out of a new one. Called while nobody changes anything.
    fn events(&self) -> Result<Vec<Event>>;

    /// Makes a change again.
    fn replay(&self, event: &Event) -> Result<()>;

    /// Puts it where it was, by [`Resources::restore`].
    fn install(self: Arc<Self>, resources: &Resources, place: &str, name: &str) -> Result<()>;
}

/// How resources of a type are made again.
#[derive(Clone, Copy, Debug)]
pub struct DurableType {
    /// TensorFlow's name of the type.
    pub type_name: &'static str,
    /// Makes a new one from its name and what [`Durable::description`] said.
    pub make: MakeDurable,
}

/// Makes a resource from its name and its description.
pub type MakeDurable = fn(&str, &[Tensor]) -> Result<Arc<dyn Durable>>;

/// Something that happened to a resource. The number says what, as the resource counts.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: u8,
    pub tensors: Vec<Tensor>,
}

/// The number by which a journal knows a resource, if it does.
#[derive(Debug, Default)]
pub struct Kept(OnceLock<u64>);

impl Kept {
    /// The number, if the resource is durable.
    pub fn number(&self) -> Option<u64> {
        self.0.get().copied()
    }

    /// Makes the resource known to the task's journal; the first number stays.
    pub fn set_number(&self, number: u64) {
        self.0.get_or_init(|| number);
    }

    /// Asks to change the resource, before its lock is taken. What is returned is held until all that
    /// changes then has been told.
    pub fn enter<'a>(&self, unit: Option<&'a dyn Unit>) -> Result<Telling<'a>> {
        let Some(number) = self.number() else {
            return Ok(Telling { number: None, _gate: None });
        };
        let unit = unit.ok_or_else(|| internal!("something durable changes outside of a step"))?;
        Ok(Telling { number: Some(number), _gate: Some(unit.enter()?) })
    }
}

/// The permission to change a resource, and where to tell it.
#[derive(Debug)]
pub struct Telling<'a> {
    number: Option<u64>,
    _gate: Option<RwLockReadGuard<'a, ()>>,
}

impl Telling<'_> {
    /// Tells what happened on behalf of a unit; the resource is still locked. If it failed, it may have
    /// been made in part, and will be so again.
    pub fn tell(&self, unit: Option<&dyn Unit>, failed: bool, event: impl FnOnce() -> Event) {
        if let (Some(number), Some(unit)) = (self.number, unit) {
            unit.happened(number, &event(), failed);
        }
    }
}

//! What frames say of resources that are no variables.

use std::sync::Arc;

use tensorfleet_framework::{Durable, Event, Place, Registry};
use tensorfleet_tensor::{Result, Tensor, data_loss};

use crate::payload::{Payload, Reader};

/// A resource, where it is found, and what it is made from.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) number: u64,
    pub(crate) device: u32,
    pub(crate) container: String,
    pub(crate) name: String,
    pub(crate) type_name: String,
    description: Vec<Tensor>,
}

impl Described {
    pub(crate) fn new(number: u64, resource: &dyn Durable, place: &Place<'_>) -> Result<Described> {
        Ok(Described {
            number,
            device: place.device,
            container: place.container.to_owned(),
            name: place.name.to_owned(),
            type_name: place.type_name.to_owned(),
            description: resource.description()?,
        })
    }

    pub(crate) fn encode(&self) -> Result<Payload> {
        let payload = Payload::default()
            .long(self.number)
            .word(self.device)
            .bytes(self.container.as_bytes())
            .bytes(self.name.as_bytes())
            .bytes(self.type_name.as_bytes());
        tensors(payload, &self.description)
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Described> {
        let described = Described {
            number: reader.long()?,
            device: reader.word()?,
            container: reader.text()?,
            name: reader.text()?,
            type_name: reader.text()?,
            description: read_tensors(&mut reader)?,
        };
        reader.end()?;
        Ok(described)
    }

    /// The resource that is described, as it was when it was new.
    pub(crate) fn make(&self, registry: &Registry) -> Result<Arc<dyn Durable>> {
        let Described { type_name, name, .. } = self;
        let Some(durable) = registry.durable_type(type_name) else {
            return Err(data_loss!("{name} is a {type_name}, which nothing here can make"));
        };
        (durable.make)(name, &self.description)
    }
}

/// Something that happened to a resource.
#[derive(Debug)]
pub(crate) struct Happened {
    pub(crate) unit: u64,
    pub(crate) resource: u64,
    pub(crate) failed: bool,
    pub(crate) event: Event,
}

impl Happened {
    /// In a snapshot no unit is named.
    pub(crate) fn encode(unit: u64, resource: u64, event: &Event, failed: bool) -> Result<Payload> {
        let payload = Payload::default().long(unit).long(resource).byte(u8::from(failed));
        tensors(payload.byte(event.kind), &event.tensors)
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Happened> {
        let (unit, resource) = (reader.long()?, reader.long()?);
        let (failed, kind) = (reader.byte()? != 0, reader.byte()?);
        let event = Event { kind, tensors: read_tensors(&mut reader)? };
        reader.end()?;
        Ok(Happened { unit, resource, failed, event })
    }
}

fn tensors(payload: Payload, tensors: &[Tensor]) -> Result<Payload> {
    tensors.iter().try_fold(payload.word(tensors.len() as u32), Payload::tensor)
}

fn read_tensors(reader: &mut Reader<'_>) -> Result<Vec<Tensor>> {
    let count = reader.word()?;
    (0..count).map(|_| reader.tensor()).collect()
}

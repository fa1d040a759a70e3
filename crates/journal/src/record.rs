//! What the frames of a log and of a snapshot say.

use tensorfleet_framework::{Place, RecordedOp, RefVariable, Resource, Value, Variable};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss};

use crate::payload::{Payload, Reader};

/// A variable and where it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) number: u64,
    pub(crate) device: u32,
    pub(crate) container: String,
    pub(crate) name: String,
    /// Whether it is one that is handed on by reference.
    pub(crate) is_ref: bool,
    /// How errors call it.
    pub(crate) label: String,
    pub(crate) dtype: DType,
    pub(crate) declared_shape: Option<Shape>,
}

impl Description {
    pub(crate) fn new(number: u64, variable: &Variable, place: &Place<'_>) -> Description {
        Description {
            number,
            device: place.device,
            container: place.container.to_owned(),
            name: place.name.to_owned(),
            is_ref: place.type_name == RefVariable::TYPE_NAME,
            label: variable.name().to_owned(),
            dtype: variable.dtype(),
            declared_shape: variable.declared_shape().cloned(),
        }
    }

    pub(crate) fn encode(&self) -> Payload {
        let payload = Payload::default()
            .long(self.number)
            .word(self.device)
            .bytes(self.container.as_bytes())
            .bytes(self.name.as_bytes())
            .byte(u8::from(self.is_ref))
            .bytes(self.label.as_bytes())
            .byte(self.dtype as u8);
        match &self.declared_shape {
            None => payload.byte(0),
            Some(shape) => payload.byte(1).shape(shape),
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Description> {
        Ok(Description {
            number: reader.long()?,
            device: reader.word()?,
            container: reader.text()?,
            name: reader.text()?,
            is_ref: reader.byte()? != 0,
            label: reader.text()?,
            dtype: reader.dtype()?,
            declared_shape: if reader.byte()? == 0 { None } else { Some(reader.shape()?) },
        })
    }

    /// The variable that is described, without a value.
    pub(crate) fn variable(&self) -> Variable {
        let variable = match &self.declared_shape {
            None => Variable::new(self.label.clone(), self.dtype),
            Some(shape) => Variable::with_shape(self.label.clone(), self.dtype, shape.clone()),
        };
        variable.set_number(self.number);
        variable
    }
}

/// An input of an op.
#[derive(Debug)]
pub(crate) enum Input {
    /// The next of the variables that change, by handle.
    Handle,
    /// The next of the variables that change, by reference.
    Reference,
    Tensor(Tensor),
    Empty,
}

/// A change: an op with its inputs.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) unit: u64,
    pub(crate) op: u32,
    pub(crate) failed: bool,
    pub(crate) variables: Vec<u64>,
    pub(crate) inputs: Vec<Input>,
}

impl Changed {
    pub(crate) fn encode(
        unit: u64,
        op: u32,
        change: &RecordedOp<'_>,
        variables: &[u64],
        failed: bool,
    ) -> Result<Payload> {
        let payload = numbers(Payload::default().long(unit), variables);
        let payload = payload.word(op).byte(u8::from(failed)).word(change.inputs.len() as u32);
        change.inputs.iter().try_fold(payload, |payload, input| match input {
            Value::Tensor(tensor) if tensor.dtype() == DType::Resource => Ok(payload.byte(0)),
            Value::Ref(_) => Ok(payload.byte(1)),
            Value::Tensor(tensor) => payload.byte(2).tensor(tensor),
            Value::Empty => Ok(payload.byte(3)),
        })
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Changed> {
        let (unit, variables) = (reader.long()?, read_numbers(&mut reader)?);
        let (op, failed) = (reader.word()?, reader.byte()? != 0);
        let count = reader.word()?;
        let inputs = (0..count)
            .map(|_| {
                Ok(match reader.byte()? {
                    0 => Input::Handle,
                    1 => Input::Reference,
                    2 => Input::Tensor(reader.tensor()?),
                    3 => Input::Empty,
                    other => return Err(data_loss!("{other} is no kind of input")),
                })
            })
            .collect::<Result<_>>()?;
        reader.end()?;
        Ok(Changed { unit, op, failed, variables, inputs })
    }
}

/// The variables that a unit has deleted.
pub(crate) fn deleted(unit: u64, variables: &[u64]) -> Payload {
    numbers(Payload::default().long(unit), variables)
}

pub(crate) fn read_deleted(mut reader: Reader<'_>) -> Result<(u64, Vec<u64>)> {
    let read = (reader.long()?, read_numbers(&mut reader)?);
    reader.end()?;
    Ok(read)
}

fn numbers(payload: Payload, numbers: &[u64]) -> Payload {
    numbers.iter().fold(payload.word(numbers.len() as u32), |payload, &n| payload.long(n))
}

fn read_numbers(reader: &mut Reader<'_>) -> Result<Vec<u64>> {
    let count = reader.word()?;
    (0..count).map(|_| reader.long()).collect()
}

/// What a payload of one number says.
pub(crate) fn read_number(mut reader: Reader<'_>) -> Result<u64> {
    let number = reader.long()?;
    reader.end()?;
    Ok(number)
}

/// A variable and its value, if it has one.
pub(crate) fn with_value(description: &Description, value: Option<&Tensor>) -> Result<Payload> {
    let payload = description.encode();
    match value {
        None => Ok(payload.byte(0)),
        Some(value) => payload.byte(1).tensor(value),
    }
}

pub(crate) fn read_with_value(mut reader: Reader<'_>) -> Result<(Description, Option<Tensor>)> {
    let description = Description::decode(&mut reader)?;
    let value = if reader.byte()? == 0 { None } else { Some(reader.tensor()?) };
    reader.end()?;
    Ok((description, value))
}

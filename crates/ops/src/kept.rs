//! The resources that a journal keeps, and the words in which they describe themselves to it: lists of
//! whole numbers.

use tensorfleet_framework::DurableType;
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, data_loss};

use crate::{data_flow, lookup};

/// Resources that can be made again, other than variables.
pub(crate) const DURABLE: &[DurableType] =
    &[data_flow::ACCUMULATORS, data_flow::BARRIERS, data_flow::QUEUES, lookup::TABLES];

/// Whether tensors of a type can be written down.
pub(crate) fn can_be_kept(dtype: DType) -> bool {
    dtype == DType::String || dtype.is_plain()
}

/// A list of numbers as it is put together.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<i64>);

impl Numbers {
    pub(crate) fn number(mut self, number: i64) -> Numbers {
        self.0.push(number);
        self
    }

    pub(crate) fn dtype(self, dtype: DType) -> Numbers {
        self.number(dtype as i64)
    }

    pub(crate) fn shape(self, shape: &Shape) -> Numbers {
        let numbers = self.number(shape.rank() as i64);
        shape.dims().iter().fold(numbers, |numbers, &dim| numbers.number(dim as i64))
    }

    pub(crate) fn partial_shape(self, shape: &PartialShape) -> Numbers {
        let Some(dims) = &shape.dims else { return self.number(-1) };
        let numbers = self.number(dims.len() as i64);
        dims.iter().fold(numbers, |numbers, dim| numbers.number(dim.map_or(-1, |dim| dim as i64)))
    }

    pub(crate) fn tensor(&self) -> Result<Tensor> {
        Tensor::vector(&self.0)
    }
}

/// A list of numbers as it is read.
#[derive(Debug)]
pub(crate) struct Words<'a>(std::slice::Iter<'a, i64>);

impl<'a> Words<'a> {
    pub(crate) fn new(tensors: &'a [Tensor], index: usize) -> Result<Words<'a>> {
        Ok(Words(at(tensors, index)?.values::<i64>()?.iter()))
    }

    pub(crate) fn number(&mut self) -> Result<i64> {
        self.0.next().copied().ok_or_else(|| data_loss!("a list of numbers is too short"))
    }

    pub(crate) fn count(&mut self) -> Result<usize> {
        let number = self.number()?;
        usize::try_from(number).map_err(|_| data_loss!("{number} is no count"))
    }

    pub(crate) fn dtype(&mut self) -> Result<DType> {
        let number = self.number()?;
        let dtype = i32::try_from(number).ok().and_then(DType::from_number);
        dtype.ok_or_else(|| data_loss!("{number} is no element type"))
    }

    pub(crate) fn shape(&mut self) -> Result<Shape> {
        let shape = self.partial_shape()?;
        shape.to_shape().ok_or_else(|| data_loss!("a shape is not known"))
    }

    pub(crate) fn partial_shape(&mut self) -> Result<PartialShape> {
        let rank = self.number()?;
        if rank < 0 {
            return Ok(PartialShape::UNKNOWN);
        }
        let dims = (0..rank).map(|_| Ok(usize::try_from(self.number()?).ok()));
        Ok(PartialShape { dims: Some(dims.collect::<Result<_>>()?) })
    }
}

/// A tensor of an event or a description.
pub(crate) fn at(tensors: &[Tensor], index: usize) -> Result<&Tensor> {
    tensors.get(index).ok_or_else(|| data_loss!("tensor {index} is missing"))
}

/// The error for an event that a resource does not know.
pub(crate) fn unknown(what: &str, kind: u8) -> tensorfleet_tensor::Error {
    data_loss!("{kind} is nothing that can happen to a {what}")
}

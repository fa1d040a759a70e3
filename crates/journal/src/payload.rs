//! Payloads: numbers, texts and tensors in bytes. Large tensors are not copied, only held.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss, unimplemented_error};

/// Tensors of so many bytes are written from where they are.
const LARGE: usize = 4096;

/// A payload as it is put together.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    chunks: Vec<Bytes>,
    tail: Vec<u8>,
}

impl Payload {
    pub(crate) fn byte(mut self, value: u8) -> Payload {
        self.tail.push(value);
        self
    }

    pub(crate) fn word(mut self, value: u32) -> Payload {
        self.tail.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn long(mut self, value: u64) -> Payload {
        self.tail.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(self, value: &[u8]) -> Payload {
        let mut payload = self.long(value.len() as u64);
        payload.tail.extend(value);
        payload
    }

    pub(crate) fn shape(self, shape: &Shape) -> Payload {
        let payload = self.byte(shape.rank() as u8);
        shape.dims().iter().fold(payload, |payload, &dim| payload.long(dim as u64))
    }

    /// A tensor of a plain type or of strings.
    pub(crate) fn tensor(self, tensor: &Tensor) -> Result<Payload> {
        let dtype = tensor.dtype();
        let mut payload = self.byte(dtype as u8).shape(tensor.shape());
        if dtype == DType::String {
            return Ok(tensor.strings()?.iter().fold(payload, |payload, text| payload.bytes(text)));
        }
        if !dtype.is_plain() {
            return Err(unimplemented_error!("a {dtype} tensor cannot be kept on a disk"));
        }
        if tensor.byte_len() >= LARGE {
            let tail = std::mem::take(&mut payload.tail);
            payload.chunks.extend([Bytes::from(tail), tensor.shared_bytes()]);
        } else {
            payload.tail.extend(tensor.raw());
        }
        Ok(payload)
    }

    /// The pieces in their order.
    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        if !self.tail.is_empty() {
            self.chunks.push(Bytes::from(self.tail));
        }
        self.chunks
    }
}

/// A payload as it is read.
#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(len) else {
            return Err(data_loss!("a record is shorter than what it says to hold"));
        };
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn word(&mut self) -> Result<u32> {
        let bytes = self.take(4)?.try_into().expect("four were taken");
        Ok(u32::from_le_bytes(bytes))
    }

    pub(crate) fn long(&mut self) -> Result<u64> {
        let bytes = self.take(8)?.try_into().expect("eight were taken");
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.long()?).unwrap_or(usize::MAX);
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| data_loss!("a name is no text"))
    }

    pub(crate) fn dtype(&mut self) -> Result<DType> {
        let number = self.byte()?;
        DType::from_number(number.into()).ok_or_else(|| data_loss!("{number} is no element type"))
    }

    pub(crate) fn shape(&mut self) -> Result<Shape> {
        let rank = self.byte()?;
        let dims: Vec<usize> = (0..rank)
            .map(|_| usize::try_from(self.long()?).map_err(|_| data_loss!("a size is too large")))
            .collect::<Result<_>>()?;
        Shape::new(&dims)
    }

    pub(crate) fn tensor(&mut self) -> Result<Tensor> {
        let (dtype, shape) = (self.dtype()?, self.shape()?);
        if dtype == DType::String {
            // An element has eight bytes at least, so nothing is reserved that is not there.
            if shape.num_elements() > self.0.len() / 8 {
                return Err(data_loss!("a record is shorter than what it says to hold"));
            }
            let texts =
                (0..shape.num_elements()).map(|_| Ok(Bytes::copy_from_slice(self.bytes()?)));
            let texts = texts.collect::<Result<_>>()?;
            return Tensor::from_strings(shape, texts);
        }
        if !dtype.is_plain() {
            return Err(data_loss!("a {dtype} tensor stands in a record"));
        }
        let len = shape.num_elements().checked_mul(dtype.size());
        let bytes = self.take(len.ok_or_else(|| data_loss!("a tensor is too large"))?)?;
        Tensor::from_bytes(dtype, shape, bytes)
    }

    /// Nothing may be left over.
    pub(crate) fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(data_loss!("a record is too long")) }
    }
}

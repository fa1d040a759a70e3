//! Files of elements, in the first format of stored datasets.
//!
//! A record is eight bytes of length, least first, and so many of data. An element is one record that
//! holds all tensors as messages, or, with Snappy, a record that says how long each tensor is and one
//! with all of them compressed.

use std::io::Write;

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_tensor::{DType, Result, Tensor, data_loss};

use super::super::dataset::{Element, Signature};
use super::super::wire::{decode_tensor, encode_tensor};
use super::wire::{decode_element, decode_lengths, encode_element, encode_lengths};
use crate::record::{Compression, Encoder, Sink, Stream, known, snappy};

/// A file of elements being written.
#[derive(Debug)]
pub(super) struct ElementFile {
    file: Encoder<Sink>,
    compression: Compression,
}

impl ElementFile {
    pub(super) fn create(
        files: &dyn FileSystem,
        path: &str,
        compression: Compression,
    ) -> Result<ElementFile> {
        let file = stream(compression).encoder(Sink::create(files, path)?);
        Ok(ElementFile { file, compression })
    }

    pub(super) fn write(&mut self, element: &[Tensor]) -> Result<()> {
        if self.compression != Compression::Snappy {
            return self.append(&encode_element(element)?);
        }
        let (mut lengths, mut data) = (Vec::new(), Vec::new());
        for tensor in element {
            let start = data.len();
            match has_plain_bytes(tensor.dtype()) {
                true => data.extend_from_slice(&tensor.shared_bytes()),
                false => data.extend_from_slice(&encode_tensor(tensor)?),
            }
            lengths.push((tensor.shape().clone(), data.len() - start));
        }
        self.append(&encode_lengths(&lengths))?;
        self.append(&snappy::compress(&data)?)
    }

    fn append(&mut self, record: &[u8]) -> Result<()> {
        self.file.write_all(&(record.len() as u64).to_le_bytes()).map_err(known)?;
        self.file.write_all(record).map_err(known)
    }

    /// How many bytes the file has, what is still being compressed included.
    pub(super) fn len(&mut self) -> Result<u64> {
        self.file.flush().map_err(known)?;
        Ok(self.file.sink().written())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.file.finish().map_err(known)?.finish()
    }
}

/// How the file as a whole is compressed; with Snappy, each element is by itself.
fn stream(compression: Compression) -> Compression {
    match compression {
        Compression::Snappy => Compression::None,
        other => other,
    }
}

fn has_plain_bytes(dtype: DType) -> bool {
    !matches!(dtype, DType::String | DType::Variant | DType::Resource)
}

/// A file of elements being read.
#[derive(Debug)]
pub(super) struct ElementReader {
    path: String,
    file: Stream,
    compression: Compression,
}

impl ElementReader {
    pub(super) fn open(
        files: &dyn FileSystem,
        path: &str,
        compression: Compression,
    ) -> Result<ElementReader> {
        let file = Stream::open(files, path, stream(compression), None)?;
        Ok(ElementReader { path: path.to_owned(), file, compression })
    }

    /// The next element; `None` at the end of the file.
    pub(super) fn read(&mut self, signature: &Signature) -> Result<Option<Element>> {
        let Some(record) = self.record()? else { return Ok(None) };
        let path = self.path.clone();
        let broken = || data_loss!("{path} does not hold elements of this dataset");
        let element: Element = if self.compression == Compression::Snappy {
            let lengths = decode_lengths(record)?;
            if lengths.len() != signature.types.len() {
                return Err(broken());
            }
            let data = self.record()?.ok_or_else(broken)?;
            let mut data = Bytes::from(snappy::decompress(&data)?);
            let tensor = |((shape, len), &dtype)| {
                if len > data.len() {
                    return Err(broken());
                }
                let bytes = data.split_to(len);
                match has_plain_bytes(dtype) {
                    true => Tensor::from_bytes(dtype, shape, &bytes),
                    false => decode_tensor(bytes),
                }
            };
            lengths.into_iter().zip(&signature.types).map(tensor).collect::<Result<_>>()?
        } else {
            decode_element(record)?
        };
        signature.check_element(&element)?;
        Ok(Some(element))
    }

    fn record(&mut self) -> Result<Option<Bytes>> {
        let cut = || data_loss!("{} ends within an element", self.path);
        let mut bytes = Vec::new();
        match self.file.read(8, &mut bytes)? {
            0 => return Ok(None),
            8 => {}
            _ => return Err(cut()),
        }
        let len = u64::from_le_bytes(bytes[..].try_into().map_err(|_| cut())?);
        bytes.clear();
        match self.file.read(len, &mut bytes)? == len {
            true => Ok(Some(bytes.into())),
            false => Err(cut()),
        }
    }
}

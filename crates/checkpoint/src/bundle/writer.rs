//! Writing a bundle.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, internal, invalid_argument, unimplemented_error, wire,
};

use super::aside::Aside;
use super::strings::encode_lengths;
use super::variants;
use super::{HEADER_KEY, data_path, header, index_path};
use crate::coding::mask;
use crate::slice::TensorSlice;
use crate::table::TableBuilder;
use crate::temporary::Temporary;
use tensorfleet_files::{FileSystem, WriteFile, directory};

/// Writes a bundle of one data file.
///
/// Both files are written under temporary names and get their own when they are complete, so a
/// reader never sees half a checkpoint and a failure leaves the last one in place. Dropping a writer
/// that is not finished removes what it wrote.
#[derive(Debug)]
pub struct Writer {
    files: Arc<dyn FileSystem>,
    prefix: String,
    temporary: Temporary,
    data: Box<dyn WriteFile>,
    offset: u64,
    alignment: u64,
    entries: BTreeMap<Vec<u8>, pb::BundleEntryProto>,
}

impl Writer {
    /// Starts a bundle. Its directory is created if that directory's parent exists.
    pub fn new(files: Arc<dyn FileSystem>, prefix: &str) -> Result<Self> {
        let parent = directory(prefix);
        if !parent.is_empty() {
            files.create_dir(parent)?;
        }
        let (temporary, data) = Temporary::create_hidden(&files, &data_path(prefix, 0, 1))?;
        Ok(Self {
            files,
            prefix: prefix.to_owned(),
            temporary,
            data,
            offset: 0,
            alignment: 1,
            entries: BTreeMap::new(),
        })
    }

    /// Makes every tensor start at a multiple of `alignment` bytes.
    #[must_use]
    pub fn with_alignment(mut self, alignment: usize) -> Self {
        self.alignment = alignment.max(1) as u64;
        self
    }

    /// Adds a tensor.
    pub fn add(&mut self, name: impl AsRef<[u8]>, tensor: &Tensor) -> Result<()> {
        self.add_bytes(check_name(name.as_ref())?.to_vec(), tensor)
    }

    /// Adds the part `slice` of a tensor of shape `full_shape`.
    pub fn add_slice(
        &mut self,
        name: impl AsRef<[u8]>,
        full_shape: &Shape,
        slice: &TensorSlice,
        tensor: &Tensor,
    ) -> Result<()> {
        let name = check_name(name.as_ref())?;
        let slice_shape = slice.region(full_shape)?.shape();
        if slice_shape != *tensor.shape() {
            return Err(invalid_argument!(
                "slice {slice} of shape {full_shape} does not match a tensor of shape {}",
                tensor.shape()
            ));
        }
        if slice_shape == *full_shape {
            return self.add(name, tensor);
        }
        let shape = wire::shape_proto(full_shape);
        if let Some(whole) = self.entries.get(name)
            && (whole.dtype != tensor.dtype() as i32
                || whole.shape.as_ref() != Some(&shape)
                || whole.slices.is_empty())
        {
            let name = String::from_utf8_lossy(name);
            return Err(invalid_argument!("slices of {name} differ in their type or full shape"));
        }
        self.add_bytes(slice.key(name), tensor)?;
        let whole = self.entries.entry(name.to_vec()).or_default();
        whole.dtype = tensor.dtype() as i32;
        whole.shape = Some(shape);
        whole.slices.push(slice.to_proto());
        Ok(())
    }

    /// Writes the index and gives both files their names.
    pub fn finish(self) -> Result<()> {
        let Self { files, prefix, temporary, data, entries, .. } = self;
        data.finish()?;
        let index = write_index(&files, &prefix, &header(1), &entries)?;
        let old = Aside::step(&files, &prefix, 1);
        temporary.rename(&data_path(&prefix, 0, 1))?;
        index.rename(&index_path(&prefix))?;
        old.delete(&*files);
        Ok(())
    }

    fn add_bytes(&mut self, key: Vec<u8>, tensor: &Tensor) -> Result<()> {
        if self.entries.contains_key(&key) {
            let key = String::from_utf8_lossy(&key);
            return Err(invalid_argument!("Adding duplicate key: {key}"));
        }
        self.align()?;
        let offset = self.offset;
        let crc = match tensor.dtype() {
            DType::String => self.append_strings(tensor)?,
            DType::Variant => {
                let (stored, crc) = variants::encode(tensor)?;
                self.append(&stored)?;
                crc
            }
            dtype if dtype.is_plain() => {
                self.append(tensor.raw())?;
                crc32c::crc32c(tensor.raw())
            }
            dtype => {
                let key = String::from_utf8_lossy(&key);
                return Err(unimplemented_error!(
                    "Saving data type {dtype} not yet supported: tensor {key}"
                ));
            }
        };
        let entry = pb::BundleEntryProto {
            dtype: tensor.dtype() as i32,
            shape: Some(wire::shape_proto(tensor.shape())),
            shard_id: 0,
            offset: offset as i64,
            size: (self.offset - offset) as i64,
            crc32c: mask(crc),
            slices: Vec::new(),
        };
        self.entries.insert(key, entry);
        Ok(())
    }

    fn append_strings(&mut self, tensor: &Tensor) -> Result<u32> {
        let strings = tensor.strings()?;
        let (lengths, mut crc) = encode_lengths(strings);
        self.append(&lengths)?;
        for string in strings {
            crc = crc32c::crc32c_append(crc, string);
            self.append(string)?;
        }
        Ok(crc)
    }

    fn align(&mut self) -> Result<()> {
        let aligned = self.offset.next_multiple_of(self.alignment);
        self.append(&vec![0; (aligned - self.offset) as usize])
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.data.append(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// Writes the index of a bundle, all but its name.
pub(super) fn write_index(
    files: &Arc<dyn FileSystem>,
    prefix: &str,
    header: &pb::BundleHeaderProto,
    entries: &BTreeMap<Vec<u8>, pb::BundleEntryProto>,
) -> Result<Temporary> {
    let (temporary, file) = Temporary::create(files, &index_path(prefix))?;
    let mut table = TableBuilder::new(file);
    table.add(HEADER_KEY, &header.encode_to_vec())?;
    for (key, entry) in entries {
        table.add(key, &entry.encode_to_vec())?;
    }
    table.finish()?;
    Ok(temporary)
}

/// The empty name is the header's.
fn check_name(name: &[u8]) -> Result<&[u8]> {
    if name == HEADER_KEY { Err(internal!("a saved tensor needs a name")) } else { Ok(name) }
}

//! Writing a file of the first format.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Result, Shape, Tensor, internal, invalid_argument, wire};

use super::{META_KEY, VERSION, elements};
use crate::slice::TensorSlice;
use crate::table::TableBuilder;
use crate::temporary::Temporary;
use tensorfleet_files::FileSystem;

/// Collects tensors and writes them into one file.
#[derive(Debug)]
pub struct Writer {
    files: Arc<dyn FileSystem>,
    path: String,
    tensors: BTreeMap<String, pb::SavedSliceMeta>,
    /// The encoded messages of all slices under their keys.
    slices: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Writer {
    /// Starts a file; nothing is written before [`finish`](Self::finish).
    pub fn new(files: Arc<dyn FileSystem>, path: &str) -> Self {
        Self { files, path: path.to_owned(), tensors: BTreeMap::new(), slices: BTreeMap::new() }
    }

    /// Adds a tensor.
    pub fn add(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        self.add_slice(name, tensor.shape(), &TensorSlice::full(tensor.rank()), tensor)
    }

    /// Adds the part `slice` of a tensor of shape `full_shape`. Of equal slices the first stays.
    pub fn add_slice(
        &mut self,
        name: &str,
        full_shape: &Shape,
        slice: &TensorSlice,
        tensor: &Tensor,
    ) -> Result<()> {
        if slice.region(full_shape)?.shape() != *tensor.shape() {
            return Err(invalid_argument!(
                "slice {slice} of shape {full_shape} does not match a tensor of shape {}",
                tensor.shape()
            ));
        }
        let shape = wire::shape_proto(full_shape);
        let meta = self.tensors.entry(name.to_owned()).or_insert_with(|| pb::SavedSliceMeta {
            name: name.to_owned(),
            shape: Some(shape.clone()),
            r#type: tensor.dtype() as i32,
            slice: Vec::new(),
        });
        if meta.shape.as_ref() != Some(&shape) {
            return Err(internal!(
                "Mismatching shapes: existing tensor = {}, trying to add name {name}, shape = \
                 {full_shape}",
                wire::shape(meta.shape.as_ref())?
            ));
        }
        if meta.r#type != tensor.dtype() as i32 {
            return Err(internal!(
                "Mismatching types: existing type = {}, trying to add name {name}, type = {}",
                wire::dtype(meta.r#type)?,
                tensor.dtype()
            ));
        }
        let key = slice.key(name.as_bytes());
        if self.slices.contains_key(&key) {
            return Ok(());
        }
        let data = pb::SavedSlice {
            name: name.to_owned(),
            slice: Some(slice.to_proto()),
            data: Some(elements::encode(tensor)?),
        };
        let message = pb::SavedTensorSlices { meta: None, data: Some(data) };
        meta.slice.push(slice.to_proto());
        self.slices.insert(key, message.encode_to_vec());
        Ok(())
    }

    /// Writes the file under a temporary name and gives it its own.
    pub fn finish(self) -> Result<()> {
        let Self { files, path, tensors, slices } = self;
        let versions = pb::VersionDef { producer: VERSION, ..Default::default() };
        let meta = pb::SavedTensorSliceMeta {
            tensor: tensors.into_values().collect(),
            versions: Some(versions),
        };
        let meta = pb::SavedTensorSlices { meta: Some(meta), data: None };
        let (temporary, file) = Temporary::create(&files, &path)?;
        let mut table = TableBuilder::new(file);
        table.add(META_KEY, &meta.encode_to_vec())?;
        for (key, message) in &slices {
            table.add(key, message)?;
        }
        table.finish()?;
        temporary.rename(&path)
    }
}

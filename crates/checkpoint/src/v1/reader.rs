//! Reading files of the first format.

use std::collections::BTreeMap;

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{
    Code, Context, DType, Result, Shape, Tensor, data_loss, internal, invalid_argument, not_found,
    wire,
};

use super::{META_KEY, VERSION, elements};
use crate::gather::Sliced;
use crate::slice::TensorSlice;
use crate::table::Table;
use crate::versions;
use tensorfleet_files::FileSystem;

/// The files that match a pattern, open as one checkpoint.
#[derive(Debug)]
pub struct Reader {
    tables: Vec<(String, Table)>,
    /// Each tensor with its slices and the numbers of the files they are in.
    tensors: BTreeMap<String, Sliced<usize>>,
}

impl Reader {
    /// Opens all files that match `pattern`.
    pub fn open(files: &dyn FileSystem, pattern: &str) -> Result<Self> {
        let paths = files.glob(pattern)?;
        if paths.is_empty() {
            return Err(not_found!(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files \
                 for {pattern}"
            ));
        }
        let mut reader = Self { tables: Vec::new(), tensors: BTreeMap::new() };
        for path in paths {
            reader.load(files, path)?;
        }
        Ok(reader)
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The type and the full shape of a tensor, if there is one of this name.
    pub fn dtype_and_shape(&self, name: &str) -> Option<(DType, &Shape)> {
        self.tensors.get(name).map(|tensor| (tensor.dtype, &tensor.shape))
    }

    /// Reads a whole tensor.
    pub fn read(&self, name: &str) -> Result<Tensor> {
        let tensor = self.tensor(name)?;
        self.read_slice(name, &TensorSlice::full(tensor.shape.rank()))
    }

    /// Reads a part of a tensor.
    pub fn read_slice(&self, name: &str, wanted: &TensorSlice) -> Result<Tensor> {
        let tensor = self.tensor(name)?;
        tensor
            .read(wanted, |slice, &file| self.read_stored(name, tensor, slice, file))?
            .ok_or_else(|| invalid_argument!("Error copying slice data"))
    }

    fn tensor(&self, name: &str) -> Result<&Sliced<usize>> {
        self.tensors.get(name).ok_or_else(|| not_found!("{name} not found in checkpoint file"))
    }

    fn read_stored(
        &self,
        name: &str,
        tensor: &Sliced<usize>,
        slice: &TensorSlice,
        file: usize,
    ) -> Result<Tensor> {
        let (path, table) = &self.tables[file];
        let read = || {
            let value = table
                .get(&slice.key(name.as_bytes()))?
                .ok_or_else(|| data_loss!("slice {slice} of {name} is listed but not there"))?;
            let message = pb::SavedTensorSlices::decode(value.as_slice())
                .map_err(|_| data_loss!("slice {slice} of {name} cannot be parsed"))?;
            let data = message.data.and_then(|data| data.data).unwrap_or_default();
            elements::decode(tensor.dtype, slice.region(&tensor.shape)?.shape(), data)
        };
        read().context(|| path)
    }

    fn load(&mut self, files: &dyn FileSystem, path: String) -> Result<()> {
        let table = Table::open(files.open(&path)?).map_err(|error| match error.code() {
            Code::DataLoss => data_loss!(
                "Unable to open table file {path}: {error}: perhaps your file is in a different \
                 file format and you need to use a different restore operator?"
            ),
            _ => error,
        })?;
        let meta = table.get(META_KEY).ok().flatten();
        let meta = meta.and_then(|meta| pb::SavedTensorSlices::decode(meta.as_slice()).ok());
        let Some(meta) = meta.and_then(|meta| meta.meta) else {
            return Err(data_loss!(
                "Failed to find the saved tensor slices at the beginning of the checkpoint file: \
                 {path}"
            ));
        };
        versions::check(meta.versions.as_ref(), VERSION).context(|| &path)?;
        for tensor in &meta.tensor {
            self.register(tensor, self.tables.len()).context(|| &path)?;
        }
        self.tables.push((path, table));
        Ok(())
    }

    fn register(&mut self, meta: &pb::SavedSliceMeta, file: usize) -> Result<()> {
        let corrupt = |error: tensorfleet_tensor::Error| {
            data_loss!("bad record of tensor {}: {}", meta.name, error.message())
        };
        let dtype = wire::dtype(meta.r#type).map_err(corrupt)?;
        let shape = wire::shape(meta.shape.as_ref()).map_err(corrupt)?;
        let known = self.tensors.entry(meta.name.clone()).or_insert_with(|| Sliced {
            dtype,
            shape: shape.clone(),
            slices: Vec::new(),
        });
        if known.shape != shape {
            return Err(internal!(
                "Incompatible tensor shapes detected for tensor {}: existing = {}, new = {shape}",
                meta.name,
                known.shape
            ));
        }
        if known.dtype != dtype {
            return Err(internal!(
                "Incompatible tensor types detected for tensor {}: existing = {}, new = {dtype}",
                meta.name,
                known.dtype
            ));
        }
        for slice in &meta.slice {
            let slice = TensorSlice::from_proto(slice).map_err(corrupt)?;
            slice.region(&shape).map_err(corrupt)?;
            known.slices.push((slice, file));
        }
        Ok(())
    }
}

//! Opening a checkpoint of whichever format, as `RestoreV2` does.

use std::sync::Arc;

use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, not_found};

use crate::slice::{ShapeAndSlice, TensorSlice};
use crate::{bundle, v1};
use tensorfleet_files::FileSystem;

/// An open checkpoint.
#[derive(Debug)]
pub enum Checkpoint {
    /// The current format.
    V2(bundle::Reader),
    /// The first format, and the pattern of its files.
    V1(v1::Reader, String),
}

impl Checkpoint {
    /// Opens the bundle with this prefix or, if there is none, the files of the first format that
    /// the prefix matches as a pattern.
    pub fn open(files: Arc<dyn FileSystem>, prefix: &str) -> Result<Self> {
        if files.glob(&bundle::index_path(prefix))?.is_empty() {
            return Self::open_v1(&*files, prefix);
        }
        bundle::Reader::open(files, prefix).map(Self::V2)
    }

    /// Opens files of the first format.
    pub fn open_v1(files: &dyn FileSystem, pattern: &str) -> Result<Self> {
        Ok(Self::V1(v1::Reader::open(files, pattern)?, pattern.to_owned()))
    }

    /// The names, types and full shapes of all tensors, in the order of their names.
    pub fn tensors(&self) -> Result<Vec<(String, DType, Shape)>> {
        match self {
            Self::V2(reader) => {
                let tensors = reader.names().into_iter().map(|name| {
                    let (dtype, shape) = reader.dtype_and_shape(name)?;
                    Ok((String::from_utf8_lossy(name).into_owned(), dtype, shape))
                });
                tensors.collect()
            }
            Self::V1(reader, _) => {
                let tensors = reader.names().filter_map(|name| {
                    let (dtype, shape) = reader.dtype_and_shape(name)?;
                    Some((name.to_owned(), dtype, shape.clone()))
                });
                Ok(tensors.collect())
            }
        }
    }

    /// Reads what `shape_and_slice` says of a tensor, all of it if that is empty, and makes sure
    /// that it has the type that the caller expects.
    pub fn restore(&self, name: &str, shape_and_slice: &str, expected: DType) -> Result<Tensor> {
        let (dtype, shape) = self.dtype_and_shape(name)?;
        if dtype != expected {
            return Err(match self {
                Self::V2(_) => invalid_argument!(
                    "tensor_name = {name}; expected dtype {expected} does not equal original \
                     dtype {dtype}"
                ),
                Self::V1(..) => invalid_argument!(
                    "Expected to restore a tensor of type {expected}, got a tensor of type \
                     {dtype} instead: tensor_name = {name}"
                ),
            });
        }
        if shape_and_slice.is_empty() {
            return self.read(name, None);
        }
        let spec = ShapeAndSlice::parse(shape_and_slice)?;
        if spec.shape != shape {
            return Err(match self {
                Self::V2(_) => invalid_argument!(
                    "tensor_name = {name}; shape in shape_and_slice spec {} does not match the \
                     shape stored in checkpoint: {shape}",
                    spec.shape
                ),
                Self::V1(..) => invalid_argument!(
                    "Shape in shape_and_slice spec does not match the shape in the save file: \
                     {}, save file shape: {shape}",
                    spec.shape
                ),
            });
        }
        self.read(name, Some(&spec.slice))
    }

    fn dtype_and_shape(&self, name: &str) -> Result<(DType, Shape)> {
        match self {
            Self::V2(reader) => reader.dtype_and_shape(name),
            Self::V1(reader, pattern) => match reader.dtype_and_shape(name) {
                Some((dtype, shape)) => Ok((dtype, shape.clone())),
                None => Err(not_found!(
                    "Tensor name \"{name}\" not found in checkpoint files {pattern}"
                )),
            },
        }
    }

    fn read(&self, name: &str, slice: Option<&TensorSlice>) -> Result<Tensor> {
        match (self, slice) {
            (Self::V2(reader), None) => reader.read(name),
            (Self::V2(reader), Some(slice)) => reader.read_slice(name, slice),
            (Self::V1(reader, _), None) => reader.read(name),
            (Self::V1(reader, _), Some(slice)) => reader.read_slice(name, slice),
        }
    }
}

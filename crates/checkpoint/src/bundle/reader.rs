//! Reading a bundle.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{
    Code, Context, DType, Error, Result, Shape, Tensor, data_loss, invalid_argument, not_found,
    unimplemented_error,
};

use super::entry::Entry;
use super::{HEADER_KEY, VERSION, data_path, index_path};
use super::{strings, variants};
use crate::coding::unmask;
use crate::gather::Sliced;
use crate::slice::TensorSlice;
use crate::table::Table;
use crate::versions;
use tensorfleet_files::{FileSystem, ReadFile};

/// Elements are read and checked in pieces that stay in the cache.
const CHUNK: usize = 1 << 20;

/// An open bundle. Several threads may read from it at once.
#[derive(Debug)]
pub struct Reader {
    files: Arc<dyn FileSystem>,
    prefix: String,
    shards: usize,
    entries: BTreeMap<Vec<u8>, pb::BundleEntryProto>,
    data: Mutex<HashMap<usize, Arc<dyn ReadFile>>>,
}

impl Reader {
    /// Opens a bundle and reads its index.
    pub fn open(files: Arc<dyn FileSystem>, prefix: &str) -> Result<Self> {
        let Index { header, entries } = Index::read(&*files, prefix)?;
        let path = index_path(prefix);
        versions::check(header.version.as_ref(), VERSION).context(|| &path)?;
        if header.endianness() == pb::bundle_header_proto::Endianness::Big {
            return Err(unimplemented_error!("{path}: written by a big-endian machine"));
        }
        let shards = usize::try_from(header.num_shards)
            .map_err(|_| data_loss!("{path}: {} shards", header.num_shards))?;
        let prefix = prefix.to_owned();
        Ok(Self { files, prefix, shards, entries, data: Mutex::default() })
    }

    /// The names of the tensors, in order. Slices are not listed by themselves.
    pub fn names(&self) -> Vec<&[u8]> {
        let slice_keys: HashSet<Vec<u8>> = self
            .entries
            .iter()
            .flat_map(|(name, entry)| entry.slices.iter().map(move |slice| (name, slice)))
            .filter_map(|(name, slice)| Some(TensorSlice::from_proto(slice).ok()?.key(name)))
            .collect();
        let names = self.entries.keys().map(Vec::as_slice);
        names.filter(|key| !slice_keys.contains(*key)).collect()
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.entries.contains_key(name.as_ref())
    }

    /// The type and the full shape of a tensor.
    pub fn dtype_and_shape(&self, name: impl AsRef<[u8]>) -> Result<(DType, Shape)> {
        let (_, entry) = self.entry(name.as_ref())?;
        Ok((entry.dtype, entry.shape))
    }

    /// Reads a whole tensor, joining its slices if it is stored in slices.
    pub fn read(&self, name: impl AsRef<[u8]>) -> Result<Tensor> {
        let (message, entry) = self.entry(name.as_ref())?;
        if message.slices.is_empty() {
            return self.read_entry(&entry);
        }
        let whole = TensorSlice::full(entry.shape.rank());
        self.read_part(name.as_ref(), message, entry, &whole)
    }

    /// Reads a part of a tensor, whether it is stored whole or in slices.
    pub fn read_slice(&self, name: impl AsRef<[u8]>, slice: &TensorSlice) -> Result<Tensor> {
        let (message, entry) = self.entry(name.as_ref())?;
        self.read_part(name.as_ref(), message, entry, slice)
    }

    fn read_part(
        &self,
        name: &[u8],
        message: &pb::BundleEntryProto,
        entry: Entry,
        wanted: &TensorSlice,
    ) -> Result<Tensor> {
        let (dtype, shape) = (entry.dtype, entry.shape.clone());
        let slices = if message.slices.is_empty() {
            vec![(TensorSlice::full(shape.rank()), entry)]
        } else {
            let slices = message.slices.iter().map(|slice| {
                let slice = TensorSlice::from_proto(slice)
                    .map_err(|error| data_loss!("{}: {}", self.index(), error.message()))?;
                let (_, entry) = self.entry(&slice.key(name))?;
                Ok((slice, entry))
            });
            slices.collect::<Result<_>>()?
        };
        let sliced = Sliced { dtype, shape, slices };
        sliced.read(wanted, |_, entry| self.read_entry(entry))?.ok_or_else(|| {
            invalid_argument!(
                "Does not have sufficient slices for partitioned tensor {} to restore in \
                 slice_spec: {wanted}",
                String::from_utf8_lossy(name)
            )
        })
    }

    fn entry(&self, key: &[u8]) -> Result<(&pb::BundleEntryProto, Entry)> {
        let name = String::from_utf8_lossy(key);
        let message = self
            .entries
            .get(key)
            .ok_or_else(|| not_found!("Key {name} not found in checkpoint"))?;
        let entry = Entry::new(&name, message).context(|| self.index())?;
        Ok((message, entry))
    }

    /// Reads the elements of a tensor that is stored in one piece.
    fn read_entry(&self, entry: &Entry) -> Result<Tensor> {
        let file = self.shard(entry.shard)?;
        let end = entry.offset.checked_add(entry.len as u64);
        // Compared before allocating: a damaged entry must not claim memory.
        if end.is_none_or(|end| end > file.len()) {
            return Err(data_loss!(
                "{}: Read less bytes than requested: the file has {} bytes, but a tensor of {} \
                 bytes starts at {}",
                data_path(&self.prefix, entry.shard, self.shards),
                file.len(),
                entry.len,
                entry.offset
            ));
        }
        let (tensor, crc) = match entry.dtype {
            DType::String => self.read_strings(entry, &*file)?,
            DType::Variant => self.read_variants(entry, &*file)?,
            dtype if dtype.is_plain() => read_plain(entry, &*file)?,
            dtype => {
                return Err(unimplemented_error!("Restoring data type {dtype} not yet supported"));
            }
        };
        if unmask(entry.crc) != crc {
            return Err(data_loss!(
                "TensorBundle at {} shard {} ({} bytes): Checksum does not match: stored {:08} vs. \
                 calculated on the restored bytes {crc}",
                self.prefix,
                entry.shard,
                entry.len,
                unmask(entry.crc)
            ));
        }
        Ok(tensor)
    }

    fn read_strings(&self, entry: &Entry, file: &dyn ReadFile) -> Result<(Tensor, u32)> {
        let mut stored = vec![0; entry.len];
        file.read_at(entry.offset, &mut stored)?;
        let (strings, crc) = strings::decode(&Bytes::from(stored), entry.shape.num_elements())
            .context(|| data_path(&self.prefix, entry.shard, self.shards))?;
        Ok((Tensor::from_strings(entry.shape.clone(), strings)?, crc))
    }

    fn read_variants(&self, entry: &Entry, file: &dyn ReadFile) -> Result<(Tensor, u32)> {
        let mut stored = vec![0; entry.len];
        file.read_at(entry.offset, &mut stored)?;
        variants::decode(&stored, &entry.shape)
            .context(|| data_path(&self.prefix, entry.shard, self.shards))
    }

    fn shard(&self, shard: usize) -> Result<Arc<dyn ReadFile>> {
        let mut open = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&shard) {
            return Ok(Arc::clone(file));
        }
        let file = self.files.open(&data_path(&self.prefix, shard, self.shards))?;
        let file: Arc<dyn ReadFile> = Arc::from(file);
        open.insert(shard, Arc::clone(&file));
        Ok(file)
    }

    fn index(&self) -> String {
        index_path(&self.prefix)
    }
}

/// Reads the bytes of a plain tensor and their checksum.
fn read_plain(entry: &Entry, file: &dyn ReadFile) -> Result<(Tensor, u32)> {
    let mut crc = 0;
    let tensor = Tensor::build_raw(entry.dtype, entry.shape.clone(), |out| {
        let mut offset = entry.offset;
        for chunk in out.chunks_mut(CHUNK) {
            file.read_at(offset, chunk)?;
            crc = crc32c::crc32c_append(crc, chunk);
            offset += chunk.len() as u64;
        }
        Ok(())
    })?;
    Ok((tensor, crc))
}

/// All of a bundle's index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) header: pb::BundleHeaderProto,
    pub(super) entries: BTreeMap<Vec<u8>, pb::BundleEntryProto>,
}

impl Index {
    pub(super) fn read(files: &dyn FileSystem, prefix: &str) -> Result<Self> {
        let path = index_path(prefix);
        let file = files.open(&path)?;
        Self::parse(file).map_err(|error| match error.code() {
            Code::DataLoss | Code::OutOfRange => corrupt(&path, &error),
            _ => error,
        })
    }

    fn parse(file: Box<dyn ReadFile>) -> Result<Self> {
        let mut header = None;
        let mut entries = BTreeMap::new();
        Table::open(file)?.for_each(|key, value| {
            let unreadable =
                |_| data_loss!("Entry for key {} not parseable.", String::from_utf8_lossy(key));
            if key == HEADER_KEY {
                header = Some(pb::BundleHeaderProto::decode(value).map_err(unreadable)?);
            } else {
                let entry = pb::BundleEntryProto::decode(value).map_err(unreadable)?;
                entries.insert(key.to_vec(), entry);
            }
            Ok(())
        })?;
        let header = header.ok_or_else(|| data_loss!("failed to seek to header entry"))?;
        Ok(Self { header, entries })
    }
}

fn corrupt(path: &str, error: &Error) -> Error {
    data_loss!(
        "Unable to read file ({path}). Perhaps the file is corrupt or was produced by a newer \
         version of TensorFlow with format changes: {}",
        error.message()
    )
}

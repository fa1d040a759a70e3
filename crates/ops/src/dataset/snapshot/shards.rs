//! The files of a stored dataset.

use std::collections::BTreeMap;
use std::sync::Arc;

use tensorfleet_files::FileSystem;
use tensorfleet_framework::Attrs;
use tensorfleet_kernels::random::entropy;
use tensorfleet_tensor::{
    Code, DType, Result, data_loss, internal, invalid_argument, unimplemented_error,
};

use super::super::aside::{FileElements, Source};
use super::super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Signature, into_tensor,
};
use super::super::memory::MemoryDataset;
use super::super::scope::{Scope, UserFunction};
use super::super::wire::{decode_tensor, encode_tensor};
use super::wire::{Metadata, VERSION};
use crate::record::{Compression, RecordFile, RecordReader, Stream};

/// Reads the attribute that says how files are compressed.
pub(super) fn compression(attrs: &Attrs<'_>) -> Result<Compression> {
    let name = match &attrs.bytes("compression")?[..] {
        b"AUTO" => b"SNAPPY",
        name => name,
    };
    Compression::parse_of_records(name).ok_or_else(|| {
        invalid_argument!("unsupported compression {}", String::from_utf8_lossy(name))
    })
}

fn metadata_path(directory: &str) -> String {
    format!("{directory}/snapshot.metadata")
}

/// What a directory says that it holds, in format `version`; `None` if there is no dataset.
pub(super) fn read_metadata(
    files: &dyn FileSystem,
    directory: &str,
    version: i64,
) -> Result<Option<Metadata>> {
    let path = metadata_path(directory);
    let file = match files.open(&path) {
        Err(error) if error.code() == Code::NotFound => return Ok(None),
        other => other?,
    };
    const MOST: u64 = 1 << 20;
    if file.len() > MOST {
        return Err(data_loss!("{path} does not hold metadata"));
    }
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(0, &mut bytes)?;
    let metadata = Metadata::parse(&path, &bytes)?;
    if metadata.version != version {
        return Err(unimplemented_error!(
            "{path}: format {} of stored datasets; this op reads format {version}",
            metadata.version
        ));
    }
    Ok(Some(metadata))
}

/// What stores a dataset.
#[derive(Debug)]
pub(super) enum Store {
    /// Nobody has asked for an element yet.
    New {
        files: Arc<dyn FileSystem>,
        directory: String,
        hash: String,
        compression: Compression,
        types: Vec<DType>,
    },
    Open(Writer),
    Complete,
}

impl Store {
    /// Stores an element, or that there are no more, and passes it on.
    pub(super) fn store(
        &mut self,
        shard: i64,
        element: Option<Element>,
        counts: bool,
    ) -> Result<Option<Element>> {
        if let Store::New { files, directory, hash, compression, types } = self {
            let writer = Writer::new(files, directory, hash.clone(), *compression, types)?;
            *self = Store::Open(writer);
        }
        match (&mut *self, &element) {
            (Store::Open(writer), Some(element)) => writer.write(shard, element)?,
            (Store::Open(_), None) => {
                if let Store::Open(writer) = std::mem::replace(self, Store::Complete) {
                    writer.finish(counts)?;
                }
            }
            _ => {}
        }
        Ok(element)
    }
}

/// A dataset being stored.
#[derive(Debug)]
pub(super) struct Writer {
    files: Arc<dyn FileSystem>,
    directory: String,
    compression: Compression,
    metadata: Metadata,
    shards: BTreeMap<i64, RecordFile>,
}

impl Writer {
    /// Starts a run in `directory`, which is made if need be.
    fn new(
        files: &Arc<dyn FileSystem>,
        directory: &str,
        hash: String,
        compression: Compression,
        types: &[DType],
    ) -> Result<Writer> {
        let metadata = Metadata::new(VERSION, hash, entropy().to_string(), types);
        let writer = Writer {
            files: Arc::clone(files),
            directory: directory.to_owned(),
            compression,
            metadata,
            shards: BTreeMap::new(),
        };
        files.create_dirs(&writer.run())?;
        Ok(writer)
    }

    fn run(&self) -> String {
        format!("{}/{}", self.directory, self.metadata.run_id)
    }

    /// Appends an element to a shard.
    fn write(&mut self, shard: i64, element: &Element) -> Result<()> {
        if !self.shards.contains_key(&shard) {
            let directory = format!("{}/{shard:08}.shard", self.run());
            self.files.create_dirs(&directory)?;
            let path = format!("{directory}/00000000.snapshot");
            self.shards.insert(shard, RecordFile::create(&*self.files, &path, self.compression)?);
        }
        let file =
            self.shards.get_mut(&shard).ok_or_else(|| internal!("shard {shard} is missing"))?;
        for tensor in element {
            file.write(&encode_tensor(tensor)?)?;
        }
        self.metadata.num_elements += 1;
        Ok(())
    }

    /// Makes the run the one that the directory holds.
    fn finish(mut self, counts: bool) -> Result<()> {
        for (_, file) in std::mem::take(&mut self.shards) {
            file.finish()?;
        }
        self.metadata.finalized = true;
        if !counts {
            self.metadata.num_elements = 0;
        }
        write_metadata(&*self.files, &self.directory, &self.metadata)
    }
}

/// Says what a directory holds, from one moment to the next.
pub(super) fn write_metadata(
    files: &dyn FileSystem,
    directory: &str,
    metadata: &Metadata,
) -> Result<()> {
    let path = metadata_path(directory);
    let temporary = format!("{path}.{}.tmp", metadata.run_id);
    let mut file = files.create(&temporary)?;
    file.append(&metadata.encode())?;
    file.finish()?;
    files.rename(&temporary, &path)
}

/// The shard that a function chooses for an element.
pub(super) async fn shard_of(function: &UserFunction, element: &Element) -> Result<i64> {
    let answer = function.call(element.clone()).await.map_err(|error| function.explain(error))?;
    match &answer[..] {
        [shard] if shard.dtype() == DType::Int64 && shard.num_elements() == 1 => {
            shard.scalar_value()
        }
        _ => Err(invalid_argument!("`shard_func` must return a scalar int64.")),
    }
}

/// Where the shards of a stored dataset are.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) files: Arc<dyn FileSystem>,
    pub(super) directory: String,
    pub(super) compression: Compression,
    pub(super) signature: Signature,
}

impl Stored {
    /// A dataset of the shards of a run, each of them a dataset.
    pub(super) fn shards(&self, run: &str) -> Result<DatasetRef> {
        let run = format!("{}/{run}", self.directory);
        let found = self.files.glob(&format!("{run}/*.shard/00000000.snapshot"))?;
        let elements = found.iter().map(|path| {
            let suffix = "/00000000.snapshot";
            let shard = ShardDataset {
                directory: path.strip_suffix(suffix).unwrap_or(path).to_owned(),
                compression: self.compression,
                signature: self.signature.clone(),
            };
            vec![into_tensor(Arc::new(shard))]
        });
        Ok(Arc::new(MemoryDataset {
            kind: "SnapshotNestedDatasetReader",
            elements: Arc::new(elements.collect()),
            signature: Signature { types: vec![DType::Variant], shapes: vec![Default::default()] },
        }))
    }
}

#[derive(Debug)]
struct ShardDataset {
    directory: String,
    compression: Compression,
    signature: Signature,
}

impl Dataset for ShardDataset {
    fn kind(&self) -> &str {
        "SnapshotDatasetReader"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Unknown
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let elements = ShardElements {
            files: scope.files(),
            directory: self.directory.clone(),
            compression: self.compression,
            signature: self.signature.clone(),
            next_file: 0,
            open: None,
        };
        Ok(Box::new(FileElements::new(scope, elements)))
    }
}

/// Reads the files of a shard one after the other.
struct ShardElements {
    files: Arc<dyn FileSystem>,
    directory: String,
    compression: Compression,
    signature: Signature,
    next_file: u64,
    open: Option<RecordReader>,
}

impl Source for ShardElements {
    fn read(&mut self) -> Result<Option<Element>> {
        loop {
            let reader = match &mut self.open {
                Some(reader) => reader,
                None => {
                    let path = format!("{}/{:08}.snapshot", self.directory, self.next_file);
                    let stream = match Stream::open(&*self.files, &path, self.compression, None) {
                        Err(error) if error.code() == Code::NotFound => return Ok(None),
                        other => other?,
                    };
                    self.next_file += 1;
                    self.open.insert(RecordReader::new(stream))
                }
            };
            let mut element = Vec::with_capacity(self.signature.types.len());
            for _ in &self.signature.types {
                match reader.read()? {
                    Some(record) => element.push(decode_tensor(record.into())?),
                    None if element.is_empty() => break,
                    None => return Err(data_loss!("{}: an element is incomplete", self.directory)),
                }
            }
            if element.is_empty() {
                self.open = None;
                continue;
            }
            self.signature.check_element(&element)?;
            return Ok(Some(element));
        }
    }
}

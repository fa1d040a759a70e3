//! `SnapshotDatasetV2`: elements that are made once, and read from files ever after.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::Result;

use super::super::aside::Aside;
use super::super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::super::origin::DatasetGraph;
use super::super::scope::{Captured, Scope};
use super::super::to_graph::fingerprint;
use super::load::Reading;
use super::save::Saving;
use super::shards::{Store, Stored, compression, read_metadata};
use super::wire::VERSION;
use crate::record::Compression;

pub(in super::super) const OPS: &[Op] = &[Op {
    name: "SnapshotDatasetV2",
    inputs: &[
        "input_dataset: variant",
        "path: string",
        "reader_func_other_args: Treader_func_args",
        "shard_func_other_args: Tshard_func_args",
    ],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_prefix: string = ''",
        "writer_prefix: string = ''",
        "hash_valid: bool = false",
        "hash: int = 0",
        "reader_func: func",
        "shard_func: func",
        "Treader_func_args: list(type) >= 0",
        "Tshard_func_args: list(type) >= 0",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<Snapshot>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Snapshot {
    compression: Compression,
    reader: Func,
    reader_arguments: usize,
    shard: Func,
    hash: Option<u64>,
}

impl MakeDataset for Snapshot {
    fn new(attrs: &Attrs<'_>) -> Result<Snapshot> {
        let hash = attrs.int("hash")? as u64;
        Ok(Snapshot {
            compression: compression(attrs)?,
            reader: attrs.func("reader_func")?.clone(),
            reader_arguments: attrs.dtypes("Treader_func_args")?.len(),
            shard: attrs.func("shard_func")?.clone(),
            hash: attrs.bool("hash_valid")?.then_some(hash),
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let path = String::from_utf8_lossy(inputs.string(1, "path")?);
        let hash = match self.hash {
            Some(hash) => hash,
            None => fingerprint(&DatasetGraph::new(&input)?),
        };
        let hash = hash.to_string();
        let directory = format!("{path}/{hash}");
        let shards = 2 + self.reader_arguments;
        Ok(Arc::new(SnapshotDataset {
            stored: Stored {
                files: inputs.context().step().files(),
                directory,
                compression: self.compression,
                signature,
            },
            hash,
            reader: Captured::new(&self.reader, inputs.range(2..shards)?),
            shard: Captured::new(&self.shard, inputs.rest(shards)?),
            input,
        }))
    }
}

#[derive(Debug)]
struct SnapshotDataset {
    input: DatasetRef,
    stored: Stored,
    hash: String,
    reader: Captured,
    shard: Captured,
}

impl Dataset for SnapshotDataset {
    fn kind(&self) -> &str {
        "SnapshotV2"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.stored.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Reuse {
            input: Arc::clone(&self.input),
            stored: self.stored.clone(),
            hash: self.hash.clone(),
            reader: self.reader.clone(),
            shard: self.shard.clone(),
            scope: scope.clone(),
            elements: None,
        }))
    }
}

/// Reads what is stored, or stores what it makes.
struct Reuse {
    input: DatasetRef,
    stored: Stored,
    hash: String,
    reader: Captured,
    shard: Captured,
    scope: Scope,
    /// Absent until somebody asks.
    elements: Option<Box<dyn Elements>>,
}

impl Reuse {
    async fn begin(&mut self) -> Result<Box<dyn Elements>> {
        let Stored { files, directory, compression, signature } = self.stored.clone();
        let (all, asked) = (Arc::clone(&files), directory.clone());
        let metadata = move || read_metadata(&*all, &asked, VERSION);
        let metadata = self.scope.with_files(metadata).await?;
        if let Some(metadata) = metadata.filter(|metadata| metadata.finalized) {
            let (stored, run) = (self.stored.clone(), metadata.run_id);
            return Ok(Box::new(Reading::new(&self.scope, stored, run, &self.reader)?));
        }
        let (hash, types) = (self.hash.clone(), signature.types);
        let store = Store::New { files, directory, hash, compression, types };
        Ok(Box::new(Saving {
            input: self.scope.iterate(&*self.input)?,
            store: Aside::new(&self.scope, store),
            shard: Some(self.scope.function(&self.shard)?),
            counts: false,
        }))
    }
}

impl Elements for Reuse {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let elements = match self.elements.take() {
                Some(elements) => elements,
                None => self.begin().await?,
            };
            self.elements.insert(elements).next().await
        })
    }
}

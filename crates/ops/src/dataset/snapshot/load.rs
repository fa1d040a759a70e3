//! `LoadDataset`: a dataset that was saved.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, not_found};

use super::super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    file_dataset, into_tensor,
};
use super::super::scope::{Captured, Scope, UserFunction};
use super::shards::{Stored, compression, read_metadata};
use super::wire::{Metadata, VERSION};
use crate::record::Compression;

pub(in super::super) const OPS: &[Op] = &[Op {
    name: "LoadDataset",
    inputs: &["path: string", "reader_func_other_args: Treader_func_args"],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_func: func",
        "Treader_func_args: list(type) >= 0",
    ],
    stateful: true,
    kernels: &[file_dataset::<Load>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Load {
    compression: Compression,
    reader: Func,
}

impl MakeDataset for Load {
    fn new(attrs: &Attrs<'_>) -> Result<Load> {
        Ok(Load { compression: compression(attrs)?, reader: attrs.func("reader_func")?.clone() })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let directory = String::from_utf8_lossy(inputs.string(0, "path")?).into_owned();
        let files = inputs.context().step().files();
        let metadata = read_metadata(&*files, &directory, VERSION)?
            .ok_or_else(|| not_found!("Could not find metadata file [{directory}]"))?;
        Ok(Arc::new(LoadDataset {
            stored: Stored { files, directory, compression: self.compression, signature },
            metadata,
            reader: Captured::new(&self.reader, inputs.rest(1)?),
        }))
    }
}

#[derive(Debug)]
struct LoadDataset {
    stored: Stored,
    metadata: Metadata,
    reader: Captured,
}

impl Dataset for LoadDataset {
    fn kind(&self) -> &str {
        "Load"
    }

    fn signature(&self) -> &Signature {
        &self.stored.signature
    }

    fn cardinality(&self) -> Cardinality {
        u64::try_from(self.metadata.num_elements).map_or(Cardinality::Unknown, Cardinality::Known)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Reading::new(
            scope,
            self.stored.clone(),
            self.metadata.run_id.clone(),
            &self.reader,
        )?))
    }
}

/// Reads shards in the order that a function makes.
pub(super) struct Reading {
    scope: Scope,
    state: State,
}

enum State {
    /// The function is called when somebody asks.
    New {
        stored: Stored,
        run: String,
        reader: Box<UserFunction>,
    },
    Open(Box<dyn Elements>),
}

impl Reading {
    pub(super) fn new(
        scope: &Scope,
        stored: Stored,
        run: String,
        reader: &Captured,
    ) -> Result<Reading> {
        let reader = Box::new(scope.function(reader)?);
        Ok(Reading { scope: scope.clone(), state: State::New { stored, run, reader } })
    }
}

impl Elements for Reading {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if let State::New { stored, run, reader } = &self.state {
                let (stored, run) = (stored.clone(), run.clone());
                let shards = self.scope.with_files(move || stored.shards(&run)).await?;
                let dataset = reader.dataset(vec![into_tensor(shards)]).await?;
                self.state = State::Open(self.scope.iterate(&*dataset)?);
            }
            match &mut self.state {
                State::Open(elements) => elements.next().await,
                State::New { .. } => Ok(None),
            }
        })
    }
}

//! `MatchingFilesDataset`: the names of files that match patterns.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument, not_found};

use super::aside::{FileElements, Source};
use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalMatchingFilesDataset",
        inputs: &["patterns: string"],
        outputs: &["handle: variant"],
        stateful: true,
        kernels: &[dataset::<MatchingFiles>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MatchingFilesDataset",
        inputs: &["patterns: string"],
        outputs: &["handle: variant"],
        stateful: true,
        kernels: &[dataset::<MatchingFiles>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct MatchingFiles;

impl MakeDataset for MatchingFiles {
    fn new(_: &Attrs<'_>) -> Result<MatchingFiles> {
        Ok(MatchingFiles)
    }

    fn signature(_: &Attrs<'_>) -> Result<Signature> {
        Ok(Signature { types: vec![DType::String], shapes: vec![PartialShape::scalar()] })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let patterns = inputs.tensor(0)?;
        if patterns.rank() > 1 {
            return Err(invalid_argument!("`patterns` must be a scalar or a vector."));
        }
        let patterns = patterns.strings()?.into();
        Ok(Arc::new(MatchingDataset { patterns, signature }))
    }
}

#[derive(Debug)]
struct MatchingDataset {
    patterns: Arc<[Bytes]>,
    signature: Signature,
}

impl Dataset for MatchingDataset {
    fn kind(&self) -> &str {
        "MatchingFiles"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let matches = Matches {
            files: scope.files(),
            patterns: Arc::clone(&self.patterns),
            next: 0,
            found: Vec::new().into_iter(),
            any: false,
        };
        Ok(Box::new(FileElements::new(scope, matches)))
    }
}

struct Matches {
    files: Arc<dyn FileSystem>,
    patterns: Arc<[Bytes]>,
    next: usize,
    /// What is left of the files that match the last pattern.
    found: std::vec::IntoIter<String>,
    any: bool,
}

impl Source for Matches {
    fn read(&mut self) -> Result<Option<Element>> {
        loop {
            if let Some(name) = self.found.next() {
                self.any = true;
                return Ok(Some(vec![Tensor::string(name.into_bytes())]));
            }
            let Some(pattern) = self.patterns.get(self.next) else {
                if self.any {
                    return Ok(None);
                }
                self.any = true;
                return Err(not_found!("Don't find any matched files"));
            };
            self.next += 1;
            self.found = self.files.glob(&String::from_utf8_lossy(pattern))?.into_iter();
        }
    }
}

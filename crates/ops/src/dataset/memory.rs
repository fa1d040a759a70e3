//! Elements that are there already: the contents of a window, a group or a cache.

use std::sync::Arc;

use tensorfleet_tensor::Result;

use super::dataset::{Cardinality, Dataset, Element, Elements, Pending, Signature};
use super::scope::Scope;

/// A dataset of elements in memory.
#[derive(Debug)]
pub(super) struct MemoryDataset {
    pub(super) kind: &'static str,
    pub(super) elements: Arc<Vec<Element>>,
    pub(super) signature: Signature,
}

impl Dataset for MemoryDataset {
    fn kind(&self) -> &str {
        self.kind
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        Cardinality::Known(self.elements.len() as u64)
    }

    fn iterate(&self, _: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Stored::new(Arc::clone(&self.elements))))
    }
}

/// Runs through elements in memory.
pub(super) struct Stored {
    elements: Arc<Vec<Element>>,
    next: usize,
}

impl Stored {
    pub(super) fn new(elements: Arc<Vec<Element>>) -> Stored {
        Stored { elements, next: 0 }
    }
}

impl Elements for Stored {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        let next = self.try_next().unwrap_or(Ok(None));
        Box::pin(async { next })
    }

    fn try_next(&mut self) -> Option<Result<Option<Element>>> {
        let element = self.elements.get(self.next).cloned();
        self.next += usize::from(element.is_some());
        Some(Ok(element))
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        let left = (self.elements.len() - self.next) as u64;
        let count = count.min(left);
        self.next += count as usize;
        Box::pin(async move { Ok(count) })
    }
}

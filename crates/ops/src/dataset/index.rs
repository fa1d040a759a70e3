//! Elements by their numbers.
//!
//! Some datasets can make any of their elements without those before it. Each such dataset asks its
//! inputs for theirs in the same way; a shuffle of all elements is then a shuffle of numbers.

use tensorfleet_tensor::{
    Result, failed_precondition, internal, out_of_range, unimplemented_error,
};

use super::dataset::{Cardinality, Dataset, Element, Elements, Pending};
use super::scope::Scope;

/// A dataset whose elements can be had by number.
pub(crate) trait Indexed {
    /// Starts to give elements. `scope` is already that of the dataset.
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>>;

    /// Checks that a dataset of `count` elements has number `index`.
    fn check_index(&self, index: i64, count: u64) -> Result<()> {
        match u64::try_from(index) {
            Ok(index) if index < count => Ok(()),
            _ => Err(out_of_range!("Index out of range [0, {count}):{index}")),
        }
    }
}

/// Gives elements by number.
pub(crate) trait Access: Send {
    /// Element number `index`, which the caller knows to be there.
    fn get(&mut self, index: u64) -> Pending<'_, Element>;
}

/// How many elements a dataset has whose elements are to be had by number, or why they cannot be.
pub(super) fn checked_count(dataset: &dyn Dataset) -> Result<u64> {
    let unknown = |what: &str| {
        failed_precondition!(
            "Dataset of type {} has {what} cardinality, which does not support random access.",
            dataset.title()
        )
    };
    if dataset.indexed().is_none() {
        return Err(unimplemented_error!(
            "Random access is not implemented for dataset {}",
            dataset.title()
        ));
    }
    match dataset.cardinality() {
        Cardinality::Known(count) => Ok(count),
        Cardinality::Infinite => Err(unknown("infinite")),
        Cardinality::Unknown => Err(unknown("unknown")),
    }
}

impl Scope {
    /// Starts to give elements of an input by their numbers.
    pub(super) fn access(&self, dataset: &dyn Dataset) -> Result<Box<dyn Access>> {
        checked_count(dataset)?;
        let indexed =
            dataset.indexed().ok_or_else(|| internal!("{} has no numbers", dataset.title()))?;
        let mut scope = self.child(dataset.kind());
        if let Some(origin) = dataset.origin() {
            scope = scope.with_library(&origin.library);
        }
        indexed.access(&scope)
    }
}

/// Elements of another dataset whose numbers are found by a function of one's own.
pub(super) struct Renumbered<F> {
    pub(super) input: Box<dyn Access>,
    pub(super) number: F,
}

impl<F: Fn(u64) -> u64 + Send> Access for Renumbered<F> {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        self.input.get((self.number)(index))
    }
}

/// Elements by number of an iterator that knows only their order: all that came are kept.
pub(super) struct Kept {
    pub(super) elements: Box<dyn Elements>,
    pub(super) kept: Vec<Element>,
}

impl Access for Kept {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            while self.kept.len() <= index {
                match self.elements.next().await? {
                    Some(element) => self.kept.push(element),
                    None => return Err(out_of_range!("there is no element {index}")),
                }
            }
            Ok(self.kept[index].clone())
        })
    }
}

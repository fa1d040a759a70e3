//! `ChooseFastestBranchDataset`: one of several functions of a dataset, whichever takes the least time.
//!
//! All functions work on one iteration of the input: each makes some elements in turn, and the one
//! that was the fastest makes the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::lock::Mutex;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, internal, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, into_tensor,
};
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[Op {
    name: "ChooseFastestBranchDataset",
    inputs: &[
        "input_dataset: variant",
        "ratio_numerator: int64",
        "ratio_denominator: int64",
        "other_arguments: Targuments",
    ],
    outputs: &["handle: variant"],
    attrs: &[
        "Targuments: list(type) >= 0",
        "num_elements_per_branch: int >= 1",
        "branches: list(func) >= 1",
        "other_arguments_lengths: list(int) >= 1",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: &[dataset::<ChooseFastest>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ChooseFastest {
    branches: Vec<Func>,
    /// How many of the captured inputs belong to each branch.
    captured: Vec<usize>,
    per_branch: i64,
}

impl MakeDataset for ChooseFastest {
    fn new(attrs: &Attrs<'_>) -> Result<ChooseFastest> {
        let branches = attrs.funcs("branches")?.to_vec();
        let lengths = attrs.ints("other_arguments_lengths")?;
        if branches.len() != lengths.len() {
            return Err(invalid_argument!(
                "branches and other_arguments_lengths must have the same length."
            ));
        }
        let captured: Vec<_> =
            lengths.iter().map(|&len| usize::try_from(len).unwrap_or(usize::MAX)).collect();
        let count = attrs.dtypes("Targuments")?.len();
        if captured.iter().fold(0usize, |sum, &len| sum.saturating_add(len)) > count {
            return Err(invalid_argument!(
                "other_arguments_lengths are more than the {count} inputs"
            ));
        }
        let per_branch = attrs.int("num_elements_per_branch")?;
        Ok(ChooseFastest { branches, captured, per_branch })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let ratio = [
            inputs.scalar::<i64>(1, "ratio_numerator")?,
            inputs.scalar::<i64>(2, "ratio_denominator")?,
        ];
        for (value, name) in ratio.into_iter().zip(["ratio_numerator", "ratio_denominator"]) {
            if value <= 0 {
                return Err(invalid_argument!("`{name}` must be greater than zero."));
            }
        }
        if self.per_branch % ratio[1] != 0 {
            return Err(invalid_argument!(
                "`num_elements_per_branch` must be divisible by `ratio_denominator`."
            ));
        }
        let mut start = 3;
        let branch = |(function, &len): (&Func, &usize)| {
            let captured = inputs.range(start..start + len)?;
            start += len;
            Ok(Captured::new(function, captured))
        };
        let branches =
            self.branches.iter().zip(&self.captured).map(branch).collect::<Result<_>>()?;
        Ok(Arc::new(ChooseFastestDataset {
            input: inputs.dataset(0)?,
            branches,
            per_branch: self.per_branch,
            ratio,
            signature,
        }))
    }
}

#[derive(Debug)]
struct ChooseFastestDataset {
    input: DatasetRef,
    branches: Vec<Captured>,
    /// How many elements each branch makes before there is a choice.
    per_branch: i64,
    /// So many elements of the result are made of so many of the input.
    ratio: [i64; 2],
    signature: Signature,
}

impl Dataset for ChooseFastestDataset {
    fn kind(&self) -> &str {
        "ChooseFastestBranch"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        let [numerator, denominator] = self.ratio.map(|part| part as f64);
        self.input.cardinality().map(|count| (count as f64 * numerator / denominator) as u64)
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let branches = self
            .branches
            .iter()
            .map(|branch| scope.function(branch))
            .collect::<Result<Vec<_>>>()?;
        let [numerator, denominator] = self.ratio;
        let share = self.per_branch.saturating_mul(numerator) / denominator;
        Ok(Box::new(Choosing {
            scope: scope.clone(),
            input: Arc::new(Mutex::new(scope.iterate(&*self.input)?)),
            input_signature: self.input.signature().clone(),
            times: vec![Vec::new(); branches.len()],
            branches,
            per_branch: self.per_branch as u64,
            share: share as u64,
            branch: 0,
            made: 0,
            current: None,
        }))
    }
}

/// An iteration that several iterators share.
type Shared = Arc<Mutex<Box<dyn Elements>>>;

struct Choosing {
    scope: Scope,
    input: Shared,
    input_signature: Signature,
    branches: Vec<UserFunction>,
    /// How long the elements of each branch took.
    times: Vec<Vec<Duration>>,
    per_branch: u64,
    /// How many elements of the input a branch may take while branches are compared.
    share: u64,
    /// The branch that is being tried; when all were, the one that is the fastest.
    branch: usize,
    /// How many elements it made.
    made: u64,
    current: Option<Box<dyn Elements>>,
}

impl Elements for Choosing {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let is_trial = self.branch < self.branches.len();
            if self.current.is_none() {
                let branch = if is_trial { self.branch } else { self.fastest() };
                let (function, input) = (self.branches[branch].clone(), self.rest(is_trial));
                let dataset = function.dataset(vec![into_tensor(Arc::new(input))]).await?;
                self.current = Some(self.scope.iterate_nth(&*dataset, branch)?);
            }
            let Some(current) = &mut self.current else {
                return Err(internal!("a branch was started and is not there"));
            };
            if !is_trial {
                return current.next().await;
            }
            let start = Instant::now();
            let element = current.next().await;
            // The first one shows what it takes to begin.
            if self.made > 0 {
                self.times[self.branch].push(start.elapsed());
            }
            self.made += 1;
            if self.made >= self.per_branch {
                self.made = 0;
                self.branch += 1;
                self.current = None;
            }
            element
        })
    }
}

impl Choosing {
    /// What the next branch works on.
    fn rest(&self, is_trial: bool) -> RestDataset {
        RestDataset {
            input: Arc::clone(&self.input),
            most: is_trial.then_some(self.share),
            is_taken: AtomicBool::new(false),
            signature: self.input_signature.clone(),
        }
    }

    /// The branch nine in ten of whose elements took the least time.
    fn fastest(&mut self) -> usize {
        let slow = |times: &mut Vec<Duration>| {
            times.sort();
            times.get(times.len() * 9 / 10).copied().unwrap_or_default()
        };
        let slow: Vec<_> = self.times.iter_mut().map(slow).collect();
        let least = slow.iter().min().copied().unwrap_or_default();
        slow.iter().rposition(|&time| time == least).unwrap_or(0)
    }
}

/// What is left of an iteration, to be iterated over once.
struct RestDataset {
    input: Shared,
    most: Option<u64>,
    is_taken: AtomicBool,
    signature: Signature,
}

impl std::fmt::Debug for RestDataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestDataset").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Dataset for RestDataset {
    fn kind(&self) -> &str {
        "Wrapper"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, _: &Scope) -> Result<Box<dyn Elements>> {
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return Err(invalid_argument!(
                "Cannot create more than one WrapperIterator per WrapperDataset. Make sure the \
                 branches to ChooseFastestDataset do not expect the input to repeat."
            ));
        }
        Ok(Box::new(Rest { input: Arc::clone(&self.input), left: self.most }))
    }
}

struct Rest {
    input: Shared,
    left: Option<u64>,
}

impl Elements for Rest {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            match &mut self.left {
                Some(0) => return Ok(None),
                Some(left) => *left -= 1,
                None => {}
            }
            self.input.lock().await.next().await
        })
    }
}

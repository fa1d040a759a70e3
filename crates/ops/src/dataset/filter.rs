//! `FilterDataset` and `TakeWhileDataset`: elements for which a predicate holds.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::parallel::{Parallel, parallel_calls};
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalTakeWhileDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "predicate: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<Filter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FilterDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "predicate: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Filter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelFilterDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "num_parallel_calls: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "predicate: func",
            "deterministic: string = 'default'",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Filter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TakeWhileDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "predicate: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Filter>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Filter {
    predicate: Func,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Filter,
    ParallelFilter,
    TakeWhile,
}

impl MakeDataset for Filter {
    fn new(attrs: &Attrs<'_>) -> Result<Filter> {
        let kind = match attrs.op() {
            "FilterDataset" => Kind::Filter,
            "ParallelFilterDataset" => Kind::ParallelFilter,
            _ => Kind::TakeWhile,
        };
        Ok(Filter { predicate: attrs.func("predicate")?.clone(), kind })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let is_parallel = self.kind == Kind::ParallelFilter;
        let last = inputs.len() - usize::from(is_parallel);
        let calls = if is_parallel { parallel_calls(inputs, last)? } else { 1 };
        let predicate = Captured::new(&self.predicate, inputs.range(1..last)?);
        Ok(Arc::new(FilterDataset { input, predicate, kind: self.kind, calls, signature }))
    }
}

#[derive(Debug)]
struct FilterDataset {
    input: DatasetRef,
    predicate: Captured,
    kind: Kind,
    calls: i64,
    signature: Signature,
}

impl Dataset for FilterDataset {
    fn kind(&self) -> &str {
        match self.kind {
            Kind::Filter => "Filter",
            Kind::ParallelFilter => "ParallelFilter",
            Kind::TakeWhile => "TakeWhile",
        }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        let predicate = scope.function(&self.predicate)?;
        Ok(match self.kind {
            Kind::Filter => Box::new(Filtered { input, predicate }),
            Kind::TakeWhile => Box::new(Taken { input: Some(input), predicate }),
            Kind::ParallelFilter => {
                // An answer travels with its element, as one more component.
                let answered = Parallel::new(scope, input, self.calls, move |element| {
                    let predicate = predicate.clone();
                    Box::pin(async move { answer(&predicate, element).await.map(Some) })
                });
                Box::new(Answered { input: answered })
            }
        })
    }
}

/// What the predicate of a filter says of an element.
async fn holds(predicate: &UserFunction, element: Element) -> Result<bool> {
    let results = predicate.call(element).await.map_err(|error| predicate.explain(error))?;
    truth(&results, "Filter predicate `f`")
}

/// The one Boolean that a predicate returns.
fn truth(results: &[Tensor], what: &str) -> Result<bool> {
    match results {
        [answer] if answer.num_elements() == 1 => answer.scalar_value::<bool>(),
        _ => Err(invalid_argument!("{what} must return a scalar bool tensor.")),
    }
}

async fn answer(predicate: &UserFunction, mut element: Element) -> Result<Element> {
    let answer = holds(predicate, element.clone()).await?;
    element.push(Tensor::scalar(answer));
    Ok(element)
}

struct Filtered {
    input: Box<dyn Elements>,
    predicate: UserFunction,
}

impl Elements for Filtered {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while let Some(element) = self.input.next().await? {
                if holds(&self.predicate, element.clone()).await? {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        })
    }
}

struct Answered {
    input: Parallel,
}

impl Elements for Answered {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            while let Some(mut element) = self.input.next().await? {
                let answer = element.pop().ok_or_else(|| internal!("an answer is missing"))?;
                if answer.scalar_value()? {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        })
    }
}

struct Taken {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    predicate: UserFunction,
}

impl Elements for Taken {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Some(input) = &mut self.input else { return Ok(None) };
            if let Some(element) = input.next().await?
                && truth(&self.predicate.call(element.clone()).await?, "TakeWhile predicate")?
            {
                return Ok(Some(element));
            }
            self.input = None;
            Ok(None)
        })
    }
}

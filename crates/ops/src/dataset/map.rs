//! `MapDataset` and `ParallelMapDataset`: a function of each element.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Code, Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed};
use super::parallel::{Parallel, parallel_calls};
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalMapDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_inter_op_parallelism: bool = true",
            "preserve_cardinality: bool = false",
            "force_synchronous: bool = false",
        ],
        kernels: &[dataset::<Map>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MapDataset",
        inputs: &["input_dataset: variant", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_inter_op_parallelism: bool = true",
            "preserve_cardinality: bool = false",
            "force_synchronous: bool = false",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Map>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelMapDataset",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "num_parallel_calls: int32",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_inter_op_parallelism: bool = true",
            "sloppy: bool = false",
            "preserve_cardinality: bool = false",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Map>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParallelMapDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "other_arguments: Targuments",
            "num_parallel_calls: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_inter_op_parallelism: bool = true",
            "deterministic: string = 'default'",
            "preserve_cardinality: bool = false",
            "use_unbounded_threadpool: bool = false",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Map>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Map {
    function: Func,
    preserve_cardinality: bool,
    is_parallel: bool,
}

impl MakeDataset for Map {
    fn new(attrs: &Attrs<'_>) -> Result<Map> {
        Ok(Map {
            function: attrs.func("f")?.clone(),
            preserve_cardinality: attrs.bool("preserve_cardinality")?,
            is_parallel: attrs.op().starts_with("Parallel"),
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let last = inputs.len() - usize::from(self.is_parallel);
        let calls = if self.is_parallel { Some(parallel_calls(inputs, last)?) } else { None };
        Ok(Arc::new(MapDataset {
            input,
            function: Captured::new(&self.function, inputs.range(1..last)?),
            preserve_cardinality: self.preserve_cardinality,
            calls,
            signature,
        }))
    }
}

#[derive(Debug)]
struct MapDataset {
    input: DatasetRef,
    function: Captured,
    preserve_cardinality: bool,
    /// How many calls may run at once, if several may.
    calls: Option<i64>,
    signature: Signature,
}

impl Dataset for MapDataset {
    fn kind(&self) -> &str {
        if self.calls.is_some() { "ParallelMapV2" } else { "Map" }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        // The function may end the sequence unless the user promised otherwise.
        if self.preserve_cardinality { self.input.cardinality() } else { Cardinality::Unknown }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        let function = scope.function(&self.function)?;
        let preserve = self.preserve_cardinality;
        match self.calls {
            None => Ok(Box::new(Mapped { input, function, preserve })),
            Some(calls) => Ok(Box::new(Parallel::new(scope, input, calls, move |element| {
                let (call, function) = (function.call(element), function.clone());
                Box::pin(async move {
                    settle(call.await.map_err(|error| function.explain(error)), preserve)
                })
            }))),
        }
    }
}

impl Indexed for MapDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let function = scope.function(&self.function)?;
        Ok(Box::new(MappedAt { input: scope.access(&*self.input)?, function }))
    }
}

/// What the function makes of elements, by number.
struct MappedAt {
    input: Box<dyn Access>,
    function: UserFunction,
}

impl Access for MappedAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let element = self.input.get(index).await?;
            self.function.call(element).await
        })
    }
}

struct Mapped {
    input: Box<dyn Elements>,
    function: UserFunction,
    preserve: bool,
}

impl Elements for Mapped {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Some(element) = self.input.next().await? else { return Ok(None) };
            let result = self.function.call(element).await;
            let explained = result.map_err(|error| match error.code() {
                Code::OutOfRange => error,
                _ => self.function.explain(error),
            });
            settle(explained, self.preserve)
        })
    }
}

/// What a call's result means: a function may end the sequence by an `OUT_OF_RANGE` error.
pub(super) fn settle(
    result: Result<Element>,
    preserve_cardinality: bool,
) -> Result<Option<Element>> {
    match result {
        Ok(element) => Ok(Some(element)),
        Err(error) if error.code() == Code::OutOfRange && preserve_cardinality => Err(
            invalid_argument!("Function invocation produced OutOfRangeError: {}", error.message()),
        ),
        Err(error) if error.code() == Code::OutOfRange => Ok(None),
        Err(error) => Err(error),
    }
}

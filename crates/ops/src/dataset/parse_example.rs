//! `ParseExampleDataset`: batches of serialized examples, parsed.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::parallel::{Parallel, parallel_calls};
use super::scope::Scope;
use crate::parsing::ExampleParser;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalParseExampleDataset",
        inputs: &["input_dataset: variant", "num_parallel_calls: int64", "dense_defaults: Tdense"],
        outputs: &["handle: variant"],
        attrs: &[
            "sparse_keys: list(string) >= 0",
            "dense_keys: list(string) >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "Tdense: list({float, int64, string}) >= 0",
            "dense_shapes: list(shape) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "sloppy: bool = false",
        ],
        kernels: &[dataset::<ParseExample>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseExampleDataset",
        inputs: &["input_dataset: variant", "num_parallel_calls: int64", "dense_defaults: Tdense"],
        outputs: &["handle: variant"],
        attrs: &[
            "sparse_keys: list(string) >= 0",
            "dense_keys: list(string) >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "Tdense: list({float, int64, string}) >= 0",
            "dense_shapes: list(shape) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "sloppy: bool = false",
            "ragged_keys: list(string) >= 0 = []",
            "ragged_value_types: list({float, int64, string}) >= 0 = []",
            "ragged_split_types: list({int32, int64}) >= 0 = []",
        ],
        kernels: &[dataset::<ParseExample>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseExampleDatasetV2",
        inputs: &["input_dataset: variant", "num_parallel_calls: int64", "dense_defaults: Tdense"],
        outputs: &["handle: variant"],
        attrs: &[
            "sparse_keys: list(string) >= 0",
            "dense_keys: list(string) >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "Tdense: list({float, int64, string}) >= 0",
            "dense_shapes: list(shape) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "deterministic: string = 'default'",
            "ragged_keys: list(string) >= 0 = []",
            "ragged_value_types: list({float, int64, string}) >= 0 = []",
            "ragged_split_types: list({int32, int64}) >= 0 = []",
        ],
        kernels: &[dataset::<ParseExample>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ParseExample(Arc<ExampleParser>);

impl MakeDataset for ParseExample {
    fn new(attrs: &Attrs<'_>) -> Result<ParseExample> {
        Ok(ParseExample(Arc::new(ExampleParser::new(attrs)?)))
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        if self.0.components() != signature.types.len() {
            return Err(invalid_argument!(
                "Expected len(output_types) == {}, got {}",
                self.0.components(),
                signature.types.len()
            ));
        }
        Ok(Arc::new(ParsedDataset {
            input: inputs.dataset(0)?,
            calls: parallel_calls(inputs, 1)?,
            defaults: inputs.rest(2)?.into(),
            parser: Arc::clone(&self.0),
            signature,
        }))
    }
}

#[derive(Debug)]
struct ParsedDataset {
    input: DatasetRef,
    calls: i64,
    defaults: Arc<[Tensor]>,
    parser: Arc<ExampleParser>,
    signature: Signature,
}

impl Dataset for ParsedDataset {
    fn kind(&self) -> &str {
        "ParseExampleV2"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        let (parser, defaults) = (Arc::clone(&self.parser), Arc::clone(&self.defaults));
        Ok(Box::new(Parallel::new(scope, input, self.calls, move |element| {
            let (parser, defaults) = (Arc::clone(&parser), Arc::clone(&defaults));
            Box::pin(async move {
                let [records] = &element[..] else {
                    return Err(invalid_argument!(
                        "expected elements of one vector of strings, got {} components",
                        element.len()
                    ));
                };
                // Several batches are parsed at once already.
                parser.parse(records, &defaults, 1).map(Some)
            })
        })))
    }
}

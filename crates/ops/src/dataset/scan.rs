//! `ScanDataset`: a function of each element and a state that it hands on.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::map::settle;
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalScanDataset",
        inputs: &["input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Tstate: list(type) >= 1",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "preserve_cardinality: bool = false",
        ],
        kernels: &[dataset::<Scan>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ScanDataset",
        inputs: &["input_dataset: variant", "initial_state: Tstate", "other_arguments: Targuments"],
        outputs: &["handle: variant"],
        attrs: &[
            "f: func",
            "Tstate: list(type) >= 1",
            "Targuments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "preserve_cardinality: bool = false",
            "use_default_device: bool = true",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Scan>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Scan {
    function: Func,
    states: usize,
    preserve_cardinality: bool,
}

impl MakeDataset for Scan {
    fn new(attrs: &Attrs<'_>) -> Result<Scan> {
        Ok(Scan {
            function: attrs.func("f")?.clone(),
            states: attrs.dtypes("Tstate")?.len(),
            preserve_cardinality: attrs.bool("preserve_cardinality")?,
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        Ok(Arc::new(ScanDataset {
            input: inputs.dataset(0)?,
            initial: inputs.range(1..1 + self.states)?,
            function: Captured::new(&self.function, inputs.rest(1 + self.states)?),
            preserve_cardinality: self.preserve_cardinality,
            signature,
        }))
    }
}

#[derive(Debug)]
struct ScanDataset {
    input: DatasetRef,
    initial: Element,
    function: Captured,
    preserve_cardinality: bool,
    signature: Signature,
}

impl Dataset for ScanDataset {
    fn kind(&self) -> &str {
        "Scan"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        if self.preserve_cardinality { self.input.cardinality() } else { Cardinality::Unknown }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Scanned {
            input: scope.iterate(&*self.input)?,
            function: scope.function(&self.function)?,
            state: self.initial.clone(),
            preserve: self.preserve_cardinality,
        }))
    }
}

struct Scanned {
    input: Box<dyn Elements>,
    function: UserFunction,
    state: Element,
    preserve: bool,
}

impl Elements for Scanned {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Some(element) = self.input.next().await? else { return Ok(None) };
            let mut args = self.state.clone();
            args.extend(element);
            let result = self.function.call(args).await;
            let Some(mut state) = settle(result, self.preserve)? else {
                return Ok(None);
            };
            if state.len() < self.state.len() {
                return Err(invalid_argument!(
                    "the function of a scan returned {} values for {} of state",
                    state.len(),
                    self.state.len()
                ));
            }
            let outputs = state.split_off(self.state.len());
            for (old, new) in self.state.iter().zip(&state) {
                if old.dtype() != new.dtype() {
                    return Err(invalid_argument!(
                        "Got wrong type for scan_func return value: expected {}, got {}",
                        old.dtype(),
                        new.dtype()
                    ));
                }
            }
            self.state = state;
            Ok(Some(outputs))
        })
    }
}

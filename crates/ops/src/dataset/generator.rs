//! `GeneratorDataset`: elements that a function makes of a state, until it says that there are no
//! more.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Code, Result};

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[Op {
    name: "GeneratorDataset",
    inputs: &[
        "init_func_other_args: Tinit_func_args",
        "next_func_other_args: Tnext_func_args",
        "finalize_func_other_args: Tfinalize_func_args",
    ],
    outputs: &["handle: variant"],
    attrs: &[
        "init_func: func",
        "next_func: func",
        "finalize_func: func",
        "Tinit_func_args: list(type) >= 0",
        "Tnext_func_args: list(type) >= 0",
        "Tfinalize_func_args: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    stateful: true,
    kernels: &[dataset::<Generator>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Generator {
    /// The functions that begin, go on and end, and how many inputs each captured.
    functions: [(Func, usize); 3],
}

impl MakeDataset for Generator {
    fn new(attrs: &Attrs<'_>) -> Result<Generator> {
        let function = |name: &str| -> Result<(Func, usize)> {
            Ok((attrs.func(name)?.clone(), attrs.dtypes(&format!("T{name}_args"))?.len()))
        };
        Ok(Generator {
            functions: [function("init_func")?, function("next_func")?, function("finalize_func")?],
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let mut first = 0;
        let mut functions = Vec::with_capacity(3);
        for (function, count) in &self.functions {
            functions.push(Captured::new(function, inputs.range(first..first + count)?));
            first += count;
        }
        Ok(Arc::new(GeneratorDataset { functions, signature }))
    }
}

#[derive(Debug)]
struct GeneratorDataset {
    functions: Vec<Captured>,
    signature: Signature,
}

impl Dataset for GeneratorDataset {
    fn kind(&self) -> &str {
        "Generator"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Generated {
            init: scope.function(&self.functions[0])?,
            next: scope.function(&self.functions[1])?,
            finalize: scope.function(&self.functions[2])?,
            scope: scope.clone(),
            state: State::New,
        }))
    }
}

struct Generated {
    init: UserFunction,
    next: UserFunction,
    finalize: UserFunction,
    scope: Scope,
    state: State,
}

enum State {
    New,
    Running(Element),
    Ended,
}

impl Elements for Generated {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if let State::New = self.state {
                self.state = State::Running(self.init.call(Vec::new()).await?);
            }
            let State::Running(state) = &self.state else { return Ok(None) };
            match self.next.call(state.clone()).await {
                Ok(element) => Ok(Some(element)),
                Err(error) if error.code() == Code::OutOfRange => {
                    let state = state.clone();
                    self.state = State::Ended;
                    self.finalize.call(state).await?;
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        })
    }
}

impl Drop for Generated {
    fn drop(&mut self) {
        // What was begun is ended, also when nobody asks for the rest.
        if let State::Running(state) = std::mem::replace(&mut self.state, State::Ended) {
            let call = self.finalize.call(state);
            self.scope.spawn(async move { call.await.is_ok() }).detach();
        }
    }
}

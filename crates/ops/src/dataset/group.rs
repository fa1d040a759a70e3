//! `GroupByWindowDataset` and `GroupByReducerDataset`: elements brought together by a key.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
    into_tensor,
};
use super::memory::MemoryDataset;
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalGroupByReducerDataset",
        inputs: &[
            "input_dataset: variant",
            "key_func_other_arguments: Tkey_func_other_arguments",
            "init_func_other_arguments: Tinit_func_other_arguments",
            "reduce_func_other_arguments: Treduce_func_other_arguments",
            "finalize_func_other_arguments: Tfinalize_func_other_arguments",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "key_func: func",
            "init_func: func",
            "reduce_func: func",
            "finalize_func: func",
            "Tkey_func_other_arguments: list(type) >= 0",
            "Tinit_func_other_arguments: list(type) >= 0",
            "Treduce_func_other_arguments: list(type) >= 0",
            "Tfinalize_func_other_arguments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<ByReducer>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalGroupByWindowDataset",
        inputs: &[
            "input_dataset: variant",
            "key_func_other_arguments: Tkey_func_other_arguments",
            "reduce_func_other_arguments: Treduce_func_other_arguments",
            "window_size_func_other_arguments: Twindow_size_func_other_arguments",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "key_func: func",
            "reduce_func: func",
            "window_size_func: func",
            "Tkey_func_other_arguments: list(type) >= 0",
            "Treduce_func_other_arguments: list(type) >= 0",
            "Twindow_size_func_other_arguments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<ByWindow>()],
        ..Op::DEFAULT
    },
    Op {
        name: "GroupByReducerDataset",
        inputs: &[
            "input_dataset: variant",
            "key_func_other_arguments: Tkey_func_other_arguments",
            "init_func_other_arguments: Tinit_func_other_arguments",
            "reduce_func_other_arguments: Treduce_func_other_arguments",
            "finalize_func_other_arguments: Tfinalize_func_other_arguments",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "key_func: func",
            "init_func: func",
            "reduce_func: func",
            "finalize_func: func",
            "Tkey_func_other_arguments: list(type) >= 0",
            "Tinit_func_other_arguments: list(type) >= 0",
            "Treduce_func_other_arguments: list(type) >= 0",
            "Tfinalize_func_other_arguments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<ByReducer>()],
        ..Op::DEFAULT
    },
    Op {
        name: "GroupByWindowDataset",
        inputs: &[
            "input_dataset: variant",
            "key_func_other_arguments: Tkey_func_other_arguments",
            "reduce_func_other_arguments: Treduce_func_other_arguments",
            "window_size_func_other_arguments: Twindow_size_func_other_arguments",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "key_func: func",
            "reduce_func: func",
            "window_size_func: func",
            "Tkey_func_other_arguments: list(type) >= 0",
            "Treduce_func_other_arguments: list(type) >= 0",
            "Twindow_size_func_other_arguments: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<ByWindow>()],
        ..Op::DEFAULT
    },
];

/// Functions and how many inputs each captured, in the order of the inputs.
#[derive(Debug)]
struct Functions(Vec<(Func, usize)>);

impl Functions {
    fn new(attrs: &Attrs<'_>, names: &[&str]) -> Result<Functions> {
        names
            .iter()
            .map(|name| {
                let captured = attrs.dtypes(&format!("T{name}_other_arguments"))?.len();
                Ok((attrs.func(name)?.clone(), captured))
            })
            .collect::<Result<_>>()
            .map(Functions)
    }

    fn captured(&self, inputs: &Inputs<'_, '_>) -> Result<Vec<Captured>> {
        let mut first = 1;
        self.0
            .iter()
            .map(|(function, count)| {
                let captured = inputs.range(first..first + count)?;
                first += count;
                Ok(Captured::new(function, captured))
            })
            .collect()
    }
}

/// Calls a function that returns one `int64`.
async fn number(function: &UserFunction, args: Element, name: &str) -> Result<i64> {
    let results = function.call(args).await.map_err(|error| function.explain(error))?;
    match &results[..] {
        [value] if value.shape().is_scalar() => value.scalar_value(),
        _ => Err(invalid_argument!("`{name}` must return a scalar int64.")),
    }
}

#[derive(Debug)]
struct ByWindow(Functions);

impl MakeDataset for ByWindow {
    fn new(attrs: &Attrs<'_>) -> Result<ByWindow> {
        Functions::new(attrs, &["key_func", "reduce_func", "window_size_func"]).map(ByWindow)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let functions = self.0.captured(inputs)?;
        Ok(Arc::new(WindowsDataset { input: inputs.dataset(0)?, functions, signature }))
    }
}

#[derive(Debug)]
struct WindowsDataset {
    input: DatasetRef,
    functions: Vec<Captured>,
    signature: Signature,
}

impl Dataset for WindowsDataset {
    fn kind(&self) -> &str {
        "GroupByWindow"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Windows {
            input: Some(scope.iterate(&*self.input)?),
            key: scope.function(&self.functions[0])?,
            reduce: scope.function(&self.functions[1])?,
            window_size: scope.function(&self.functions[2])?,
            scope: scope.clone(),
            signature: self.input.signature().clone(),
            groups: BTreeMap::new(),
            sizes: FxHashMap::default(),
            current: None,
        }))
    }
}

struct Windows {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    key: UserFunction,
    reduce: UserFunction,
    window_size: UserFunction,
    scope: Scope,
    signature: Signature,
    /// By key; at the end they are given in the order of the keys.
    groups: BTreeMap<i64, Vec<Element>>,
    sizes: FxHashMap<i64, u64>,
    /// What the reduction of the last full group gives.
    current: Option<Box<dyn Elements>>,
}

impl Windows {
    /// Takes in elements until a group is full, or there are no more.
    async fn gather(&mut self) -> Result<()> {
        while let Some(input) = &mut self.input {
            let Some(element) = input.next().await? else {
                self.input = None;
                break;
            };
            let key = number(&self.key, element.clone(), "key_func").await?;
            let size = self.size(key).await?;
            let group = self.groups.entry(key).or_default();
            group.push(element);
            if group.len() as u64 == size {
                return self.flush(key).await;
            }
        }
        match self.groups.first_key_value() {
            Some((&key, _)) => self.flush(key).await,
            None => Ok(()),
        }
    }

    async fn size(&mut self, key: i64) -> Result<u64> {
        if let Some(size) = self.sizes.get(&key) {
            return Ok(*size);
        }
        let args = vec![Tensor::scalar(key)];
        let size = number(&self.window_size, args, "window_size_func").await?;
        let size = u64::try_from(size).ok().filter(|size| *size > 0).ok_or_else(|| {
            invalid_argument!("Window size must be greater than zero, but got {size}.")
        })?;
        self.sizes.insert(key, size);
        Ok(size)
    }

    async fn flush(&mut self, key: i64) -> Result<()> {
        let elements = Arc::new(self.groups.remove(&key).unwrap_or_default());
        let group = MemoryDataset { kind: "Window", elements, signature: self.signature.clone() };
        let args = vec![Tensor::scalar(key), into_tensor(Arc::new(group))];
        let reduced = self.reduce.dataset(args).await?;
        self.current = Some(self.scope.iterate(&*reduced)?);
        Ok(())
    }
}

impl Elements for Windows {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            loop {
                if let Some(current) = &mut self.current {
                    if let Some(element) = current.next().await? {
                        return Ok(Some(element));
                    }
                    self.current = None;
                }
                self.gather().await?;
                if self.current.is_none() {
                    return Ok(None);
                }
            }
        })
    }
}

#[derive(Debug)]
struct ByReducer(Functions);

impl MakeDataset for ByReducer {
    fn new(attrs: &Attrs<'_>) -> Result<ByReducer> {
        let names = ["key_func", "init_func", "reduce_func", "finalize_func"];
        Functions::new(attrs, &names).map(ByReducer)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let functions = self.0.captured(inputs)?;
        Ok(Arc::new(ReducedDataset { input: inputs.dataset(0)?, functions, signature }))
    }
}

#[derive(Debug)]
struct ReducedDataset {
    input: DatasetRef,
    functions: Vec<Captured>,
    signature: Signature,
}

impl Dataset for ReducedDataset {
    fn kind(&self) -> &str {
        "GroupByReducer"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Reduced {
            input: Some(scope.iterate(&*self.input)?),
            key: scope.function(&self.functions[0])?,
            init: scope.function(&self.functions[1])?,
            reduce: scope.function(&self.functions[2])?,
            finalize: scope.function(&self.functions[3])?,
            states: BTreeMap::new(),
        }))
    }
}

struct Reduced {
    /// Absent when all elements are reduced.
    input: Option<Box<dyn Elements>>,
    key: UserFunction,
    init: UserFunction,
    reduce: UserFunction,
    finalize: UserFunction,
    states: BTreeMap<i64, Element>,
}

impl Reduced {
    async fn reduce(&mut self) -> Result<()> {
        let Some(mut input) = self.input.take() else { return Ok(()) };
        while let Some(element) = input.next().await? {
            let key = number(&self.key, element.clone(), "key_func").await?;
            let mut args = match self.states.remove(&key) {
                Some(state) => state,
                None => {
                    let call = self.init.call(vec![Tensor::scalar(key)]);
                    call.await.map_err(|error| self.init.explain(error))?
                }
            };
            args.extend(element);
            let call = self.reduce.call(args);
            let state = call.await.map_err(|error| self.reduce.explain(error))?;
            self.states.insert(key, state);
        }
        Ok(())
    }
}

impl Elements for Reduced {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            self.reduce().await?;
            let Some((_, state)) = self.states.pop_first() else { return Ok(None) };
            let call = self.finalize.call(state);
            call.await.map(Some).map_err(|error| self.finalize.explain(error))
        })
    }
}

//! `GroupByWindowDataset` and `GroupByReducerDataset`: elements brought together by a key.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Code, Error, Result, Tensor, internal, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, into_tensor,
};
use super::memory::MemoryDataset;
use super::scope::{Captured, Scope, UserFunction, sole_dataset};

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

/// A dataset whose elements are put into groups. Kinds differ in what they make of the groups.
#[derive(Debug)]
struct GroupedDataset {
    kind: &'static str,
    input: DatasetRef,
    functions: Vec<Captured>,
    signature: Signature,
    start: fn(&GroupedDataset, &Scope) -> Result<Box<dyn Elements>>,
}

impl Dataset for GroupedDataset {
    fn kind(&self) -> &str {
        self.kind
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Without an end there are windows without end.
    fn cardinality(&self) -> Cardinality {
        match self.input.cardinality() {
            Cardinality::Infinite if self.kind == "GroupByWindow" => Cardinality::Infinite,
            _ => Cardinality::Unknown,
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        (self.start)(self, scope)
    }
}

/// Calls a function that returns one `int64`.
async fn number(function: &UserFunction, args: Element, name: &str) -> Result<i64> {
    match &function.call(args).await?[..] {
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
        Ok(Arc::new(GroupedDataset {
            kind: "GroupByWindow",
            input: inputs.dataset(0)?,
            functions: self.0.captured(inputs)?,
            signature,
            start: Windows::start,
        }))
    }
}

struct Windows {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    key: UserFunction,
    reduce: UserFunction,
    reduce_name: String,
    window_size: UserFunction,
    scope: Scope,
    signature: Signature,
    /// By key; at the end they are given in the order of the keys.
    groups: BTreeMap<i64, Vec<Element>>,
    sizes: FxHashMap<i64, u64>,
    /// How many groups were reduced.
    reductions: usize,
    /// What the reduction of the last full group gives.
    current: Option<Box<dyn Elements>>,
}

impl Windows {
    fn start(dataset: &GroupedDataset, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Windows {
            input: Some(scope.iterate(&*dataset.input)?),
            key: scope.function(&dataset.functions[0])?,
            reduce: scope.function(&dataset.functions[1])?,
            reduce_name: dataset.functions[1].name().to_owned(),
            window_size: scope.function(&dataset.functions[2])?,
            scope: scope.clone(),
            signature: dataset.input.signature().clone(),
            groups: BTreeMap::new(),
            sizes: FxHashMap::default(),
            reductions: 0,
            current: None,
        }))
    }

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

    /// Reduces a group. One whose reduction fails stays, as in TensorFlow, until it succeeds.
    async fn flush(&mut self, key: i64) -> Result<()> {
        let elements = Arc::new(self.groups.get(&key).cloned().unwrap_or_default());
        let group = MemoryDataset { kind: "Window", elements, signature: self.signature.clone() };
        let args = vec![Tensor::scalar(key), into_tensor(Arc::new(group))];
        let reduced = self.reduce.call(args).await.map_err(|error| self.explain(error))?;
        self.groups.remove(&key);
        let reduced = self.scope.iterate_nth(&*sole_dataset(&reduced)?, self.reductions)?;
        self.reductions += 1;
        self.current = Some(reduced);
        Ok(())
    }

    fn explain(&self, error: Error) -> Error {
        match error.code() {
            Code::Cancelled => error,
            code => internal!(
                "Got error code {} and message: {{\n{}\n}} \nfrom running user-defined function {}: ",
                code.name(),
                error.message(),
                self.reduce_name
            ),
        }
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
        Ok(Arc::new(GroupedDataset {
            kind: "GroupByReducer",
            input: inputs.dataset(0)?,
            functions: self.0.captured(inputs)?,
            signature,
            start: Reduced::start,
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
    fn start(dataset: &GroupedDataset, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Reduced {
            input: Some(scope.iterate(&*dataset.input)?),
            key: scope.function(&dataset.functions[0])?,
            init: scope.function(&dataset.functions[1])?,
            reduce: scope.function(&dataset.functions[2])?,
            finalize: scope.function(&dataset.functions[3])?,
            states: BTreeMap::new(),
        }))
    }

    /// Takes in all elements. One that fails leaves the state of its group as it was.
    async fn reduce(&mut self) -> Result<()> {
        while let Some(input) = &mut self.input {
            let Some(element) = input.next().await? else {
                self.input = None;
                break;
            };
            let key = number(&self.key, element.clone(), "key_func").await?;
            let state = match self.states.entry(key) {
                Entry::Occupied(state) => state.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(self.init.call(vec![Tensor::scalar(key)]).await?)
                }
            };
            let mut args = state.clone();
            args.extend(element);
            *state = self.reduce.call(args).await?;
        }
        Ok(())
    }
}

impl Elements for Reduced {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            self.reduce().await?;
            let Some((_, state)) = self.states.pop_first() else { return Ok(None) };
            self.finalize.call(state).await.map(Some)
        })
    }
}

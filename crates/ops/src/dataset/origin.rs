//! Where datasets come from: the node that made each, and the tensors that the node was given.
//!
//! A dataset is thus also a graph: that of the nodes which would make it again. It can be written as
//! a message, made into a dataset elsewhere, told apart from others, or changed and made anew.

use std::fmt;
use std::sync::Arc;

use tensorfleet_graph::{AttrList, AttrMap, AttrValue, Func, FunctionLibrary, NodeDef};
use tensorfleet_tensor::{DType, Result, Tensor, unimplemented_error};

use super::dataset::{Cardinality, Dataset, DatasetRef, Elements, Signature, dataset_in};
use super::index::Indexed;
use super::scope::Scope;

/// The node that made a dataset.
pub(crate) struct Origin {
    pub(super) op: Arc<str>,
    pub(super) attrs: Arc<AttrMap>,
    pub(super) inputs: Vec<Tensor>,
    /// The functions that the attributes name.
    pub(super) library: Arc<FunctionLibrary>,
}

/// A dataset that remembers its origin.
pub(super) struct Made {
    pub(super) dataset: DatasetRef,
    pub(super) origin: Origin,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dataset.fmt(f)
    }
}

impl Dataset for Made {
    fn kind(&self) -> &str {
        self.dataset.kind()
    }

    fn signature(&self) -> &Signature {
        self.dataset.signature()
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        self.dataset.inputs()
    }

    fn options(&self) -> Vec<u8> {
        self.dataset.options()
    }

    fn cardinality(&self) -> Cardinality {
        self.dataset.cardinality()
    }

    fn batch_size(&self) -> Option<u64> {
        self.dataset.batch_size()
    }

    fn title(&self) -> String {
        self.dataset.title()
    }

    fn origin(&self) -> Option<&Origin> {
        Some(&self.origin)
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        self.dataset.indexed()
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.dataset.check_shuffling(&self.origin.op)
    }

    fn check_external_state(&self) -> Result<()> {
        super::external_state::check_functions(&self.origin)?;
        self.dataset.check_external_state()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        self.dataset.iterate(&scope.with_library(&self.origin.library))
    }
}

/// A dataset as a graph.
#[derive(Debug, Default)]
pub(super) struct DatasetGraph {
    pub(super) nodes: Vec<NodeDef>,
    pub(super) library: FunctionLibrary,
}

impl DatasetGraph {
    /// The graph that makes a dataset. Its last node is a `_Retval` of the dataset.
    pub(super) fn new(dataset: &DatasetRef) -> Result<DatasetGraph> {
        let mut graph = DatasetGraph::default();
        let output = graph.add_dataset(dataset)?;
        graph.nodes.push(NodeDef {
            name: "dataset".to_owned(),
            op: "_Retval".to_owned(),
            inputs: vec![output],
            attrs: attrs([("T", AttrValue::Type(DType::Variant)), ("index", AttrValue::Int(0))]),
            ..NodeDef::default()
        });
        Ok(graph)
    }

    /// Adds a node, and returns its name.
    pub(super) fn add(&mut self, op: &str, inputs: Vec<String>, attrs: AttrMap) -> String {
        let name = format!("{op}/_{}", self.nodes.len());
        self.nodes.push(NodeDef {
            name: name.clone(),
            op: op.to_owned(),
            inputs,
            attrs,
            ..NodeDef::default()
        });
        name
    }

    /// Adds a constant.
    pub(super) fn add_const(&mut self, tensor: Tensor) -> String {
        let dtype = AttrValue::Type(tensor.dtype());
        let attrs = attrs([("dtype", dtype), ("value", AttrValue::Tensor(tensor))]);
        self.add("Const", Vec::new(), attrs)
    }

    fn add_dataset(&mut self, dataset: &DatasetRef) -> Result<String> {
        let Some(origin) = dataset.origin() else {
            return Err(unimplemented_error!(
                "AsGraphDef is not implemented for {}.",
                dataset.title()
            ));
        };
        let inputs = origin.inputs.iter().map(|input| self.add_tensor(input));
        let inputs = inputs.collect::<Result<_>>()?;
        for value in origin.attrs.values() {
            self.add_functions(value, &origin.library);
        }
        Ok(self.add(&origin.op, inputs, AttrMap::clone(&origin.attrs)))
    }

    /// Adds what makes a tensor: a dataset, an array of datasets, or a constant.
    fn add_tensor(&mut self, tensor: &Tensor) -> Result<String> {
        if tensor.dtype() == DType::Variant && tensor.rank() <= 1 && tensor.num_elements() > 0 {
            let datasets: Option<Vec<DatasetRef>> =
                tensor.variants()?.iter().map(dataset_in).collect();
            match datasets.as_deref() {
                Some([dataset]) if tensor.rank() == 0 => return self.add_dataset(dataset),
                Some(datasets) => {
                    let parts = datasets.iter().map(|dataset| self.add_dataset(dataset));
                    let parts = parts.collect::<Result<Vec<_>>>()?;
                    let attrs = attrs([
                        ("N", AttrValue::Int(parts.len() as i64)),
                        ("T", AttrValue::Type(DType::Variant)),
                        ("axis", AttrValue::Int(0)),
                    ]);
                    return Ok(self.add("Pack", parts, attrs));
                }
                None => {}
            }
        }
        Ok(self.add_const(tensor.clone()))
    }

    /// Adds the functions that an attribute names, with those that they call.
    fn add_functions(&mut self, value: &AttrValue, from: &FunctionLibrary) {
        for function in functions_of(value).flat_map(|func| from.reachable(func)) {
            self.library.insert(function);
        }
    }
}

/// The functions that an attribute names.
pub(super) fn functions_of(value: &AttrValue) -> impl Iterator<Item = &Func> {
    let funcs = match value {
        AttrValue::Func(func) => std::slice::from_ref(func),
        AttrValue::List(AttrList::Funcs(funcs)) => funcs,
        _ => &[],
    };
    funcs.iter()
}

/// Attributes by name.
pub(super) fn attrs<const N: usize>(values: [(&str, AttrValue); N]) -> AttrMap {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

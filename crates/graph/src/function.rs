//! Functions: named subgraphs with a signature.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{AttrMap, NodeDef, OpDef};

/// A function as a client defines it. Inputs of its nodes are `argument`, `node:output:index` or
/// `^node`.
#[derive(Clone, Debug, Default)]
pub struct FunctionDef {
    pub signature: Arc<OpDef>,
    pub attrs: AttrMap,
    /// Attributes of arguments, by the argument's position.
    pub arg_attrs: BTreeMap<u32, AttrMap>,
    pub nodes: Vec<NodeDef>,
    /// For each output argument, the tensor in the body that it returns.
    pub returns: BTreeMap<String, String>,
    /// For each control output, the node in the body that must have run.
    pub control_returns: BTreeMap<String, String>,
}

/// The functions that a graph's nodes may call.
#[derive(Clone, Debug, Default)]
pub struct FunctionLibrary {
    functions: FxHashMap<String, Arc<FunctionDef>>,
    /// For a function, the function that computes its gradient.
    gradients: FxHashMap<String, String>,
}

impl FunctionLibrary {
    /// Finds a function by its name.
    pub fn find(&self, name: &str) -> Option<&Arc<FunctionDef>> {
        self.functions.get(name)
    }

    /// The name of the function that computes the gradient of `name`, where one is registered.
    pub fn gradient(&self, name: &str) -> Option<&str> {
        self.gradients.get(name).map(String::as_str)
    }

    /// Adds a function. One of the same name is replaced.
    pub fn insert(&mut self, function: Arc<FunctionDef>) {
        self.functions.insert(function.signature.name.clone(), function);
    }

    /// Registers `gradient` as the function that computes the gradient of `function`.
    pub fn insert_gradient(&mut self, function: String, gradient: String) {
        self.gradients.insert(function, gradient);
    }

    /// Removes a function.
    pub fn remove(&mut self, name: &str) {
        self.functions.remove(name);
    }

    /// Adds all functions of `other`.
    pub fn merge(&mut self, other: &FunctionLibrary) {
        self.functions.extend(other.functions.iter().map(|(k, v)| (k.clone(), Arc::clone(v))));
        self.gradients.extend(other.gradients.iter().map(|(k, v)| (k.clone(), v.clone())));
    }

    /// Writes down all functions, in order and to the last element of their constants.
    pub fn describe(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut names: Vec<&String> = self.functions.keys().collect();
        names.sort();
        names.into_iter().try_for_each(|name| write!(out, "{:#?}", self.functions[name]))
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// All functions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.functions.values()
    }

    /// All gradient registrations, in no particular order.
    pub fn gradients(&self) -> impl Iterator<Item = (&str, &str)> {
        self.gradients.iter().map(|(function, gradient)| (function.as_str(), gradient.as_str()))
    }
}

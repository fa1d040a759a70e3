//! Functions: named subgraphs with a signature.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::attr::same_attrs;
use crate::layers::Layers;
use crate::{AttrMap, Func, NodeDef, OpDef};

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

impl FunctionDef {
    /// Whether both mean the same function.
    pub fn same(&self, other: &FunctionDef) -> bool {
        let node = |a: &NodeDef, b: &NodeDef| {
            (&a.name, &a.op, &a.device, &a.inputs) == (&b.name, &b.op, &b.device, &b.inputs)
                && same_attrs(&a.attrs, &b.attrs)
        };
        std::ptr::eq(self, other)
            || (self.nodes.len() == other.nodes.len()
                && self.nodes.iter().zip(&other.nodes).all(|(a, b)| node(a, b))
                && (&self.returns, &self.control_returns)
                    == (&other.returns, &other.control_returns)
                && same_attrs(&self.attrs, &other.attrs)
                && self.arg_attrs.len() == other.arg_attrs.len()
                && self
                    .arg_attrs
                    .iter()
                    .zip(&other.arg_attrs)
                    .all(|((i, a), (k, b))| i == k && same_attrs(a, b))
                && format!("{:#?}", self.signature) == format!("{:#?}", other.signature))
    }
}

/// The functions that a graph's nodes may call. A copy costs little, however many there are, and so does
/// adding to it.
#[derive(Clone, Debug, Default)]
pub struct FunctionLibrary {
    functions: Layers<Arc<FunctionDef>>,
    /// For a function, the function that computes its gradient.
    gradients: Layers<String>,
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
        for function in other.iter() {
            self.insert(Arc::clone(function));
        }
        for (function, gradient) in other.gradients() {
            self.insert_gradient(function.to_owned(), gradient.to_owned());
        }
    }

    /// All functions that a call of `function` may reach: what it was made of, once it is compiled.
    pub fn reachable(&self, function: &Func) -> Vec<Arc<FunctionDef>> {
        let mut names = vec![function.name.as_str()];
        names_in(&function.attrs, &mut names);
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        while let Some(name) = names.pop() {
            if !seen.insert(name) {
                continue;
            }
            names.extend(self.gradient(name));
            let Some(def) = self.functions.get(name) else { continue };
            found.push(Arc::clone(def));
            for node in &def.nodes {
                names.push(&node.op);
                names_in(&node.attrs, &mut names);
            }
        }
        found
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.iter().next().is_none()
    }

    /// All functions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.functions.iter().map(|(_, function)| function)
    }

    /// All gradient registrations, in no particular order.
    pub fn gradients(&self) -> impl Iterator<Item = (&str, &str)> {
        self.gradients.iter().map(|(function, gradient)| (function, gradient.as_str()))
    }
}

/// The names of the functions that stand in attributes.
fn names_in<'a>(attrs: &'a AttrMap, names: &mut Vec<&'a str>) {
    for value in attrs.values() {
        value.each_func(&mut |func| {
            names.push(&func.name);
            names_in(&func.attrs, names);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttrValue;

    fn function(name: &str, calls: &[&str], takes: &[&str]) -> Arc<FunctionDef> {
        let node = |op: &&str| NodeDef { op: (*op).to_owned(), ..NodeDef::default() };
        let mut nodes: Vec<NodeDef> = calls.iter().map(node).collect();
        nodes.extend(takes.iter().map(|name| {
            let func = Func { name: (*name).to_owned(), attrs: AttrMap::new() };
            let attrs = AttrMap::from([("body".to_owned(), AttrValue::Func(func))]);
            NodeDef { op: "While".to_owned(), attrs, ..NodeDef::default() }
        }));
        let signature = Arc::new(OpDef { name: name.to_owned(), ..OpDef::default() });
        Arc::new(FunctionDef { signature, nodes, ..FunctionDef::default() })
    }

    #[test]
    fn what_a_call_reaches_includes_bodies_and_gradients() {
        let mut library = FunctionLibrary::default();
        library.insert(function("f", &["g", "Add"], &["h"]));
        library.insert(function("g", &["f"], &[]));
        library.insert(function("h", &[], &[]));
        library.insert(function("h_grad", &[], &[]));
        library.insert(function("other", &["f"], &[]));
        library.insert_gradient("h".to_owned(), "h_grad".to_owned());
        let reached = library.reachable(&Func { name: "f".to_owned(), attrs: AttrMap::new() });
        let mut names: Vec<&str> = reached.iter().map(|def| &*def.signature.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["f", "g", "h", "h_grad"]);
    }

    #[test]
    fn functions_are_compared_by_what_they_mean() {
        let f = function("f", &["g"], &["h"]);
        assert!(f.same(&function("f", &["g"], &["h"])));
        assert!(!f.same(&function("f", &["g"], &["i"])));
        assert!(!f.same(&function("e", &["g"], &["h"])));
    }
}

//! The graph: nodes with resolved edges, and the functions that they may call.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_tensor::{Result, invalid_argument};

use crate::attr::same_attrs;
use crate::node::parse_tensor_name;
use crate::validate;
use crate::{AttrMap, AttrValue, FunctionLibrary, Node, NodeDef, NodeId, OpDef, Output, Signature};

/// Finds the definition of an op by its name.
pub trait OpLookup {
    /// The definition of the op `name`, if it is known.
    fn op_def(&self, name: &str) -> Option<Arc<OpDef>>;
}

/// A dataflow graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    by_name: FxHashMap<Arc<str>, NodeId>,
    library: Arc<FunctionLibrary>,
}

impl Graph {
    /// Makes an empty graph whose nodes may call the functions of `library`.
    pub fn new(library: Arc<FunctionLibrary>) -> Graph {
        Graph { library, ..Graph::default() }
    }

    /// Makes a graph of a list of nodes.
    pub fn from_nodes(
        nodes: Vec<NodeDef>,
        library: Arc<FunctionLibrary>,
        ops: &dyn OpLookup,
    ) -> Result<Graph> {
        let mut graph = Graph::new(library);
        graph.extend(nodes, ops)?;
        Ok(graph)
    }

    /// Adds nodes. On an error the graph is as before.
    ///
    /// Nodes may come in any order and refer to each other and to nodes added earlier.
    pub fn extend(&mut self, defs: Vec<NodeDef>, ops: &dyn OpLookup) -> Result<()> {
        let before = self.nodes.len();
        let outcome = self.add_all(defs, ops);
        if outcome.is_err() {
            for node in self.nodes.drain(before..) {
                self.by_name.remove(&node.name);
            }
        }
        outcome
    }

    fn add_all(&mut self, defs: Vec<NodeDef>, ops: &dyn OpLookup) -> Result<()> {
        let first = self.nodes.len();
        let mut inputs = Vec::with_capacity(defs.len());
        let mut signatures = SignatureCache::default();
        let (mut texts, mut attributes) = (Texts::default(), Attributes::default());
        self.nodes.reserve(defs.len());
        self.by_name.reserve(defs.len());
        for def in defs {
            validate::node_name(&def.name)?;
            inputs.push(def.inputs);
            let (attrs, signature) =
                signatures.resolve(&def.op, &def.name, def.attrs, &self.library, ops)?;
            let op = texts.share(&def.op);
            self.insert(Node {
                name: def.name.into(),
                attrs: attributes.share(&op, attrs),
                op,
                device: texts.share(&def.device),
                inputs: Vec::new(),
                control_inputs: Vec::new(),
                signature,
            })?;
        }
        for (offset, texts) in inputs.into_iter().enumerate() {
            self.resolve_inputs(first + offset, &texts)?;
        }
        self.validate_from(first)
    }

    /// Checks that inputs exist and have the types that their consumers expect, and that every
    /// cycle is a loop's. Graphs made by [`Graph::extend`] are valid.
    pub fn validate(&self) -> Result<()> {
        self.validate_from(0)
    }

    fn validate_from(&self, first: usize) -> Result<()> {
        for node in &self.nodes[first..] {
            validate::inputs(self, node)?;
        }
        validate::acyclic(self)
    }

    fn insert(&mut self, node: Node) -> Result<NodeId> {
        let id = NodeId(
            u32::try_from(self.nodes.len()).map_err(|_| invalid_argument!("too many nodes"))?,
        );
        if self.by_name.contains_key(&node.name) {
            return Err(invalid_argument!("Node '{}' is not unique", node.name));
        }
        self.by_name.insert(Arc::clone(&node.name), id);
        self.nodes.push(node);
        Ok(id)
    }

    fn resolve_inputs(&mut self, index: usize, texts: &[String]) -> Result<()> {
        let mut node_inputs = Vec::with_capacity(texts.len());
        let mut control_inputs = Vec::new();
        for text in texts {
            let (name, output) = match text.strip_prefix('^') {
                Some(name) => (name, None),
                None => {
                    let (name, output) = parse_tensor_name(text);
                    (name, Some(output))
                }
            };
            let Some(&node) = self.by_name.get(name) else {
                return Err(invalid_argument!(
                    "Node '{}': Unknown input node '{text}'",
                    self.nodes[index].name
                ));
            };
            match output {
                Some(index) => node_inputs.push(Output { node, index }),
                None if control_inputs.contains(&node) => {}
                None => control_inputs.push(node),
            }
        }
        self.nodes[index].inputs = node_inputs;
        self.nodes[index].control_inputs = control_inputs;
        Ok(())
    }

    /// Adds one node whose inputs are already resolved. Its name must be new.
    pub fn add(&mut self, node: Node) -> Result<NodeId> {
        self.insert(node)
    }

    /// Makes a name that no node has yet, starting with `prefix`.
    pub fn unique_name(&self, prefix: &str) -> String {
        if !self.by_name.contains_key(prefix) {
            return prefix.to_owned();
        }
        (1u32..)
            .map(|i| format!("{prefix}_{i}"))
            .find(|name| !self.by_name.contains_key(name.as_str()))
            .expect("some number is free")
    }

    /// The nodes in the order of their ids.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All nodes with their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> + DoubleEndedIterator {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// A node as clients write it.
    pub fn node_def(&self, id: NodeId) -> NodeDef {
        let node = self.node(id);
        let data = node.inputs.iter().map(|input| {
            let name = &self.node(input.node).name;
            if input.index == 0 { name.to_string() } else { format!("{name}:{}", input.index) }
        });
        let control = node.control_inputs.iter().map(|id| format!("^{}", self.node(*id).name));
        NodeDef {
            name: node.name.to_string(),
            op: node.op.to_string(),
            device: node.device.to_string(),
            inputs: data.chain(control).collect(),
            attrs: AttrMap::clone(&node.attrs),
        }
    }

    /// A node for changing. Its name must stay.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Finds a node by its name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The functions that nodes may call.
    pub fn library(&self) -> &Arc<FunctionLibrary> {
        &self.library
    }

    /// Replaces the functions that nodes may call.
    pub fn set_library(&mut self, library: Arc<FunctionLibrary>) {
        self.library = library;
    }

    /// The part of the graph whose nodes `keep` says yes to. Edges from dropped nodes must be gone:
    /// control edges from them are dropped, data edges are an error of the caller.
    pub fn retain(&self, keep: impl Fn(NodeId) -> bool) -> Graph {
        let mut renamed = vec![None; self.nodes.len()];
        let mut kept = Graph::new(Arc::clone(&self.library));
        for (id, node) in self.iter().filter(|(id, _)| keep(*id)) {
            let new = NodeId(kept.nodes.len() as u32);
            renamed[id.index()] = Some(new);
            kept.by_name.insert(Arc::clone(&node.name), new);
            kept.nodes.push(node.clone());
        }
        for node in &mut kept.nodes {
            for input in &mut node.inputs {
                input.node = renamed[input.node.index()].expect("a kept node's inputs are kept");
            }
            node.control_inputs.retain_mut(|id| match renamed[id.index()] {
                Some(new) => {
                    *id = new;
                    true
                }
                None => false,
            });
        }
        kept
    }
}

/// Texts that many nodes have in common.
#[derive(Default)]
struct Texts(FxHashSet<Arc<str>>);

impl Texts {
    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.0.insert(Arc::clone(&text));
        text
    }
}

/// Nodes of one op mostly repeat the attributes of the one before.
#[derive(Default)]
struct Attributes(FxHashMap<Arc<str>, Arc<AttrMap>>);

impl Attributes {
    fn share(&mut self, op: &Arc<str>, attrs: AttrMap) -> Arc<AttrMap> {
        // Constants differ, and it would take long to see that large ones do.
        let has_tensor = attrs.values().any(|value| matches!(value, AttrValue::Tensor(_)));
        match self.0.get(op).filter(|known| !has_tensor && same_attrs(known, &attrs)) {
            Some(known) => Arc::clone(known),
            None => {
                let attrs = Arc::new(attrs);
                self.0.insert(Arc::clone(op), Arc::clone(&attrs));
                attrs
            }
        }
    }
}

/// Completes attributes with defaults and resolves signatures. Nodes of one op mostly repeat the
/// same types, so equal ones share a [`Signature`].
#[derive(Default)]
struct SignatureCache {
    defs: FxHashMap<String, Option<Arc<OpDef>>>,
    last: FxHashMap<String, Arc<Signature>>,
}

impl SignatureCache {
    fn resolve(
        &mut self,
        op: &str,
        node: &str,
        mut attrs: AttrMap,
        library: &FunctionLibrary,
        ops: &dyn OpLookup,
    ) -> Result<(AttrMap, Option<Arc<Signature>>)> {
        let def = match self.defs.get(op) {
            Some(def) => def.clone(),
            None => {
                let def = find_def(op, library, ops);
                self.defs.insert(op.to_owned(), def.clone());
                def
            }
        };
        let Some(def) = def else { return Ok((attrs, None)) };
        validate::attrs(&def, node, &mut attrs)?;
        let at_node = |error: tensorfleet_tensor::Error| error.at_node(node);
        let inputs = def.input_types(&attrs).map_err(at_node)?;
        let outputs = def.output_types(&attrs).map_err(at_node)?;
        let same = self.last.get(op).filter(|s| s.inputs == inputs && s.outputs == outputs);
        let signature = match same {
            Some(signature) => Arc::clone(signature),
            None => {
                let signature = Arc::new(Signature { def, inputs, outputs });
                self.last.insert(op.to_owned(), Arc::clone(&signature));
                signature
            }
        };
        Ok((attrs, Some(signature)))
    }
}

/// The definition of an op, or of a function that is called like one.
pub fn find_def(op: &str, library: &FunctionLibrary, ops: &dyn OpLookup) -> Option<Arc<OpDef>> {
    library.find(op).map(|function| Arc::clone(&function.signature)).or_else(|| ops.op_def(op))
}

/// Resolves the signature of a node that a rewrite makes, completing its attributes.
pub fn signature(
    op: &str,
    attrs: AttrMap,
    library: &FunctionLibrary,
    ops: &dyn OpLookup,
) -> Result<(Arc<AttrMap>, Arc<Signature>)> {
    match SignatureCache::default().resolve(op, op, attrs, library, ops)? {
        (attrs, Some(signature)) => Ok((Arc::new(attrs), signature)),
        (_, None) => Err(invalid_argument!("Op type not registered '{op}'")),
    }
}

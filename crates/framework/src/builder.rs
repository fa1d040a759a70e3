//! A graph under construction: every node is checked, typed and given shapes as it is added.
//!
//! Gradients, and whoever rewrites graphs with them, add nodes through [`GraphBuilder`]; so does
//! the Rust API. Types are inferred from inputs, so that most nodes need no attributes.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, FunctionLibrary, Graph, Node, NodeId, OpDef, Output, find_def,
    signature,
};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument};

use crate::{Registry, ShapeContext};

/// A graph that is being built.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: Graph,
    registry: Arc<Registry>,
    /// For each node the shapes of its outputs, as far as they are known.
    shapes: Vec<Vec<PartialShape>>,
    /// The next number to try for a name that is taken.
    numbers: FxHashMap<String, u32>,
}

/// Chooses a device for a node, given its op and the device asked for so far.
pub type DeviceFn = dyn Fn(&NewNode, &str) -> String + Send + Sync;

/// What new nodes have in common.
#[derive(Clone, Default)]
pub struct BuildScope {
    /// The prefix of names, without the final slash; empty at the top.
    pub name: String,
    /// Choosers of devices, the outermost first.
    pub devices: Vec<Arc<DeviceFn>>,
    /// Nodes that run before.
    pub control_inputs: Vec<NodeId>,
    /// Nodes to be placed with.
    pub colocate_with: Vec<NodeId>,
}

impl fmt::Debug for BuildScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildScope")
            .field("name", &self.name)
            .field("control_inputs", &self.control_inputs)
            .field("colocate_with", &self.colocate_with)
            .finish_non_exhaustive()
    }
}

/// One argument of a new node.
#[derive(Clone, Debug)]
pub enum Input {
    One(Output),
    /// The tensors of an argument that is a list.
    List(Vec<Output>),
}

/// A node to be added.
#[derive(Clone, Debug, Default)]
pub struct NewNode {
    pub op: String,
    /// The wanted name, without the scope's; the op's name if absent.
    pub name: Option<String>,
    pub inputs: Vec<Input>,
    pub control_inputs: Vec<NodeId>,
    pub attrs: AttrMap,
}

impl NewNode {
    /// A node of the given op.
    pub fn new(op: &str) -> NewNode {
        NewNode { op: op.to_owned(), ..NewNode::default() }
    }

    /// Adds an argument that is one tensor.
    #[must_use]
    pub fn input(mut self, output: Output) -> NewNode {
        self.inputs.push(Input::One(output));
        self
    }

    /// Adds an argument that is a list of tensors.
    #[must_use]
    pub fn list(mut self, outputs: &[Output]) -> NewNode {
        self.inputs.push(Input::List(outputs.to_vec()));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> NewNode {
        self.attrs.insert(name.to_owned(), value.into());
        self
    }

    /// Asks for a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> NewNode {
        self.name = Some(name.to_owned());
        self
    }
}

/// The attribute that lists the nodes to be placed with.
const COLOCATION: &str = "_class";

/// How far values of constants are followed through nodes that compute shapes.
const MAX_FOLLOW: usize = 32;

impl GraphBuilder {
    /// An empty graph of ops that `registry` knows.
    pub fn new(registry: Arc<Registry>) -> GraphBuilder {
        let graph = Graph::new(Arc::default());
        GraphBuilder { graph, registry, shapes: Vec::new(), numbers: FxHashMap::default() }
    }

    /// Goes on building a graph. Shapes are inferred where all of a node's inputs come before it.
    pub fn from_graph(graph: Graph, registry: Arc<Registry>) -> GraphBuilder {
        let mut builder =
            GraphBuilder { graph, registry, shapes: Vec::new(), numbers: FxHashMap::default() };
        for index in 0..builder.graph.len() {
            let node = builder.graph.node(NodeId(index as u32));
            let unknown = vec![PartialShape::UNKNOWN; node.output_types().len()];
            let shapes = builder.infer_shapes(node).unwrap_or(unknown);
            builder.shapes.push(shapes);
        }
        builder
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph for changing: names and numbers of nodes must stay.
    pub fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// The finished graph.
    pub fn into_graph(self) -> Graph {
        self.graph
    }

    /// The ops that nodes may be of.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Adds functions that nodes may call.
    pub fn add_functions(&mut self, functions: &FunctionLibrary) {
        let mut library = FunctionLibrary::clone(self.graph.library());
        library.merge(functions);
        self.graph.set_library(Arc::new(library));
    }

    /// The definition of an op or a function.
    pub fn op_def(&self, op: &str) -> Result<Arc<OpDef>> {
        find_def(op, self.graph.library(), &*self.registry)
            .ok_or_else(|| invalid_argument!("there is no op of the name {op}"))
    }

    /// The element type of a tensor.
    pub fn dtype(&self, output: Output) -> DType {
        let types = self.graph.node(output.node).output_types();
        types.get(output.index as usize).map_or(DType::Float, |t| t.dtype)
    }

    /// What is known of the shape of a tensor.
    pub fn shape(&self, output: Output) -> &PartialShape {
        self.shapes
            .get(output.node.index())
            .and_then(|shapes| shapes.get(output.index as usize))
            .unwrap_or(&PartialShape::UNKNOWN)
    }

    /// Says what is known of the shape of a tensor, beyond what its op says.
    pub fn set_shape(&mut self, output: Output, shape: PartialShape) {
        let known = self.shapes.get_mut(output.node.index());
        if let Some(known) = known.and_then(|shapes| shapes.get_mut(output.index as usize)) {
            *known = shape;
        }
    }

    /// A name that no node has.
    pub fn unique_name(&mut self, name: &str) -> String {
        if self.graph.find(name).is_none() && !self.numbers.contains_key(name) {
            self.numbers.insert(name.to_owned(), 1);
            return name.to_owned();
        }
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        loop {
            let candidate = format!("{name}_{number}");
            *number += 1;
            if self.graph.find(&candidate).is_none() {
                return candidate;
            }
        }
    }

    /// Adds a node: infers attributes from inputs, checks types and shapes.
    pub fn add(&mut self, scope: &BuildScope, mut new: NewNode) -> Result<NodeId> {
        let def = self.op_def(&new.op)?;
        self.infer_attrs(&def, &mut new)?;
        let mut device = String::new();
        for choose in &scope.devices {
            device = choose(&new, &device);
        }
        self.colocate(scope, &mut new, &mut device);
        let wanted = new.name.take().unwrap_or_else(|| new.op.clone());
        let wanted =
            if scope.name.is_empty() { wanted } else { format!("{}/{wanted}", scope.name) };
        let inputs: Vec<Output> = new
            .inputs
            .into_iter()
            .flat_map(|input| match input {
                Input::One(output) => vec![output],
                Input::List(outputs) => outputs,
            })
            .collect();
        let (attrs, signature) =
            signature(&new.op, new.attrs, self.graph.library(), &*self.registry)?;
        let mut control_inputs = new.control_inputs;
        for &control in &scope.control_inputs {
            if !control_inputs.contains(&control) && !inputs.iter().any(|i| i.node == control) {
                control_inputs.push(control);
            }
        }
        let mut node = Node {
            name: "".into(),
            op: new.op.into(),
            device: device.into(),
            attrs,
            inputs,
            control_inputs,
            signature: Some(signature),
        };
        self.check_types(&node)?;
        let shapes = self.infer_shapes(&node)?;
        node.name = self.unique_name(&wanted).into();
        let id = self.graph.add(node)?;
        self.shapes.push(shapes);
        Ok(id)
    }

    /// Adds a node that has one output, or whose first is wanted.
    pub fn add_output(&mut self, scope: &BuildScope, new: NewNode) -> Result<Output> {
        Ok(Output { node: self.add(scope, new)?, index: 0 })
    }

    /// Adds a constant.
    pub fn constant(&mut self, scope: &BuildScope, tensor: Tensor) -> Result<Output> {
        let node = NewNode::new("Const").attr("dtype", tensor.dtype()).attr("value", tensor);
        self.add_output(scope, node)
    }

    fn colocate(&self, scope: &BuildScope, new: &mut NewNode, device: &mut String) {
        if scope.colocate_with.is_empty() {
            return;
        }
        let classes = scope
            .colocate_with
            .iter()
            .map(|id| format!("loc:@{}", self.graph.node(*id).name).into())
            .collect();
        new.attrs.insert(COLOCATION.to_owned(), AttrValue::List(AttrList::Strings(classes)));
        // The nodes to be placed with decide.
        if let Some(first) = scope.colocate_with.first() {
            *device = self.graph.node(*first).device.to_string();
        }
    }

    /// Sets the attributes that the inputs' types and numbers imply.
    fn infer_attrs(&self, def: &OpDef, new: &mut NewNode) -> Result<()> {
        if new.inputs.len() != def.inputs.len() {
            return Err(invalid_argument!(
                "{} has {} arguments ({}), but {} were given",
                new.op,
                def.inputs.len(),
                def.inputs.iter().map(|arg| arg.name.as_str()).collect::<Vec<_>>().join(", "),
                new.inputs.len()
            ));
        }
        let attrs = &mut new.attrs;
        for (arg, input) in def.inputs.iter().zip(&new.inputs) {
            let outputs = match input {
                Input::One(_) if arg.is_list() => {
                    return Err(invalid_argument!(
                        "argument '{}' of {} is a list of tensors, but one tensor was given",
                        arg.name,
                        def.name
                    ));
                }
                Input::List(_) if !arg.is_list() => {
                    return Err(invalid_argument!(
                        "argument '{}' of {} is one tensor, but a list was given",
                        arg.name,
                        def.name
                    ));
                }
                Input::One(output) => std::slice::from_ref(output),
                Input::List(outputs) => outputs,
            };
            if let Some(name) = &arg.type_list_attr {
                let types = outputs.iter().map(|&output| self.dtype(output)).collect();
                attrs.insert_new(name, AttrValue::List(AttrList::Types(types)));
            }
            if let Some(name) = &arg.number_attr {
                attrs.insert_new(name, AttrValue::Int(outputs.len() as i64));
            }
            if let (Some(name), Some(&first)) = (&arg.type_attr, outputs.first()) {
                let dtype = self.dtype(first);
                attrs.insert_new(name, AttrValue::Type(dtype));
            }
        }
        Ok(())
    }

    fn check_types(&self, node: &Node) -> Result<()> {
        let want = node.input_types();
        if want.len() != node.inputs.len() {
            return Err(invalid_argument!(
                "{} takes {} tensors with these attributes, but {} were given",
                node.op,
                want.len(),
                node.inputs.len()
            ));
        }
        for (index, (&input, want)) in node.inputs.iter().zip(want).enumerate() {
            let have = self.dtype(input);
            if have != want.dtype {
                let signature = node.signature.as_ref();
                let ranges = signature.and_then(|s| s.def.input_ranges(&node.attrs).ok());
                let name = ranges
                    .as_ref()
                    .and_then(|ranges| ranges.iter().find(|(_, range)| range.contains(&index)))
                    .map_or(String::new(), |(name, _)| format!(" '{name}'"));
                return Err(invalid_argument!(
                    "argument{name} of {} must be {}, but {} is {have}",
                    node.op,
                    want.dtype,
                    self.describe(input)
                ));
            }
        }
        Ok(())
    }

    /// A tensor's name for messages.
    pub fn describe(&self, output: Output) -> String {
        format!("{}:{}", self.graph.node(output.node).name, output.index)
    }

    fn infer_shapes(&self, node: &Node) -> Result<Vec<PartialShape>> {
        let outputs = node.output_types().len();
        let shapes = match self.registry.shape_fn(&node.op) {
            Some(shape) => shape(&ShapeContext::new(node, self))?,
            None => Vec::new(),
        };
        let unknown = std::iter::repeat(PartialShape::UNKNOWN);
        Ok(shapes.into_iter().chain(unknown).take(outputs).collect())
    }

    /// The value of a tensor that does not depend on anything that a step feeds or computes.
    pub fn constant_value(&self, output: Output) -> Option<Tensor> {
        let node = self.graph.node(output.node);
        match (&*node.op, node.attrs.get("value")) {
            ("Const", Some(AttrValue::Tensor(tensor))) => Some(tensor.clone()),
            ("Identity", _) => self.constant_value(*node.inputs.first()?),
            ("Shape" | "Size" | "Rank" | "Pack" | "ConcatV2" | "StridedSlice" | "Cast", _) => {
                let dims = self.partial_values(output, 0)?;
                let values: Option<Vec<i64>> = dims.into_iter().collect();
                tensor_of(self.dtype(output), self.shape(output), &values?)
            }
            _ => None,
        }
    }

    /// The elements of a small integer tensor, `None` where they are not known: how shapes are
    /// followed through the nodes that compute them.
    pub fn partial_values(&self, output: Output, depth: usize) -> Option<Vec<Option<i64>>> {
        if depth > MAX_FOLLOW {
            return None;
        }
        let node = self.graph.node(output.node);
        let input = |index: usize| node.inputs.get(index).copied();
        match &*node.op {
            "Const" => {
                let Some(AttrValue::Tensor(tensor)) = node.attrs.get("value") else { return None };
                if tensor.num_elements() > MAX_FOLLOWED_ELEMENTS {
                    return None;
                }
                Some(tensor.to_i64_vec().ok()?.into_iter().map(Some).collect())
            }
            "Identity" | "Cast" => self.partial_values(input(0)?, depth + 1),
            "Shape" => {
                let dims = self.shape(input(0)?).dims.as_ref()?;
                Some(dims.iter().map(|dim| dim.map(|dim| dim as i64)).collect())
            }
            "Size" => {
                let shape = self.shape(input(0)?).to_shape()?;
                Some(vec![Some(shape.num_elements() as i64)])
            }
            "Rank" => Some(vec![Some(self.shape(input(0)?).rank()? as i64)]),
            "Pack" => {
                let mut values = Vec::new();
                for &part in &node.inputs {
                    if self.shape(part).rank() != Some(0) {
                        return None;
                    }
                    let value = self.partial_values(part, depth + 1);
                    values.push(value.and_then(|v| v.first().copied()).flatten());
                }
                Some(values)
            }
            "ConcatV2" => {
                let parts = node.inputs.len().checked_sub(1)?;
                let mut values = Vec::new();
                for &part in &node.inputs[..parts] {
                    let len = self.shape(part).to_shape().filter(|shape| shape.rank() == 1)?;
                    let unknown = || vec![None; len.num_elements().min(MAX_FOLLOWED_ELEMENTS)];
                    values.extend(self.partial_values(part, depth + 1).unwrap_or_else(unknown));
                }
                Some(values)
            }
            "StridedSlice" => self.sliced_values(node, depth),
            _ => None,
        }
    }

    /// The common slices of a shape: one element, or a run of elements.
    fn sliced_values(&self, node: &Node, depth: usize) -> Option<Vec<Option<i64>>> {
        let values = self.partial_values(*node.inputs.first()?, depth + 1)?;
        let number = |index: usize| {
            let known = self.partial_values(*node.inputs.get(index)?, depth + 1)?;
            if let [Some(value)] = known[..] { Some(value) } else { None }
        };
        let mask = |name: &str| match node.attrs.get(name) {
            Some(AttrValue::Int(bits)) => *bits & 1 == 1,
            _ => false,
        };
        if mask("new_axis_mask") || mask("ellipsis_mask") {
            return None;
        }
        let len = values.len() as i64;
        let at = |value: i64| if value < 0 { value + len } else { value }.clamp(0, len);
        let (begin, stride) = (number(1)?, number(3)?);
        if stride != 1 {
            return None;
        }
        let begin = if mask("begin_mask") { 0 } else { at(begin) };
        let end = if mask("shrink_axis_mask") {
            begin + 1
        } else if mask("end_mask") {
            len
        } else {
            at(number(2)?)
        };
        values.get(begin as usize..(end as usize).max(begin as usize)).map(<[_]>::to_vec)
    }
}

/// Longer vectors are data, not shapes.
const MAX_FOLLOWED_ELEMENTS: usize = 1024;

fn tensor_of(dtype: DType, shape: &PartialShape, values: &[i64]) -> Option<Tensor> {
    let shape = shape.to_shape()?;
    match dtype {
        DType::Int32 => {
            let values: Vec<i32> =
                values.iter().map(|&v| i32::try_from(v).ok()).collect::<Option<_>>()?;
            Tensor::from_slice(shape, &values).ok()
        }
        DType::Int64 => Tensor::from_slice(shape, values).ok(),
        _ => None,
    }
}

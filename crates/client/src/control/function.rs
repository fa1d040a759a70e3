//! Functions: from a graph with arguments to a definition that nodes can call.

use std::collections::BTreeMap;
use std::sync::Arc;

use tensorfleet_framework::{BuildScope, GraphBuilder, NewNode, Registry};
use tensorfleet_graph::{
    ArgDef, AttrMap, FunctionDef, FunctionLibrary, Graph, NodeDef, NodeId, OpDef, Output,
};
use tensorfleet_tensor::{DType, PartialShape, Result, internal};

/// A function under construction, node by node.
pub(super) struct FunctionBuilder {
    pub(super) builder: GraphBuilder,
    pub(super) args: Vec<NodeId>,
    scope: BuildScope,
}

impl FunctionBuilder {
    /// A function that may call the functions of `library`.
    pub(super) fn new(registry: &Arc<Registry>, library: &FunctionLibrary) -> FunctionBuilder {
        let mut builder = GraphBuilder::new(Arc::clone(registry));
        builder.add_functions(library);
        FunctionBuilder { builder, args: Vec::new(), scope: BuildScope::default() }
    }

    /// Goes on with a graph whose arguments are `args`.
    pub(super) fn from_builder(builder: GraphBuilder, args: Vec<NodeId>) -> FunctionBuilder {
        FunctionBuilder { builder, args, scope: BuildScope::default() }
    }

    /// Adds an argument.
    pub(super) fn arg(&mut self, dtype: DType) -> Result<Output> {
        let output = add_arg(&mut self.builder, self.args.len(), dtype, PartialShape::UNKNOWN)?;
        self.args.push(output.node);
        Ok(output)
    }

    /// Adds a node and returns it.
    pub(super) fn node(&mut self, node: NewNode) -> Result<NodeId> {
        self.builder.add(&self.scope, node)
    }

    /// Adds a node and returns its first output.
    pub(super) fn add(&mut self, node: NewNode) -> Result<Output> {
        self.builder.add_output(&self.scope, node)
    }

    /// Ends the function.
    pub(super) fn finish(&self, name: &str, returns: &[Output]) -> Result<FunctionDef> {
        let args: Vec<(DType, Option<NodeId>)> = self
            .args
            .iter()
            .map(|&node| (self.builder.dtype(Output { node, index: 0 }), Some(node)))
            .collect();
        let returns: Vec<(DType, Return)> = returns
            .iter()
            .map(|&output| (self.builder.dtype(output), Return::Tensor(output)))
            .collect();
        define(name, self.builder.graph(), &args, &returns)
    }
}

/// Adds the node that stands for an argument of a function.
pub(super) fn add_arg(
    builder: &mut GraphBuilder,
    number: usize,
    dtype: DType,
    shape: PartialShape,
) -> Result<Output> {
    let node = NewNode::new("Placeholder").named(&format!("arg_{number}"));
    let node = node.attr("dtype", dtype).attr("shape", shape);
    builder.add_output(&BuildScope::default(), node)
}

/// What a function returns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Return {
    Tensor(Output),
    /// An argument as it came.
    Arg(usize),
}

/// Makes a definition of a graph. Arguments without a node are not used by it.
pub(super) fn define(
    name: &str,
    graph: &Graph,
    args: &[(DType, Option<NodeId>)],
    returns: &[(DType, Return)],
) -> Result<FunctionDef> {
    let arg_name = |number: usize| format!("arg_{number}");
    let is_arg = |node: NodeId| args.iter().position(|(_, arg)| *arg == Some(node));
    let text = |output: Output| -> Result<String> {
        if let Some(number) = is_arg(output.node) {
            return Ok(arg_name(number));
        }
        let node = graph.node(output.node);
        let signature = node
            .signature
            .as_ref()
            .ok_or_else(|| internal!("the op {} of a function is not known", node.op))?;
        let ranges = signature.def.output_ranges(&node.attrs)?;
        let index = output.index as usize;
        let found = ranges.iter().find(|(_, range)| range.contains(&index));
        let (output, range) =
            found.ok_or_else(|| internal!("{} has no output {index}", node.name))?;
        Ok(format!("{}:{output}:{}", node.name, index - range.start))
    };
    let mut nodes = Vec::new();
    let mut is_stateful = false;
    for (id, node) in graph.iter() {
        if is_arg(id).is_some() || &*node.op == "_Retval" {
            continue;
        }
        is_stateful |= node.is_stateful();
        let mut inputs: Vec<String> =
            node.inputs.iter().map(|input| text(*input)).collect::<Result<_>>()?;
        let controls = node.control_inputs.iter().filter(|id| is_arg(**id).is_none());
        inputs.extend(controls.map(|id| format!("^{}", graph.node(*id).name)));
        nodes.push(NodeDef {
            name: node.name.to_string(),
            op: node.op.to_string(),
            device: node.device.to_string(),
            inputs,
            attrs: AttrMap::clone(&node.attrs),
        });
    }
    let argument =
        |name: String, dtype: DType| ArgDef { name, dtype: Some(dtype), ..ArgDef::default() };
    let signature = OpDef {
        name: name.to_owned(),
        inputs: args.iter().enumerate().map(|(i, (t, _))| argument(arg_name(i), *t)).collect(),
        outputs: returns
            .iter()
            .enumerate()
            .map(|(i, (dtype, _))| argument(format!("out_{i}"), *dtype))
            .collect(),
        is_stateful,
        ..OpDef::default()
    };
    let mut by_name = BTreeMap::new();
    for (number, (_, value)) in returns.iter().enumerate() {
        let value = match value {
            Return::Tensor(output) => text(*output)?,
            Return::Arg(number) => arg_name(*number),
        };
        by_name.insert(format!("out_{number}"), value);
    }
    Ok(FunctionDef {
        signature: Arc::new(signature),
        nodes,
        returns: by_name,
        ..FunctionDef::default()
    })
}

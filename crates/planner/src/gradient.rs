//! `SymbolicGradient`: the function that computes the gradient of another.
//!
//! It takes the arguments of the other function and the gradients of its results, and returns a
//! gradient for each argument. A client that registered a function for this gets that one; otherwise
//! the body is differentiated. Calls and branches in a body become calls and branches of gradients,
//! which are made when they are reached: nothing here goes as deep as functions call each other.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_framework::{
    BuildScope, CustomGradient, Gradient, GradientContext, GradientOptions, GraphBuilder,
    InputGradients, NewNode, Registry, gradients,
};
use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, Func, FunctionLibrary, Graph, Node, NodeId, OpLookup, Output,
    signature,
};
use tensorfleet_tensor::{DType, Result, invalid_argument, not_found};

use crate::edit::first_output;
use crate::function::{FunctionBody, add_arg, add_return, instantiate_function};

/// The name under which the gradient of function `f` is called, `f` being an attribute.
pub(crate) const SYMBOLIC_GRADIENT: &str = "SymbolicGradient";

/// The function that a node of this op calls.
pub(crate) fn called(node: &Node) -> Func {
    Func { name: SYMBOLIC_GRADIENT.to_owned(), attrs: AttrMap::clone(&node.attrs) }
}

/// The body of a gradient.
pub(crate) fn instantiate(
    func: &Func,
    library: &Arc<FunctionLibrary>,
    ops: &Arc<Registry>,
) -> Result<FunctionBody> {
    let Some(AttrValue::Func(of)) = func.attrs.get("f") else {
        return Err(invalid_argument!("{SYMBOLIC_GRADIENT} has no function to differentiate"));
    };
    if order(func) > MAX_ORDER {
        return Err(invalid_argument!("gradients are nested more than {MAX_ORDER} deep"));
    }
    if let Some(name) = library.gradient(&of.name) {
        let own = Func { name: name.to_owned(), attrs: of.attrs.clone() };
        return instantiate_function(&own, library, ops);
    }
    let types = match func.attrs.get("Tout") {
        Some(AttrValue::List(AttrList::Types(types))) => types,
        _ => return Err(invalid_argument!("{SYMBOLIC_GRADIENT} has no Tout")),
    };
    let is_function = library.find(&of.name).is_some() || of.name == SYMBOLIC_GRADIENT;
    let forward = if is_function {
        instantiate_function(of, library, ops)?
    } else {
        single_op(of, library, ops)?
    };
    differentiate(forward, types, ops)
}

/// How often a function may be differentiated. One that calls its own gradient has no end.
const MAX_ORDER: usize = 8;

/// How often a function is differentiated.
fn order(func: &Func) -> usize {
    match func.attrs.get("f") {
        Some(AttrValue::Func(of)) if func.name == SYMBOLIC_GRADIENT => 1 + order(of),
        _ => 0,
    }
}

/// An op as a function.
fn single_op(
    op: &Func,
    library: &Arc<FunctionLibrary>,
    ops: &Arc<Registry>,
) -> Result<FunctionBody> {
    if ops.op_def(&op.name).is_none() {
        return Err(no_gradient(&op.name));
    }
    let (attrs, signature) = signature(&op.name, op.attrs.clone(), library, &**ops)?;
    let mut graph = Graph::new(Arc::clone(library));
    let mut args = Vec::with_capacity(signature.inputs.len());
    for value in &signature.inputs {
        args.push(add_arg(&mut graph, args.len(), value.dtype, ops)?);
    }
    let node = graph.add(Node {
        name: op.name.as_str().into(),
        op: op.name.as_str().into(),
        device: "".into(),
        attrs,
        inputs: args.iter().copied().map(first_output).collect(),
        control_inputs: Vec::new(),
        signature: Some(Arc::clone(&signature)),
    })?;
    let mut returns = Vec::with_capacity(signature.outputs.len());
    for (value, index) in signature.outputs.iter().zip(0..) {
        let output = Output { node, index };
        returns.push(add_return(&mut graph, returns.len(), output, value.dtype, ops)?);
    }
    Ok(FunctionBody { graph, args, returns, control_returns: Vec::new() })
}

/// Makes of a function's body the body of its gradient, whose results have the given types.
fn differentiate(
    forward: FunctionBody,
    types: &[DType],
    ops: &Arc<Registry>,
) -> Result<FunctionBody> {
    let (mut graph, mut args, ys) = without_returns(&forward);
    let xs: Vec<Output> = args.iter().copied().map(first_output).collect();
    if types.len() != xs.len() {
        return Err(invalid_argument!(
            "{SYMBOLIC_GRADIENT} of a function with {} arguments has {} outputs",
            xs.len(),
            types.len()
        ));
    }
    let (mut continuous, mut initial) = (Vec::new(), Vec::new());
    for (y, dtype) in ys {
        let arg = add_arg(&mut graph, args.len(), dtype, ops)?;
        args.push(arg);
        if dtype.is_floating() || dtype.is_complex() {
            continuous.push(y);
            initial.push(Some(first_output(arg)));
        }
    }
    let mut builder = GraphBuilder::from_graph(graph, Arc::clone(ops));
    let options = GradientOptions { initial, custom: Some(&find), ..GradientOptions::default() };
    let scope = BuildScope::default();
    let taken = gradients(&mut builder, &scope, &continuous, &xs, &options)?;
    let mut results = Vec::with_capacity(xs.len());
    for (index, gradient) in taken.into_iter().enumerate() {
        let x = xs[index];
        let value = match gradient {
            Some(gradient) => {
                GradientContext::new(&mut builder, &scope, x.node, &[]).dense(gradient)?
            }
            None => zeros(&mut builder, x, types[index])?,
        };
        let dtype = builder.dtype(value);
        if dtype != types[index] {
            return Err(invalid_argument!(
                "gradient {index} is {dtype}, but {SYMBOLIC_GRADIENT} has {} there",
                types[index]
            ));
        }
        results.push(value);
    }
    let mut graph = builder.into_graph();
    let mut returns = Vec::with_capacity(results.len());
    for (value, &dtype) in results.into_iter().zip(types) {
        returns.push(add_return(&mut graph, returns.len(), value, dtype, ops)?);
    }
    Ok(FunctionBody { graph, args, returns, control_returns: Vec::new() })
}

/// A body without the nodes of its results: its graph, its arguments, and what it returned.
fn without_returns(body: &FunctionBody) -> (Graph, Vec<NodeId>, Vec<(Output, DType)>) {
    let is_return: FxHashSet<NodeId> = body.returns.iter().copied().collect();
    let graph = body.graph.retain(|id| !is_return.contains(&id));
    let moved = |id: NodeId| {
        graph.find(&body.graph.node(id).name).expect("all but the nodes of results are kept")
    };
    let returned = |&id: &NodeId| {
        let retval = body.graph.node(id);
        let Output { node, index } = retval.inputs[0];
        (Output { node: moved(node), index }, retval.input_types()[0].dtype)
    };
    let args = body.args.iter().copied().map(moved).collect();
    let ys = body.returns.iter().map(returned).collect();
    (graph, args, ys)
}

/// The gradient of an argument that no result depends on.
fn zeros(builder: &mut GraphBuilder, x: Output, dtype: DType) -> Result<Output> {
    let scope = BuildScope::default();
    let value = match builder.dtype(x) {
        // The gradient of a variable is that of its value.
        DType::Resource => builder
            .add_output(&scope, NewNode::new("ReadVariableOp").input(x).attr("dtype", dtype))?,
        _ => x,
    };
    builder.add_output(&scope, NewNode::new("ZerosLike").input(value))
}

/// The gradient functions of nodes that call functions, and of those that have none.
fn find(builder: &GraphBuilder, id: NodeId) -> Option<Arc<CustomGradient>> {
    let node = builder.graph().node(id);
    match &*node.op {
        "PartitionedCall" | "StatefulPartitionedCall" | SYMBOLIC_GRADIENT => Some(Arc::new(call)),
        "If" | "StatelessIf" => Some(Arc::new(|g| branch(g, &["then_branch", "else_branch"]))),
        "Case" | "StatelessCase" => Some(Arc::new(|g| branch(g, &["branches"]))),
        op if builder.registry().gradient_fn(op).is_none() => {
            let op = op.to_owned();
            Some(Arc::new(move |_| Err(no_gradient(&op))))
        }
        _ => None,
    }
}

fn call(g: &GradientContext<'_>) -> InputGradients {
    let of = match &*g.node().op {
        SYMBOLIC_GRADIENT => called(g.node()),
        _ => g.attrs().func("f")?.clone(),
    };
    let inner = Inner::new(g, 0)?;
    let op = if g.node().is_stateful() { "StatefulPartitionedCall" } else { "PartitionedCall" };
    let node = NewNode::new(op)
        .list(&inner.inputs)
        .attr("f", inner.gradient_of(&of))
        .attr("Tout", inner.types.clone());
    Ok(inner.spread(g.add(node)?))
}

/// The gradient of a branch is a branch between gradients. `attrs` name the functions.
fn branch(g: &GradientContext<'_>, attrs: &[&str]) -> InputGradients {
    let inner = Inner::new(g, 1)?;
    let mut node = NewNode::new(&g.node().op).input(g.input(0)).list(&inner.inputs);
    for &attr in attrs {
        let value: AttrValue = match g.node().attrs.get(attr) {
            Some(AttrValue::Func(of)) => inner.gradient_of(of).into(),
            Some(AttrValue::List(AttrList::Funcs(all))) => {
                all.iter().map(|of| inner.gradient_of(of)).collect::<Vec<_>>().into()
            }
            _ => return Err(invalid_argument!("{} has no {attr}", g.node().op)),
        };
        node = node.attr(attr, value);
    }
    const LOWER: &str = "_lower_using_switch_merge";
    if let Some(lower) = g.node().attrs.get(LOWER) {
        node = node.attr(LOWER, lower.clone());
    }
    let node = g.add(node.attr("Tout", inner.types.clone()))?;
    let condition = std::iter::repeat_n(None, 1);
    Ok(condition.chain(inner.spread(node)).collect())
}

/// The gradient of a function that a node of a body calls.
struct Inner {
    /// The arguments of the function, then the gradients of its results.
    inputs: Vec<Output>,
    /// The types of `inputs`.
    input_types: Vec<DType>,
    /// The types of the gradients of the arguments.
    types: Vec<DType>,
    /// Which of the gradients mean something.
    is_continuous: Vec<bool>,
}

impl Inner {
    /// Of the node `g`, whose inputs from number `first` on are the arguments.
    fn new(g: &GradientContext<'_>, first: usize) -> Result<Inner> {
        let mut inputs = g.inputs(first..g.num_inputs()).to_vec();
        let (mut types, mut is_continuous) = (Vec::new(), Vec::new());
        for &arg in &inputs {
            let dtype = match g.dtype(arg) {
                DType::Resource => g.with_builder(|builder, _| variable_type(builder, arg)),
                dtype => Some(dtype),
            };
            is_continuous.push(dtype.is_some_and(|t| t.is_floating() || t.is_complex()));
            types.push(dtype.unwrap_or(DType::Float));
        }
        for index in 0..g.num_outputs() {
            inputs.push(g.grad(index)?);
        }
        let input_types = inputs.iter().map(|&input| g.dtype(input)).collect();
        Ok(Inner { inputs, input_types, types, is_continuous })
    }

    fn gradient_of(&self, of: &Func) -> Func {
        let attrs = AttrMap::from([
            ("Tin".to_owned(), self.input_types.clone().into()),
            ("Tout".to_owned(), self.types.clone().into()),
            ("f".to_owned(), of.clone().into()),
        ]);
        Func { name: SYMBOLIC_GRADIENT.to_owned(), attrs }
    }

    /// For each argument its gradient among the outputs of `node`.
    fn spread(&self, node: NodeId) -> Vec<Option<Gradient>> {
        let gradient = |(index, &is): (usize, &bool)| {
            is.then_some(Gradient::Dense(Output { node, index: index as u32 }))
        };
        self.is_continuous.iter().enumerate().map(gradient).collect()
    }
}

/// How many calls deep the reader of a variable is looked for.
const MAX_DEPTH: usize = 64;

/// The type of the variable that a handle stands for, as its readers say.
fn variable_type(builder: &GraphBuilder, handle: Output) -> Option<DType> {
    let ops = builder.registry();
    let type_in = |node: &Node| match node.attrs.get("dtype") {
        Some(&AttrValue::Type(dtype)) => Some(dtype),
        _ => None,
    };
    // Pairs of a function and the number of the argument that is the handle.
    let mut calls: Vec<(Func, usize)> = Vec::new();
    let look = |graph: &Graph, handle: Output, calls: &mut Vec<(Func, usize)>| {
        for node in graph.nodes() {
            let positions = node.inputs.iter().enumerate().filter(|(_, input)| **input == handle);
            for (position, _) in positions {
                if let Some(dtype) = type_in(node) {
                    return Some(dtype);
                }
                if let Some(AttrValue::Func(func)) = node.attrs.get("f") {
                    calls.push((func.clone(), position));
                }
            }
        }
        None
    };
    if let Some(dtype) = look(builder.graph(), handle, &mut calls) {
        return Some(dtype);
    }
    for _ in 0..MAX_DEPTH {
        let (func, position) = calls.pop()?;
        let body = instantiate_function(&func, builder.graph().library(), ops).ok()?;
        let arg = first_output(*body.args.get(position)?);
        if let Some(dtype) = look(&body.graph, arg, &mut calls) {
            return Some(dtype);
        }
    }
    None
}

fn no_gradient(op: &str) -> tensorfleet_tensor::Error {
    not_found!("No gradient defined for op: {op}")
}

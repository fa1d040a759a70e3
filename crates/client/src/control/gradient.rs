//! Gradients of calls, of functional branches and of loops.
//!
//! The gradient of a function is a function of its arguments and of the gradients of its results,
//! which runs the function once more. A loop is made to remember the variables that each round
//! began with; its gradient is a loop that takes them from the end to the beginning.

use std::sync::Arc;

use tensorfleet_framework::{
    BuildScope, CustomGradient, Gradient, GradientContext, GradientOptions, GraphBuilder,
    InputGradients, NewNode, gradients,
};
use tensorfleet_graph::{AttrMap, AttrValue, Func, FunctionLibrary, NodeId, Output, signature};
use tensorfleet_planner::instantiate_function;
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, internal};

use super::function::FunctionBuilder;

/// The gradient function of a node that calls functions.
pub(crate) fn find(builder: &GraphBuilder, id: NodeId) -> Option<Arc<CustomGradient>> {
    let node = builder.graph().node(id);
    match &*node.op {
        "PartitionedCall" | "StatefulPartitionedCall" => Some(Arc::new(call)),
        "Case" | "If" | "StatelessCase" | "StatelessIf" => Some(Arc::new(branch)),
        "While" | "StatelessWhile" => Some(Arc::new(repeat)),
        "IdentityN" if node.attrs.contains_key(super::call::BACKWARD) => {
            Some(Arc::new(super::call::custom_gradient))
        }
        _ => None,
    }
}

/// The gradient of a function.
struct Backward {
    func: Func,
    /// For each argument of the function, the type of its gradient, if it has one: results of the
    /// gradient come in this order.
    types: Vec<Option<DType>>,
    /// The results of the function that have gradients.
    differentiable: Vec<usize>,
    is_stateful: bool,
}

fn is_continuous(dtype: DType) -> bool {
    dtype.is_floating() || dtype.is_complex()
}

/// Makes the function that computes the gradient of another.
fn backward(outer: &mut GraphBuilder, func: &Func) -> Result<Backward> {
    let registry = Arc::clone(outer.registry());
    let library = Arc::clone(outer.graph().library());
    let body = instantiate_function(func, &library, &registry)?;
    let xs: Vec<Output> = body.args.iter().map(|&node| Output { node, index: 0 }).collect();
    let results: Vec<Output> =
        body.returns.iter().map(|&node| body.graph.node(node).inputs[0]).collect();
    let inner = GraphBuilder::from_graph(body.graph, registry);
    let mut function = FunctionBuilder::from_builder(inner, body.args);
    let dtypes: Vec<DType> = results.iter().map(|&y| function.builder.dtype(y)).collect();
    let differentiable: Vec<usize> =
        (0..results.len()).filter(|&index| is_continuous(dtypes[index])).collect();
    let mut initial = Vec::new();
    for &index in &differentiable {
        initial.push(Some(function.arg(dtypes[index])?));
    }
    let ys: Vec<Output> = differentiable.iter().map(|&index| results[index]).collect();
    let options = GradientOptions { initial, custom: Some(&find), ..GradientOptions::default() };
    let scope = BuildScope::default();
    let taken = gradients(&mut function.builder, &scope, &ys, &xs, &options)?;
    let mut returns = Vec::new();
    let mut types = Vec::new();
    for gradient in taken {
        types.push(match gradient {
            None => None,
            Some(gradient) => {
                let node = xs.first().map_or(NodeId(0), |x| x.node);
                let context = GradientContext::new(&mut function.builder, &scope, node, &[]);
                let dense = context.dense(gradient)?;
                drop(context);
                returns.push(dense);
                Some(function.builder.dtype(dense))
            }
        });
    }
    let name = outer.unique_name(&format!("{}_grad", func.name));
    let definition = function.finish(&name, &returns)?;
    let is_stateful = definition.signature.is_stateful;
    let mut added = FunctionLibrary::clone(function.builder.graph().library());
    added.insert(Arc::new(definition));
    outer.add_functions(&added);
    let func = Func { name, ..Func::default() };
    Ok(Backward { func, types, differentiable, is_stateful })
}

impl Backward {
    fn result_types(&self) -> Vec<DType> {
        self.types.iter().flatten().copied().collect()
    }

    fn spread(&self, node: NodeId) -> Vec<Option<Gradient>> {
        spread(&self.types, node)
    }

    fn call(&self, args: &[Output]) -> NewNode {
        let op = if self.is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
        NewNode::new(op).list(args).attr("f", self.func.clone()).attr("Tout", self.result_types())
    }
}

/// For each argument that has one, its gradient among the results of `node`.
fn spread(types: &[Option<DType>], node: NodeId) -> Vec<Option<Gradient>> {
    let mut next = 0;
    types
        .iter()
        .map(|dtype| {
            dtype.map(|_| {
                next += 1;
                Output { node, index: next - 1 }.into()
            })
        })
        .collect()
}

fn call(g: &GradientContext<'_>) -> InputGradients {
    let func = g.attrs().func("f")?.clone();
    let backward = g.with_builder(|builder, _| backward(builder, &func))?;
    let mut args = g.inputs(0..g.num_inputs()).to_vec();
    for &index in &backward.differentiable {
        args.push(g.grad(index)?);
    }
    let node = g.add(backward.call(&args))?;
    Ok(backward.spread(node))
}

/// The gradient of a choice among functions: the same choice among their gradients.
fn branch(g: &GradientContext<'_>) -> InputGradients {
    let is_case = g.node().op.ends_with("Case");
    let functions = if is_case {
        g.attrs().funcs("branches")?.to_vec()
    } else {
        vec![g.attrs().func("then_branch")?.clone(), g.attrs().func("else_branch")?.clone()]
    };
    let sides: Vec<Backward> = g.with_builder(|builder, _| {
        functions.iter().map(|function| backward(builder, function)).collect::<Result<_>>()
    })?;
    let first = sides.first().ok_or_else(|| internal!("a choice among no functions"))?;
    let inputs = g.inputs(1..g.num_inputs()).to_vec();
    // What only some sides have a gradient for is zero on the others.
    let types: Vec<Option<DType>> = (0..inputs.len())
        .map(|index| sides.iter().find_map(|side| side.types.get(index).copied().flatten()))
        .collect();
    let mut chosen = Vec::new();
    for side in &sides {
        chosen.push(complete(g, side, &types, &inputs)?);
    }
    let mut args = inputs;
    for &index in &first.differentiable {
        args.push(g.grad(index)?);
    }
    let op = if is_case { "Case" } else { "If" };
    let is_stateful = sides.iter().any(|side| side.is_stateful);
    let op = if is_stateful { op.to_owned() } else { format!("Stateless{op}") };
    let node = NewNode::new(&op)
        .input(g.input(0))
        .list(&args)
        .attr("Tout", types.iter().flatten().copied().collect::<Vec<DType>>())
        .attr("_lower_using_switch_merge", true);
    let node = if is_case {
        node.attr("branches", chosen)
    } else {
        let mut chosen = chosen.into_iter();
        let mut next = || chosen.next().ok_or_else(|| internal!("a side is missing"));
        node.attr("then_branch", next()?).attr("else_branch", next()?)
    };
    let node = g.add(node)?;
    let mut gradients = vec![None];
    gradients.extend(spread(&types, node));
    Ok(gradients)
}

/// The gradient of one side, with zeros for what only the other has.
fn complete(
    g: &GradientContext<'_>,
    side: &Backward,
    types: &[Option<DType>],
    inputs: &[Output],
) -> Result<Func> {
    g.with_builder(|builder, _| {
        let registry = Arc::clone(builder.registry());
        let mut function = FunctionBuilder::new(&registry, builder.graph().library());
        let mut args = Vec::new();
        for &input in inputs {
            args.push(function.arg(builder.dtype(input))?);
        }
        for &index in &side.differentiable {
            let dtype = builder.graph().node(g.id()).output_types()[index].dtype;
            args.push(function.arg(dtype)?);
        }
        let node = function.node(side.call(&args))?;
        let mut returns = Vec::new();
        let mut own = side.spread(node).into_iter();
        for (index, dtype) in types.iter().enumerate() {
            let gradient = own.next().flatten();
            let Some(dtype) = dtype else { continue };
            returns.push(match gradient {
                Some(gradient) => gradient.values(),
                None => zeros_of(&mut function, args[index], *dtype)?,
            });
        }
        let name = builder.unique_name(&format!("{}_all", side.func.name));
        let definition = function.finish(&name, &returns)?;
        let mut added = FunctionLibrary::default();
        added.insert(Arc::new(definition));
        builder.add_functions(&added);
        Ok(Func { name, ..Func::default() })
    })
}

/// Zeros in the shape of a tensor, or of the variable that a handle names.
fn zeros_of(function: &mut FunctionBuilder, of: Output, dtype: DType) -> Result<Output> {
    let value = if function.builder.dtype(of) == DType::Resource {
        function.add(NewNode::new("ReadVariableOp").input(of).attr("dtype", dtype))?
    } else {
        of
    };
    function.add(NewNode::new("ZerosLike").input(value))
}

/// What a loop remembers: for each variable that changes, the list of its values.
struct Memory {
    /// For each input, the output of the loop that holds its list.
    lists: Vec<Option<u32>>,
    body: Func,
}

/// The attribute under which a loop that remembers keeps its first body.
const FIRST_BODY: &str = "_tensorfleet_first_body";

fn repeat(g: &GradientContext<'_>) -> InputGradients {
    let memory = g.with_builder(|builder, scope| remember(builder, scope, g.id()))?;
    let backward = g.with_builder(|builder, _| backward(builder, &memory.body))?;
    let count = memory.lists.len();
    let dtypes: Vec<DType> = (0..count).map(|index| g.dtype(g.input(index))).collect();

    // The variables of the loop backward: how many rounds are left, gradients, lists, and what does
    // not change.
    let first_list = memory.lists.iter().flatten().next();
    let Some(&first_list) = first_list else {
        // Nothing changes from round to round: results are the inputs.
        return Ok((0..g.num_inputs()).map(|index| g.grad_or_none(index)).collect());
    };
    let rounds = g.call("TensorListLength", [g.output(first_list as usize)])?;
    let mut start = vec![rounds];
    let mut gradient_at = vec![None; count];
    for index in 0..count {
        let initial = match (is_continuous(dtypes[index]), backward.types[index]) {
            (true, _) => g.grad(index)?,
            (false, Some(dtype)) if dtypes[index] == DType::Resource => {
                let read =
                    NewNode::new("ReadVariableOp").input(g.input(index)).attr("dtype", dtype);
                g.zeros_like(g.out(read)?)?
            }
            _ => continue,
        };
        gradient_at[index] = Some(start.len());
        start.push(initial);
    }
    let mut value_at = Vec::new();
    for index in 0..count {
        value_at.push(start.len());
        start.push(match memory.lists[index] {
            Some(list) => g.output(list as usize),
            None => g.input(index),
        });
    }
    let types: Vec<DType> = start.iter().map(|&output| g.dtype(output)).collect();
    let plan = Plan { memory: &memory, backward: &backward, dtypes: &dtypes, types: &types };
    let (condition, body) = g.with_builder(|builder, _| {
        let condition = rounds_left(builder, &types)?;
        Ok::<_, tensorfleet_tensor::Error>((
            condition,
            plan.body(builder, &gradient_at, &value_at)?,
        ))
    })?;
    let op = if backward.is_stateful { "While" } else { "StatelessWhile" };
    let node = NewNode::new(op)
        .list(&start)
        .attr("cond", condition)
        .attr("body", body)
        .attr("output_shapes", vec![PartialShape::UNKNOWN; types.len()])
        .attr("_lower_using_switch_merge", true);
    let node = g.add(node)?;
    let mut gradients: Vec<Option<Gradient>> = gradient_at
        .iter()
        .map(|at| at.map(|at| Output { node, index: at as u32 }.into()))
        .collect();
    // Lists that the loop was given for an earlier gradient have none.
    gradients.resize(g.num_inputs(), None);
    Ok(gradients)
}

/// The function that says whether rounds are left.
fn rounds_left(builder: &mut GraphBuilder, types: &[DType]) -> Result<Func> {
    let registry = Arc::clone(builder.registry());
    let mut function = FunctionBuilder::new(&registry, &FunctionLibrary::default());
    let mut left = None;
    for dtype in types {
        let arg = function.arg(*dtype)?;
        left.get_or_insert(arg);
    }
    let left = left.ok_or_else(|| internal!("a loop without variables"))?;
    let zero = function.builder.constant(&BuildScope::default(), Tensor::scalar(0i32))?;
    let holds = function.add(NewNode::new("Greater").input(left).input(zero))?;
    add(builder, "while_grad_cond", &function, &[holds])
}

/// Ends a function and adds it to the library of a graph.
fn add(
    builder: &mut GraphBuilder,
    name: &str,
    function: &FunctionBuilder,
    returns: &[Output],
) -> Result<Func> {
    let name = builder.unique_name(name);
    let mut added = FunctionLibrary::default();
    added.insert(Arc::new(function.finish(&name, returns)?));
    builder.add_functions(&added);
    Ok(Func { name, ..Func::default() })
}

/// What the body of the loop backward is made from.
struct Plan<'a> {
    memory: &'a Memory,
    backward: &'a Backward,
    dtypes: &'a [DType],
    types: &'a [DType],
}

impl Plan<'_> {
    /// One round backward: takes the values that the round forward began with, and turns the
    /// gradients of its results into those of its variables.
    fn body(
        &self,
        builder: &mut GraphBuilder,
        gradient_at: &[Option<usize>],
        value_at: &[usize],
    ) -> Result<Func> {
        let registry = Arc::clone(builder.registry());
        let mut function = FunctionBuilder::new(&registry, builder.graph().library());
        let mut args = Vec::new();
        for dtype in self.types {
            args.push(function.arg(*dtype)?);
        }
        let scope = BuildScope::default();
        let mut results = args.clone();
        let one = function.builder.constant(&scope, Tensor::scalar(1i32))?;
        results[0] = function.add(NewNode::new("Sub").input(args[0]).input(one))?;
        let any_shape = function.builder.constant(&scope, Tensor::scalar(-1i32))?;
        let mut values = Vec::new();
        for (index, &at) in value_at.iter().enumerate() {
            if self.memory.lists[index].is_none() {
                values.push(args[at]);
                continue;
            }
            let pop = NewNode::new("TensorListPopBack").input(args[at]).input(any_shape);
            let popped = function.node(pop.attr("element_dtype", self.dtypes[index]))?;
            results[at] = Output { node: popped, index: 0 };
            values.push(Output { node: popped, index: 1 });
        }
        let mut call_args = values.clone();
        for &index in &self.backward.differentiable {
            let at = gradient_at.get(index).copied().flatten();
            let at = at.ok_or_else(|| internal!("a gradient of the loop is missing"))?;
            call_args.push(args[at]);
        }
        let node = function.node(self.backward.call(&call_args))?;
        for (index, gradient) in self.backward.spread(node).into_iter().enumerate() {
            let Some(at) = gradient_at[index] else { continue };
            results[at] = match (gradient, self.dtypes[index]) {
                // A variable's gradient adds up over the rounds.
                (Some(gradient), DType::Resource) => {
                    let sum = NewNode::new("AddV2").input(args[at]).input(gradient.values());
                    function.add(sum)?
                }
                (Some(gradient), _) => gradient.values(),
                (None, _) => function.add(NewNode::new("ZerosLike").input(values[index]))?,
            };
        }
        add(builder, "while_grad_body", &function, &results)
    }
}

/// Makes a loop remember the variables that each of its rounds begins with.
fn remember(builder: &mut GraphBuilder, scope: &BuildScope, id: NodeId) -> Result<Memory> {
    let node = builder.graph().node(id).clone();
    let attrs = tensorfleet_framework::Attrs::new(&node);
    let (condition, body) = (attrs.func("cond")?.clone(), attrs.func("body")?.clone());
    let first = match attrs.get(FIRST_BODY) {
        Some(AttrValue::Func(first)) => first.clone(),
        _ => body.clone(),
    };
    let definition = builder
        .graph()
        .library()
        .find(&first.name)
        .cloned()
        .ok_or_else(|| internal!("the function {} is not known", first.name))?;
    let signature_of = &definition.signature;
    let count = signature_of.inputs.len();
    let changes: Vec<bool> = (0..count)
        .map(|index| {
            let result = &signature_of.outputs[index].name;
            definition.returns.get(result) != Some(&signature_of.inputs[index].name)
        })
        .collect();
    let mut next = count as u32;
    let lists: Vec<Option<u32>> = changes
        .iter()
        .map(|changes| {
            changes.then(|| {
                next += 1;
                next - 1
            })
        })
        .collect();
    let memory = Memory { lists, body: first.clone() };
    if attrs.get(FIRST_BODY).is_some() {
        return Ok(memory);
    }
    let dtypes: Vec<DType> = node.input_types().iter().map(|t| t.dtype).collect();
    let is_stateful = &*node.op == "While";
    let total = next as usize;
    let new_body = remembering(builder, &body, &dtypes, &memory, is_stateful)?;
    let new_condition = ignoring(builder, &condition, &dtypes, total, is_stateful)?;

    let mut inputs = node.inputs.clone();
    let any = builder.constant(scope, Tensor::scalar(-1i32))?;
    for (index, _) in memory.lists.iter().enumerate().filter(|(_, list)| list.is_some()) {
        let empty = NewNode::new("EmptyTensorList").input(any).input(any);
        let empty = empty.attr("element_dtype", dtypes[index]);
        inputs.push(builder.add_output(scope, empty)?);
    }
    let mut types = dtypes;
    types.resize(total, DType::Variant);
    let mut shapes = attrs.shapes("output_shapes")?.to_vec();
    shapes.resize(total, PartialShape::scalar());
    let mut new_attrs = AttrMap::clone(&node.attrs);
    new_attrs.insert("T".to_owned(), types.into());
    new_attrs.insert("body".to_owned(), new_body.into());
    new_attrs.insert("cond".to_owned(), new_condition.into());
    new_attrs.insert("output_shapes".to_owned(), shapes.into());
    new_attrs.insert(FIRST_BODY.to_owned(), first.into());
    let registry = Arc::clone(builder.registry());
    let (new_attrs, signature) =
        signature(&node.op, new_attrs, builder.graph().library(), &*registry)?;
    let changed = builder.graph_mut().node_mut(id);
    changed.attrs = new_attrs;
    changed.signature = Some(signature);
    changed.inputs = inputs;
    Ok(memory)
}

/// A call of a function with some of the arguments.
fn call_of(func: &Func, args: &[Output], results: Vec<DType>, is_stateful: bool) -> NewNode {
    let op = if is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
    NewNode::new(op).list(args).attr("f", func.clone()).attr("Tout", results)
}

/// The body of a loop, that also puts the variables at the ends of their lists.
fn remembering(
    builder: &mut GraphBuilder,
    body: &Func,
    dtypes: &[DType],
    memory: &Memory,
    is_stateful: bool,
) -> Result<Func> {
    let registry = Arc::clone(builder.registry());
    let mut function = FunctionBuilder::new(&registry, builder.graph().library());
    let mut args = Vec::new();
    for dtype in dtypes {
        args.push(function.arg(*dtype)?);
    }
    let node = function.node(call_of(body, &args, dtypes.to_vec(), is_stateful))?;
    let mut results: Vec<Output> = (0..dtypes.len())
        .map(|index| match memory.lists[index] {
            Some(_) => Output { node, index: index as u32 },
            None => args[index],
        })
        .collect();
    for (index, _) in memory.lists.iter().enumerate().filter(|(_, list)| list.is_some()) {
        let list = function.arg(DType::Variant)?;
        let push = NewNode::new("TensorListPushBack").input(list).input(args[index]);
        results.push(function.add(push)?);
    }
    add(builder, &format!("{}_remembering", body.name), &function, &results)
}

/// The condition of a loop, that takes lists too and does not look at them.
fn ignoring(
    builder: &mut GraphBuilder,
    condition: &Func,
    dtypes: &[DType],
    total: usize,
    is_stateful: bool,
) -> Result<Func> {
    let registry = Arc::clone(builder.registry());
    let mut function = FunctionBuilder::new(&registry, builder.graph().library());
    let mut args = Vec::new();
    for dtype in dtypes {
        args.push(function.arg(*dtype)?);
    }
    for _ in dtypes.len()..total {
        function.arg(DType::Variant)?;
    }
    let holds = function.add(call_of(condition, &args, vec![DType::Bool], is_stateful))?;
    add(builder, &format!("{}_remembering", condition.name), &function, &[holds])
}

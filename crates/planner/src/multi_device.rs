//! Functions whose nodes are on several devices, as TensorFlow 2 calls them: whoever is asked to run
//! one plans it and has each device run its part.
//!
//! An argument is where its tensor is, so that whatever uses a variable's handle goes to the
//! variable; one that has a tensor on every device that uses it is taken by each. A result stays where it is made if its maker asks for a device, and goes to the caller
//! otherwise.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::Registry;
use tensorfleet_graph::{
    ArgDef, AttrMap, AttrValue, ControlFlow, Func, FunctionDef, FunctionLibrary, Graph, Node,
    NodeDef, NodeId, OpDef, Output,
};
use tensorfleet_tensor::{DType, Result, internal, invalid_argument};

use crate::place::{Calls, place};
use crate::{
    Device, Devices, Evaluate, FunctionBody, Options, Partition, Step, instantiate_function, lower,
    optimise, partition, validate,
};

/// How to run a function on several devices.
#[derive(Debug)]
pub struct FunctionPlan {
    pub parts: Vec<FunctionPart>,
    /// For each result the index of its part.
    pub returned_by: Vec<usize>,
}

/// What one device does of a function.
#[derive(Debug)]
pub struct FunctionPart {
    pub device: Device,
    /// The nodes, with ends numbered for this part alone.
    pub graph: Graph,
    /// Which arguments of the function the part takes, in the order of its own.
    pub args: Vec<usize>,
    /// Which results of the function the part gives, in the order of its own.
    pub returns: Vec<usize>,
}

/// Plans a function for arguments that are on the given devices, or with an empty name wherever they
/// are used. `devices.client` is the one that the function is called on.
pub fn plan_multi_device_function(
    func: &Func,
    library: &Arc<FunctionLibrary>,
    arg_devices: &[Arc<str>],
    devices: &Devices<'_>,
    ops: &Arc<Registry>,
    evaluate: &dyn Evaluate,
    options: &Options,
) -> Result<FunctionPlan> {
    let FunctionBody { mut graph, args, returns, control_returns } =
        instantiate_function(func, library, ops)?;
    if args.len() != arg_devices.len() {
        return Err(invalid_argument!(
            "Expected {} arguments, but {} is called with {}",
            args.len(),
            func.name,
            arg_devices.len()
        ));
    }
    for (&arg, device) in args.iter().zip(arg_devices) {
        graph.node_mut(arg).device = Arc::clone(device);
    }
    for &result in &returns {
        keep_with_maker(&mut graph, result);
    }
    let effects = graph.iter().filter(|(_, node)| node.is_stateful()).map(|(id, _)| id);
    let roots = effects.chain(control_returns).collect();
    let (mut step, _) = lower::lower(Step { graph, roots }, ops, options)?;
    let args = arg_devices.iter().enumerate().filter(|(_, device)| device.is_empty());
    for (index, _) in args {
        spread(&mut step.graph, index)?;
    }
    validate(&step.graph)?;
    let unplaced = step.graph.clone();
    place(&unplaced, None, Calls::Final, devices, options).apply(&unplaced, &mut step.graph)?;
    if options.optimize {
        step = optimise::optimise(step, ops, evaluate)?;
    }
    let graph = without_unused_args(&step.graph);
    let parts: Vec<FunctionPart> =
        partition(&graph, devices.all, &**ops)?.into_iter().map(part).collect();
    let returned_by = (0..returns.len())
        .map(|result| {
            let has = |part: &FunctionPart| part.returns.contains(&result);
            parts.iter().position(has).ok_or_else(|| internal!("result {result} is on no device"))
        })
        .collect::<Result<_>>()?;
    Ok(FunctionPlan { parts, returned_by })
}

/// Lets a result ask for what its maker asks for. Clients return identities of what they made.
fn keep_with_maker(graph: &mut Graph, result: NodeId) {
    let mut passed = vec![result];
    loop {
        let maker = graph.node(passed[passed.len() - 1]).inputs[0].node;
        let node = graph.node(maker);
        if node.device.is_empty() && &*node.op == "Identity" {
            passed.push(maker);
            continue;
        }
        let device = Arc::clone(&node.device);
        for id in passed {
            graph.node_mut(id).device = Arc::clone(&device);
        }
        return;
    }
}

/// Gives all users of an argument that ask for one device an argument of their own there.
fn spread(graph: &mut Graph, index: usize) -> Result<()> {
    let Some((arg, node)) =
        graph.iter().find(|(_, node)| node.steers(ControlFlow::Arg) && number(node) == index)
    else {
        return Ok(());
    };
    let node = node.clone();
    let mut copies: FxHashMap<Arc<str>, NodeId> = FxHashMap::default();
    for user in (0..graph.len() as u32).map(NodeId) {
        let device = Arc::clone(&graph.node(user).device);
        for input in 0..graph.node(user).inputs.len() {
            if graph.node(user).inputs[input].node != arg {
                continue;
            }
            let copy = match copies.get(&device) {
                Some(&copy) => copy,
                None => {
                    let name = graph.unique_name(&node.name).into();
                    let device = Arc::clone(&device);
                    graph.add(Node { name, device, ..node.clone() })?
                }
            };
            copies.insert(Arc::clone(&device), copy);
            graph.node_mut(user).inputs[input].node = copy;
        }
    }
    Ok(())
}

/// A device that only has arguments which nobody uses need not take part.
fn without_unused_args(graph: &Graph) -> Graph {
    let mut used = FxHashSet::default();
    for node in graph.nodes() {
        used.extend(node.inputs.iter().map(|input| input.node));
        used.extend(&node.control_inputs);
    }
    graph.retain(|id| !graph.node(id).steers(ControlFlow::Arg) || used.contains(&id))
}

/// Numbers the ends of a partition for itself.
fn part(partition: Partition) -> FunctionPart {
    let Partition { device, mut graph } = partition;
    let args = renumber(&mut graph, "_Arg");
    let returns = renumber(&mut graph, "_Retval");
    FunctionPart { device, graph, args, returns }
}

fn renumber(graph: &mut Graph, op: &str) -> Vec<usize> {
    let mut ends: Vec<(usize, NodeId)> = graph
        .iter()
        .filter(|(_, node)| &*node.op == op)
        .map(|(id, node)| (number(node), id))
        .collect();
    ends.sort_unstable();
    for (index, &(_, id)) in ends.iter().enumerate() {
        let attrs: &mut AttrMap = Arc::make_mut(&mut graph.node_mut(id).attrs);
        attrs.insert("index".to_owned(), AttrValue::Int(index as i64));
    }
    ends.into_iter().map(|(number, _)| number).collect()
}

fn number(end: &Node) -> usize {
    match end.attrs.get("index") {
        Some(AttrValue::Int(index)) => *index as usize,
        _ => 0,
    }
}

/// A part as a function, as other tasks are told of it: nodes name outputs by the names in their
/// ops' definitions, and arguments and results are not nodes.
pub fn as_function(name: &str, graph: &Graph) -> Result<FunctionDef> {
    let mut args = ends(graph, "_Arg");
    let mut results = ends(graph, "_Retval");
    args.sort_by_key(|&id| number(graph.node(id)));
    results.sort_by_key(|&id| number(graph.node(id)));
    let arg_name = |index: usize| {
        let name = format!("arg_{index}");
        if graph.find(&name).is_some() { format!("function_{name}") } else { name }
    };
    let tensor = |output: Output| -> Result<String> {
        let source = graph.node(output.node);
        if let Some(index) = args.iter().position(|&arg| arg == output.node) {
            return Ok(arg_name(index));
        }
        let unknown = || internal!("node {} has no output {}", source.name, output.index);
        let signature = source.signature.as_ref().ok_or_else(unknown)?;
        let (index, ranges) = (output.index as usize, signature.def.output_ranges(&source.attrs)?);
        let (name, range) =
            ranges.into_iter().find(|(_, range)| range.contains(&index)).ok_or_else(unknown)?;
        Ok(format!("{}:{name}:{}", source.name, index - range.start))
    };
    let mut function = FunctionDef::default();
    let mut signature = OpDef { name: name.to_owned(), ..OpDef::default() };
    for (index, &arg) in args.iter().enumerate() {
        let dtype = graph.node(arg).output_types().first().map(|value| value.dtype);
        signature.inputs.push(argument(arg_name(index), dtype));
    }
    for (index, &result) in results.iter().enumerate() {
        let node = graph.node(result);
        let dtype = node.input_types().first().map(|value| value.dtype);
        let name = format!("result_{index}");
        function.returns.insert(name.clone(), tensor(node.inputs[0])?);
        signature.outputs.push(argument(name, dtype));
    }
    for (_, node) in graph.iter().filter(|(_, node)| !node.is_end()) {
        let mut inputs =
            node.inputs.iter().map(|&input| tensor(input)).collect::<Result<Vec<_>>>()?;
        inputs.extend(node.control_inputs.iter().map(|&id| match graph.node(id) {
            arg if arg.steers(ControlFlow::Arg) => format!("^{}", arg_name(number(arg))),
            source => format!("^{}", source.name),
        }));
        function.nodes.push(NodeDef {
            name: node.name.to_string(),
            op: node.op.to_string(),
            device: node.device.to_string(),
            inputs,
            attrs: AttrMap::clone(&node.attrs),
        });
        if node.is_stateful() {
            signature.is_stateful = true;
            let name = node.name.to_string();
            signature.control_outputs.push(name.clone());
            function.control_returns.insert(name.clone(), name);
        }
    }
    function.signature = Arc::new(signature);
    Ok(function)
}

fn ends(graph: &Graph, op: &str) -> Vec<NodeId> {
    graph.iter().filter(|(_, node)| &*node.op == op).map(|(id, _)| id).collect()
}

fn argument(name: String, dtype: Option<DType>) -> ArgDef {
    ArgDef { name, dtype, ..ArgDef::default() }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{
        NoEvaluation, UNOPTIMISED, devices, long_device, ops, parse, print_graph,
    };

    /// Plans `f` for a call on `w0` and prints each part, also as the function that it becomes.
    fn check(text: &str, arg_devices: &[&str], expected: Expect) {
        let (ops, all) = (ops(), devices());
        let graph = parse(text, &ops).unwrap();
        let find = |short: &&str| -> Arc<str> {
            if short.is_empty() { "".into() } else { long_device(short).into() }
        };
        let arg_devices: Vec<Arc<str>> = arg_devices.iter().map(find).collect();
        let func = Func { name: "f".to_owned(), attrs: AttrMap::new() };
        let devices = Devices { all: &all, client: &all[0] };
        let plan = plan_multi_device_function(
            &func,
            graph.library(),
            &arg_devices,
            &devices,
            &ops,
            &NoEvaluation,
            &UNOPTIMISED,
        );
        let text = match plan {
            Err(error) => error.to_string(),
            Ok(plan) => {
                let mut text = format!("results in parts {:?}\n", plan.returned_by);
                for part in &plan.parts {
                    text += &format!("takes {:?} gives {:?}\n", part.args, part.returns);
                    text += &print_graph(&part.graph);
                    let function = as_function("f_part", &part.graph).unwrap();
                    let mut library = FunctionLibrary::default();
                    library.insert(Arc::new(function));
                    let again = Func { name: "f_part".to_owned(), attrs: AttrMap::new() };
                    let body = instantiate_function(&again, &Arc::new(library), &ops).unwrap();
                    assert_eq!(body.graph.len(), part.graph.len(), "nothing is lost on the way");
                    assert_eq!(
                        (body.args.len(), body.returns.len()),
                        (part.args.len(), part.returns.len())
                    );
                }
                text
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn each_variable_is_used_where_it_is() {
        check(
            "fn f(x: float, v: resource, unused: resource) -> (a: float = sum:y:0, b: float = r:value:0) {
               r = ReadVariableOp(v)
               sum = Neg(r:value:0)
               write = AssignVariableOp(v, x)
             }",
            &["w0", "ps0", "ps1"],
            expect![[r#"
                results in parts [0, 0]
                takes [0] gives [0, 1]
                x = _Arg @w0
                sum = Neg(r/_recv_e4a07ae8) @w0
                a_RetVal = _Retval(sum) @w0
                b_RetVal = _Retval(r/_recv_e4a07ae8) @w0
                r/_recv_e4a07ae8 = _Recv @w0
                x/_send_53da8386 = _Send(x) @w0
                takes [1] gives []
                v = _Arg @ps0
                r = ReadVariableOp(v) @ps0
                write = AssignVariableOp(v, x/_recv_53da8386) @ps0
                r/_send_e4a07ae8 = _Send(r) @ps0
                x/_recv_53da8386 = _Recv @ps0
            "#]],
        );
    }

    #[test]
    fn an_argument_may_be_on_every_device_that_uses_it() {
        check(
            "fn f(v: resource) -> (a: float = sum:output:0) {
               here = ReadVariableOp(v) @w0
               there = ReadVariableOp(v) @ps0
               again = ReadVariableOp(v) @ps0
               sum = Merge(here:value:0, there:value:0, again:value:0) {N=3}
             }",
            &[""],
            expect![[r#"
                results in parts [0]
                takes [0] gives [0]
                here = ReadVariableOp(v_1) @w0
                sum = Merge(here, there/_recv_0aac9403, again/_recv_94e066e7) @w0
                a_RetVal = _Retval(sum) @w0
                v_1 = _Arg @w0
                there/_recv_0aac9403 = _Recv @w0
                again/_recv_94e066e7 = _Recv @w0
                takes [0] gives []
                there = ReadVariableOp(v_2) @ps0
                again = ReadVariableOp(v_2) @ps0
                v_2 = _Arg @ps0
                there/_send_0aac9403 = _Send(there) @ps0
                again/_send_94e066e7 = _Send(again) @ps0
            "#]],
        );
    }
}

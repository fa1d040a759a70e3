//! Functions: from a definition with named outputs and open attributes to a graph.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::Registry;
use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, Func, FunctionDef, FunctionLibrary, Graph, Node, NodeDef, NodeId,
    OpLookup, Output, find_def, signature,
};
use tensorfleet_tensor::{Context, DType, Error, Result, invalid_argument, not_found};

use crate::edit::NewNode;
use crate::gradient::{self, SYMBOLIC_GRADIENT};
use crate::{calls, prune};

/// A function's body as a graph.
#[derive(Debug)]
pub struct FunctionBody {
    /// The body, with `_Arg` and `_Retval` nodes at its ends. What neither a result nor a side
    /// effect needs is left out.
    pub graph: Graph,
    /// The `_Arg` nodes, in the order of the arguments.
    pub args: Vec<NodeId>,
    /// The `_Retval` nodes, in the order of the results.
    pub returns: Vec<NodeId>,
    /// The nodes that a caller who waits for the call by a control edge waits for.
    pub control_returns: Vec<NodeId>,
}

/// Makes the graph of a function's body: values are put in for its attributes, names of outputs
/// become numbers, and attributes of nodes get their defaults.
pub fn instantiate_function(
    func: &Func,
    library: &Arc<FunctionLibrary>,
    ops: &Arc<Registry>,
) -> Result<FunctionBody> {
    match library.find(&func.name) {
        Some(def) => instantiate(def, &func.attrs, library, &**ops)
            .context(|| format!("while instantiating function {}", func.name)),
        None if func.name == SYMBOLIC_GRADIENT => gradient::instantiate(func, library, ops),
        None => Err(not_found!("Function {} is not defined.", func.name)),
    }
}

fn instantiate(
    def: &FunctionDef,
    given: &AttrMap,
    library: &Arc<FunctionLibrary>,
    ops: &dyn OpLookup,
) -> Result<FunctionBody> {
    let mut bindings = given.clone();
    for attr in &def.signature.attrs {
        if let (false, Some(default)) = (bindings.contains_key(&attr.name), &attr.default) {
            bindings.insert(attr.name.clone(), default.clone());
        }
    }
    let mut body = Body { graph: Graph::new(Arc::clone(library)), values: FxHashMap::default() };
    let args = body.add_args(def, &bindings, ops)?;
    for node in &def.nodes {
        body.add_node(node, &bindings, ops)?;
    }
    for node in &def.nodes {
        body.connect(node).map_err(|error| error.at_node(&node.name))?;
    }
    let returns = body.add_returns(def, &bindings, ops)?;
    let control_returns = def
        .control_returns
        .values()
        .map(|name| body.graph.find(name).ok_or_else(|| unknown_input(name)))
        .collect::<Result<Vec<_>>>()?;
    body.graph.validate()?;
    without_unused(FunctionBody { graph: body.graph, args, returns, control_returns }, ops)
}

/// Leaves out nodes that nothing needs.
fn without_unused(body: FunctionBody, ops: &dyn OpLookup) -> Result<FunctionBody> {
    let FunctionBody { graph, args, returns, control_returns } = body;
    let effects = graph.iter().filter(|(_, node)| node.is_stateful()).map(|(id, _)| id);
    let kept = prune::ancestors(&graph, effects.chain(control_returns.iter().copied()));
    let mut pruned = graph.retain(|id| kept[id.index()]);
    prune::check_registered(&pruned)?;
    calls::spell_out(&mut pruned, ops)?;
    let moved = |ids: Vec<NodeId>| -> Vec<NodeId> {
        let find = |id| pruned.find(&graph.node(id).name).expect("arguments and results are kept");
        ids.into_iter().map(find).collect()
    };
    let (args, returns, control_returns) = (moved(args), moved(returns), moved(control_returns));
    Ok(FunctionBody { graph: pruned, args, returns, control_returns })
}

/// A body in the making, and what the names in it stand for.
struct Body {
    graph: Graph,
    values: FxHashMap<String, Values>,
}

/// The tensors that a name in a body stands for.
enum Values {
    Arg(Vec<NodeId>),
    /// A node, with the numbers of the outputs of each of its output arguments.
    Node(NodeId, Vec<(String, std::ops::Range<usize>)>),
}

impl Body {
    fn add_args(
        &mut self,
        def: &FunctionDef,
        bindings: &AttrMap,
        ops: &dyn OpLookup,
    ) -> Result<Vec<NodeId>> {
        let types = def.signature.input_types(bindings)?;
        let mut args = Vec::with_capacity(types.len());
        for (position, (name, range)) in
            def.signature.input_ranges(bindings)?.into_iter().enumerate()
        {
            let is_list = def.signature.inputs[position].is_list();
            let mut nodes = Vec::with_capacity(range.len());
            for (element, index) in range.enumerate() {
                let node_name = if is_list { format!("{name}_{element}") } else { name.to_owned() };
                let mut arg = end("_Arg", index, types[index].dtype);
                let extra = def.arg_attrs.get(&(position as u32)).into_iter().flatten();
                arg.attrs.extend(extra.map(|(name, value)| (name.as_str(), value.clone())));
                let arg = NewNode { name: &node_name, ..arg };
                nodes.push(arg.add_to(&mut self.graph, ops)?);
            }
            args.extend(&nodes);
            self.values.insert(name.to_owned(), Values::Arg(nodes));
        }
        Ok(args)
    }

    fn add_node(&mut self, def: &NodeDef, bindings: &AttrMap, ops: &dyn OpLookup) -> Result<()> {
        let attrs = bind_all(&def.attrs, bindings).map_err(|error| error.at_node(&def.name))?;
        let library = Arc::clone(self.graph.library());
        let (attrs, signature) = match find_def(&def.op, &library, ops) {
            None => (Arc::new(attrs), None),
            Some(_) => {
                let (attrs, signature) = signature(&def.op, attrs, &library, ops)
                    .map_err(|error| error.at_node(&def.name))?;
                (attrs, Some(signature))
            }
        };
        let ranges = match &signature {
            None => Vec::new(),
            Some(signature) => signature.def.output_ranges(&attrs)?,
        };
        let ranges = ranges.into_iter().map(|(name, range)| (name.to_owned(), range)).collect();
        let id = self.graph.add(Node {
            name: def.name.as_str().into(),
            op: def.op.as_str().into(),
            device: def.device.as_str().into(),
            attrs,
            inputs: Vec::new(),
            control_inputs: Vec::new(),
            signature,
        })?;
        self.values.insert(def.name.clone(), Values::Node(id, ranges));
        Ok(())
    }

    fn connect(&mut self, def: &NodeDef) -> Result<()> {
        let (mut inputs, mut control_inputs) = (Vec::new(), Vec::new());
        for text in &def.inputs {
            match text.strip_prefix('^') {
                None => inputs.extend(self.resolve(text)?),
                Some(name) => match self.values.get(name) {
                    Some(Values::Node(id, _)) => control_inputs.push(*id),
                    Some(Values::Arg(ids)) => control_inputs.extend(ids),
                    None => return Err(unknown_input(text)),
                },
            }
        }
        control_inputs.sort_unstable();
        control_inputs.dedup();
        let id = self.graph.find(&def.name).ok_or_else(|| unknown_input(&def.name))?;
        let node = self.graph.node_mut(id);
        (node.inputs, node.control_inputs) = (inputs, control_inputs);
        Ok(())
    }

    /// The tensors that `argument`, `argument:1`, `node:output` or `node:output:1` names.
    fn resolve(&self, text: &str) -> Result<Vec<Output>> {
        let unknown = || unknown_input(text);
        let mut parts = text.split(':');
        let name = parts.next().ok_or_else(unknown)?;
        let (second, third) = (parts.next(), parts.next());
        let number = |text: &str| text.parse::<usize>().ok();
        match self.values.get(name).ok_or_else(unknown)? {
            Values::Arg(ids) => {
                let all = ids.iter().map(|&node| Output { node, index: 0 });
                match second {
                    None => Ok(all.collect()),
                    Some(index) => {
                        let index = number(index).filter(|&i| i < ids.len());
                        Ok(all.skip(index.ok_or_else(unknown)?).take(1).collect())
                    }
                }
            }
            &Values::Node(node, ref ranges) => {
                let output = |index: usize| Output { node, index: index as u32 };
                let named = ranges.iter().find(|(name, _)| Some(name.as_str()) == second);
                match (named, second.and_then(number), third.map(number)) {
                    (Some((_, range)), _, None) => Ok(range.clone().map(output).collect()),
                    (Some((_, range)), _, Some(Some(index))) if index < range.len() => {
                        Ok(vec![output(range.start + index)])
                    }
                    (None, Some(index), None) => Ok(vec![output(index)]),
                    // An unknown op is reported only if the body needs it.
                    (None, _, Some(Some(index))) if ranges.is_empty() => Ok(vec![output(index)]),
                    _ => Err(unknown()),
                }
            }
        }
    }

    fn add_returns(
        &mut self,
        def: &FunctionDef,
        bindings: &AttrMap,
        ops: &dyn OpLookup,
    ) -> Result<Vec<NodeId>> {
        let types = def.signature.output_types(bindings)?;
        let mut returns = Vec::with_capacity(types.len());
        for (name, range) in def.signature.output_ranges(bindings)? {
            let text = def.returns.get(name).ok_or_else(|| {
                invalid_argument!("Return {name} missing from function {}", def.signature.name)
            })?;
            let outputs = self.resolve(text)?;
            if outputs.len() != range.len() {
                return Err(invalid_argument!(
                    "return {name} has {} tensors but {text} has {}",
                    range.len(),
                    outputs.len()
                ));
            }
            for (output, index) in outputs.into_iter().zip(range) {
                let retval = NewNode {
                    name: &format!("{name}_RetVal"),
                    inputs: vec![output],
                    ..end("_Retval", index, types[index].dtype)
                };
                returns.push(retval.add_to(&mut self.graph, ops)?);
            }
        }
        Ok(returns)
    }
}

/// Adds argument number `index` to a body.
pub(crate) fn add_arg(
    graph: &mut Graph,
    index: usize,
    dtype: DType,
    ops: &Registry,
) -> Result<NodeId> {
    end("_Arg", index, dtype).add_to(graph, ops)
}

/// Adds result number `index` to a body.
pub(crate) fn add_return(
    graph: &mut Graph,
    index: usize,
    value: Output,
    dtype: DType,
    ops: &Registry,
) -> Result<NodeId> {
    NewNode { inputs: vec![value], ..end("_Retval", index, dtype) }.add_to(graph, ops)
}

/// An argument or a result.
fn end(op: &'static str, index: usize, dtype: DType) -> NewNode<'static> {
    NewNode {
        name: op,
        op,
        attrs: vec![("T", AttrValue::Type(dtype)), ("index", AttrValue::Int(index as i64))],
        ..NewNode::default()
    }
}

fn unknown_input(text: &str) -> Error {
    invalid_argument!("input {text} is not found")
}

/// Puts in values for the attributes that a function leaves open.
fn bind_all(attrs: &AttrMap, bindings: &AttrMap) -> Result<AttrMap> {
    attrs.iter().map(|(name, value)| Ok((name.clone(), bind(value, bindings)?))).collect()
}

fn bind(value: &AttrValue, bindings: &AttrMap) -> Result<AttrValue> {
    let bind_func = |func: &Func| -> Result<Func> {
        Ok(Func { name: func.name.clone(), attrs: bind_all(&func.attrs, bindings)? })
    };
    Ok(match value {
        AttrValue::Placeholder(name) => bindings
            .get(name)
            .ok_or_else(|| {
                invalid_argument!("Failed to bind all placeholders: no value for {name}")
            })?
            .clone(),
        AttrValue::Func(func) => AttrValue::Func(bind_func(func)?),
        AttrValue::List(AttrList::Funcs(funcs)) => {
            AttrValue::List(AttrList::Funcs(funcs.iter().map(bind_func).collect::<Result<_>>()?))
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{ops, parse, print_graph};

    fn check_with(text: &str, attrs: AttrMap, expected: Expect) {
        let ops = ops();
        let graph = parse(text, &ops).unwrap();
        let func = Func { name: "f".to_owned(), attrs };
        let text = match instantiate_function(&func, graph.library(), &ops) {
            Ok(body) => {
                let names = |ids: &[NodeId]| {
                    let names = ids.iter().map(|&id| body.graph.node(id).name.to_string());
                    names.collect::<Vec<_>>().join(" ")
                };
                let (args, returns) = (names(&body.args), names(&body.returns));
                let effects = names(&body.control_returns);
                format!("{}{args} -> {returns} ^ {effects}\n", print_graph(&body.graph))
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&text);
    }

    fn check(text: &str, expected: Expect) {
        check_with(text, AttrMap::new(), expected);
    }

    #[test]
    fn outputs_are_found_by_name_and_effects_are_kept() {
        check(
            "fn f(x: float, h: resource) -> (a: float = s:y:1, b: float = x) ^last {
               s = Split(n:y) {num_split=3}
               n = Neg(x, ^x)
               unused = Neg(n:y:0)
               write = AssignVariableOp(h, s:y:2)
               last = NoOp(^write)
             }",
            expect![[r#"
                x = _Arg
                h = _Arg
                s = Split(n)
                n = Neg(x, ^x)
                write = AssignVariableOp(h, s:2)
                last = NoOp(^write)
                a_RetVal = _Retval(s:1)
                b_RetVal = _Retval(x)
                x h -> a_RetVal b_RetVal ^ last
            "#]],
        );
    }

    #[test]
    fn a_whole_list_may_be_named_at_once() {
        check(
            "fn f(x: float) -> (a: float = m:output:0) {
               s = Split(x)
               m = Merge(s:y)
             }",
            expect![[r#"
                x = _Arg
                s = Split(x)
                m = Merge(s, s:1)
                a_RetVal = _Retval(m)
                x -> a_RetVal ^ 
            "#]],
        );
    }

    #[test]
    fn open_attributes_get_values() {
        let text = "fn f(x: float) -> (a: float = m:output:0) {
              s = Split(x) {num_split=$n}
              m = Merge(s:y) {N=$n}
            }";
        check(
            text,
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: Failed to bind all placeholders: no value for n
            	 [[{{node s}}]]"#]],
        );
        let three = AttrMap::from([("n".to_owned(), AttrValue::Int(3))]);
        check_with(
            text,
            three,
            expect![[r#"
            x = _Arg
            s = Split(x)
            m = Merge(s, s:1, s:2)
            a_RetVal = _Retval(m)
            x -> a_RetVal ^ 
        "#]],
        );
    }

    #[test]
    fn wrong_bodies_are_refused() {
        let body = |node: &str| format!("fn f(x: float) -> (a: float = n:y:0) {{\n{node}\n}}");
        check(
            &body("n = Neg(gone)"),
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input gone is not found
            	 [[{{node n}}]]"#]],
        );
        check(
            &body("n = Neg(x:1)"),
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input x:1 is not found
            	 [[{{node n}}]]"#]],
        );
        check(
            &body("n = Neg(m:z:0)\nm = Neg(x)"),
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input m:z:0 is not found
            	 [[{{node n}}]]"#]],
        );
        check(
            &body("n = Neg(m:y:1)\nm = Neg(x)"),
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input m:y:1 is not found
            	 [[{{node n}}]]"#]],
        );
        check(
            &body("n = Neg(x, ^gone)"),
            expect![[r#"
            INVALID_ARGUMENT: while instantiating function f: input ^gone is not found
            	 [[{{node n}}]]"#]],
        );
        check(
            &body("n = Neg(x, x)"),
            expect![
                "INVALID_ARGUMENT: while instantiating function f: NodeDef expected inputs 'float' do not match 2 inputs specified; Op<name=Neg; signature=x:T -> y:T; attr=T:type,default=DT_FLOAT>; NodeDef: {{node n}}"
            ],
        );
        check(
            &body("n = Neg(n:y:0)"),
            expect![
                "INVALID_ARGUMENT: while instantiating function f: Graph is invalid, contains a cycle with 2 nodes, including: n, a_RetVal"
            ],
        );
        check(
            &body("m = Neg(x)"),
            expect!["INVALID_ARGUMENT: while instantiating function f: input n:y:0 is not found"],
        );
        check(
            &body("n = Neg(u:y:0)\nu = Unknown(x)"),
            expect![
                "NOT_FOUND: while instantiating function f: Op type not registered 'Unknown' in binary running on tensorfleet. Make sure the Op and Kernel are registered in the binary running in this process."
            ],
        );
        check("a = NoOp", expect!["NOT_FOUND: Function f is not defined."]);
    }
}

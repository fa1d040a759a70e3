//! What must hold for a graph: legal names, complete attributes, matching types, no cycles.

use tensorfleet_tensor::{Result, invalid_argument};

use crate::{AttrList, AttrMap, AttrValue, Graph, Node, OpDef};

/// Checks the characters of a node's name.
pub(crate) fn node_name(name: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.\\/>-".contains(c);
    let first = name.chars().next();
    if first.is_none_or(|c| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'))
        || !name.chars().all(legal)
    {
        return Err(invalid_argument!("Node name '{name}' contains invalid characters"));
    }
    Ok(())
}

/// Completes attributes with defaults and checks them against the definition.
pub(crate) fn attrs(def: &OpDef, node: &str, attrs: &mut AttrMap) -> Result<()> {
    for attr in &def.attrs {
        let Some(value) = attrs.get(&attr.name) else {
            match &attr.default {
                Some(default) => {
                    attrs.insert(attr.name.clone(), default.clone());
                }
                None => {
                    return Err(invalid_argument!(
                        "NodeDef missing attr '{}' from {def}",
                        attr.name
                    )
                    .at_node(node));
                }
            }
            continue;
        };
        if matches!(value, AttrValue::Placeholder(_)) {
            continue;
        }
        if !has_kind(value, &attr.kind) {
            return Err(invalid_argument!(
                "AttrValue had value with unexpected type: expected '{}', got {value} for attr '{}' of {def}",
                attr.kind,
                attr.name
            )
            .at_node(node));
        }
        if let Some(allowed) = &attr.allowed {
            check_allowed(&attr.name, value, allowed, def, node)?;
        }
        if let Some(minimum) = attr.minimum {
            let (what, have) = match value {
                AttrValue::Int(value) => ("Value", *value),
                AttrValue::List(list) => ("Length", list.len() as i64),
                _ => continue,
            };
            if have < minimum {
                return Err(invalid_argument!(
                    "{what} for attr '{}' of {have} must be at least minimum {minimum}\n\t; NodeDef: {node}; {def}",
                    attr.name
                )
                .at_node(node));
            }
        }
    }
    Ok(())
}

fn has_kind(value: &AttrValue, kind: &str) -> bool {
    match value {
        AttrValue::String(_) => kind == "string",
        AttrValue::Int(_) => kind == "int",
        AttrValue::Float(_) => kind == "float",
        AttrValue::Bool(_) => kind == "bool",
        AttrValue::Type(_) => kind == "type",
        AttrValue::Shape(_) => kind == "shape",
        AttrValue::Tensor(_) => kind == "tensor",
        AttrValue::Func(_) => kind == "func",
        AttrValue::Placeholder(_) => true,
        AttrValue::Unset => false,
        AttrValue::List(list) => match list {
            AttrList::Empty => kind.starts_with("list("),
            AttrList::Strings(_) => kind == "list(string)",
            AttrList::Ints(_) => kind == "list(int)",
            AttrList::Floats(_) => kind == "list(float)",
            AttrList::Bools(_) => kind == "list(bool)",
            AttrList::Types(_) => kind == "list(type)",
            AttrList::Shapes(_) => kind == "list(shape)",
            AttrList::Tensors(_) => kind == "list(tensor)",
            AttrList::Funcs(_) => kind == "list(func)",
        },
    }
}

fn check_allowed(
    name: &str,
    value: &AttrValue,
    allowed: &AttrList,
    def: &OpDef,
    node: &str,
) -> Result<()> {
    let bad = match (value, allowed) {
        (AttrValue::Type(value), AttrList::Types(allowed)) => {
            (!allowed.contains(value)).then(|| value.name().to_owned())
        }
        (AttrValue::List(AttrList::Types(values)), AttrList::Types(allowed)) => values
            .iter()
            .find(|value| !allowed.contains(value))
            .map(|value| value.name().to_owned()),
        (AttrValue::String(value), AttrList::Strings(allowed)) => {
            (!allowed.contains(value)).then(|| format!("\"{}\"", String::from_utf8_lossy(value)))
        }
        (AttrValue::List(AttrList::Strings(values)), AttrList::Strings(allowed)) => values
            .iter()
            .find(|value| !allowed.contains(value))
            .map(|value| format!("\"{}\"", String::from_utf8_lossy(value))),
        _ => None,
    };
    let Some(bad) = bad else { return Ok(()) };
    let allowed = match allowed {
        AttrList::Types(types) => types.iter().map(|t| t.name().to_owned()).collect::<Vec<_>>(),
        AttrList::Strings(strings) => {
            strings.iter().map(|s| format!("\"{}\"", String::from_utf8_lossy(s))).collect()
        }
        _ => Vec::new(),
    };
    Err(invalid_argument!(
        "Value for attr '{name}' of {bad} is not in the list of allowed values: {}\n\t; NodeDef: {node}; {def}",
        allowed.join(", ")
    )
    .at_node(node))
}

/// Checks the number and the types of a node's inputs.
pub(crate) fn inputs(graph: &Graph, node: &Node) -> Result<()> {
    for input in &node.inputs {
        let source = graph.node(input.node);
        if source.signature.is_some() && input.index as usize >= source.output_types().len() {
            // The gradient of such a node reads outputs that a client has not told of.
            let hint = match &*source.op {
                "If" | "StatelessIf" | "While" | "StatelessWhile" => {
                    " Try using tf.compat.v1.experimental.output_all_intermediates(True)."
                }
                _ => "",
            };
            return Err(invalid_argument!(
                "Node '{}': Connecting to invalid output {} of source node {} which has {} \
                 outputs.{hint}",
                node.name,
                input.index,
                source.name,
                source.output_types().len()
            ));
        }
    }
    let Some(signature) = &node.signature else { return Ok(()) };
    if signature.inputs.len() != node.inputs.len() {
        let expected: Vec<String> = signature.inputs.iter().map(|t| t.to_string()).collect();
        return Err(invalid_argument!(
            "NodeDef expected inputs '{}' do not match {} inputs specified; {}; NodeDef: {{{{node {}}}}}",
            expected.join(", "),
            node.inputs.len(),
            signature.def,
            node.name
        ));
    }
    for (index, (input, want)) in node.inputs.iter().zip(&signature.inputs).enumerate() {
        let source = graph.node(input.node);
        let Some(have) = source.output_types().get(input.index as usize) else { continue };
        if have.dtype != want.dtype || (want.is_ref && !have.is_ref) {
            return Err(invalid_argument!(
                "Input {index} of node {} was passed {have} from {}:{} incompatible with expected {want}.",
                node.name,
                source.name,
                input.index
            ));
        }
    }
    Ok(())
}

/// Checks that every cycle goes through a loop's back edge.
pub(crate) fn acyclic(graph: &Graph) -> Result<()> {
    let mut waiting = vec![0usize; graph.len()];
    let mut consumers: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
    for (id, node) in graph.iter() {
        let sources =
            node.inputs.iter().map(|input| input.node).chain(node.control_inputs.iter().copied());
        for source in sources {
            if !node.closes_loop(graph.node(source)) {
                waiting[id.index()] += 1;
                consumers[source.index()].push(id.0);
            }
        }
    }
    let mut ready: Vec<u32> =
        (0..graph.len() as u32).filter(|&i| waiting[i as usize] == 0).collect();
    let mut visited = 0;
    while let Some(index) = ready.pop() {
        visited += 1;
        for &consumer in &consumers[index as usize] {
            waiting[consumer as usize] -= 1;
            if waiting[consumer as usize] == 0 {
                ready.push(consumer);
            }
        }
    }
    if visited == graph.len() {
        return Ok(());
    }
    let stuck: Vec<&str> =
        (0..graph.len()).filter(|&i| waiting[i] > 0).map(|i| &*graph.nodes()[i].name).collect();
    Err(invalid_argument!(
        "Graph is invalid, contains a cycle with {} nodes, including: {}",
        stuck.len(),
        stuck[..stuck.len().min(3)].join(", ")
    ))
}

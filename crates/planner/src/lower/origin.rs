//! The way back: from the name of a node of a lowered function to where the node was written.

use tensorfleet_graph::{AttrList, AttrValue, FunctionLibrary, NodeDef};

use super::branch::branch_label;

/// Where a node was written.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The functions around it but for the outermost, each called by the one before it.
    pub functions: Vec<&'a str>,
    /// Its name in the last of them.
    pub node: &'a str,
}

/// Finds where a node was written that is called `name` now that `function` is lowered. Nodes that
/// lowering or optimising has made were written nowhere.
pub fn origin<'a>(
    function: &str,
    library: &'a FunctionLibrary,
    name: &'a str,
) -> Option<Origin<'a>> {
    let nodes = &library.find(function)?.nodes;
    if nodes.iter().any(|node| node.name == name) {
        return Some(Origin { functions: Vec::new(), node: name });
    }
    nodes.iter().find_map(|call| {
        let inside = below(name, &call.name)?;
        called(call).into_iter().find_map(|(label, function)| {
            let inside = if label.is_empty() { inside } else { below(inside, &label)? };
            let mut found = origin(function, library, inside)?;
            found.functions.insert(0, function);
            Some(found)
        })
    })
}

fn below<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix)?.strip_prefix('/')
}

/// The names of functions whose bodies may take the place of a node, with what their nodes' names have
/// behind its own.
fn called(node: &NodeDef) -> Vec<(String, &str)> {
    let labelled = |attr: &str, label: String| match node.attrs.get(attr) {
        Some(AttrValue::Func(func)) => Some((label, func.name.as_str())),
        _ => None,
    };
    // A call may be written with the function's name in place of an op's.
    let mut called = vec![(String::new(), node.op.as_str())];
    called.extend(labelled("f", String::new()));
    called.extend(labelled("else_branch", branch_label(false, 0)));
    called.extend(labelled("then_branch", branch_label(false, 1)));
    called.extend(labelled("cond", "cond".to_owned()));
    called.extend(labelled("body", "body".to_owned()));
    if let Some(AttrValue::List(AttrList::Funcs(branches))) = node.attrs.get("branches") {
        let numbered = branches.iter().enumerate();
        called.extend(numbered.map(|(index, func)| (branch_label(true, index), &*func.name)));
    }
    called
}

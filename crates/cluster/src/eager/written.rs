//! Errors of functions in TensorFlow's words: by them its client finds the line of the program.

use tensorfleet_graph::FunctionLibrary;
use tensorfleet_planner::{Origin, origin};
use tensorfleet_tensor::Error;

/// Says in which function something failed, and names nodes as they are called where they were written.
pub(super) fn in_function(name: &str, library: &FunctionLibrary, error: &Error) -> Error {
    let written = |node: &str| {
        let Origin { functions, node } = origin(name, library, node)?;
        let functions: String = functions.into_iter().map(function_marker).collect();
        Some(format!("{functions}{}", node_marker(node)))
    };
    let message = with_nodes(error.message(), written);
    let mut told = Error::new(error.code(), format!("{} {message}", function_marker(name)));
    if error.is_derived() {
        told = told.derived();
    }
    if error.is_worker_restarted() {
        told = told.worker_restarted();
    }
    told
}

fn function_marker(name: &str) -> String {
    format!("{{{{function_node {name}}}}}")
}

fn node_marker(name: &str) -> String {
    format!("{{{{node {name}}}}}")
}

/// Writes other text in place of the markers of nodes for which there is some.
fn with_nodes(message: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("{{node ")
        && let Some((name, after)) = after.split_once("}}")
    {
        written.push_str(before);
        written.push_str(&replace(name).unwrap_or_else(|| node_marker(name)));
        rest = after;
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_replaced_one_by_one() {
        let replace =
            |name: &str| (name == "a/b").then(|| "{{function_node f}}{{node b}}".to_owned());
        assert_eq!(
            with_nodes("bad\n\t [[{{node a/b}}]]\n\t [[{{node c}}]] {{node", replace),
            "bad\n\t [[{{function_node f}}{{node b}}]]\n\t [[{{node c}}]] {{node"
        );
        assert_eq!(with_nodes("bad", replace), "bad");
    }
}

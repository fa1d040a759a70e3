//! `tensorfleet graph`: where the nodes of a session's graph are, and what goes from device to device.

mod drawing;
mod svg;

use std::fmt::Write;

use serde_json::Value;
use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Result, internal, not_found, unavailable};
use tokio::runtime::Handle;

use crate::cli::{Graph, GraphFormat};
use crate::status::runtime;
use crate::table::aligned;
use drawing::Drawing;

/// Fetches the graphs of a session and draws one of them; returns what is to be shown.
pub(crate) fn run(graph: &Graph) -> Result<String> {
    let target = &graph.target;
    let told = runtime()?.block_on(async {
        let address = target.strip_prefix("grpc://").unwrap_or(target);
        AdminClient::new(address, &Handle::current())?.graphs(&graph.session).await
    })?;
    let told: Value = serde_json::from_str(&told)
        .map_err(|error| internal!("{target} tells what cannot be read: {error}"))?;
    let plans = told["plans"].as_array().cloned().unwrap_or_default();
    if plans.is_empty() {
        return Err(not_found!("the session has run no step yet, so nothing is placed"));
    }
    let Some(number) = graph.plan else { return Ok(list(&plans)) };
    let Some(plan) = plans.get(number) else {
        return Err(not_found!("the session has {} kinds of steps, from 0 on", plans.len()));
    };
    let drawing = Drawing::new(plan, graph.limit);
    let text = match graph.output {
        GraphFormat::Dot => dot(&drawing),
        GraphFormat::Svg => svg::draw(&drawing),
        GraphFormat::Json => format!("{plan:#}\n"),
    };
    let Some(path) = &graph.file else { return Ok(text) };
    std::fs::write(path, text)
        .map_err(|error| unavailable!("{} cannot be written: {error}", path.display()))?;
    Ok(String::new())
}

/// A line for each kind of step that the session has run.
fn list(plans: &[Value]) -> String {
    let mut rows =
        vec![["STEP", "RUNS", "NODES", "TASKS", "FETCHES AND TARGETS"].map(str::to_owned).to_vec()];
    for (number, plan) in plans.iter().enumerate() {
        let parts = plan["parts"].as_array().map_or(&[][..], Vec::as_slice);
        let nodes: usize = parts.iter().map(|it| it["nodes"].as_array().map_or(0, Vec::len)).sum();
        let names = ["fetches", "targets"]
            .iter()
            .flat_map(|key| plan[key].as_array().into_iter().flatten());
        let names: Vec<&str> = names.filter_map(Value::as_str).take(5).collect();
        let runs = plan["runs"].as_u64().unwrap_or(0);
        let columns =
            [number.to_string(), runs.to_string(), nodes.to_string(), parts.len().to_string()];
        rows.push(columns.into_iter().chain([names.join(" ")]).collect());
    }
    aligned(&rows) + "\nshow one with --step=N and -o dot or -o svg\n"
}

/// Graphviz's language, a cluster for each device.
fn dot(drawing: &Drawing) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = String::from(
        "digraph step {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n",
    );
    for (lane, device) in drawing.lanes.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  subgraph cluster_{lane} {{\n    label={};", quoted(device));
        for (number, it) in drawing.boxes.iter().enumerate().filter(|(_, it)| it.lane == lane) {
            let label = format!("{}\n{}", it.name, it.what);
            let _ = writeln!(text, "    n{number} [label={}];", quoted(&label));
        }
        text.push_str("  }\n");
    }
    for edge in &drawing.edges {
        let look = match (edge.crosses, edge.is_control) {
            (true, _) => " [color=red, penwidth=2]",
            (false, true) => " [style=dashed]",
            (false, false) => "",
        };
        let _ = writeln!(text, "  n{} -> n{}{look};", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_clusters_and_what_crosses_is_red() {
        let drawing = Drawing::new(&drawing::tests::plan(), 100);
        let expected = r#"digraph step {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  subgraph cluster_0 {
    label="ps/0 CPU:0";
    n0 [label="w\nVariableV2"];
  }
  subgraph cluster_1 {
    label="worker/0 CPU:0";
    n1 [label="x\nConst"];
    n2 [label="y\nMatMul"];
  }
  n0 -> n2 [color=red, penwidth=2];
  n1 -> n2;
}
"#;
        assert_eq!(dot(&drawing), expected);
        let listed = list(&[drawing::tests::plan()]);
        assert!(listed.contains("0     3     5      2      y:0"), "{listed}");
    }
}

//! Whole plans of arbitrary graphs: they compute what the graph says, whatever the devices.

use proptest::prelude::*;
use rustc_hash::FxHashMap;
use tensorfleet_graph::{AttrValue, Graph, Node, NodeId, Output};

use crate::testing::{SmallArithmetic, devices, ops, parse, print_plan};
use crate::{Devices, Options, Placement, Plan, StepSpec, plan};

const OPS: [(&str, usize, usize); 10] = [
    ("Const", 0, 1),
    ("Placeholder", 0, 1),
    ("Neg", 1, 1),
    ("Abs", 1, 1),
    ("Identity", 1, 1),
    ("Split", 1, 2),
    ("Add", 2, 1),
    ("Mul", 2, 1),
    ("Sub", 2, 1),
    ("NoOp", 0, 0),
];

/// One line of a random graph.
#[derive(Clone, Debug)]
struct Line {
    op: usize,
    inputs: [prop::sample::Index; 2],
    control: Option<prop::sample::Index>,
    device: &'static str,
    value: u8,
}

fn line() -> impl Strategy<Value = Line> {
    let device = prop::sample::select(vec!["", "@w0", "@w1", "@ps0", "@ps1", "@/job:ps"]);
    let control = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (0..OPS.len(), any::<[prop::sample::Index; 2]>(), control, device, 0..3u8).prop_map(
        |(op, inputs, control, device, value)| Line { op, inputs, control, device, value },
    )
}

/// The text of a graph in which every node uses earlier ones only, and the names of its tensors.
fn graph_text(lines: &[Line]) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut tensors: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let (op, wanted, outputs) = OPS[line.op];
        let (op, wanted) =
            if tensors.is_empty() && wanted > 0 { ("Const", 0) } else { (op, wanted) };
        let mut inputs: Vec<String> =
            line.inputs[..wanted].iter().map(|input| input.get(&tensors).clone()).collect();
        inputs.extend(
            line.control.filter(|_| index > 0).map(|control| format!("^n{}", control.index(index))),
        );
        let value =
            if op == "Const" { format!(" {{value={}}}", line.value) } else { String::new() };
        text += &format!("n{index} = {op}({}) {}{value}\n", inputs.join(", "), line.device);
        let outputs = if op == "Const" { 1 } else { outputs };
        tensors.extend((0..outputs).map(|output| format!("n{index}:{output}")));
    }
    (text, tensors)
}

fn without_devices(text: &str) -> String {
    let keep = |word: &&str| !word.starts_with('@');
    let line = |line: &str| line.split(' ').filter(keep).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The number that is fed for a tensor.
fn fed(name: &str) -> f32 {
    name.bytes().map(f32::from).sum::<f32>() / 100.0
}

/// Computes tensors of a set of graphs that are joined by `_Send` and `_Recv`.
struct Interpreter<'a> {
    graphs: Vec<&'a Graph>,
    /// Where the `_Send` of each edge is.
    sends: FxHashMap<String, (usize, NodeId)>,
    feeds: Vec<f32>,
}

fn edge(node: &Node) -> String {
    match node.attrs.get("tensor_name") {
        Some(AttrValue::String(name)) => String::from_utf8_lossy(name).into_owned(),
        _ => String::new(),
    }
}

fn index(node: &Node) -> usize {
    match node.attrs.get("index") {
        Some(AttrValue::Int(index)) => *index as usize,
        _ => 0,
    }
}

impl<'a> Interpreter<'a> {
    fn new(plan: &'a Plan, feeds: Vec<f32>) -> Interpreter<'a> {
        let graphs: Vec<&Graph> = plan.partitions.iter().map(|part| &part.graph).collect();
        let mut sends = FxHashMap::default();
        for (home, graph) in graphs.iter().enumerate() {
            for (id, node) in graph.iter().filter(|(_, node)| &*node.op == "_Send") {
                assert!(sends.insert(edge(node), (home, id)).is_none(), "an edge is sent twice");
            }
        }
        let recvs =
            graphs.iter().flat_map(|graph| graph.nodes()).filter(|node| &*node.op == "_Recv");
        assert_eq!(recvs.count(), sends.len(), "each edge is sent and received once");
        Interpreter { graphs, sends, feeds }
    }

    fn fetches(&self) -> Vec<f32> {
        let mut fetched: Vec<(usize, f32)> = Vec::new();
        for (home, graph) in self.graphs.iter().enumerate() {
            for node in graph.nodes().iter().filter(|node| &*node.op == "_Retval") {
                fetched.push((index(node), self.tensor(home, node.inputs[0])));
            }
        }
        fetched.sort_by_key(|(index, _)| *index);
        fetched.into_iter().map(|(_, value)| value).collect()
    }

    fn tensor(&self, home: usize, output: Output) -> f32 {
        let node = self.graphs[home].node(output.node);
        let input = |index: usize| self.tensor(home, node.inputs[index]);
        match &*node.op {
            "Const" => match node.attrs.get("value") {
                Some(AttrValue::Tensor(value)) => value.scalar_value().unwrap(),
                _ => panic!("a constant without a value"),
            },
            "_Arg" => self.feeds[index(node)],
            "_Recv" => {
                let (home, send) = self.sends[&edge(node)];
                self.tensor(home, self.graphs[home].node(send).inputs[0])
            }
            "Neg" => -input(0),
            "Abs" => input(0).abs(),
            "Identity" => input(0),
            "Split" => input(0) / 2.0,
            "Add" => input(0) + input(1),
            "Mul" => input(0) * input(1),
            "Sub" => input(0) - input(1),
            other => panic!("cannot compute {other}"),
        }
    }
}

fn planned(text: &str, spec: &StepSpec, options: &Options) -> Plan {
    let (ops, devices) = (ops(), devices());
    let devices = Devices { all: &devices, client: &devices[0] };
    let graph = parse(text, &ops).unwrap();
    let placement = Placement::default().extend(&graph, &devices, options);
    plan(&graph, &placement, spec, &devices, &ops, &SmallArithmetic, options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn plans_compute_what_the_graph_says(
        lines in prop::collection::vec(line(), 1..24),
        fetches in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        extra_feed in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (text, tensors) = graph_text(&lines);
        prop_assume!(!tensors.is_empty());
        let is_placeholder = |name: &&String| text.contains(&format!(
            "{} = Placeholder", name.trim_end_matches(":0")
        ));
        let mut feeds: Vec<String> = tensors.iter().filter(is_placeholder).cloned().collect();
        let extra = extra_feed.map(|index| index.get(&tensors).clone());
        feeds.extend(extra.filter(|extra| !feeds.contains(extra)));
        let values: Vec<f32> = feeds.iter().map(|name| fed(name)).collect();
        let fetches = fetches.iter().map(|index| index.get(&tensors).clone());
        let fetches: Vec<String> = fetches.filter(|name| !feeds.contains(name)).collect();
        prop_assume!(!fetches.is_empty());
        let spec = StepSpec { feeds, fetches, ..StepSpec::default() };

        let literal = Options { optimize: false, ..Options::default() };
        // Printed, not a number equals itself.
        let compute = |plan: &Plan| {
            let args = plan.args.iter().map(|arg| values[arg.feed]).collect();
            format!("{:?}", Interpreter::new(plan, args).fetches())
        };
        let on_one_device = planned(&without_devices(&text), &spec, &literal);
        prop_assert_eq!(on_one_device.partitions.len(), 1);
        let expected = compute(&on_one_device);
        prop_assert_eq!(&expected, &compute(&planned(&text, &spec, &literal)));
        let optimised = planned(&text, &spec, &Options::default());
        prop_assert_eq!(&expected, &compute(&optimised));

        let again = planned(&text, &spec, &Options::default());
        prop_assert_eq!(print_plan(&optimised), print_plan(&again), "equal input, equal plan");
    }
}

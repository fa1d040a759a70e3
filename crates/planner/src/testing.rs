//! Graphs as text, for tests.
//!
//! A line is a node: `name = Op(input, node:1, ^control) @device {attr=value, ..}`; everything after
//! the op is optional. `w0` and `ps1` are short for the CPU of a task. Values of attributes are
//! `true`, `3`, `float`, `"text"`, `&function` and lists of strings in brackets.
//! `fn f(x: float) -> (y: float = node:output:0) ^effect {` opens a function, whose nodes follow up
//! to a line `}`.

use std::fmt::Write as _;
use std::sync::Arc;

use tensorfleet_framework::{
    Attrs, Calls, ControlFlow, DeviceName, Kernel, KernelContext, Nature, Op, Registry,
    control_flow, cpu, gradient,
};
use tensorfleet_graph::{
    ArgDef, AttrList, AttrMap, AttrValue, Func, FunctionDef, FunctionLibrary, Graph, Node, NodeDef,
    OpDef,
};
use tensorfleet_tensor::{DType, Result, Tensor};

use crate::{Device, Devices, Evaluate, Options, Placement, Plan, StepSpec, plan};

const T: &[&str] = &["T: type = DT_FLOAT"];

const fn unary(name: &'static str) -> Op {
    Op { name, inputs: &["x: T"], outputs: &["y: T"], attrs: T, ..Op::DEFAULT }
}

const fn binary(name: &'static str) -> Op {
    Op { name, inputs: &["x: T", "y: T"], outputs: &["z: T"], attrs: T, ..Op::DEFAULT }
}

const fn edge(name: &'static str, attrs: &'static [&'static str]) -> Op {
    Op { name, attrs, stateful: true, ..Op::DEFAULT }
}

const fn call(name: &'static str, stateful: bool) -> Op {
    Op {
        name,
        inputs: &["args: Tin"],
        outputs: &["output: Tout"],
        attrs: &["Tin: list(type)", "Tout: list(type)", "f: func"],
        stateful,
        nature: Nature::calling(Calls::Once),
        ..Op::DEFAULT
    }
}

const fn branch(name: &'static str, stateful: bool) -> Op {
    Op {
        name,
        inputs: &["cond: Tcond", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: &[
            "Tcond: type = DT_BOOL",
            "Tin: list(type)",
            "Tout: list(type)",
            "then_branch: func",
            "else_branch: func",
        ],
        stateful,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    }
}

const ENTER: &[&str] = &[
    "T: type = DT_FLOAT",
    "frame_name: string = 'loop'",
    "is_constant: bool = false",
    "parallel_iterations: int = 10",
];

/// Of ops that are only asked whether they have a kernel.
#[derive(Debug)]
struct Unused;

impl Kernel for Unused {
    fn new(_: &Attrs<'_>) -> Result<Unused> {
        Ok(Unused)
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// Ops like TensorFlow's, with types that default to float so that tests stay short.
const OPS: &[Op] = &[
    Op { gradient: Some(|g| gradient::only(g.neg(g.grad(0)?)?)), ..unary("Neg") },
    unary("Abs"),
    unary("ZerosLike"),
    call("SymbolicGradient", false),
    unary("Identity"),
    binary("Add"),
    binary("Mul"),
    Op { commutative: true, ..binary("Mean2") },
    binary("Sub"),
    binary("BiasAdd"),
    unary("Relu"),
    unary("Tanh"),
    Op { stateful: true, ..unary("RandomLike") },
    Op {
        inputs: &["a: T", "b: T"],
        attrs: &["transpose_a: bool = false", "T: type = DT_FLOAT", "grad_a: bool = false"],
        ..binary("MatMul")
    },
    Op {
        name: "_FusedMatMul",
        inputs: &["a: T", "b: T", "args: num_args * T"],
        outputs: &["product: T"],
        attrs: &[
            "transpose_a: bool = false",
            "T: type",
            "num_args: int >= 0",
            "fused_ops: list(string) = []",
        ],
        kernels: &[cpu::<Unused>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IdentityN",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type)"],
        ..Op::DEFAULT
    },
    Op { name: "NoOp", ..Op::DEFAULT },
    Op {
        name: "Const",
        outputs: &["output: dtype"],
        attrs: &["value: tensor", "dtype: type = DT_FLOAT"],
        ..Op::DEFAULT
    },
    Op {
        name: "Placeholder",
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_FLOAT"],
        nature: Nature::READS_OUTSIDE,
        ..Op::DEFAULT
    },
    Op {
        name: "Split",
        inputs: &["x: T"],
        outputs: &["y: num_split * T"],
        attrs: &["T: type = DT_FLOAT", "num_split: int = 2"],
        ..Op::DEFAULT
    },
    Op {
        name: "Shape",
        inputs: &["input: T"],
        outputs: &["output: int32"],
        attrs: T,
        nature: Nature::NEEDS_ONLY_SHAPE,
        ..Op::DEFAULT
    },
    Op { name: "Less", inputs: &["x: T", "y: T"], outputs: &["z: bool"], attrs: T, ..Op::DEFAULT },
    Op { name: "VariableV2", outputs: &["ref: Ref(T)"], attrs: T, stateful: true, ..Op::DEFAULT },
    Op {
        name: "Assign",
        inputs: &["ref: Ref(T)", "value: T"],
        outputs: &["output_ref: Ref(T)"],
        attrs: T,
        ..Op::DEFAULT
    },
    Op { name: "VarHandleOp", outputs: &["resource: resource"], stateful: true, ..Op::DEFAULT },
    Op {
        name: "ReadVariableOp",
        inputs: &["resource: resource"],
        outputs: &["value: T"],
        attrs: T,
        stateful: true,
        nature: Nature::READS_VARIABLE,
        ..Op::DEFAULT
    },
    Op {
        name: "AssignVariableOp",
        inputs: &["resource: resource", "value: T"],
        attrs: T,
        stateful: true,
        ..Op::DEFAULT
    },
    Op {
        name: "Switch",
        inputs: &["data: T", "pred: bool"],
        outputs: &["output_false: T", "output_true: T"],
        attrs: T,
        kernels: &[control_flow(ControlFlow::Switch)],
        ..Op::DEFAULT
    },
    Op {
        name: "Merge",
        inputs: &["inputs: N * T"],
        outputs: &["output: T", "value_index: int32"],
        attrs: &["T: type = DT_FLOAT", "N: int = 2"],
        kernels: &[control_flow(ControlFlow::Merge)],
        ..Op::DEFAULT
    },
    Op {
        name: "Enter",
        inputs: &["data: T"],
        outputs: &["output: T"],
        attrs: ENTER,
        kernels: &[control_flow(ControlFlow::Enter)],
        ..Op::DEFAULT
    },
    Op { kernels: &[control_flow(ControlFlow::Exit)], ..unary("Exit") },
    Op { kernels: &[control_flow(ControlFlow::NextIteration)], ..unary("NextIteration") },
    Op {
        name: "LoopCond",
        inputs: &["input: bool"],
        outputs: &["output: bool"],
        kernels: &[control_flow(ControlFlow::LoopCond)],
        ..Op::DEFAULT
    },
    Op {
        name: "_SwitchN",
        inputs: &["data: T", "output_index: int32"],
        outputs: &["outputs: num_outs * T"],
        attrs: &["num_outs: int", "T: type"],
        kernels: &[control_flow(ControlFlow::SwitchN)],
        ..Op::DEFAULT
    },
    Op { name: "ToBool", inputs: &["x: T"], outputs: &["y: bool"], attrs: T, ..Op::DEFAULT },
    call("PartitionedCall", false),
    call("StatefulPartitionedCall", true),
    branch("If", true),
    branch("StatelessIf", false),
    Op {
        name: "Case",
        inputs: &["branch_index: int32", "input: Tin"],
        outputs: &["output: Tout"],
        attrs: &["Tin: list(type)", "Tout: list(type)", "branches: list(func)"],
        stateful: true,
        nature: Nature::calling(Calls::OneOf),
        ..Op::DEFAULT
    },
    Op {
        name: "While",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: list(type)", "cond: func", "body: func", "parallel_iterations: int = 10"],
        stateful: true,
        nature: Nature::calling(Calls::Repeatedly),
        ..Op::DEFAULT
    },
    Op {
        outputs: &["output: T"],
        kernels: &[control_flow(ControlFlow::Arg)],
        ..edge("_Arg", &["T: type", "index: int"])
    },
    Op {
        inputs: &["input: T"],
        kernels: &[control_flow(ControlFlow::Retval)],
        ..edge("_Retval", &["T: type", "index: int"])
    },
    Op {
        inputs: &["tensor: T"],
        ..edge(
            "_Send",
            &[
                "T: type",
                "tensor_name: string",
                "send_device: string",
                "send_device_incarnation: int",
                "recv_device: string",
            ],
        )
    },
    Op {
        outputs: &["tensor: tensor_type"],
        ..edge(
            "_Recv",
            &[
                "tensor_type: type",
                "tensor_name: string",
                "send_device: string",
                "send_device_incarnation: int",
                "recv_device: string",
            ],
        )
    },
];

/// Options that leave the graph as it is.
pub(crate) const UNOPTIMISED: Options = Options {
    allow_soft_placement: false,
    log_device_placement: false,
    optimize: false,
    inline_functions: true,
    keep_noinline: true,
    lower_control_flow: true,
};

/// A registry of the ops that tests use.
pub(crate) fn ops() -> Arc<Registry> {
    Arc::new(Registry::new(OPS).unwrap())
}

/// Two workers and two parameter servers.
pub(crate) fn devices() -> Vec<Device> {
    ["w0", "w1", "ps0", "ps1"]
        .iter()
        .zip(1..)
        .map(|(name, incarnation)| Device {
            name: DeviceName::parse(&long_device(name)).unwrap(),
            incarnation,
            durable: false,
        })
        .collect()
}

/// Evaluates nothing.
#[derive(Debug)]
pub(crate) struct NoEvaluation;

impl Evaluate for NoEvaluation {
    fn evaluate(&self, _: &Node, _: Vec<Tensor>) -> Option<Vec<Tensor>> {
        None
    }
}

/// Adds and splits numbers.
#[derive(Debug)]
pub(crate) struct SmallArithmetic;

impl Evaluate for SmallArithmetic {
    fn evaluate(&self, node: &Node, inputs: Vec<Tensor>) -> Option<Vec<Tensor>> {
        let numbers: Vec<f32> =
            inputs.iter().map(|tensor| tensor.scalar_value().ok()).collect::<Option<_>>()?;
        match (&*node.op, &numbers[..]) {
            ("Add", [a, b]) => Some(vec![Tensor::scalar(a + b)]),
            ("Less", [a, b]) => Some(vec![Tensor::scalar(a < b)]),
            ("Split", [a]) => Some(vec![Tensor::scalar(a / 2.0), Tensor::scalar(a / 2.0)]),
            _ => None,
        }
    }
}

/// Plans a step with its client on `w0`.
pub(crate) fn plan_text(
    text: &str,
    feeds: &[&str],
    fetches: &[&str],
    targets: &[&str],
    options: &Options,
) -> Result<Plan> {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let spec = StepSpec {
        feeds: owned(feeds),
        fetches: owned(fetches),
        targets: owned(targets),
        ..StepSpec::default()
    };
    plan_spec(text, &spec, options)
}

/// Plans any step with its client on `w0`.
pub(crate) fn plan_spec(text: &str, spec: &StepSpec, options: &Options) -> Result<Plan> {
    let ops = ops();
    let devices = devices();
    let devices = Devices { all: &devices, client: &devices[0] };
    let graph = parse(text, &ops)?;
    let placement = Placement::default().extend(&graph, &devices, options);
    plan(&graph, &placement, spec, &devices, &ops, &NoEvaluation, options)
}

/// Reads a graph.
pub(crate) fn parse(text: &str, ops: &Registry) -> Result<Graph> {
    let mut library = FunctionLibrary::default();
    let mut nodes = Vec::new();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        match line.strip_prefix("fn ") {
            None => nodes.push(parse_node(line)),
            Some(head) => {
                let body = lines.by_ref().take_while(|line| *line != "}").map(parse_node);
                library.insert(Arc::new(parse_function(head, body.collect())));
            }
        }
    }
    Graph::from_nodes(nodes, Arc::new(library), ops)
}

/// Reads a node.
pub(crate) fn parse_node(line: &str) -> NodeDef {
    let (name, rest) = line.split_once(" = ").unwrap_or_else(|| panic!("not a node: {line}"));
    let (rest, attrs) = match rest.split_once('{') {
        Some((rest, attrs)) => (rest.trim(), attrs.strip_suffix('}').unwrap()),
        None => (rest, ""),
    };
    let (rest, device) = match rest.split_once('@') {
        Some((rest, device)) => (rest.trim(), long_device(device.trim())),
        None => (rest.trim(), String::new()),
    };
    let (op, inputs) = match rest.split_once('(') {
        Some((op, inputs)) => (op, inputs.strip_suffix(')').unwrap()),
        None => (rest, ""),
    };
    let mut attrs: AttrMap = list(attrs).map(parse_attr).collect();
    if op == "Const" {
        complete_constant(&mut attrs);
    }
    NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        device,
        inputs: list(inputs).map(str::to_owned).collect(),
        attrs,
    }
}

/// Makes a scalar of the number in `value`, or zero.
fn complete_constant(attrs: &mut AttrMap) {
    let number = match attrs.get("value") {
        Some(AttrValue::Int(number)) => *number,
        _ => 0,
    };
    let tensor = match attrs.get("dtype") {
        Some(AttrValue::Type(DType::Bool)) => Tensor::scalar(number != 0),
        Some(AttrValue::Type(DType::Int32)) => Tensor::scalar(number as i32),
        _ => Tensor::scalar(number as f32),
    };
    attrs.insert("value".to_owned(), AttrValue::Tensor(tensor));
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn parse_attr(text: &str) -> (String, AttrValue) {
    let (name, value) = text.split_once('=').unwrap();
    let value = if let Some(items) = value.strip_prefix('[') {
        let items = items.strip_suffix(']').unwrap().split(' ').filter(|item| !item.is_empty());
        if items.clone().all(|item| item.starts_with('&')) && items.clone().count() > 0 {
            AttrValue::List(AttrList::Funcs(items.map(|item| func(&item[1..])).collect()))
        } else if items.clone().all(|item| DType::from_name(item).is_some()) {
            let types: Vec<DType> = items.filter_map(DType::from_name).collect();
            AttrValue::List(AttrList::Types(types))
        } else {
            AttrValue::List(AttrList::Strings(
                items.map(|item| item.as_bytes().to_vec().into()).collect(),
            ))
        }
    } else if let Some(name) = value.strip_prefix('&') {
        AttrValue::Func(func(name))
    } else if let Some(name) = value.strip_prefix('$') {
        AttrValue::Placeholder(name.to_owned())
    } else if let Some(text) = value.strip_prefix('"') {
        AttrValue::String(text.strip_suffix('"').unwrap().as_bytes().to_vec().into())
    } else if let Some(dtype) = DType::from_name(value) {
        AttrValue::Type(dtype)
    } else if let Ok(value) = value.parse() {
        AttrValue::Bool(value)
    } else if let Ok(value) = value.parse() {
        AttrValue::Int(value)
    } else {
        panic!("not an attribute: {text}")
    };
    (name.to_owned(), value)
}

fn func(name: &str) -> Func {
    Func { name: name.to_owned(), attrs: AttrMap::new() }
}

fn parse_function(head: &str, nodes: Vec<NodeDef>) -> FunctionDef {
    let (name, rest) = head.split_once('(').unwrap();
    let (inputs, rest) = rest.split_once(") -> (").unwrap();
    let (outputs, effects) = rest.trim_end_matches('{').split_once(')').unwrap();
    let arg = |text: &str| {
        let (name, dtype) = text.split_once(": ").unwrap();
        ArgDef { name: name.to_owned(), dtype: DType::from_name(dtype), ..ArgDef::default() }
    };
    let returned = |text: &str| {
        let (output, value) = text.split_once(" = ").unwrap();
        (arg(output), value.to_owned())
    };
    let outputs: Vec<(ArgDef, String)> = list(outputs).map(returned).collect();
    let effects = effects.split('^').map(str::trim).filter(|name| !name.is_empty());
    let control_returns = effects.map(|name| (name.to_owned(), name.to_owned())).collect();
    let signature = OpDef {
        name: name.to_owned(),
        inputs: list(inputs).map(arg).collect(),
        outputs: outputs.iter().map(|(output, _)| output.clone()).collect(),
        ..OpDef::default()
    };
    FunctionDef {
        signature: Arc::new(signature),
        nodes,
        returns: outputs.into_iter().map(|(output, value)| (output.name, value)).collect(),
        control_returns,
        ..FunctionDef::default()
    }
}

/// `ps1` in full. What starts with a slash stays.
pub(crate) fn long_device(short: &str) -> String {
    let job = match short.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "w" => "worker",
        "ps" => "ps",
        _ => return short.to_owned(),
    };
    let task = short.trim_start_matches(|c: char| !c.is_ascii_digit());
    format!("/job:{job}/replica:0/task:{task}/device:CPU:0")
}

fn short_device(device: &str) -> String {
    let devices = ["w0", "w1", "ps0", "ps1"];
    let found = devices.into_iter().find(|short| long_device(short) == device);
    found.unwrap_or(device).to_owned()
}

/// Prints a graph, one node a line.
pub(crate) fn print_graph(graph: &Graph) -> String {
    let mut text = String::new();
    for node in graph.nodes() {
        let device = if node.device.is_empty() {
            String::new()
        } else {
            format!(" @{}", short_device(&node.device))
        };
        writeln!(text, "{}{device}", print_node(graph, node)).unwrap();
    }
    text
}

/// Prints the partitions of a plan.
pub(crate) fn print_plan(plan: &Plan) -> String {
    let mut text = String::new();
    for partition in &plan.partitions {
        writeln!(text, "{}:", short_device(&partition.device.name.to_string())).unwrap();
        for node in partition.graph.nodes() {
            assert_eq!(*node.device, partition.device.name.to_string());
            writeln!(text, "  {}", print_node(&partition.graph, node)).unwrap();
        }
    }
    text
}

fn print_node(graph: &Graph, node: &Node) -> String {
    let data = node.inputs.iter().map(|input| {
        let name = &graph.node(input.node).name;
        if input.index == 0 { name.to_string() } else { format!("{name}:{}", input.index) }
    });
    let control = node.control_inputs.iter().map(|id| format!("^{}", graph.node(*id).name));
    let inputs: Vec<String> = data.chain(control).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(", ")) };
    let value = match node.attrs.get("value") {
        Some(AttrValue::Tensor(tensor)) => match tensor.scalar_value::<f32>() {
            Ok(value) if value != 0.0 => format!(" {{value={value}}}"),
            _ => String::new(),
        },
        _ => String::new(),
    };
    format!("{} = {}{inputs}{value}", node.name, node.op)
}

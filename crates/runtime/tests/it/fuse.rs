//! Nodes that are computed together give what they give alone.

use std::sync::Arc;

use tensorfleet_framework::{Implementation, Pointwise, PointwiseFn, Registry, Row};
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, NodeDef};
use tensorfleet_runtime::{ComputePool, Executable, NewKernels, Run};
use tensorfleet_tensor::{Code, DType, Element, Result, Shape, Tensor};
use tensorfleet_testing::{block_on, constant, node, retval, step_context};

fn run(registry: &Registry, nodes: Vec<NodeDef>) -> Result<Vec<Tensor>> {
    let graph = Graph::from_nodes(nodes, Arc::new(FunctionLibrary::default()), registry)?;
    let executable = Executable::new(&graph, registry, "CPU", &NewKernels)?;
    let pool = Arc::new(ComputePool::new(2).unwrap());
    block_on(Run::new(Arc::new(executable), step_context(), pool, Vec::new(), None)?)
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % limit
    }
}

const UNARY: [&str; 8] = ["Neg", "Square", "Exp", "Tanh", "Relu", "Abs", "Sigmoid", "Rsqrt"];
const BINARY: [&str; 8] =
    ["AddV2", "Sub", "Mul", "RealDiv", "Maximum", "SquaredDifference", "Pow", "TanhGrad"];
const INTEGER: [&str; 6] = ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"];

/// A graph of elementwise nodes over inputs of the given shapes, as its nodes' names and definitions.
fn random_graph(random: &mut Random, dtype: DType, shapes: &[&[usize]]) -> Vec<NodeDef> {
    let mut nodes = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let shape = Shape::new(shape).unwrap();
        let mut value = || random.below(2000) as f64 / 500.0 - 2.0;
        let tensor = match dtype {
            DType::Float => Tensor::build(shape, |x: &mut [f32]| x.fill_with(|| value() as f32)),
            DType::Double => Tensor::build(shape, |x: &mut [f64]| x.fill_with(value)),
            _ => Tensor::build(shape, |x: &mut [i32]| x.fill_with(|| (value() * 9.0) as i32)),
        };
        nodes.push(constant(&format!("n{index}"), tensor.unwrap()));
    }
    let attr = [("T", AttrValue::Type(dtype))];
    for index in shapes.len()..shapes.len() + 3 + random.below(12) {
        let name = format!("n{index}");
        // Mostly the latest results, so that few are left over.
        let mut source = || format!("n{}", index - 1 - random.below(index.min(4)));
        let (a, b) = (source(), source());
        let choice = random.below(16);
        nodes.push(match (dtype, choice) {
            (DType::Int32, _) => node(&name, INTEGER[choice % 6], &[&a, &b], &attr),
            (_, 0..8) => node(&name, UNARY[choice], &[&a], &attr),
            _ => node(&name, BINARY[choice - 8], &[&a, &b], &attr),
        });
    }
    nodes
}

#[test]
fn fused_nodes_give_the_same_bits_and_the_same_errors() {
    let registry = tensorfleet_ops::registry().unwrap();
    let long: &[usize] = &[3, 7, 401];
    let shapes: [&[&[usize]]; 17] = [
        &[&[], &[], &[]],
        &[&[5], &[5], &[]],
        &[long, long, &[]],
        &[long, &[401], &[]],
        &[long, &[401], &[401], long],
        &[long, &[7, 401], &[401]],
        &[&[3000], &[2, 3000], &[1, 3000]],
        &[long, &[3, 7, 1], &[401]],
        &[long, &[3, 7, 1], &[3, 1, 1], &[3, 7, 1], long],
        &[&[900, 3], &[900, 1], &[3], &[900, 1]],
        &[&[5, 600], &[5, 1], &[600]],
        &[&[2, 0], &[2, 1], &[0]],
        &[&[1], &[2, 1], &[]],
        &[&[3, 1], &[4], &[3, 4]],
        &[&[0], &[0], &[]],
        &[&[2, 0], &[0], &[]],
        &[&[2], &[3], &[]],
    ];
    let mut random = Random(7);
    let (mut failures, mut successes) = (0, 0);
    for round in 0..1020 {
        let dtype = [DType::Float, DType::Double, DType::Int32][round % 3];
        let nodes = random_graph(&mut random, dtype, shapes[round % shapes.len()]);
        let last = nodes.last().unwrap().name.clone();
        let mut fused = nodes.clone();
        fused.push(retval(0, &last, dtype));
        // Who fetches every value lets nothing be fused.
        let mut alone = nodes.clone();
        let names = nodes.iter().rev().map(|node| node.name.clone());
        alone.extend((0..).zip(names).map(|(index, name)| retval(index, &name, dtype)));
        match (run(&registry, fused), run(&registry, alone)) {
            (Ok(fused), Ok(alone)) => {
                successes += 1;
                assert_eq!(fused[0].shape(), alone[0].shape(), "{nodes:?}");
                assert_eq!(bits(&fused[0]), bits(&alone[0]), "round {round}: {nodes:?}");
            }
            (Err(fused), Err(_)) => {
                failures += 1;
                assert_eq!(fused.code(), Code::InvalidArgument);
                assert!(fused.message().contains("[[{{node n"), "{fused}");
            }
            // The failing node may be one that the last one does not need.
            (Ok(_), Err(_)) => {}
            (Err(error), Ok(_)) => panic!("round {round}: {error} in {nodes:?}"),
        }
    }
    assert!(failures > 10 && successes > 200, "{failures} failures, {successes} successes");
}

fn bits(tensor: &Tensor) -> Vec<u8> {
    tensor.raw().to_vec()
}

#[test]
fn an_error_names_the_node_that_made_it() {
    let registry = tensorfleet_ops::registry().unwrap();
    let float = [("T", AttrValue::Type(DType::Float))];
    let vector = |len| Tensor::build(Shape::vector(len), |x: &mut [f32]| x.fill(1.0)).unwrap();
    let nodes = vec![
        constant("a", vector(2)),
        constant("b", vector(3)),
        node("first", "Neg", &["a"], &float),
        node("wrong", "Mul", &["first", "b"], &float),
        node("last", "Exp", &["wrong"], &float),
        retval(0, "last", DType::Float),
    ];
    let error = run(&registry, nodes).unwrap_err();
    assert_eq!(error.message(), "Incompatible shapes: [2] vs. [3]\n\t [[{{node wrong}}]]");
}

#[test]
fn a_fused_node_in_a_branch_not_taken_is_dead() {
    let registry = tensorfleet_ops::registry().unwrap();
    let float = [("T", AttrValue::Type(DType::Float))];
    let merge = [float[0].clone(), ("N", AttrValue::Int(2))];
    for taken in [false, true] {
        let nodes = vec![
            constant("x", Tensor::scalar(2.0_f32)),
            constant("taken", Tensor::scalar(taken)),
            node("branch", "Switch", &["x", "taken"], &float),
            node("y", "Neg", &["branch:1"], &float),
            node("z", "AddV2", &["y", "x"], &float),
            node("w", "Mul", &["z", "y"], &float),
            node("joined", "Merge", &["branch", "w"], &merge),
            retval(0, "joined", DType::Float),
        ];
        let expected = if taken { 0.0 } else { 2.0 };
        let value: f32 = run(&registry, nodes).unwrap()[0].scalar_value().unwrap();
        assert_eq!(value.abs(), expected);
    }
}

#[test]
fn a_variable_is_read_when_its_reader_is_due() {
    let registry = tensorfleet_ops::registry().unwrap();
    let float = [("T", AttrValue::Type(DType::Float))];
    let name = |name: &str| AttrValue::String(name.to_owned().into());
    let shape = ("shape", AttrValue::Shape(Default::default()));
    let nodes = vec![
        node(
            "v",
            "VariableV2",
            &[],
            &[("dtype", float[0].1.clone()), shape, ("shared_name", name("v"))],
        ),
        constant("one", Tensor::scalar(1.0_f32)),
        node("set", "Assign", &["v", "one"], &float),
        // Reads 1; what comes after it waits for the change.
        node("before", "Neg", &["v", "^set"], &float),
        node("add", "AssignAdd", &["v", "one", "^before"], &float),
        node("after", "Identity", &["add"], &float),
        node("sum", "Mul", &["before", "after"], &float),
        node("last", "Neg", &["sum"], &float),
        retval(0, "last", DType::Float),
    ];
    let value: f32 = run(&registry, nodes).unwrap()[0].scalar_value().unwrap();
    assert_eq!(value, 2.0);
}

#[test]
fn how_rows_are_cut_does_not_matter() {
    let registry = tensorfleet_ops::registry().unwrap();
    let mut tried = 0;
    for op in tensorfleet_ops::all() {
        for dtype in [DType::Float, DType::Double, DType::Int32, DType::Int64] {
            let attrs = [("T", AttrValue::Type(dtype))];
            let inputs: Vec<String> = (0..op.inputs.len()).map(|i| format!("x{i}")).collect();
            let mut nodes: Vec<NodeDef> = inputs
                .iter()
                .map(|name| node(name, "Placeholder", &[], &[("dtype", attrs[0].1.clone())]))
                .collect();
            let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
            nodes.push(node("it", op.name, &names, &attrs));
            let library = Arc::new(FunctionLibrary::default());
            let Ok(graph) = Graph::from_nodes(nodes, library, &registry) else { continue };
            let Some(it) = graph.find("it") else { continue };
            let Ok(Implementation::Compute(kernel)) = registry.create_kernel(graph.node(it), "CPU")
            else {
                continue;
            };
            match kernel.pointwise() {
                Some(Pointwise::F32(f)) => check_cuts(op.name, f, |i| (i as f32 - 700.0) / 37.0),
                Some(Pointwise::F64(f)) => check_cuts(op.name, f, |i| (i as f64 - 700.0) / 37.0),
                Some(Pointwise::I32(f)) => check_cuts(op.name, f, |i| i as i32 - 500),
                Some(Pointwise::I64(f)) => check_cuts(op.name, f, |i| i as i64 - 500),
                None => continue,
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} functions");
}

fn check_cuts<T: Element>(op: &str, function: PointwiseFn<T>, value: impl Fn(usize) -> T) {
    let a: Vec<T> = (0..1403).map(&value).collect();
    let b: Vec<T> = (0..1403).map(|i| value((i * 7 + 3) % 1403)).collect();
    let apply = |a: &[T], b: &[T], out: &mut [T]| match function {
        PointwiseFn::One(f) => f(a, out),
        PointwiseFn::Two(f) => f(Row::Slice(a), Row::Slice(b), out),
        PointwiseFn::Pair(f) => f(a, b, out),
    };
    let mut whole = vec![T::default(); a.len()];
    apply(&a, &b, &mut whole);
    for cut in [1, 3, 8, 17, 512] {
        let mut pieces = vec![T::default(); a.len()];
        for ((a, b), out) in a.chunks(cut).zip(b.chunks(cut)).zip(pieces.chunks_mut(cut)) {
            apply(a, b, out);
        }
        assert_eq!(as_tensor(&pieces), as_tensor(&whole), "{op} in pieces of {cut}");
    }
    // A scalar operand is as good as a row of it.
    if let PointwiseFn::Two(f) = function {
        let repeated = vec![b[5]; a.len()];
        f(Row::Slice(&a), Row::Slice(&repeated), &mut whole);
        let mut scalar = vec![T::default(); a.len()];
        f(Row::Slice(&a), Row::Value(b[5]), &mut scalar);
        assert_eq!(as_tensor(&scalar), as_tensor(&whole), "{op} with a scalar");
    }
}

fn as_tensor<T: Element>(values: &[T]) -> Vec<u8> {
    let shape = Shape::vector(values.len());
    bits(&Tensor::build(shape, |out: &mut [T]| out.copy_from_slice(values)).unwrap())
}

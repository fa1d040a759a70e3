//! Gradients of ops against finite differences.

mod linalg;
mod parts;

use std::sync::Arc;

use tensorfleet_framework::{BuildScope, GraphBuilder, NewNode};
use tensorfleet_graph::{AttrValue, Output};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor};
use tensorfleet_testing::{check_gradient, varied};

/// Adds nodes in a test.
struct Nodes<'a>(&'a mut GraphBuilder);

impl Nodes<'_> {
    fn add(&mut self, node: NewNode) -> Result<Output> {
        self.0.add_output(&BuildScope::default(), node)
    }

    fn constant(&mut self, tensor: Tensor) -> Result<Output> {
        self.0.constant(&BuildScope::default(), tensor)
    }

    fn vector<T: Element>(&mut self, values: &[T]) -> Result<Output> {
        self.constant(Tensor::vector(values)?)
    }

    fn scalar<T: Element>(&mut self, value: T) -> Result<Output> {
        self.constant(Tensor::scalar(value))
    }
}

type Build = Box<dyn Fn(&mut Nodes<'_>, &[Output]) -> Result<Output>>;

/// A function to be checked, with the values of its arguments.
struct Case {
    name: String,
    inputs: Vec<Tensor>,
    build: Build,
}

fn case(
    name: &str,
    inputs: Vec<Tensor>,
    build: impl Fn(&mut Nodes<'_>, &[Output]) -> Result<Output> + 'static,
) -> Case {
    Case { name: name.to_owned(), inputs, build: Box::new(build) }
}

/// An op that takes its arguments as they come.
fn plain(op: &'static str, inputs: Vec<Tensor>) -> Case {
    case(op, inputs, move |nodes, xs| {
        nodes.add(xs.iter().fold(NewNode::new(op), |node, x| node.input(*x)))
    })
}

fn with_attrs(
    op: &'static str,
    inputs: Vec<Tensor>,
    attrs: Vec<(&'static str, AttrValue)>,
) -> Case {
    case(op, inputs, move |nodes, xs| {
        let node = xs.iter().fold(NewNode::new(op), |node, x| node.input(*x));
        nodes.add(attrs.iter().fold(node, |node, (name, value)| node.attr(name, value.clone())))
    })
}

fn check(cases: Vec<Case>) {
    let registry = Arc::new(tensorfleet_ops::registry().unwrap());
    let mut wrong = Vec::new();
    for case in cases {
        let build =
            |builder: &mut GraphBuilder, xs: &[Output]| (case.build)(&mut Nodes(builder), xs);
        if let Err(error) = check_gradient(&registry, &case.inputs, build) {
            wrong.push(format!("{}: {error}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong gradients:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn functions_of_one_value() {
    let everywhere = [
        "Abs",
        "Asinh",
        "Atan",
        "Cos",
        "Cosh",
        "Elu",
        "Erf",
        "Erfc",
        "Exp",
        "Expm1",
        "Neg",
        "Relu",
        "Relu6",
        "Selu",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Softplus",
        "Softsign",
        "Square",
        "Tan",
        "Tanh",
        "LeakyRelu",
        "Identity",
        "L2Loss",
        "Softmax",
        "LogSoftmax",
    ];
    let positive = ["Log", "Log1p", "Reciprocal", "Rsqrt", "Sqrt", "Inv", "Digamma", "Lgamma"];
    let inside = ["Acos", "Asin", "Atanh", "Erfinv"];
    let mut cases: Vec<Case> =
        everywhere.iter().map(|op| plain(op, vec![varied([3, 4], -1.2, 1.3)])).collect();
    cases.extend(positive.iter().map(|op| plain(op, vec![varied([3, 4], 0.3, 2.0)])));
    cases.extend(inside.iter().map(|op| plain(op, vec![varied([3, 4], -0.8, 0.8)])));
    cases.push(plain("Acosh", vec![varied([3, 4], 1.2, 2.0)]));
    check(cases);
}

#[test]
fn functions_of_two_values() {
    let ops = [
        "Add",
        "AddV2",
        "Atan2",
        "Div",
        "DivNoNan",
        "Maximum",
        "Minimum",
        "Mul",
        "MulNoNan",
        "Pow",
        "RealDiv",
        "SquaredDifference",
        "Sub",
        "Xdivy",
        "Xlog1py",
        "Xlogy",
    ];
    let mut cases = Vec::new();
    for op in ops {
        for (x, y) in [
            (Shape::from([2, 3]), Shape::from([2, 3])),
            (Shape::from([2, 3]), Shape::from([3])),
            (Shape::from([2, 1]), Shape::from([1, 4])),
            (Shape::SCALAR, Shape::from([4])),
        ] {
            cases.push(plain(op, vec![varied(x, 0.4, 1.9), varied(y, 0.5, 2.1)]));
        }
    }
    cases.push(plain("Cross", vec![varied([2, 3], -1.0, 1.0), varied([2, 3], -1.0, 2.0)]));
    check(cases);
}

#[test]
fn matrix_products() {
    let mut cases = Vec::new();
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let shape = |flipped: bool, m: usize, n: usize| if flipped { [n, m] } else { [m, n] };
        cases.push(with_attrs(
            "MatMul",
            vec![varied(shape(a, 2, 3), -1.0, 1.0), varied(shape(b, 3, 4), -1.0, 1.0)],
            vec![("transpose_a", a.into()), ("transpose_b", b.into())],
        ));
        let [m, n] = shape(a, 2, 3);
        let [k, l] = shape(b, 3, 4);
        cases.push(with_attrs(
            "BatchMatMulV2",
            vec![varied([2, m, n], -1.0, 1.0), varied([3, 1, k, l], -1.0, 1.0)],
            vec![("adj_x", a.into()), ("adj_y", b.into())],
        ));
    }
    check(cases);
}

#[test]
fn reductions() {
    let mut cases = Vec::new();
    for op in ["Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"] {
        for axes in [vec![0], vec![1], vec![-1, 0], vec![0, 1, 2], vec![]] {
            for keep in [false, true] {
                let axes = axes.clone();
                cases.push(case(op, vec![varied([2, 3, 2], 0.3, 1.7)], move |nodes, xs| {
                    let axes = nodes.vector::<i32>(&axes)?;
                    nodes.add(NewNode::new(op).input(xs[0]).input(axes).attr("keep_dims", keep))
                }));
            }
        }
    }
    for op in ["Cumsum", "Cumprod", "CumulativeLogsumexp"] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            if op == "CumulativeLogsumexp" && exclusive {
                continue;
            }
            cases.push(case(op, vec![varied([3, 4], 0.3, 1.7)], move |nodes, xs| {
                let axis = nodes.scalar(1i32)?;
                let node = NewNode::new(op).input(xs[0]).input(axis);
                nodes.add(node.attr("exclusive", exclusive).attr("reverse", reverse))
            }));
        }
    }
    check(cases);
}

#[test]
fn shapes_and_parts() {
    let x = || vec![varied([2, 3, 4], -1.0, 1.0)];
    let ints = |op: &'static str, values: &'static [i32]| {
        case(op, x(), move |nodes, xs| {
            let values = nodes.vector(values)?;
            nodes.add(NewNode::new(op).input(xs[0]).input(values))
        })
    };
    let axis = |op: &'static str, axis: i32| {
        case(op, x(), move |nodes, xs| {
            let axis = nodes.scalar(axis)?;
            nodes.add(NewNode::new(op).input(xs[0]).input(axis))
        })
    };
    check(vec![
        ints("Reshape", &[4, -1]),
        ints("Transpose", &[2, 0, 1]),
        ints("Tile", &[2, 1, 3]),
        ints("ReverseV2", &[0, -1]),
        ints("BroadcastTo", &[5, 2, 3, 4]),
        axis("ExpandDims", 1),
        axis("ExpandDims", -1),
        with_attrs("Squeeze", vec![varied([2, 1, 3, 1], -1.0, 1.0)], vec![]),
        case("ConcatV2", vec![varied([2, 3], 0.0, 1.0), varied([2, 1], 0.0, 1.0)], |nodes, xs| {
            let axis = nodes.scalar(-1i32)?;
            nodes.add(NewNode::new("ConcatV2").list(xs).input(axis))
        }),
        case("Slice", x(), |nodes, xs| {
            let (begin, size) = (nodes.vector(&[0i32, 1, 1])?, nodes.vector(&[2i32, 2, -1])?);
            nodes.add(NewNode::new("Slice").input(xs[0]).input(begin).input(size))
        }),
        case("StridedSlice", x(), |nodes, xs| {
            let begin = nodes.vector(&[0i32, 2, 1])?;
            let (end, strides) = (nodes.vector(&[2i32, 0, 4])?, nodes.vector(&[1i32, -1, 2])?);
            let node = NewNode::new("StridedSlice").input(xs[0]).input(begin).input(end);
            nodes.add(node.input(strides).attr("shrink_axis_mask", 1))
        }),
        case("Pad", x(), |nodes, xs| {
            let paddings = Tensor::from_slice(Shape::from([3, 2]), &[1i32, 0, 0, 2, 1, 1])?;
            let paddings = nodes.constant(paddings)?;
            nodes.add(NewNode::new("Pad").input(xs[0]).input(paddings))
        }),
        case("MirrorPad", x(), |nodes, xs| {
            let paddings = Tensor::from_slice(Shape::from([3, 2]), &[1i32, 0, 0, 2, 1, 1])?;
            let paddings = nodes.constant(paddings)?;
            let node = NewNode::new("MirrorPad").input(xs[0]).input(paddings);
            nodes.add(node.attr("mode", "REFLECT"))
        }),
        case("Pack", vec![varied([2, 3], 0.0, 1.0), varied([2, 3], 1.0, 2.0)], |nodes, xs| {
            nodes.add(NewNode::new("Pack").list(xs).attr("axis", 1))
        }),
        case("Unpack", x(), |nodes, xs| {
            let node = NewNode::new("Unpack").input(xs[0]).attr("num", 3).attr("axis", 1);
            let first = nodes.add(node)?;
            nodes.add(NewNode::new("Mul").input(first).input(Output { index: 2, ..first }))
        }),
        case("Split", x(), |nodes, xs| {
            let axis = nodes.scalar(2i32)?;
            let node = NewNode::new("Split").input(axis).input(xs[0]).attr("num_split", 2);
            let first = nodes.add(node)?;
            nodes.add(NewNode::new("Mul").input(first).input(Output { index: 1, ..first }))
        }),
        case("SelectV2", vec![varied([2, 3], 0.0, 1.0), varied([3], 0.0, 1.0)], |nodes, xs| {
            let condition = Tensor::from_slice(Shape::from([2, 1]), &[true, false])?;
            let condition = nodes.constant(condition)?;
            nodes.add(NewNode::new("SelectV2").input(condition).input(xs[0]).input(xs[1]))
        }),
        case("AddN", vec![varied([2], 0.0, 1.0), varied([2], 0.0, 1.0)], |nodes, xs| {
            nodes.add(NewNode::new("AddN").list(xs))
        }),
        case("Fill", vec![varied(Shape::SCALAR, 1.0, 2.0)], |nodes, xs| {
            let dims = nodes.vector(&[2i32, 3])?;
            nodes.add(NewNode::new("Fill").input(dims).input(xs[0]))
        }),
        case("MatrixBandPart", x(), |nodes, xs| {
            let (lower, upper) = (nodes.scalar(1i64)?, nodes.scalar(0i64)?);
            nodes.add(NewNode::new("MatrixBandPart").input(xs[0]).input(lower).input(upper))
        }),
        plain("MatrixDiag", vec![varied([2, 3], 0.0, 1.0)]),
        plain("MatrixDiagPart", x()),
        plain("MatrixSetDiag", vec![varied([2, 3, 4], 0.0, 1.0), varied([2, 3], 0.0, 1.0)]),
        plain("Diag", vec![varied([3], 0.0, 1.0)]),
        plain("DiagPart", vec![varied([3, 3], 0.0, 1.0)]),
        case("Roll", x(), |nodes, xs| {
            let (shift, axis) = (nodes.vector(&[1i32, -2])?, nodes.vector(&[0i32, 2])?);
            nodes.add(NewNode::new("Roll").input(xs[0]).input(shift).input(axis))
        }),
        case("ClipByValue", x(), |nodes, xs| {
            let (low, high) = (nodes.scalar(-0.5f64)?, nodes.scalar(0.4f64)?);
            nodes.add(NewNode::new("ClipByValue").input(xs[0]).input(low).input(high))
        }),
        case("Cast", x(), |nodes, xs| {
            let complex = NewNode::new("Cast").input(xs[0]).attr("DstT", DType::Complex128);
            let complex = nodes.add(complex)?;
            nodes.add(NewNode::new("Real").input(complex).attr("Tout", DType::Double))
        }),
    ]);
}

#[test]
fn gathering_and_scattering() {
    let table = || vec![varied([4, 3], -1.0, 1.0)];
    let mut cases = Vec::new();
    for axis in [0i32, 1, -1] {
        cases.push(case("GatherV2", table(), move |nodes, xs| {
            let indices = Tensor::from_slice(Shape::from([2, 2]), &[2i32, 0, 2, 1])?;
            let (indices, axis) = (nodes.constant(indices)?, nodes.scalar(axis)?);
            nodes.add(NewNode::new("GatherV2").input(xs[0]).input(indices).input(axis))
        }));
    }
    // The same rows twice, along two ways: slices are put one after the other.
    cases.push(case("two gathers", table(), |nodes, xs| {
        let (a, b) = (nodes.vector(&[1i32, 3])?, nodes.vector(&[3i32, 3])?);
        let axis = nodes.scalar(0i32)?;
        let a = nodes.add(NewNode::new("GatherV2").input(xs[0]).input(a).input(axis))?;
        let b = nodes.add(NewNode::new("GatherV2").input(xs[0]).input(b).input(axis))?;
        nodes.add(NewNode::new("Mul").input(a).input(b))
    }));
    cases.push(case("GatherNd", table(), |nodes, xs| {
        let indices = Tensor::from_slice(Shape::from([2, 2]), &[2i32, 0, 3, 1])?;
        let indices = nodes.constant(indices)?;
        nodes.add(NewNode::new("GatherNd").input(xs[0]).input(indices))
    }));
    cases.push(case("ScatterNd", vec![varied([2, 3], 0.0, 1.0)], |nodes, xs| {
        let indices = Tensor::from_slice(Shape::from([2, 1]), &[2i32, 0])?;
        let (indices, shape) = (nodes.constant(indices)?, nodes.vector(&[4i32, 3])?);
        nodes.add(NewNode::new("ScatterNd").input(indices).input(xs[0]).input(shape))
    }));
    for op in ["TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"] {
        let inputs = vec![varied([4, 3], 0.0, 1.0), varied([2, 3], 0.0, 1.0)];
        cases.push(case(op, inputs, move |nodes, xs| {
            let indices = Tensor::from_slice(Shape::from([2, 1]), &[2i32, 0])?;
            let indices = nodes.constant(indices)?;
            nodes.add(NewNode::new(op).input(xs[0]).input(indices).input(xs[1]))
        }));
    }
    check(cases);
}

#[test]
fn losses() {
    check(vec![
        case(
            "SoftmaxCrossEntropyWithLogits",
            vec![varied([3, 4], -1.0, 1.0), varied([3, 4], 0.1, 0.9)],
            |nodes, xs| {
                // Labels must be distributions.
                let labels = nodes.add(NewNode::new("Softmax").input(xs[1]))?;
                let node = NewNode::new("SoftmaxCrossEntropyWithLogits");
                nodes.add(node.input(xs[0]).input(labels))
            },
        ),
        case(
            "SparseSoftmaxCrossEntropyWithLogits",
            vec![varied([3, 4], -1.0, 1.0)],
            |nodes, xs| {
                let labels = nodes.vector(&[0i64, 3, 2])?;
                let node = NewNode::new("SparseSoftmaxCrossEntropyWithLogits");
                nodes.add(node.input(xs[0]).input(labels))
            },
        ),
        plain("BiasAdd", vec![varied([2, 2, 3], -1.0, 1.0), varied([3], -1.0, 1.0)]),
    ]);
}

#[test]
fn special_functions() {
    let mut cases: Vec<Case> =
        ["BesselI0", "BesselI1", "BesselI0e", "BesselI1e", "BesselJ0", "BesselY0", "BesselK0"]
            .into_iter()
            .chain(["BesselK0e", "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"])
            .map(|op| plain(op, vec![varied([2, 3], 0.3, 1.9)]))
            .collect();
    cases.push(plain("Ndtri", vec![varied([2, 3], 0.2, 0.8)]));
    cases.push(plain("Igamma", vec![varied([2, 3], 0.6, 1.9), varied([3], 0.5, 2.1)]));
    cases.push(plain("Igammac", vec![varied([2, 3], 0.6, 1.9), varied([3], 0.5, 2.1)]));
    cases.push(case("Polygamma", vec![varied([2, 3], 0.6, 1.9)], |nodes, xs| {
        let order = nodes.scalar(1.0f64)?;
        nodes.add(NewNode::new("Polygamma").input(order).input(xs[0]))
    }));
    cases.push(case("Zeta", vec![varied([2, 3], 0.6, 1.9)], |nodes, xs| {
        let order = nodes.scalar(2.5f64)?;
        nodes.add(NewNode::new("Zeta").input(order).input(xs[0]))
    }));
    check(cases);
}

#[test]
fn images() {
    let image = || varied([2, 5, 4, 2], -1.0, 1.0);
    let window = |size: i64, stride: i64, padding: &str| {
        vec![
            ("ksize", AttrValue::from(vec![1, size, size, 1])),
            ("strides", vec![1, stride, stride, 1].into()),
            ("padding", padding.into()),
        ]
    };
    let convolution = |stride: i64, padding: &str| {
        vec![("strides", AttrValue::from(vec![1, stride, stride, 1])), ("padding", padding.into())]
    };
    let mut cases = Vec::new();
    for (stride, padding) in [(1, "SAME"), (2, "SAME"), (1, "VALID"), (2, "VALID")] {
        let filter = || varied([3, 2, 2, 3], -1.0, 1.0);
        cases.push(with_attrs("Conv2D", vec![image(), filter()], convolution(stride, padding)));
        let inputs = vec![image(), varied([3, 2, 2, 2], -1.0, 1.0)];
        cases.push(with_attrs("DepthwiseConv2dNative", inputs, convolution(stride, padding)));
        cases.push(with_attrs("MaxPool", vec![image()], window(2, stride, padding)));
        cases.push(with_attrs("AvgPool", vec![image()], window(2, stride, padding)));
    }
    cases.push(with_attrs(
        "SpaceToDepth",
        vec![varied([1, 4, 4, 1], 0.0, 1.0)],
        vec![("block_size", 2.into())],
    ));
    cases.push(with_attrs(
        "DepthToSpace",
        vec![varied([1, 2, 2, 4], 0.0, 1.0)],
        vec![("block_size", 2.into())],
    ));
    check(cases);
}

#[test]
fn segments() {
    let rows = || vec![varied([5, 2], -1.0, 1.0)];
    let mut cases = Vec::new();
    for op in ["SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin"] {
        cases.push(case(op, rows(), move |nodes, xs| {
            let ids = nodes.vector(&[0i32, 0, 1, 3, 3])?;
            nodes.add(NewNode::new(op).input(xs[0]).input(ids))
        }));
    }
    for op in ["UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"] {
        cases.push(case(op, rows(), move |nodes, xs| {
            let (ids, count) = (nodes.vector(&[2i32, 0, -1, 0, 2])?, nodes.scalar(3i32)?);
            let segments = nodes.add(NewNode::new(op).input(xs[0]).input(ids).input(count))?;
            // Segments without rows hold the least number, which differences cannot see.
            let (indices, axis) = (nodes.vector(&[0i32, 2])?, nodes.scalar(0i32)?);
            nodes.add(NewNode::new("GatherV2").input(segments).input(indices).input(axis))
        }));
    }
    for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"] {
        cases.push(case(op, rows(), move |nodes, xs| {
            let (indices, ids) = (nodes.vector(&[4i32, 1, 1, 2])?, nodes.vector(&[0i32, 0, 1, 1])?);
            nodes.add(NewNode::new(op).input(xs[0]).input(indices).input(ids))
        }));
    }
    cases.push(case("DynamicPartition", rows(), |nodes, xs| {
        let ids = nodes.vector(&[1i32, 0, 1, 0, 0])?;
        let node = NewNode::new("DynamicPartition").input(xs[0]).input(ids);
        let first = nodes.add(node.attr("num_partitions", 2))?;
        let (a, b) = (nodes.vector(&[2i32, 0, 1])?, nodes.vector(&[4i32, 3])?);
        let node = NewNode::new("DynamicStitch").list(&[a, b]);
        nodes.add(node.list(&[first, Output { index: 1, ..first }]))
    }));
    cases.push(case("TopKV2", vec![varied([2, 5], -1.0, 1.0)], |nodes, xs| {
        let k = nodes.scalar(3i32)?;
        nodes.add(NewNode::new("TopKV2").input(xs[0]).input(k))
    }));
    for (adjoint_a, adjoint_b) in [(false, false), (true, false), (false, true)] {
        let b = match (adjoint_a, adjoint_b) {
            (false, false) => [4, 2],
            (true, _) => [3, 2],
            (false, true) => [2, 4],
        };
        let inputs = vec![varied([3], 0.0, 1.0), varied(b, 0.0, 1.0)];
        cases.push(case("SparseTensorDenseMatMul", inputs, move |nodes, xs| {
            let indices = Tensor::from_slice(Shape::from([3, 2]), &[0i64, 1, 0, 3, 2, 0])?;
            let (indices, shape) = (nodes.constant(indices)?, nodes.vector(&[3i64, 4])?);
            let node = NewNode::new("SparseTensorDenseMatMul").input(indices).input(xs[0]);
            let node = node.input(shape).input(xs[1]);
            nodes.add(node.attr("adjoint_a", adjoint_a).attr("adjoint_b", adjoint_b))
        }));
    }
    check(cases);
}

/// TensorFlow's client has not made this op for long, but its servers know it.
#[test]
fn normalisation_by_given_statistics() {
    let vector = |low, high| varied([3], low, high);
    let inputs = vec![
        varied([2, 2, 2, 3], -1.0, 1.2),
        vector(-0.2, 0.3),
        vector(0.5, 1.5),
        vector(-1.0, 1.0),
        vector(0.7, 1.3),
    ];
    let attrs = |scales: bool| {
        vec![
            ("variance_epsilon", AttrValue::from(0.01f32)),
            ("scale_after_normalization", scales.into()),
        ]
    };
    let op = "BatchNormWithGlobalNormalization";
    check(vec![with_attrs(op, inputs.clone(), attrs(true)), with_attrs(op, inputs, attrs(false))]);
}

//! Writes graphs with gradients that this client has added, for the conformance tests to compare
//! with TensorFlow's: `cargo run --example export_gradients -- FILE`.
//!
//! In each case `NAME/x0`, `NAME/x1`, ... are the tensors that `NAME/y` is differentiated by, and
//! `NAME/dx0`, ... the gradients.

use tensorfleet::{
    DType, Graph, Operand, Output, PartialShape, Result, gradients, invalid_argument, ops,
};

/// Numbers that are neither equal nor zero.
fn varied(graph: &Graph, shape: &[usize]) -> Output {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| ((i * 37 + 11) % 101) as f64 / 50.0 - 1.01).collect();
    let dims: Vec<i32> = shape.iter().map(|&dim| dim as i32).collect();
    graph.constant(values).reshape(dims)
}

/// A symmetric positive matrix for each of a batch.
fn positive(x: &Output) -> Output {
    let diagonal = ops::array::matrix_diag(x.graph(), [2.0f64, 2.5, 3.0]).output();
    x.matmul_with(x, false, true) + diagonal
}

/// Adds one case: tensors of the given shapes, and what is made of them.
fn case(graph: &Graph, name: &str, shapes: &[&[usize]], build: impl FnOnce(&[Output]) -> Output) {
    graph.name_scope(name, || {
        let named =
            |output: &Output, name: &str| graph.op("Identity").named(name).input(output).output();
        let xs: Vec<Output> = shapes
            .iter()
            .enumerate()
            .map(|(index, shape)| named(&varied(graph, shape), &format!("x{index}")))
            .collect();
        let y = named(&build(&xs), "y");
        for (index, gradient) in gradients(&y, &xs).into_iter().enumerate() {
            if let Some(gradient) = gradient {
                named(&gradient.to_dense(), &format!("dx{index}"));
            }
        }
    });
}

fn linear_algebra(graph: &Graph) {
    let square: &[&[usize]] = &[&[2, 3, 3]];
    let with_rhs: &[&[usize]] = &[&[2, 3, 3], &[2, 3, 2]];
    case(graph, "cholesky", square, |x| ops::linalg::cholesky(graph, positive(&x[0])).output());
    case(graph, "inverse", square, |x| {
        ops::linalg::matrix_inverse(graph, positive(&x[0])).output()
    });
    case(graph, "determinant", square, |x| {
        ops::linalg::matrix_determinant(graph, positive(&x[0])).output()
    });
    case(graph, "log_determinant", square, |x| {
        ops::linalg::log_matrix_determinant(graph, positive(&x[0])).build().output(1)
    });
    case(graph, "solve", with_rhs, |x| {
        ops::linalg::matrix_solve(graph, positive(&x[0]), &x[1]).attr("adjoint", true).output()
    });
    case(graph, "triangular_solve", with_rhs, |x| {
        ops::linalg::matrix_triangular_solve(graph, positive(&x[0]), &x[1]).output()
    });
    case(graph, "eigenvalues", square, |x| {
        let [values, vectors] = ops::linalg::self_adjoint_eig_v2(graph, positive(&x[0])).outputs();
        values.expand_dims(-1) + vectors.square()
    });
    case(graph, "singular_values", &[&[2, 4]], |x| {
        let [s, u, v] = ops::linalg::svd(graph, &x[0]).outputs();
        s.sum() * u.square() + v.square().sum_along(0, false)
    });
    case(graph, "qr", &[&[4, 2]], |x| {
        let [q, r] = ops::linalg::qr(graph, &x[0]).outputs();
        q.square().sum_along(0, false) * 0.5 + q.slice(&[0, 0], &[2, 2]) * r
    });
}

fn arrays(graph: &Graph) {
    let einsum = |name: &str, equation: &'static str, shapes: &[&[usize]]| {
        case(graph, name, shapes, |x| ops::math::einsum(graph, x, equation).output());
    };
    einsum("einsum_product", "bij,bkj->bik", &[&[2, 2, 3], &[2, 4, 3]]);
    einsum("einsum_trace", "ii->", &[&[3, 3]]);
    einsum("einsum_broadcast", "...ij,...jk->...ik", &[&[2, 1, 2, 3], &[4, 3, 2]]);
    case(graph, "gather_batch", &[&[2, 3, 2]], |x| {
        let indices = graph.constant([[0i32, 2], [2, 1]]);
        ops::array::gather_v2(graph, &x[0], indices, 1i32).attr("batch_dims", 1i64).output()
    });
    case(graph, "gather_rows", &[&[4, 2]], |x| x[0].gather([3i32, 0, 3], 0).square());
    case(graph, "list", &[&[3, 2], &[2]], |x| {
        let list = ops::list::tensor_list_from_tensor(graph, &x[0], [2i32]).output();
        let list = ops::list::tensor_list_set_item(graph, list, 1i32, &x[1]).output();
        ops::list::tensor_list_stack(graph, list, [2i32], DType::Double).output().square()
    });
    case(graph, "function", &[&[3]], |x| {
        let argument = (DType::Double, PartialShape::known([Some(3)]));
        let function = graph.function("cube", [argument], |x: Output| x.square() * &x);
        function.call([&x[0]]).remove(0)
    });
    case(graph, "resize", &[&[1, 2, 2, 1]], |x| {
        let floats = x[0].cast(DType::Float);
        let size = [3i32, 4].to_output(graph, None);
        ops::image::resize_bilinear(graph, floats, size).output().cast(DType::Double)
    });
    case(graph, "batch_norm", &[&[2, 3, 3, 2]], |x| {
        let floats = x[0].cast(DType::Float);
        let two = || graph.constant([1.5f32, 0.5]);
        let none = || graph.zeros(DType::Float, &[0]);
        let norm = ops::nn::fused_batch_norm_v3(graph, floats, two(), two(), none(), none());
        norm.output().cast(DType::Double).square()
    });
}

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        return Err(invalid_argument!("name the file to write"));
    };
    let graph = Graph::new();
    linear_algebra(&graph);
    arrays(&graph);
    std::fs::write(&path, graph.to_graph_def()?)
        .map_err(|error| invalid_argument!("{path} cannot be written: {error}"))
}

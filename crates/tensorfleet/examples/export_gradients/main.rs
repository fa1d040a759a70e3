//! Writes graphs with gradients that this client has added, for the conformance tests to compare
//! with TensorFlow's: `cargo run --example export_gradients -- FILE`.
//!
//! In each case `NAME/x0`, `NAME/x1`, ... are the tensors that `NAME/y` is differentiated by, and
//! `NAME/dx0`, ... the gradients.

mod arrays;
mod linear_algebra;
mod networks;
mod sparse;
mod special;

use tensorfleet::{DType, Graph, Output, Result, gradients, invalid_argument};

/// Numbers that are neither equal nor zero, about -1 to 1.
fn varied(graph: &Graph, shape: &[usize]) -> Output {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| ((i * 37 + 11) % 101) as f64 / 50.0 - 1.01).collect();
    let dims: Vec<i32> = shape.iter().map(|&dim| dim as i32).collect();
    graph.constant(values).reshape(dims)
}

/// The same in single precision, for ops that know no other.
fn float(x: &Output) -> Output {
    x.cast(DType::Float)
}

/// A symmetric positive matrix for each of a batch.
fn positive(x: &Output) -> Output {
    let diagonal = x.graph().op("MatrixDiag").input([2.0f64, 2.5, 3.0]).output();
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
        // What flows into the op is different for each element then.
        let result = build(&xs).cast(DType::Double);
        let y = named(&(result.square() * 0.5 + &result), "y");
        for (index, gradient) in gradients(&y, &xs).into_iter().enumerate() {
            if let Some(gradient) = gradient {
                named(&gradient.to_dense(), &format!("dx{index}"));
            }
        }
    });
}

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        return Err(invalid_argument!("name the file to write"));
    };
    let graph = Graph::new();
    linear_algebra::add(&graph);
    arrays::add(&graph);
    special::add(&graph);
    networks::add(&graph);
    sparse::add(&graph);
    std::fs::write(&path, graph.to_graph_def()?)
        .map_err(|error| invalid_argument!("{path} cannot be written: {error}"))
}

//! Segments, sparse matrices and ragged tensors.

use tensorfleet::{Bytes, DType, Graph, Output};

use crate::{case, float};

fn matrices(graph: &Graph) {
    let indices = || graph.constant([[0i64, 1], [1, 0], [2, 1], [2, 2]]);
    let sparse = |values: &Output| {
        let op = graph.op("SparseTensorToCSRSparseMatrix").input(indices()).input(values);
        op.input([3i64, 3]).output()
    };
    let dense = |matrix: Output| {
        let op = graph.op("CSRSparseMatrixToDense").input(matrix);
        op.attr("type", DType::Double).output()
    };
    case(graph, "csr", &[&[4]], |x| {
        let op = graph.op("SparseMatrixTranspose").input(sparse(&x[0]));
        dense(op.attr("type", DType::Double).output())
    });
    case(graph, "csr_from_dense", &[&[3, 3]], |x| {
        let op = graph.op("DenseToCSRSparseMatrix").input(&x[0]).input(indices());
        let op = graph.op("CSRSparseMatrixToSparseTensor").input(op.output());
        op.attr("type", DType::Double).build().output(1)
    });
    let turns = [
        ("plain", "", false),
        ("left", "transpose_a", false),
        ("left_adjoint", "adjoint_a", false),
        ("right", "transpose_b", false),
        ("result", "", true),
    ];
    for (name, turn, turns_output) in turns {
        case(graph, &format!("csr_dense_{name}"), &[&[4], &[3, 3]], |x| {
            let mut op = graph.op("SparseMatrixMatMul").input(sparse(&x[0])).input(&x[1]);
            if !turn.is_empty() {
                op = op.attr(turn, true);
            }
            op.attr("transpose_output", turns_output).output()
        });
    }
    for turn in ["transpose_a", "adjoint_b", "transpose_b"] {
        case(graph, &format!("csr_csr_{turn}"), &[&[4], &[4]], |x| {
            let op = graph.op("SparseMatrixSparseMatMul").input(sparse(&x[0]));
            let op = op.input(sparse(&x[1])).attr("type", DType::Double);
            dense(op.attr(turn, true).output())
        });
    }
    case(graph, "sparse_product", &[&[2, 3], &[2, 4]], |x| {
        let op = graph.op("SparseMatMul").input(float(&x[0])).input(float(&x[1]));
        op.attr("transpose_a", true).output()
    });
    case(graph, "sparse_sum", &[&[4]], |x| {
        let op = graph.op("SparseReduceSum").input(indices()).input(&x[0]).input([3i64, 3]);
        op.input([-1i32]).output()
    });
}

fn ragged(graph: &Graph) {
    let splits = || graph.constant([0i64, 2, 2, 5]);
    case(graph, "ragged_to_dense", &[&[5, 2], &[2]], |x| {
        let op = graph.op("RaggedTensorToTensor").input([-1i64, -1, 2]).input(&x[0]);
        let op = op.input(&x[1]).inputs([splits()]);
        op.attr("row_partition_types", vec![Bytes::from_static(b"ROW_SPLITS")]).output()
    });
    case(graph, "ragged_rows", &[&[5, 2]], |x| {
        let op = graph.op("RaggedGather").inputs([splits()]).input(&x[0]).input([2i32, 0, 2]);
        op.attr("OUTPUT_RAGGED_RANK", 1i64).build().output(1)
    });
    case(graph, "ragged_to_sparse", &[&[5]], |x| {
        let op = graph.op("RaggedTensorToSparse").inputs([splits()]).input(&x[0]);
        op.build().output(1)
    });
    case(graph, "ragged_filled", &[&[3], &[]], |x| {
        let op = graph.op("RaggedFillEmptyRows").input([0i64, 2, 2]).input(&x[0]);
        op.input(4i64).input(&x[1]).build().output(1)
    });
    case(graph, "ragged_variant", &[&[5]], |x| {
        let op = graph.op("RaggedTensorToVariant").inputs([splits()]).input(&x[0]);
        let encoded = op.attr("batched_input", false).output();
        let op = graph.op("RaggedTensorFromVariant").input(encoded).attr("input_ragged_rank", 1i64);
        let op = op.attr("output_ragged_rank", 1i64).attr("Tvalues", DType::Double);
        op.build().output(1)
    });
    case(graph, "optional", &[&[3], &[2]], |x| {
        let op = graph.op("OptionalFromValue").inputs(x);
        let types = vec![DType::Double; 2];
        let shapes: Vec<_> = x.iter().map(Output::shape).collect();
        let op = graph.op("OptionalGetValue").input(op.output()).attr("output_types", types);
        let [first, second] = op.attr("output_shapes", shapes).outputs();
        first * second.sum()
    });
}

pub(crate) fn add(graph: &Graph) {
    case(graph, "segment_product", &[&[5, 2]], |x| {
        // Zeros are the difficult case: one, and two of a segment.
        let zeros = graph.constant([[1.0f64, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        let op = graph.op("SegmentProd").input(&x[0] * zeros);
        op.input([0i32, 0, 1, 1, 1]).output()
    });
    case(graph, "unsorted_product", &[&[5, 2]], |x| {
        let op = graph.op("UnsortedSegmentProd").input(&x[0]);
        op.input([1i32, 0, -1, 1, 0]).input(3i32).output()
    });
    matrices(graph);
    ragged(graph);
}

//! Lists, gathers, sparse tensors, transforms, and gradients of gradients.

use tensorfleet_framework::NewNode;
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result, Shape, Tensor};
use tensorfleet_testing::varied;

use super::{Nodes, case, check, plain};

#[test]
fn gather_with_batches() {
    let gather = |axis: i32, batch: i64, shape: &[usize], indices: &[i32], of: &[usize]| {
        let indices = Tensor::from_slice(Shape::new(of).unwrap(), indices).unwrap();
        let name = format!("GatherV2 axis {axis} batch_dims {batch}");
        case(&name, vec![varied(Shape::new(shape).unwrap(), -1.0, 1.0)], move |nodes, xs| {
            let (indices, axis) = (nodes.constant(indices.clone())?, nodes.scalar(axis)?);
            let node = NewNode::new("GatherV2").input(xs[0]).input(indices).input(axis);
            nodes.add(node.attr("batch_dims", batch))
        })
    };
    check(vec![
        gather(1, 1, &[2, 3, 2], &[0, 2, 2, 1], &[2, 2]),
        gather(2, 1, &[2, 2, 3], &[0, 2, 2, 1, 1, 1], &[2, 3]),
        gather(1, 0, &[2, 3, 2], &[0, 2, 2, 1], &[2, 2]),
        gather(-1, 2, &[2, 2, 3], &[0, 2, 2, 1], &[2, 2]),
    ]);
}

#[test]
fn lists() {
    let element = |nodes: &mut Nodes<'_>| nodes.vector(&[2i32]);
    let typed = |op: &str| NewNode::new(op).attr("element_dtype", DType::Double);
    check(vec![
        case("a stacked list", vec![varied([3, 2], -1.0, 1.0), varied([2], 1.0, 2.0)], {
            move |nodes, xs| {
                let shape = element(nodes)?;
                let list = nodes.add(typed("TensorListFromTensor").input(xs[0]).input(shape))?;
                let index = nodes.scalar(1i32)?;
                let set = typed("TensorListSetItem").input(list).input(index).input(xs[1]);
                let list = nodes.add(set)?;
                let list = nodes.add(typed("TensorListPushBack").input(list).input(xs[1]))?;
                let stacked = nodes.add(typed("TensorListStack").input(list).input(shape))?;
                let first = nodes.scalar(0i32)?;
                let item =
                    nodes.add(typed("TensorListGetItem").input(list).input(first).input(shape))?;
                nodes.add(NewNode::new("Mul").input(stacked).input(item))
            }
        }),
        case("a gathered list", vec![varied([3, 2], -1.0, 1.0)], move |nodes, xs| {
            let (shape, indices) = (element(nodes)?, nodes.vector(&[2i32, 0, 1])?);
            let count = nodes.scalar(4i32)?;
            let scatter = typed("TensorListScatterV2").input(xs[0]).input(indices);
            let list = nodes.add(scatter.input(shape).input(count))?;
            let indices = nodes.vector(&[0i32, 3])?;
            nodes.add(typed("TensorListGather").input(list).input(indices).input(shape))
        }),
    ]);
}

#[test]
fn gradients_of_gradients() {
    let two = |op: &'static str| plain(op, vec![varied([5], 0.2, 0.9), varied([5], -1.0, 1.0)]);
    check(vec![
        two("ReciprocalGrad"),
        two("RsqrtGrad"),
        two("SigmoidGrad"),
        two("SqrtGrad"),
        two("TanhGrad"),
        plain("EluGrad", vec![varied([6], -1.0, 1.0), varied([6], -0.9, 0.9)]),
        plain("SoftplusGrad", vec![varied([6], -1.0, 1.0), varied([6], -2.0, 2.0)]),
    ]);
}

#[test]
fn fourier_transforms() {
    let transform = |op: &'static str, shape: [usize; 3]| {
        case(op, vec![varied(shape, -1.0, 1.0), varied(shape, -1.0, 1.0)], move |nodes, xs| {
            let node = NewNode::new("Complex").input(xs[0]).input(xs[1]);
            let complex = nodes.add(node.attr("Tout", DType::Complex128))?;
            let changed = nodes.add(NewNode::new(op).input(complex))?;
            let part = |nodes: &mut Nodes<'_>, op: &str| {
                nodes.add(NewNode::new(op).input(changed).attr("Tout", DType::Double))
            };
            let (real, imaginary) = (part(nodes, "Real")?, part(nodes, "Imag")?);
            let product = nodes.add(NewNode::new("Mul").input(real).input(imaginary))?;
            nodes.add(NewNode::new("Sub").input(product).input(imaginary))
        })
    };
    check(vec![
        transform("FFT", [1, 2, 3]),
        transform("IFFT", [1, 2, 3]),
        transform("FFT2D", [1, 2, 3]),
        transform("IFFT2D", [2, 2, 2]),
        transform("FFT3D", [2, 1, 3]),
        transform("IFFT3D", [2, 2, 1]),
    ]);
}

#[test]
fn sparse_tensors() {
    fn places(nodes: &mut Nodes<'_>) -> Result<[Output; 2]> {
        let indices = Tensor::from_slice(Shape::new(&[3, 2])?, &[0i64, 1, 0, 2, 1, 0])?;
        Ok([nodes.constant(indices)?, nodes.vector(&[2i64, 3])?])
    }
    let with_dense = |op: &'static str, shape: &[usize]| {
        let dense = varied(Shape::new(shape).unwrap(), 0.5, 1.5);
        case(op, vec![varied([3], -1.0, 1.0), dense], move |nodes, xs| {
            let [indices, shape] = places(nodes)?;
            let node = NewNode::new(op).input(indices).input(xs[0]);
            nodes.add(node.input(shape).input(xs[1]))
        })
    };
    check(vec![
        with_dense("SparseDenseCwiseMul", &[2, 3]),
        with_dense("SparseDenseCwiseMul", &[3]),
        with_dense("SparseDenseCwiseDiv", &[2, 1]),
        with_dense("SparseTensorDenseAdd", &[2, 3]),
        case("SparseSoftmax", vec![varied([3], -1.0, 1.0)], |nodes, xs| {
            let [indices, shape] = places(nodes)?;
            nodes.add(NewNode::new("SparseSoftmax").input(indices).input(xs[0]).input(shape))
        }),
        case("SparseReorder", vec![varied([3], -1.0, 1.0)], |nodes, xs| {
            let [_, shape] = places(nodes)?;
            let indices = Tensor::from_slice(Shape::new(&[3, 2])?, &[1i64, 0, 0, 2, 0, 1])?;
            let indices = nodes.constant(indices)?;
            let node = NewNode::new("SparseReorder").input(indices).input(xs[0]).input(shape);
            Ok(Output { index: 1, ..nodes.add(node)? })
        }),
        case("SparseAdd", vec![varied([3], -1.0, 1.0), varied([3], 1.0, 2.0)], |nodes, xs| {
            let [indices, shape] = places(nodes)?;
            let other = Tensor::from_slice(Shape::new(&[3, 2])?, &[0i64, 0, 0, 2, 1, 2])?;
            let (other, limit) = (nodes.constant(other)?, nodes.scalar(0.0f64)?);
            let node = NewNode::new("SparseAdd").input(indices).input(xs[0]).input(shape);
            let node = node.input(other).input(xs[1]).input(shape).input(limit);
            Ok(Output { index: 1, ..nodes.add(node)? })
        }),
        case("SparseSlice", vec![varied([3], -1.0, 1.0)], |nodes, xs| {
            let [indices, shape] = places(nodes)?;
            let (start, size) = (nodes.vector(&[0i64, 1])?, nodes.vector(&[2i64, 2])?);
            let node = NewNode::new("SparseSlice").input(indices).input(xs[0]).input(shape);
            Ok(Output { index: 1, ..nodes.add(node.input(start).input(size))? })
        }),
        case("SparseFillEmptyRows", vec![varied([3], -1.0, 1.0), varied([], 1.0, 2.0)], {
            |nodes, xs| {
                let [indices, _] = places(nodes)?;
                let shape = nodes.vector(&[4i64, 3])?;
                let node = NewNode::new("SparseFillEmptyRows").input(indices).input(xs[0]);
                Ok(Output { index: 1, ..nodes.add(node.input(shape).input(xs[1]))? })
            }
        }),
    ]);
}

#[test]
fn replaced_parts() {
    check(vec![case(
        "TensorStridedSliceUpdate",
        vec![varied([4], -1.0, 1.0), varied([2], 1.0, 2.0)],
        |nodes, xs| {
            let bounds = [nodes.vector(&[1i32])?, nodes.vector(&[3i32])?, nodes.vector(&[1i32])?];
            let node = NewNode::new("TensorStridedSliceUpdate").input(xs[0]);
            let node = bounds.iter().fold(node, |node, bound| node.input(*bound));
            nodes.add(node.input(xs[1]))
        },
    )]);
}

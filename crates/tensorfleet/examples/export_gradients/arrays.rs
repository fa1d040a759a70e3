//! Arrays, images, lists and functions.

use tensorfleet::{DType, Graph, Operand, Output, PartialShape, ops};

use crate::{case, float};

pub(crate) fn add(graph: &Graph) {
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
    for extreme in ["Max", "Min"] {
        case(graph, &format!("scatter_{extreme}"), &[&[4, 2], &[3, 2]], |x| {
            let op = graph.op(&format!("TensorScatter{extreme}")).input(&x[0]);
            op.input([[0i32], [3], [0]]).input(&x[1]).output()
        });
    }
    case(graph, "image_patches", &[&[2, 5, 4, 2]], |x| {
        let op = graph.op("ExtractImagePatches").input(&x[0]).attr("padding", "SAME");
        let op = op.attr("ksizes", vec![1i64, 3, 2, 1]).attr("strides", vec![1i64, 2, 1, 1]);
        op.attr("rates", vec![1i64, 1, 2, 1]).output()
    });
    case(graph, "volume_patches", &[&[2, 3, 4, 3, 2]], |x| {
        let op = graph.op("ExtractVolumePatches").input(&x[0]).attr("padding", "VALID");
        let op = op.attr("ksizes", vec![1i64, 2, 2, 2, 1]);
        op.attr("strides", vec![1i64, 1, 2, 1, 1]).output()
    });
    case(graph, "projective", &[&[1, 4, 4, 1]], |x| {
        let turn = graph.constant([[1.0f32, 0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 0.0]]);
        let op = graph.op("ImageProjectiveTransformV3").input(&x[0]).input(turn);
        op.input([4i32, 4]).input(0.0f32).attr("interpolation", "BILINEAR").output()
    });
    case(graph, "hsv", &[&[5, 4, 3]], |x| graph.op("RGBToHSV").input((&x[0] + 1.2) * 0.4).output());
    case(graph, "crop_and_resize", &[&[2, 4, 5, 2], &[2, 4]], |x| {
        let boxes = (float(&x[1]) + 1.5) * [[0.1f32, 0.1, 0.35, 0.35]].to_output(graph, None);
        let op = graph.op("CropAndResize").input(float(&x[0])).input(boxes);
        op.input([1i32, 0]).input([3i32, 3]).output()
    });
    case(graph, "fake_quant", &[&[3, 2]], |x| {
        graph.op("FakeQuantWithMinMaxArgs").input(float(&x[0])).attr("max", 0.5f32).output()
    });
    case(graph, "fake_quant_vars", &[&[3, 2]], |x| {
        let op = graph.op("FakeQuantWithMinMaxVars").input(float(&x[0]));
        op.input(-0.6f32).input(0.7f32).output()
    });
    case(graph, "fake_quant_channels", &[&[3, 2], &[2]], |x| {
        let high = float(&x[1]).abs() * 0.5;
        let op = graph.op("FakeQuantWithMinMaxVarsPerChannel").input(float(&x[0]));
        op.input(-&high).input(&high).output()
    });
    case(graph, "tensor_array", &[&[3, 2], &[2]], |x| {
        let op = graph.op("TensorArrayV3").input(3i32).attr("dtype", DType::Double);
        let [array, flow] = op.outputs();
        let op = graph.op("TensorArrayScatterV3").input(&array).input([0i32, 1, 2]);
        let flow = op.input(&x[0]).input(flow).output();
        let read = |index: i32| {
            let op = graph.op("TensorArrayReadV3").input(&array).input(index).input(&flow);
            op.attr("dtype", DType::Double).output()
        };
        read(2) * read(0) + &x[1]
    });
}

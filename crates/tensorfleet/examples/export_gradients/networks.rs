//! Layers of networks, and gradients of their gradients.

use tensorfleet::{Graph, Operand};

use crate::{case, float, varied};

fn second_order(graph: &Graph) {
    let images = &[2usize, 5, 5, 3];
    let (ones, space): (Vec<i64>, Vec<i64>) = (vec![1; 4], vec![1, 2, 2, 1]);
    case(graph, "pool_gradient", &[&[2, 3, 3, 3]], |x| {
        let input = varied(graph, images);
        let pool = graph.op("MaxPool").input(&input).attr("padding", "SAME");
        let pooled = pool.attr("ksize", space.clone()).attr("strides", space.clone()).output();
        let op = graph.op("MaxPoolGrad").input(&input).input(&pooled).input(&x[0]);
        let op = op.attr("ksize", space.clone()).attr("strides", space.clone());
        op.attr("padding", "SAME").output()
    });
    case(graph, "depthwise_by_input", &[&[2, 2, 3, 2], &[2, 4, 4, 6]], |x| {
        let op = graph.op("DepthwiseConv2dNativeBackpropInput").input([2i32, 5, 5, 3]);
        let op = op.input(&x[0]).input(&x[1]).attr("strides", ones.clone());
        op.attr("padding", "VALID").output()
    });
    case(graph, "depthwise_by_filter", &[images, &[2, 4, 4, 6]], |x| {
        let op = graph.op("DepthwiseConv2dNativeBackpropFilter").input(&x[0]);
        let op = op.input([2i32, 2, 3, 2]).input(&x[1]).attr("strides", ones.clone());
        op.attr("padding", "VALID").output()
    });
    case(graph, "volumes_by_input", &[&[2, 2, 2, 2, 3], &[1, 2, 3, 2, 3]], |x| {
        let op = graph.op("Conv3DBackpropInputV2").input([1i32, 3, 4, 3, 2]);
        let op = op.input(&x[0]).input(&x[1]).attr("strides", vec![1i64; 5]);
        op.attr("padding", "VALID").output()
    });
    case(graph, "volumes_by_filter", &[&[1, 3, 4, 3, 2], &[1, 2, 3, 2, 3]], |x| {
        let op = graph.op("Conv3DBackpropFilterV2").input(&x[0]);
        let op = op.input([2i32, 2, 2, 2, 3]).input(&x[1]).attr("strides", vec![1i64; 5]);
        op.attr("padding", "VALID").output()
    });
    case(graph, "selu_gradient", &[&[6], &[6]], |x| {
        graph.op("SeluGrad").input(&x[0]).input(&x[1]).output()
    });
    for (name, training) in [("norm_gradient", true), ("norm_gradient_at_rest", false)] {
        for output in [0, 1] {
            case(graph, &format!("{name}_{output}"), &[images, images, &[3]], |x| {
                let (mean, variance) = ([0.1f32, 0.2, 0.3], [0.5f32, 0.8, 0.6]);
                let op = graph.op("FusedBatchNormGradV3").input(float(&x[0])).input(float(&x[1]));
                let op = op.input(float(&x[2])).input(mean).input(variance).input(mean);
                op.attr("is_training", training).build().output(output)
            });
        }
    }
}

fn layers(graph: &Graph) {
    case(graph, "dilation", &[&[1, 5, 4, 2], &[2, 2, 2]], |x| {
        let op = graph.op("Dilation2D").input(&x[0]).input(&x[1]).attr("padding", "SAME");
        op.attr("strides", vec![1i64; 4]).attr("rates", vec![1i64; 4]).output()
    });
    for pool in ["FractionalAvgPool", "FractionalMaxPool"] {
        case(graph, pool, &[&[1, 6, 6, 2]], |x| {
            let op = graph.op(pool).input(&x[0]).attr("pooling_ratio", vec![1.0f32, 1.5, 1.3, 1.0]);
            op.attr("deterministic", true).attr("seed", 3i64).attr("seed2", 4i64).output()
        });
    }
    case(graph, "block_lstm", &[&[4, 2, 3], &[5, 8], &[2], &[8]], |x| {
        let state = || float(&varied(graph, &[2, 2]));
        let op = graph.op("BlockLSTM").input(3i64).input(float(&x[0])).input(state());
        let op = op.input(state() * 0.5).input(float(&x[1])).input(float(&x[2]));
        let op = op.input(float(&x[2]) * 0.3).input(float(&x[2]) * 0.7).input(float(&x[3]));
        op.attr("use_peephole", true).build().output(6)
    });
    case(graph, "ctc_loss", &[&[5, 2, 4]], |x| {
        let op = graph.op("CTCLoss").input(&x[0]);
        let op = op.input([[0i64, 0], [0, 1], [1, 0]]).input([0i32, 2, 1]).input([5i32, 4]);
        op.output()
    });
    case(graph, "isotonic", &[&[3, 5]], |x| {
        let op = graph.op("IsotonicRegression").input(float(&x[0]));
        op.output()
    });
    case(graph, "nth_element", &[&[3, 5]], |x| {
        graph.op("NthElement").input(&x[0]).input(2i32).output()
    });
    case(graph, "conditional", &[&[3]], |x| {
        let chosen = 1i32.to_output(graph, None);
        graph.cond(chosen.greater(0), || x[0].square(), || -&x[0])
    });
}

pub(crate) fn add(graph: &Graph) {
    second_order(graph);
    layers(graph);
}

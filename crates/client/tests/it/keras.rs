//! Layers, compared with those of Keras: outputs, and gradients of inputs and of all weights.
//!
//! `conformance/record_layers.py` has recorded the values, for inputs and weights that are waves.

use std::collections::HashMap;

use tensorfleet_client::layers::{
    self, Attend, BatchNorm, Bidirectional, Combiner, Conv, ConvTranspose, Dense, DepthwiseConv,
    Embedding, GroupNorm, Gru, LayerNorm, Lstm, MultiHeadAttention, Padding, Recurrent,
};
use tensorfleet_client::{Graph, IntoTensor, Module, Output, Session, Tensor, gradients_of};

use Padding::{Same, Valid};

pub(crate) fn wave(shape: &[usize], start: f64) -> Vec<f32> {
    let count: usize = shape.iter().product();
    (0..count).map(|i| (0.5 * (1.3 * i as f64 + start).sin()) as f32).collect()
}

fn tensor(shape: &[usize], start: f64) -> Tensor {
    (shape.to_vec(), wave(shape, start)).into_tensor().unwrap()
}

fn golden() -> HashMap<&'static str, Vec<f32>> {
    let lines = include_str!("golden/layers.txt").lines();
    lines
        .map(|line| {
            let (name, numbers) = line.split_once(' ').unwrap();
            (name, numbers.split(' ').map(|number| number.parse().unwrap()).collect())
        })
        .collect()
}

fn check_close(name: &str, is: &[f32], expected: &[f32]) {
    assert_eq!(is.len(), expected.len(), "{name}");
    let scale = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    for (place, (is, expected)) in is.iter().zip(expected).enumerate() {
        assert!((is - expected).abs() < 2e-5 * scale, "{name}[{place}] is {is}, not {expected}");
    }
}

/// Compares a layer, whose parameters are in Keras's order.
fn check<M: Module>(name: &str, layer: &M, shape: &[usize], call: impl Fn(&Output) -> Output) {
    let graph = Graph::new();
    let x = graph.constant(tensor(shape, 0.0));
    let y = call(&x);
    let parameters = layer.parameters();
    let mut assigned = Vec::new();
    for (number, parameter) in parameters.iter().enumerate() {
        let dims = parameter.variable.shape().to_shape().unwrap().dims().to_vec();
        let mut values = wave(&dims, number as f64 + 1.0);
        if parameter.name.ends_with("variance") {
            values.iter_mut().for_each(|value| *value = value.abs());
        }
        assigned.push(parameter.variable.assign((dims, values).into_tensor().unwrap()));
    }
    let session = Session::new(&graph).unwrap_or_else(|error| panic!("{name}: {error}"));
    session.run((), &graph.group(&assigned)).unwrap();
    let found = session.run((), &y).unwrap_or_else(|error| panic!("{name}: {error}"));
    let golden = golden();
    check_close(
        &format!("{name}.y"),
        found.values::<f32>().unwrap(),
        &golden[&*format!("{name}.y")],
    );

    let along = graph.constant(tensor(found.dims(), 9.0));
    let variables = layer.trainable_variables();
    let mut sources = vec![&x];
    sources.extend(variables.iter().map(|variable| variable.handle()));
    for (number, gradient) in gradients_of(&[&y], &sources, &[Some(along)]).iter().enumerate() {
        let key = match number {
            0 => format!("{name}.dx"),
            number => format!("{name}.dw{}", number - 1),
        };
        let gradient = gradient.as_ref().unwrap_or_else(|| panic!("no {key}")).to_dense();
        let found = session.run((), &gradient).unwrap_or_else(|error| panic!("{key}: {error}"));
        check_close(&key, found.values::<f32>().unwrap(), &golden[&*key]);
    }
}

/// A layer without parameters.
fn check_function(name: &str, shape: &[usize], call: impl Fn(&Output) -> Output) {
    check(name, &Vec::<Dense>::new(), shape, call);
}

#[test]
fn dense() {
    for (name, shape) in [("dense", &[2, 4][..]), ("dense3d", &[2, 5, 4])] {
        let layer = Dense::new(3);
        check(name, &layer, shape, |x| layer.call(x));
    }
}

#[test]
fn convolutions() {
    let layer = Conv::new(3, [3]).stride(2).padding(Same);
    check("conv1d", &layer, &[2, 7, 2], |x| layer.call(x));
    let layer = Conv::new(3, [3]).dilation(2);
    check("conv1d_dilated", &layer, &[2, 7, 2], |x| layer.call(x));
    let layer = Conv::new(3, [3, 2]).stride(2).padding(Same);
    check("conv2d", &layer, &[2, 5, 6, 2], |x| layer.call(x));
    let layer = Conv::new(2, [2, 3, 2]);
    check("conv3d", &layer, &[1, 4, 4, 3, 2], |x| layer.call(x));
    let layer = Conv::new(2, [3, 3, 3]).stride(2).padding(Same);
    check("conv3d_same", &layer, &[1, 4, 5, 3, 2], |x| layer.call(x));
}

#[test]
fn transposed_convolutions() {
    let layer = ConvTranspose::new(3, [3]).stride(2).padding(Same);
    check("transpose1d", &layer, &[2, 4, 2], |x| layer.call(x));
    let layer = ConvTranspose::new(3, [3, 3]).stride(2).padding(Same);
    check("transpose2d", &layer, &[2, 3, 4, 2], |x| layer.call(x));
    let layer = ConvTranspose::new(2, [3, 1]).stride(2);
    check("transpose2d_valid", &layer, &[2, 3, 2, 2], |x| layer.call(x));
    let layer = ConvTranspose::new(2, [3, 3, 3]).stride(2);
    check("transpose3d", &layer, &[1, 2, 3, 2, 2], |x| layer.call(x));
}

#[test]
fn depthwise_convolutions() {
    let layer = DepthwiseConv::new([3]).stride(2).padding(Same).multiplier(2);
    check("depthwise1d", &layer, &[2, 7, 3], |x| layer.call(x));
    let layer = DepthwiseConv::new([3, 3]).multiplier(2);
    check("depthwise2d", &layer, &[2, 5, 4, 3], |x| layer.call(x));
    let layer = DepthwiseConv::new([2, 2]).stride(2).padding(Same);
    check("depthwise2d_same", &layer, &[2, 5, 5, 3], |x| layer.call(x));
}

#[test]
fn pools() {
    check_function("max1d", &[2, 7, 2], |x| layers::max_pool(x, [3], [2], Same));
    check_function("max2d", &[2, 4, 7, 2], |x| layers::max_pool(x, [2, 3], [1, 2], Valid));
    check_function("max3d", &[1, 3, 4, 5, 2], |x| layers::max_pool(x, [2; 3], [2; 3], Same));
    check_function("avg1d", &[2, 7, 2], |x| layers::avg_pool(x, [3], [2], Same));
    check_function("avg2d", &[2, 3, 4, 2], |x| layers::avg_pool(x, [2; 2], [1; 2], Same));
    check_function("avg3d", &[1, 4, 4, 5, 2], |x| layers::avg_pool(x, [2; 3], [2; 3], Valid));
    check_function("global_max", &[2, 3, 4, 2], layers::global_max_pool);
    check_function("global_avg", &[2, 2, 3, 4, 2], layers::global_avg_pool);
}

#[test]
fn normalizations() {
    let layer = BatchNorm::new();
    check("batch_norm", &layer, &[4, 3, 2], |x| layer.call(x, true));
    let layer = BatchNorm::new();
    check("batch_norm_still", &layer, &[4, 3, 2], |x| layer.call(x, false));
    let layer = LayerNorm::new();
    check("layer_norm", &layer, &[3, 2, 4], |x| layer.call(x));
    let layer = GroupNorm::new(2);
    check("group_norm", &layer, &[2, 3, 3, 4], |x| layer.call(x));
    let layer = GroupNorm::instance();
    check("instance_norm", &layer, &[2, 5, 4], |x| layer.call(x));
}

/// Sequences of these lengths, of five.
const LENGTHS: [i64; 3] = [3, 5, 0];

fn check_recurrent<L: Recurrent>(
    kind: &str,
    make: impl Fn() -> L,
    backward: impl Fn() -> L,
    state: impl Fn(L::State) -> Output,
) {
    let shape = [3, 5, 2];
    let layer = make();
    check(kind, &layer, &shape, |x| layer.call(x).0);
    let layer = make();
    check(&format!("{kind}_state"), &layer, &shape, |x| state(layer.call(x).1));
    let lengths = |x: &Output| x.graph().constant(LENGTHS);
    let layer = make();
    check(&format!("{kind}_lengths"), &layer, &shape, |x| {
        layer.call_with(x, Some(&lengths(x)), None).0
    });
    let layer = make();
    check(&format!("{kind}_lengths_state"), &layer, &shape, |x| {
        state(layer.call_with(x, Some(&lengths(x)), None).1)
    });
    let layer = Bidirectional::new(make(), backward());
    check(&format!("{kind}_both"), &layer, &shape, |x| layer.call(x, None).0);
    let layer = backward();
    check(&format!("{kind}_backward"), &layer, &shape, |x| {
        layer.call_with(x, Some(&lengths(x)), None).0
    });
}

#[test]
fn long_short_term_memories() {
    let backward = || Lstm::new(3).backward();
    check_recurrent("lstm", || Lstm::new(3), backward, |state| state.hidden);
}

#[test]
fn gated_recurrent_units() {
    check_recurrent("gru", || Gru::new(3), || Gru::new(3).backward(), |state| state);
}

#[test]
fn a_long_sequence_needs_no_larger_graph() {
    let nodes = |times: usize| {
        let graph = Graph::new();
        let x = graph.constant(tensor(&[2, times, 3], 0.0));
        let (outputs, _) = layers::lstm(&x, "lstm", 4);
        let gradients = gradients_of(&[&outputs.sum()], &[&x], &[]);
        let dx = gradients[0].as_ref().unwrap().to_dense();
        let session = Session::new(&graph).unwrap();
        session.run((), &graph.initializer()).unwrap();
        assert_eq!(session.run((), &dx).unwrap().dims(), [2, times, 3]);
        graph.len()
    };
    assert_eq!(nodes(2), nodes(300));
}

#[test]
fn attention() {
    let shape = [2, 4, 5];
    let everywhere = Attend::everywhere;
    let layer = MultiHeadAttention::new(2, 3);
    check("attention", &layer, &shape, |x| layer.call(x, x, &everywhere()));
    let layer = MultiHeadAttention::new(2, 3).value_size(4);
    check("attention_causal", &layer, &shape, |x| layer.call(x, x, &everywhere().causal()));
    let layer = MultiHeadAttention::new(2, 3).output_size(6);
    check("attention_masked", &layer, &shape, |x| {
        let mask = layers::padding_mask(&x.graph().constant([2i64, 4]), 4);
        layer.call(&x.slice(&[0, 0, 0], &[-1, 3, -1]), x, &everywhere().mask(&mask))
    });
}

#[test]
fn a_cache_may_go_round_a_loop() {
    let graph = Graph::new();
    let layer = MultiHeadAttention::new(2, 3).seed(3);
    let x = graph.constant(tensor(&[2, 4, 5], 0.0));
    let whole = layer.call(&x, &x, &Attend::everywhere().causal());
    let empty = layer.empty_cache(&x);
    let start = (graph.constant(0i32), x.slice(&[0, 0, 0], &[-1, 1, -1]), empty.keys, empty.values);
    let (_, last, ..) = graph.while_loop(
        start,
        |(position, ..)| position.less(4),
        |(position, _, keys, values)| {
            let one = x.gather(position.expand_dims(0), 1).with_shape([Some(2), Some(1), Some(5)]);
            let cache = layers::KeyValueCache { keys, values };
            let (y, cache) = layer.call_cached(&one, &cache, &Attend::everywhere());
            (position + 1, y, cache.keys, cache.values)
        },
    );
    let session = Session::new(&graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let end = whole.slice(&[0, 3, 0], &[-1, 1, -1]);
    let (last, end) = session.run((), (last.value::<Vec<f32>>(), end.value::<Vec<f32>>())).unwrap();
    check_close("cached", &last, &end);
}

#[test]
fn combined_embeddings() {
    let combiners = [("sum", Combiner::Sum), ("mean", Combiner::Mean), ("sqrtn", Combiner::SqrtN)];
    for (name, combiner) in combiners {
        for shards in [1, 3] {
            let graph = Graph::new();
            let table = Embedding::new(6, 3).shards(shards).combiner(combiner);
            let ids = graph.constant([[1i64, 5, -1], [2, 2, 0], [-1, -1, -1]]);
            let weights = [[1.0f32, 2.0, 7.0], [0.5, 1.0, 3.0], [1.0, 1.0, 1.0]];
            let y = table.combine(&ids, weights);
            let all = wave(&[6, 3], 1.0);
            let mut assigned = Vec::new();
            for parameter in table.parameters() {
                let (first, count) = parameter.part.map_or((0, 6), |rows| (rows.first, rows.count));
                let values = all[first * 3..(first + count) * 3].to_vec();
                assigned
                    .push(parameter.variable.assign(([count, 3], values).into_tensor().unwrap()));
            }
            let session = Session::new(&graph).unwrap();
            session.run((), &graph.group(&assigned)).unwrap();
            let y = session.run((), y.value::<Vec<f32>>()).unwrap();
            check_close(name, &y, &golden()[&*format!("combine_{name}.y")]);
        }
    }
}

#[test]
fn seeds_repeat_initial_values_and_weights_differ() {
    let draw = |seed| {
        let graph = Graph::new();
        let x = graph.placeholder::<f32>([None, None, Some(4)]);
        let layer = Lstm::new(4).kernel(tensorfleet_client::initializer::orthogonal).seed(seed);
        layer.call(&x);
        let session = Session::new(&graph).unwrap();
        session.run((), &graph.initializer()).unwrap();
        let values = |place: usize| {
            session.run((), layer.parameters()[place].variable.value::<Vec<f32>>()).unwrap()
        };
        [values(0), values(1)]
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1)[0], draw(2)[0]);
    // Both are orthogonal and of one shape, but not the same.
    assert_ne!(draw(1)[0], draw(1)[1]);
}

#[test]
fn mistakes_are_told() {
    let told = |call: &dyn Fn(&Graph)| {
        let graph = Graph::new();
        call(&graph);
        graph.check().unwrap_err().to_string()
    };
    let image = |graph: &Graph| graph.placeholder::<f32>([None, Some(4), Some(4), Some(3)]);
    let error = told(&|graph| drop(Conv::new(2, [3]).call(&image(graph))));
    assert!(error.contains("takes a tensor of 3") && error.contains("keras.rs:"), "{error}");
    let error = told(&|graph| drop(GroupNorm::new(2).call(&image(graph))));
    assert!(error.contains("3 channels cannot be cut into 2 groups"), "{error}");
    let error = told(&|graph| {
        let start = graph.constant([[1.0f32]]);
        graph.while_loop(start, |x| x.sum().less(9.0), |x| Dense::new(1).call(&x));
    });
    assert!(error.contains("must be made outside of loops"), "{error}");
}

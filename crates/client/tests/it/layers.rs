//! Trains small networks of every kind of layer.

use tensorfleet_client::layers::{self, Padding};
use tensorfleet_client::optimizer::{Adam, Optimizer, clip_by_global_norm};
use tensorfleet_client::{Graph, Operation, Output, Session, initializer, loss, metrics};

/// Runs some training steps; returns the loss before and after.
fn train(graph: &Graph, loss: &Output, train: &Operation, steps: usize) -> (f32, f32) {
    let session = Session::new(graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let before = session.run((), loss.value::<f32>()).unwrap();
    for _ in 0..steps {
        session.run((), train).unwrap();
    }
    (before, session.run((), loss.value::<f32>()).unwrap())
}

fn check(graph: &Graph, loss: &Output) {
    let adam = Adam::new(0.02);
    let updates = clip_by_global_norm(adam.compute_gradients(loss), 5.0);
    assert_eq!(updates.len(), graph.trainable_variables().len(), "{:?}", graph.check());
    let op = adam.apply_gradients(&updates);
    let (before, after) = train(graph, loss, &op, 40);
    assert!(after < before * 0.7, "from {before} to {after}");
}

fn random(graph: &Graph, shape: &[usize]) -> Output {
    let x = graph.state("x", initializer::normal(shape, 0.0, 1.0).seed(7));
    x.read()
}

#[test]
fn a_classifier_of_images_learns() {
    let graph = Graph::new();
    let x = random(&graph, &[8, 6, 6, 1]);
    let x = layers::conv2d(&x, "conv", 4, [3, 3], 1, Padding::Same);
    let x = layers::batch_norm(&x, "norm", true).relu();
    let x = layers::max_pool2d(&x, 2, 2, Padding::Valid);
    let x = layers::avg_pool2d(&x, 2, 1, Padding::Same);
    let x = layers::dropout(&layers::flatten(&x), 0.0, true);
    assert_eq!(x.shape().to_string(), "[8,36]");
    let logits = layers::dense(&x, "logits", 3);
    let classes = graph.constant([0i64, 1, 2, 0, 1, 2, 0, 1]);
    check(&graph, &loss::sparse_softmax_cross_entropy(&logits, &classes));
}

#[test]
fn recurrent_layers_learn() {
    for kind in ["lstm", "gru"] {
        let graph = Graph::new();
        let x = random(&graph, &[4, 5, 3]);
        let last = match kind {
            "lstm" => layers::lstm(&x, kind, 6).1.hidden,
            _ => layers::gru(&x, kind, 6).1,
        };
        let y = layers::layer_norm(&layers::dense(&last, "out", 2), "norm");
        check(
            &graph,
            &loss::mean_squared_error(&y, [[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.5]]),
        );
    }
}

#[test]
fn embeddings_learn_with_sparse_gradients() {
    let graph = Graph::new();
    let ids = graph.constant([3i64, 1, 3, 0]);
    let rows = layers::embedding(&ids, "words", 5, 4);
    let y = layers::dense(&rows, "out", 1);
    check(&graph, &loss::mean_squared_error(&y, [[1.0f32], [0.0], [1.0], [-1.0]]));
}

#[test]
fn metrics_count() {
    let graph = Graph::new();
    let logits = graph.constant([[0.1f32, 0.9], [0.8, 0.2], [0.3, 0.7]]);
    let accuracy = metrics::accuracy(&logits, [1i64, 0, 0]);
    let value = Session::new(&graph).unwrap().run((), accuracy.value::<f32>()).unwrap();
    assert!((value - 2.0 / 3.0).abs() < 1e-6);
}

#[test]
fn mistakes_name_their_line() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([None, Some(3)]);
    let w = graph.variable("w", initializer::zeros([4, 2]));
    let _ = x.matmul(&w);
    let line = line!() - 1;
    let error = graph.check().unwrap_err().to_string();
    assert!(error.contains(&format!("layers.rs:{line}:")), "{error}");
    assert!(error.contains("[?,3]") && error.contains("[4,2]"), "{error}");
}

#[test]
fn initial_values_are_as_said() {
    let graph = Graph::new();
    let q = graph.variable("q", initializer::orthogonal([4, 3]).seed(1));
    let product = q.read().matmul_with(&q, true, false);
    let glorot = graph.variable("g", initializer::glorot_uniform([30, 30]).seed(1));
    let session = Session::new(&graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let (product, glorot) =
        session.run((), (product.value::<Vec<f32>>(), glorot.value::<Vec<f32>>())).unwrap();
    for (index, value) in product.iter().enumerate() {
        let expected = if index % 4 == 0 { 1.0 } else { 0.0 };
        assert!((value - expected).abs() < 1e-5, "{product:?}");
    }
    let limit = (6.0f32 / 60.0).sqrt();
    assert!(glorot.iter().all(|value| value.abs() <= limit));
    assert!(glorot.iter().any(|value| value.abs() > limit * 0.9));
}

//! Losses, compared with those of Keras.

use tensorfleet_client::{Graph, Output, Session, loss};

/// The values are those of `tf_keras.losses` for the same numbers.
fn check(loss: &Output, keras: f32) {
    let value = Session::new(loss.graph()).unwrap().run((), loss.value::<f32>()).unwrap();
    assert!((value - keras).abs() <= keras.abs() * 1e-5, "{value} is not {keras}");
}

#[test]
fn of_numbers() {
    let graph = Graph::new();
    let p = graph.constant([[0.5f32, 2.0, 0.25], [1.5, 0.75, 3.0]]);
    let t = [[1.0f32, 1.5, 0.5], [1.0, 1.0, 2.0]];
    check(&loss::mean_absolute_percentage_error(&p, t), 43.055_557);
    check(&loss::mean_squared_logarithmic_error(&p, t), 0.049_937_986);
    check(&loss::log_cosh(&p, t), 0.142_663_97);
    check(&loss::poisson(&p, t), 1.005_261);
    check(&loss::cosine_similarity(&p, t), -0.956_508_76);
}

#[test]
fn of_probabilities() {
    let graph = Graph::new();
    let p = graph.constant([[0.2f32, 0.5, 0.3], [0.1, 0.7, 0.2]]);
    let t = [[0.3f32, 0.3, 0.4], [0.0, 0.9, 0.1]];
    check(&loss::kl_divergence(&p, t), 0.120_165_75);
}

#[test]
fn of_scores() {
    let graph = Graph::new();
    let x = graph.constant([[0.5f32, -2.0, 0.25], [1.5, -0.75, 3.0]]);
    check(&loss::squared_hinge(&x, [[1.0f32, -1.0, 1.0], [-1.0, 1.0, 1.0]]), 1.6875);
    check(&loss::categorical_hinge(&x, [[1.0f32, 0.0, 0.0], [0.0, 0.0, 1.0]]), 0.375);
    let labels = [[1.0f32, 0.0, 1.0], [0.0, 1.0, 1.0]];
    check(&loss::sigmoid_focal_cross_entropy(&x, labels, 2.0), 0.306_930_04);
}

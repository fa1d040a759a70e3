//! Metrics kept over steps, with the values that TensorFlow's `tf.compat.v1.metrics` have after the
//! same steps.

use tensorfleet_client::metrics::Metric;
use tensorfleet_client::{Feed, Graph, Session};

/// Updates a metric with each of some steps; the result must be the same however it is asked for.
fn result<F: Feed>(graph: &Graph, metric: &Metric, steps: impl IntoIterator<Item = F>) -> f32 {
    let session = Session::new(graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    assert_eq!(session.run((), metric.result().value::<f32>()).unwrap(), 0.0);
    let mut last = 0.0;
    for feeds in steps {
        last = session.run(feeds, metric.updated().value::<f32>()).unwrap();
    }
    assert_eq!(session.run((), metric.result().value::<f32>()).unwrap(), last);
    session.run((), metric.reset()).unwrap();
    assert_eq!(session.run((), metric.result().value::<f32>()).unwrap(), 0.0);
    last
}

fn close(computed: f32, expected: f32) {
    assert!((computed - expected).abs() < 1e-5, "{computed} instead of {expected}");
}

#[test]
fn classes() {
    let graph = Graph::new();
    let logits = graph.placeholder::<f32>([None, Some(3)]);
    let classes = graph.placeholder::<i64>([None]);
    let check = |metric: Metric, expected: f32| {
        let first = ((&logits, [[2.0f32, 1.0, 0.0], [0.0, 3.0, 1.0]]), (&classes, [0i64, 2]));
        let second = ((&logits, [[0.5f32, 0.2, 0.1], [9.0, 5.0, 1.0]]), (&classes, [1i64, 0]));
        close(result(&graph, &metric, [first, second]), expected);
    };
    check(Metric::accuracy("accuracy", &logits, &classes), 0.5);
    check(Metric::top_k_accuracy("top_2", &logits, &classes, 2), 1.0);
    check(Metric::sparse_softmax_cross_entropy("loss", &logits, &classes), 0.944_008);
}

#[test]
fn yes_and_no() {
    let graph = Graph::new();
    let probabilities = graph.placeholder::<f32>([None]);
    let labels = graph.placeholder::<bool>([None]);
    let steps = || {
        let feeds = |p: [f32; 3], l: [bool; 3]| ((&probabilities, p), (&labels, l));
        [feeds([0.9, 0.2, 0.6], [true, true, false]), feeds([0.7, 0.1, 0.4], [true, false, true])]
    };
    let predictions = probabilities.greater(0.5);
    let check = |metric: Metric, expected: f32| {
        close(result(&graph, &metric, steps()), expected);
    };
    check(Metric::binary_accuracy("accuracy", &probabilities, &labels, 0.5), 0.5);
    check(Metric::precision("precision", &predictions, &labels), 2.0 / 3.0);
    check(Metric::recall("recall", &predictions, &labels), 0.5);
    check(Metric::auc("auc", &probabilities, &labels, 200), 0.75);
    check(Metric::auc("coarse", &probabilities, &labels, 5), 0.625);
}

#[test]
fn numbers() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([None]);
    let y = graph.placeholder::<f32>([None]);
    let check = |metric: Metric, expected: f32| {
        let feeds = |xs: Vec<f32>, ys: Vec<f32>| ((&x, xs), (&y, ys));
        let steps = [feeds(vec![1.0, 2.0], vec![1.5, 1.0]), feeds(vec![4.0], vec![1.0])];
        close(result(&graph, &metric, steps), expected);
    };
    check(Metric::mean_squared_error("squares", &x, &y), 10.25 / 3.0);
    check(Metric::root_mean_squared_error("roots", &x, &y), (10.25f32 / 3.0).sqrt());
    check(Metric::mean_absolute_error("sizes", &x, &y), 1.5);
    check(Metric::weighted_mean("weighted", &x, &y), 7.5 / 3.5);
}

#[test]
fn segments() {
    let graph = Graph::new();
    let predicted = graph.placeholder::<i32>([None]);
    let labels = graph.placeholder::<i32>([None]);
    let metric = Metric::mean_iou("iou", &predicted, &labels, 4);
    let steps = [
        ((&predicted, [0i32, 1, 2]), (&labels, [0i32, 1, 1])),
        ((&predicted, [2i32, 2, 0]), (&labels, [2i32, 0, 0])),
    ];
    close(result(&graph, &metric, steps), 0.5);
}

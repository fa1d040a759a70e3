//! Metrics kept over steps, with the values that TensorFlow's `tf.compat.v1.metrics` have after the
//! same steps.

use tensorfleet_client::metrics::Metric;
use tensorfleet_client::{DType, Feed, Graph, IntoTensor, Output, Session};

use crate::keras::wave;

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

/// What Keras has for waves in two steps, as `conformance/record_layers.py` has recorded it.
fn check_keras(
    name: &str,
    make: impl Fn(&Graph, &[Output]) -> Metric,
    columns: &[(Vec<usize>, Vec<f32>)],
) {
    let lines = include_str!("golden/metrics.txt").lines();
    let line = lines.map(|line| line.split_once(' ').unwrap()).find(|(known, _)| *known == name);
    let expected: f32 = line.unwrap_or_else(|| panic!("no {name}")).1.parse().unwrap();
    let graph = Graph::new();
    let inputs: Vec<Output> = columns
        .iter()
        .map(|(shape, _)| {
            graph.placeholder::<f32>(
                std::iter::once(None).chain(shape[1..].iter().map(|&dim| Some(dim))),
            )
        })
        .collect();
    let metric = make(&graph, &inputs);
    let steps = [(0, 2), (2, columns[0].0[0])].map(|(from, to)| {
        let feeds = inputs.iter().zip(columns).map(|(input, (shape, values))| {
            let tensor = (shape.clone(), values.clone()).into_tensor().unwrap();
            (input, tensor.rows(from..to).unwrap())
        });
        feeds.collect::<Vec<_>>()
    });
    let found = result(&graph, &metric, steps);
    assert!(
        (found - expected).abs() < 1e-5 * expected.abs().max(1.0),
        "{name}: {found}, not {expected}"
    );
}

#[test]
fn those_of_keras() {
    use tensorfleet_client::{loss, metrics::Average};

    let mut p: Vec<f32> = wave(&[6, 4], 1.0).iter().map(|x| x.abs() + 0.05).collect();
    for row in p.chunks_mut(4) {
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    let classes = [0, 1, 2, 3, 1, 0];
    let hot: Vec<f32> =
        classes.iter().flat_map(|&c| (0..4).map(move |i| f32::from(u8::from(i == c)))).collect();
    let mixed: Vec<f32> = hot.iter().map(|x| x * 0.7 + 0.075).collect();
    let rows = |values: &[f32]| (vec![6, 4], values.to_vec());
    let of_classes = [rows(&p), rows(&hot)];
    let kept = |name: &'static str,
                of: &dyn Fn(&Output, &Output) -> Output,
                columns: &[(Vec<usize>, Vec<f32>)]| {
        check_keras(name, |_, x| Metric::mean_of_batches(name, &of(&x[0], &x[1]), &x[0]), columns);
    };
    check_keras(
        "categorical_accuracy",
        |_, x| Metric::accuracy("m", &x[0], x[1].argmax(-1)),
        &of_classes,
    );
    check_keras(
        "top_k_categorical",
        |_, x| Metric::top_k_accuracy("m", &x[0], x[1].argmax(-1), 2),
        &of_classes,
    );
    kept("categorical_crossentropy", &|p, t| loss::softmax_cross_entropy(&p.ln(), t), &of_classes);
    kept("categorical_hinge", &|p, t| loss::categorical_hinge(p, t), &of_classes);
    kept("kl_divergence", &|p, t| loss::kl_divergence(p, t), &[rows(&p), rows(&mixed)]);
    let above = |x: &Output| x.greater(0.25);
    let f = |beta, average| {
        move |_: &Graph, x: &[Output]| Metric::f_beta("m", &above(&x[0]), &x[1], 4, beta, average)
    };
    check_keras("f1", f(1.0, Average::Macro), &of_classes);
    check_keras("f1_micro", f(1.0, Average::Micro), &of_classes);
    check_keras("f2_weighted", f(2.0, Average::Weighted), &of_classes);
    let guesses = [0.0f32, 1.0, 1.0, 3.0, 2.0, 2.0];
    let columns = [(vec![6], guesses.to_vec()), (vec![6], classes.map(|c| c as f32).to_vec())];
    check_keras("iou", |_, x| Metric::iou("m", &x[0], &x[1], 4, &[0, 2]), &columns);

    let more = |start| rows(&wave(&[6, 4], start).iter().map(|x| x + 1.0).collect::<Vec<f32>>());
    let numbers = [more(5.0), more(2.0)];
    kept("poisson", &|p, t| loss::poisson(p, t), &numbers);
    kept("mape", &|p, t| loss::mean_absolute_percentage_error(p, t), &numbers);
    kept("msle", &|p, t| loss::mean_squared_logarithmic_error(p, t), &numbers);
    kept("log_cosh", &|p, t| loss::log_cosh(p, t), &numbers);
    kept("cosine", &|p, t| -loss::cosine_similarity(p, t), &numbers);
    check_keras("r2", |_, x| Metric::r2("m", &x[0], &x[1], 4), &numbers);

    let scores: Vec<f32> = wave(&[12], 0.3).iter().map(|x| x.abs() * 2.0).collect();
    let labels: Vec<f32> = (0..12).map(|i| f32::from(u8::from(i % 3 != 0))).collect();
    let binary = [(vec![12], scores), (vec![12], labels)];
    kept("hinge", &|p, t| loss::hinge(p, t * 2.0 - 1.0), &binary);
    kept("squared_hinge", &|p, t| loss::squared_hinge(p, t * 2.0 - 1.0), &binary);
    let logit = |p: &Output| (p / (1.0 - p)).ln();
    kept("binary_crossentropy", &|p, t| loss::sigmoid_cross_entropy(&logit(p), t), &binary);
    type Counted = fn(&str, &Output, &Output, f64) -> Metric;
    let counts: [(&str, Counted); 4] = [
        ("true_positives", |n, p, l, t| Metric::true_positives(n, p, l, t)),
        ("true_negatives", |n, p, l, t| Metric::true_negatives(n, p, l, t)),
        ("false_positives", |n, p, l, t| Metric::false_positives(n, p, l, t)),
        ("false_negatives", |n, p, l, t| Metric::false_negatives(n, p, l, t)),
    ];
    for (name, make) in counts {
        check_keras(name, |_, x| make(name, &x[0], &x[1], 0.4), &binary);
    }
    check_keras("precision", |_, x| Metric::precision("m", &x[0].greater(0.4), &x[1]), &binary);
    check_keras("recall", |_, x| Metric::recall("m", &x[0].greater(0.4), &x[1]), &binary);
    check_keras("auc", |_, x| Metric::auc("m", &x[0], &x[1], 100), &binary);
    check_keras("auc_pr", |_, x| Metric::auc_pr("m", &x[0], &x[1], 100), &binary);
    type Best = fn(&Output, &Output) -> Metric;
    let best: [(&str, Best); 4] = [
        ("sensitivity", |p, l| Metric::sensitivity_at_specificity("m", p, l, 0.6, 100)),
        ("specificity", |p, l| Metric::specificity_at_sensitivity("m", p, l, 0.6, 100)),
        ("precision_at_recall", |p, l| Metric::precision_at_recall("m", p, l, 0.6, 100)),
        ("recall_at_precision", |p, l| Metric::recall_at_precision("m", p, l, 0.6, 100)),
    ];
    for (name, make) in best {
        check_keras(name, |_, x| make(&x[0], &x[1]), &binary);
    }
    check_keras(
        "binary_iou",
        |_, x| Metric::mean_iou("m", &x[0].greater(0.4).cast(DType::Int64), &x[1], 2),
        &binary,
    );
}

//! The classifier, as each worker builds it: the same variables, on the same parameter servers.

use tensorfleet_client::optimizer::{Adam, Optimizer};
use tensorfleet_client::{Graph, Operation, Output, initializer, layers, loss, metrics};
use tensorfleet_strategy::MeanGradients;

use super::data::{CLASSES, PIXELS};

/// Units of each hidden layer.
const HIDDEN: usize = 64;
const LEARNING_RATE: f64 = 0.004;

#[derive(Debug)]
pub(super) struct Classifier {
    pub(super) images: Output,
    pub(super) classes: Output,
    pub(super) loss: Output,
    pub(super) accuracy: Output,
    pub(super) update: Update,
}

/// How a step changes the variables.
#[derive(Debug)]
pub(super) enum Update {
    /// At once.
    Alone(Operation),
    /// When all workers have contributed.
    Together { gradients: MeanGradients, apply: Operation },
}

impl Classifier {
    /// Builds the model in a worker's graph.
    pub(super) fn new(graph: &Graph, is_synchronous: bool) -> Classifier {
        let images = graph.placeholder::<f32>([None, Some(PIXELS)]);
        let classes = graph.placeholder::<i64>([None]);
        let weights = initializer::he_normal([PIXELS, HIDDEN]).seed(1);
        let first = layers::dense_with(&images, "first", weights).relu();
        let weights = initializer::he_normal([HIDDEN, HIDDEN]).seed(2);
        let second = layers::dense_with(&first, "second", weights).relu();
        let weights = initializer::glorot_uniform([HIDDEN, CLASSES]).seed(3);
        let logits = layers::dense_with(&second, "logits", weights);
        let loss = loss::sparse_softmax_cross_entropy(&logits, &classes);
        let accuracy = metrics::accuracy(&logits, &classes);
        let optimizer = Adam::new(LEARNING_RATE);
        let update = if is_synchronous {
            let gradients = MeanGradients::new(graph, &optimizer.compute_gradients(&loss));
            let apply = optimizer.apply_gradients(&gradients.means);
            Update::Together { gradients, apply }
        } else {
            Update::Alone(optimizer.minimize(&loss))
        };
        Classifier { images, classes, loss, accuracy, update }
    }
}

/// The number of trained parameters on each parameter server.
pub(super) fn parameters(graph: &Graph, ps_tasks: usize) -> Vec<usize> {
    let variables = graph.trainable_variables();
    let on = |task: usize| {
        let device = format!("/job:ps/task:{task}");
        let here = variables.iter().filter(move |variable| variable.device() == device);
        here.map(|variable| variable.num_elements()).sum()
    };
    (0..ps_tasks).map(on).collect()
}

/// The device of the last layer's bias.
pub(super) fn bias_device(graph: &Graph) -> String {
    let last = graph.trainable_variables().pop();
    last.map(|bias| bias.device()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tensorfleet_client::{ReplicaDevices, Spread};

    use super::*;

    /// A graph with the model, placed as the strategy places it.
    fn graph(worker: usize, is_synchronous: bool) -> Graph {
        let graph = Graph::new();
        let devices = ReplicaDevices::new(2).worker(format!("/job:worker/task:{worker}"));
        graph.device(devices.spread(Spread::BySize), || {
            drop(Classifier::new(&graph, is_synchronous));
        });
        graph
    }

    #[test]
    fn all_workers_find_the_variables_at_one_place() {
        for is_synchronous in [false, true] {
            let [first, second] = [0, 1].map(|worker| {
                let graph = graph(worker, is_synchronous);
                graph.check().unwrap();
                let variables = graph.variables();
                variables.iter().map(|v| format!("{} {}", v.name(), v.device())).collect()
            });
            let (first, second): (Vec<String>, Vec<String>) = (first, second);
            assert_eq!(first, second);
        }
    }

    #[test]
    fn parameters_are_spread_over_the_servers() {
        let parameters = parameters(&graph(0, false), 2);
        let all = (PIXELS + 1) * HIDDEN + (HIDDEN + 1) * HIDDEN + (HIDDEN + 1) * CLASSES;
        assert_eq!(parameters.iter().sum::<usize>(), all);
        assert!(parameters.iter().all(|&count| count > all / 3), "{parameters:?}");
    }
}

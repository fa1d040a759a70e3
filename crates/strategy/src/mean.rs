//! Synchronous gradients: an accumulator beside each variable takes the mean of all workers'.

use tensorfleet_client::optimizer::Update;
use tensorfleet_client::{Gradient, Graph, Operation, Output};

/// Gradients that workers leave beside the variables, to be applied together: what TensorFlow's
/// `SyncReplicasOptimizer` is built of.
///
/// Each worker feeds [`MeanGradients::round`] and runs [`MeanGradients::contribute`]; when all have,
/// one of them feeds [`MeanGradients::contributions`] and runs an optimiser's operation on
/// [`MeanGradients::means`]. A contribution that comes after its round has ended is dropped.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Graph, Session};
/// use tensorfleet_server::{Config, Server};
/// use tensorfleet_strategy::MeanGradients;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let server = Server::create_local_server(&Config::default(), true)?;
/// let graph = Graph::new();
/// let w = graph.variable("w", 5.0f32);
/// let sgd = Sgd::new(0.1);
/// let sync = MeanGradients::new(&graph, &sgd.compute_gradients(&w.read().square()));
/// let apply = sgd.apply_gradients(&sync.means);
/// let session = Session::connect(&server.target(), &graph)?;
/// session.run((), &graph.initializer())?;
/// // Two workers would each do this.
/// session.run((&sync.round, 0i64), &sync.contribute)?;
/// session.run((&sync.round, 0i64), &sync.contribute)?;
/// // One of them applies the mean: 5 - 0.1 * 10.
/// session.run((&sync.contributions, 2i32), &apply)?;
/// assert_eq!(session.run((), w.value::<f32>())?, 4.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MeanGradients {
    /// The number of the round, an `int64`, to be fed by who contributes.
    pub round: Output,
    /// Leaves this worker's gradients with the parameter servers.
    pub contribute: Operation,
    /// The number of contributions to wait for, an `int32`, to be fed by who applies.
    pub contributions: Output,
    /// The means of the gradients, which start the next round once they are taken.
    pub means: Vec<Update>,
}

impl MeanGradients {
    /// Makes an accumulator for each gradient, shared by all sessions on the same servers. The
    /// graph's initialiser has them count from round 0, whatever was trained there before.
    ///
    /// As in the example of [`MeanGradients`].
    #[track_caller]
    pub fn new(graph: &Graph, updates: &[Update]) -> MeanGradients {
        let round = graph.placeholder::<i64>([]);
        let contributions = graph.placeholder::<i32>([]);
        let first_round = graph.constant(0i64);
        let mut contribute = Vec::new();
        let mut means = Vec::new();
        for (gradient, variable) in updates {
            let gradient = gradient.to_dense();
            let shape = variable.shape().clone();
            let name = format!("{}/accumulator", variable.name());
            let mean = graph.colocate_with(variable.handle(), || {
                let accumulator = graph
                    .op("ResourceConditionalAccumulator")
                    .attr("dtype", variable.dtype())
                    .attr("shape", shape.clone())
                    .attr("shared_name", name.as_str())
                    .output();
                let restart = graph
                    .op("ResourceAccumulatorSetGlobalStep")
                    .input(&accumulator)
                    .input(&first_round)
                    .build();
                graph.initialize_with(&restart);
                contribute.push(
                    graph
                        .op("ResourceAccumulatorApplyGradient")
                        .input(&accumulator)
                        .input(&round)
                        .input(&gradient)
                        .build(),
                );
                graph
                    .op("ResourceAccumulatorTakeGradient")
                    .input(&accumulator)
                    .input(&contributions)
                    .attr("dtype", variable.dtype())
                    .output()
            });
            let mean = match &shape.dims {
                Some(dims) => mean.with_shape(dims.iter().copied()),
                None => mean,
            };
            means.push((Gradient::Dense(mean), variable.clone()));
        }
        MeanGradients { round, contribute: graph.group(&contribute), contributions, means }
    }
}

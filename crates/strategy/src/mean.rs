//! Synchronous gradients: an accumulator beside each variable takes the mean of all workers'.

use tensorfleet_client::optimizer::Update;
use tensorfleet_client::{DType, Gradient, Graph, Operation, Output, Variable};

/// Gradients that workers leave beside the variables, to be applied together: what TensorFlow's
/// `SyncReplicasOptimizer` is built of.
///
/// Each worker feeds [`MeanGradients::round`] and runs [`MeanGradients::contribute`]; when all have,
/// one of them feeds [`MeanGradients::contributions`] and runs an optimiser's operation on
/// [`MeanGradients::means`]. A contribution that comes after its round has ended is dropped.
///
/// Sparse gradients, those of gathered rows, stay sparse: only their rows travel, and the mean of a row
/// is that of the contributions that have it, as in TensorFlow.
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
            let parts = Parts { graph, variable, round: &round, contributions: &contributions };
            let (restart, contributed, mean) = match gradient {
                Gradient::Dense(values) => parts.dense(values, &first_round),
                Gradient::Sparse { values, indices, dense_shape } => {
                    parts.sparse(values, indices, dense_shape, &first_round)
                }
            };
            graph.initialize_with(&restart);
            contribute.push(contributed);
            means.push((mean, variable.clone()));
        }
        MeanGradients { round, contribute: graph.group(&contribute), contributions, means }
    }
}

/// What the accumulator of one variable is made with.
struct Parts<'a> {
    graph: &'a Graph,
    variable: &'a Variable,
    round: &'a Output,
    contributions: &'a Output,
}

impl Parts<'_> {
    #[track_caller]
    fn accumulator(&self, op: &str) -> Output {
        self.graph
            .op(op)
            .attr("dtype", self.variable.dtype())
            .attr("shape", self.variable.shape().clone())
            .attr("shared_name", format!("{}/accumulator", self.variable.name()).as_str())
            .output()
    }

    #[track_caller]
    fn dense(&self, gradient: &Output, first_round: &Output) -> (Operation, Operation, Gradient) {
        let graph = self.graph;
        graph.colocate_with(self.variable.handle(), || {
            let accumulator = self.accumulator("ResourceConditionalAccumulator");
            let restart = graph
                .op("ResourceAccumulatorSetGlobalStep")
                .input(&accumulator)
                .input(first_round)
                .build();
            let contributed = graph
                .op("ResourceAccumulatorApplyGradient")
                .input(&accumulator)
                .input(self.round)
                .input(gradient)
                .build();
            let mean = graph
                .op("ResourceAccumulatorTakeGradient")
                .input(&accumulator)
                .input(self.contributions)
                .attr("dtype", self.variable.dtype())
                .output();
            let mean = match &self.variable.shape().dims {
                Some(dims) => mean.with_shape(dims.iter().copied()),
                None => mean,
            };
            (restart, contributed, Gradient::Dense(mean))
        })
    }

    /// Only rows travel. There is no accumulator of them whose handle is a resource.
    #[track_caller]
    fn sparse(
        &self,
        values: &Output,
        indices: &Output,
        dense_shape: &Output,
        first_round: &Output,
    ) -> (Operation, Operation, Gradient) {
        let graph = self.graph;
        let (values, indices) = in_order(values, indices);
        let shape = dense_shape.cast(DType::Int64);
        graph.colocate_with(self.variable.handle(), || {
            let accumulator = self.accumulator("SparseConditionalAccumulator");
            let restart =
                graph.op("AccumulatorSetGlobalStep").input(&accumulator).input(first_round).build();
            let contributed = graph
                .op("SparseAccumulatorApplyGradient")
                .input(&accumulator)
                .input(self.round)
                .input(&indices)
                .input(&values)
                .input(&shape)
                .attr("has_known_shape", true)
                .build();
            let [indices, values, dense_shape] = graph
                .op("SparseAccumulatorTakeGradient")
                .input(&accumulator)
                .input(self.contributions)
                .attr("dtype", self.variable.dtype())
                .outputs();
            let rows = self.variable.shape().dims.iter().flat_map(|dims| dims.iter().skip(1));
            let values = values.with_shape([None].into_iter().chain(rows.copied()));
            let mean = Gradient::Sparse { values, indices, dense_shape };
            (restart, contributed, mean)
        })
    }
}

/// Rows in the order of their indices, each once: accumulators merge them as sorted lists.
#[track_caller]
fn in_order(values: &Output, indices: &Output) -> (Output, Output) {
    let graph = values.graph();
    let indices = indices.cast(DType::Int64);
    let [descending, places] =
        graph.op("TopKV2").input(-&indices).input(indices.size_tensor()).outputs();
    let [rows, positions] = graph.op("Unique").input(-&descending).outputs();
    let sums = graph
        .op("UnsortedSegmentSum")
        .input(values.gather(&places, 0))
        .input(&positions)
        .input(rows.size_tensor())
        .output();
    (sums, rows)
}

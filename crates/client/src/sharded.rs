//! Variables too large for one task: their rows are shared out among several.

use std::panic::Location;

use tensorfleet_tensor::{DType, invalid_argument};

use crate::graph::Graph;
use crate::output::{Operand, Output};
use crate::variable::Variable;

/// A variable whose rows are held by several variables, one after the other; made by
/// [`Graph::sharded_variable`].
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let table = graph.sharded_variable("table", 5, 2, |rows| initializer::ones([rows, 2]));
/// assert_eq!(table.shards().len(), 2);
/// let rows = table.lookup([0i64, 4]);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), rows.value::<Vec<f32>>())?, [1.0; 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ShardedVariable {
    shards: Vec<Variable>,
    rows: Vec<usize>,
}

/// Shares rows out evenly: the first shards have one more where it does not come out even.
///
/// ```
/// assert_eq!(tensorfleet_client::even_shards(10, 4), [3, 3, 2, 2]);
/// assert_eq!(tensorfleet_client::even_shards(2, 4), [1, 1]);
/// ```
pub fn even_shards(rows: usize, shards: usize) -> Vec<usize> {
    let shards = shards.clamp(1, rows.max(1));
    let (each, more) = (rows / shards, rows % shards);
    (0..shards).map(|shard| each + usize::from(shard < more)).collect()
}

/// How many shards a table needs so that each holds at least so many bytes, as far as there are
/// tasks for them: TensorFlow's `MinSizePartitioner`.
///
/// ```
/// use tensorfleet_client::shards_of_at_least;
///
/// // A million rows of 64 floats are 256 MB: 16 shards of 16 MB, or as many as there are tasks.
/// assert_eq!(shards_of_at_least(16 << 20, 1 << 20, 256, 100), 16);
/// assert_eq!(shards_of_at_least(16 << 20, 1 << 20, 256, 4), 4);
/// assert_eq!(shards_of_at_least(16 << 20, 100, 256, 4), 1);
/// ```
pub fn shards_of_at_least(bytes: usize, rows: usize, row_bytes: usize, tasks: usize) -> usize {
    let wanted = rows.saturating_mul(row_bytes) / bytes.max(1);
    wanted.min(tasks).clamp(1, rows.max(1))
}

/// How many shards a table needs so that none holds more than so many bytes: TensorFlow's
/// `MaxSizePartitioner`.
///
/// ```
/// assert_eq!(tensorfleet_client::shards_of_at_most(1000, 100, 36), 4);
/// ```
pub fn shards_of_at_most(bytes: usize, rows: usize, row_bytes: usize) -> usize {
    rows.saturating_mul(row_bytes).div_ceil(bytes.max(1)).clamp(1, rows.max(1))
}

impl Graph {
    /// Makes a variable of `rows` rows as several, each with as many rows as `initial` is called
    /// with. In a scope of [`ReplicaDevices`](crate::ReplicaDevices) they go to different tasks.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, ReplicaDevices, Session, initializer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let words = graph.device(ReplicaDevices::new(2), || {
    ///     graph.sharded_variable("words", 1000, 2, |rows| initializer::ones([rows, 16]))
    /// });
    /// assert_eq!(words.shards()[1].device(), "/job:ps/task:1");
    /// let found = words.lookup([3i64, 999, 500]);
    /// assert_eq!(found.shape().to_string(), "[3,16]");
    /// # graph.check()
    /// # }
    /// ```
    #[track_caller]
    pub fn sharded_variable<O: Operand>(
        &self,
        name: &str,
        rows: usize,
        shards: usize,
        initial: impl Fn(usize) -> O,
    ) -> ShardedVariable {
        let sizes = even_shards(rows, shards);
        let location = Location::caller();
        let shards = sizes.iter().enumerate().map(|(number, &size)| {
            let shard = self.variable(&format!("{name}/part_{number}"), initial(size));
            let first =
                shard.shape().dims.as_ref().and_then(|dims| dims.first().copied().flatten());
            if first != Some(size) {
                let shape = shard.shape();
                self.record(
                    invalid_argument!("part {number} of {name} needs {size} rows, not {shape}"),
                    location,
                );
            }
            shard
        });
        let shards: Vec<Variable> = shards.collect();
        ShardedVariable { shards, rows: sizes }
    }
}

impl ShardedVariable {
    /// The variables that hold the rows, in order.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, initializer};
    ///
    /// let graph = Graph::new();
    /// let table = graph.sharded_variable("table", 5, 2, |rows| initializer::ones([rows, 2]));
    /// let names: Vec<&str> = table.shards().iter().map(|shard| shard.name()).collect();
    /// assert_eq!(names, ["table/part_0", "table/part_1"]);
    /// assert_eq!(table.shards()[0].shape().to_string(), "[3,2]");
    /// ```
    pub fn shards(&self) -> &[Variable] {
        &self.shards
    }

    /// How many rows each of the variables holds.
    pub(crate) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The rows with the given numbers, which the tasks that hold them pick out. Gradients stay
    /// sparse.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::{Optimizer, Sgd};
    /// use tensorfleet_client::{Graph, Session, initializer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let table = graph.sharded_variable("table", 4, 2, |rows| initializer::zeros([rows, 1]));
    /// let loss = table.lookup([3i64, 3]).sum();
    /// let train = Sgd::new(1.0).minimize(&loss);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((), &train)?;
    /// // The gradient of a row that comes twice counts twice.
    /// let rows = session.run((), table.lookup([2i64, 3]).value::<Vec<f32>>())?;
    /// assert_eq!(rows, [0.0, -2.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn lookup(&self, numbers: impl Operand) -> Output {
        let graph = self.shards[0].graph();
        graph.layer("embedding_lookup", Location::caller(), || {
            let numbers = graph.operand(&numbers, Some(DType::Int64));
            if let [only] = &self.shards[..] {
                return only.gather(&numbers);
            }
            self.lookup_parts(graph, &numbers)
        })
    }

    /// Sends each number to its shard, and puts the rows back in the order of the numbers.
    #[track_caller]
    fn lookup_parts(&self, graph: &Graph, numbers: &Output) -> Output {
        let count = self.shards.len();
        let flat = numbers.reshape([-1i32]).cast(DType::Int64);
        // The first row of each shard but the first.
        let mut starts = vec![0i64];
        for rows in &self.rows {
            starts.push(starts[starts.len() - 1] + *rows as i64);
        }
        // How many shards begin at or before the number, less one.
        let edges = graph.constant(starts[1..count].to_vec());
        let shard =
            flat.expand_dims(-1).greater_equal(edges).cast(DType::Int32).sum_along(-1, false);
        let local = &flat - graph.constant(starts[..count].to_vec()).gather(&shard, 0);
        let split = |tensor: &Output| {
            let op = graph.op("DynamicPartition").input(tensor).input(&shard);
            op.attr("num_partitions", count as i64).build().outputs()
        };
        let places = graph.op("Range").input(0i32).input(flat.size_tensor()).input(1i32).output();
        let rows: Vec<Output> = split(&local)
            .iter()
            .zip(&self.shards)
            .map(|(numbers, shard)| shard.gather(numbers))
            .collect();
        let joined = graph.op("DynamicStitch").inputs(split(&places)).inputs(&rows).output();
        let inner = match &self.shards[0].shape().dims {
            Some(dims) => dims[1..].to_vec(),
            None => return joined,
        };
        let known: Vec<i32> = inner.iter().map(|dim| dim.map_or(-1, |dim| dim as i32)).collect();
        let shape = graph.op("ConcatV2").inputs([numbers.shape_tensor(), graph.constant(known)]);
        let result = joined.reshape(shape.input(0i32).output());
        match &numbers.shape().dims {
            Some(outer) => result.with_shape(outer.iter().copied().chain(inner)),
            None => result,
        }
    }
}

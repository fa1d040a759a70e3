//! Embeddings: a trained vector for each id.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::{Base, Init, settings};
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::{Operand, Output};
use crate::sharded::ShardedVariable;
use crate::variable::Variable;

/// A trained vector for each of `count` ids; the gradient is sparse. An [`Embedding`] in one line.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let words = graph.placeholder::<i64>([None, Some(5)]);
/// let vectors = layers::embedding(&words, "words", 1000, 16);
/// assert_eq!(vectors.shape().to_string(), "[?,5,16]");
/// ```
#[track_caller]
pub fn embedding(ids: &Output, name: &str, count: usize, size: usize) -> Output {
    Embedding::new(count, size).named(name).call(ids)
}

/// How the vectors of several ids become one. See the example of [`Embedding::combine`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combiner {
    /// Their sum.
    Sum,
    /// Their mean, by weight.
    #[default]
    Mean,
    /// Their sum over the root of the sum of the squares of their weights.
    SqrtN,
}

/// A table of trained vectors.
///
/// ```
/// use tensorfleet_client::layers::Embedding;
/// use tensorfleet_client::{Graph, Module, ReplicaDevices, initializer};
///
/// let graph = Graph::new();
/// let normal = |shape| initializer::normal(shape, 0.0, 0.02);
/// // Rows on two parameter servers.
/// let words = Embedding::new(1000, 16).initial(normal).shards(2).seed(1);
/// let vectors = graph.device(ReplicaDevices::new(2), || words.call(&graph.constant([3i64, 999])));
/// assert_eq!(vectors.shape().to_string(), "[2,16]");
/// let parts = words.parameters();
/// assert_eq!(parts[1].variable.device(), "/job:ps/task:1");
/// // By name it is one table, however many parts it has.
/// assert_eq!((parts[0].name.as_str(), parts[1].name.as_str()), ("embeddings", "embeddings"));
/// ```
#[derive(Debug)]
pub struct Embedding {
    base: Base<Table>,
    count: usize,
    size: usize,
    shards: usize,
    initial: Init,
    combiner: Combiner,
    dtype: DType,
}

/// Where the vectors are.
#[derive(Debug)]
enum Table {
    Whole(Variable),
    Sharded(ShardedVariable),
}

impl Table {
    #[track_caller]
    fn lookup(&self, ids: &Output) -> Output {
        match self {
            Table::Whole(table) => table.gather(ids),
            Table::Sharded(table) => table.lookup(ids),
        }
    }
}

settings!(Embedding);

impl Embedding {
    /// Vectors of a size for so many ids. See the example of [`Embedding`].
    #[must_use]
    pub fn new(count: usize, size: usize) -> Embedding {
        Embedding {
            base: Base::new("embedding"),
            count,
            size,
            shards: 1,
            initial: Init::new(|shape| initializer::uniform(shape, -0.05, 0.05)),
            combiner: Combiner::default(),
            dtype: DType::Float,
        }
    }

    /// Chooses the initial vectors. See the example of [`Embedding`].
    #[must_use]
    pub fn initial(
        mut self,
        initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
    ) -> Embedding {
        self.initial = Init::new(initial);
        self
    }

    /// Shares the rows out among so many variables. See the example of [`Embedding`].
    #[must_use]
    pub fn shards(mut self, shards: usize) -> Embedding {
        self.shards = shards.max(1);
        self
    }

    /// Chooses how [`Embedding::combine`] makes one vector of several. See the
    /// example of [`Embedding::combine`].
    #[must_use]
    pub fn combiner(mut self, combiner: Combiner) -> Embedding {
        self.combiner = combiner;
        self
    }

    /// Has vectors of another type than `float`. See the
    /// example of [`Initializer::dtype`](crate::initializer::Initializer::dtype).
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Embedding {
        self.dtype = dtype;
        self
    }

    #[track_caller]
    fn with_table<R>(
        &self,
        ids: &Output,
        caller: &'static Location<'static>,
        build: impl FnOnce(&Table) -> R,
    ) -> R {
        self.base.call(
            ids,
            caller,
            |make| {
                let graph = ids.graph();
                let initial =
                    |rows: usize| make.initial(&self.initial, [rows, self.size]).dtype(self.dtype);
                match self.shards {
                    1 => Table::Whole(graph.variable("embeddings", initial(self.count))),
                    shards => Table::Sharded(graph.sharded_variable(
                        "embeddings",
                        self.count,
                        shards,
                        initial,
                    )),
                }
            },
            build,
        )
    }

    /// The vector of each id. See the example of [`Embedding`].
    #[track_caller]
    pub fn call(&self, ids: &Output) -> Output {
        self.with_table(ids, Location::caller(), |table| table.lookup(ids))
    }

    /// One vector for each row of ids (batch, ids), which may be weighted (by one, if they are not);
    /// ids below zero stand for none.
    ///
    /// ```
    /// use tensorfleet_client::layers::{Combiner, Embedding};
    /// use tensorfleet_client::{Graph, Session, initializer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// // Lists of different lengths are filled up with -1.
    /// let ids = graph.constant([[0i64, 1, 1], [2, -1, -1]]);
    /// let tags = Embedding::new(3, 2).initial(initializer::ones).combiner(Combiner::Sum);
    /// let (plain, weighted) = (tags.combine(&ids, 1.0), tags.combine(&ids, [[1.0f32, 2.0, 3.0], [0.5, 9.0, 9.0]]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let fetches = (plain.value::<Vec<f32>>(), weighted.value::<Vec<f32>>());
    /// let (plain, weighted) = session.run((), fetches)?;
    /// assert_eq!(plain, [3.0, 3.0, 1.0, 1.0]);
    /// assert_eq!(weighted, [6.0, 6.0, 0.5, 0.5]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn combine(&self, ids: &Output, weights: impl Operand) -> Output {
        self.with_table(ids, Location::caller(), |table| {
            let graph = ids.graph();
            let is_there = ids.greater_equal(0i64);
            let vectors = table.lookup(&ids.maximum(0i64));
            let weights = graph.operand(&weights, Some(self.dtype)).cast(self.dtype);
            let weights = is_there.cast(self.dtype) * weights;
            let sum = (vectors * weights.expand_dims(-1)).sum_along(-2, false);
            let by = match self.combiner {
                Combiner::Sum => return sum,
                Combiner::Mean => weights.sum_along(-1, true),
                Combiner::SqrtN => weights.square().sum_along(-1, true).sqrt(),
            };
            graph.op("DivNoNan").input(sum).input(by).output()
        })
    }
}

impl Module for Embedding {
    fn parts(&self, parameters: &mut Parameters) {
        match self.base.made.get() {
            None => {}
            Some(Table::Whole(table)) => parameters.part("embeddings", table),
            Some(Table::Sharded(table)) => parameters.part("embeddings", table),
        }
    }
}

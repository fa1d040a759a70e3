//! Positional encodings: what tells attention where in a sequence a vector stands.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::arrays::concat;
use super::{Base, Init, last_size, settings};
use crate::graph::Graph;
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::Output;
use crate::variable::Variable;

/// The slowest wave takes so many positions, over 2π.
const SLOWEST: f64 = 10_000.0;

/// Sines and cosines of growing wave length, a row for each of `length` positions, to be added to
/// vectors of a size. Sines are in the even places.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let rows = layers::sinusoidal_positions(&graph, 3, 4);
/// let rows = Session::new(&graph)?.run((), rows.value::<Vec<Vec<f32>>>())?;
/// assert_eq!(rows[0], [0.0, 1.0, 0.0, 1.0]);
/// assert!((rows[2][0] - 2f32.sin()).abs() < 1e-6 && (rows[2][3] - 0.02f32.cos()).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn sinusoidal_positions(graph: &Graph, length: usize, size: usize) -> Output {
    let mut values = Vec::with_capacity(length * size);
    for position in 0..length {
        for place in 0..size {
            let angle = position as f64 / SLOWEST.powf((place / 2 * 2) as f64 / size as f64);
            values.push(if place % 2 == 0 { angle.sin() } else { angle.cos() } as f32);
        }
    }
    graph.constant(([length, size], values))
}

/// A trained vector for each position, added to what is there.
///
/// ```
/// use tensorfleet_client::layers::PositionEmbedding;
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, None, Some(2)]);
/// let y = PositionEmbedding::new(10).initial(initializer::ones).call(&x);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((&x, [[[1.0f32, 2.0], [3.0, 4.0]]]), y.value::<Vec<f32>>())?;
/// assert_eq!(y, [2.0, 3.0, 4.0, 5.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PositionEmbedding {
    base: Base<Variable>,
    length: usize,
    initial: Init,
}

settings!(PositionEmbedding);

impl PositionEmbedding {
    /// For sequences of at most a length. See the example of [`PositionEmbedding`].
    #[must_use]
    pub fn new(length: usize) -> PositionEmbedding {
        let initial = Init::new(initializer::glorot_uniform);
        PositionEmbedding { base: Base::new("position_embedding"), length, initial }
    }

    /// Chooses the initial vectors. See the example of [`PositionEmbedding`].
    #[must_use]
    pub fn initial(
        mut self,
        initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
    ) -> PositionEmbedding {
        self.initial = Init::new(initial);
        self
    }

    /// Adds the vectors of the positions to `x` (batch, position, features). See the
    /// example of [`PositionEmbedding`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| make.weights("embeddings", &self.initial, [self.length, last_size(x)]),
            |table| {
                let count = x.shape_tensor().slice(&[1], &[1]);
                let size = concat(&[&count, &x.graph().constant([-1i32])], 0);
                let op = x.graph().op("Slice").input(table).input([0i32, 0]).input(size);
                let sum = x + op.output();
                match x.shape().dims {
                    Some(dims) => sum.with_shape(dims),
                    None => sum,
                }
            },
        )
    }
}

impl Module for PositionEmbedding {
    fn parts(&self, parameters: &mut Parameters) {
        if let Some(table) = self.base.made.get() {
            parameters.part("embeddings", table);
        }
    }
}

/// Turns queries or keys (batch, position, head, size) by their positions, so that their products
/// depend on how far apart they are. The first position of `x` has the number `first`.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[[[1.0f32, 0.0]], [[1.0, 0.0]]]]);
/// let turned = layers::rotary(&x, &graph.constant(0i32));
/// let turned = Session::new(&graph)?.run((), turned.value::<Vec<f32>>())?;
/// let expected = [1.0, 0.0, 1f32.cos(), 1f32.sin()];
/// assert!(turned.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn rotary(x: &Output, first: &Output) -> Output {
    let graph = x.graph();
    graph.layer("rotary", Location::caller(), || {
        let half = last_size(x) / 2;
        let speeds: Vec<f32> =
            (0..half).map(|place| SLOWEST.powf(-(place as f64) / half as f64) as f32).collect();
        let count = x.shape_tensor().gather(1i32, 0);
        let op = graph.op("Range").input(first).input(first + count).input(1i32);
        let positions = op.output().cast(DType::Float).expand_dims(-1);
        // (position, 1, half)
        let angles = (positions * graph.constant(speeds)).expand_dims(1);
        let (sin, cos) = (angles.sin().cast(x.dtype()), angles.cos().cast(x.dtype()));
        let op = graph.op("Split").input(-1i32).input(x).attr("num_split", 2i64);
        let [a, b]: [Output; 2] = op.outputs();
        concat(&[&(&a * &cos - &b * &sin), &(&b * &cos + &a * &sin)], -1)
    })
}

//! Layers: as values that are called, and the common ones as plain functions.
//!
//! A layer makes its variables when it is first called, because then it knows how large its input
//! is; called again, it uses the same ones. Names of variables are those that Keras gives them
//! (`kernel`, `bias`, in a scope of the layer's name), and so are shapes and default values.
//!
//! ```
//! use tensorfleet_client::layers::{Conv, Dense, Padding, flatten};
//! use tensorfleet_client::{Graph, Module, initializer};
//!
//! let graph = Graph::new();
//! let images = graph.placeholder::<f32>([None, Some(8), Some(8), Some(1)]);
//! let conv = Conv::new(4, [3, 3]).padding(Padding::Same).kernel(initializer::he_normal).seed(1);
//! let logits = Dense::new(10).named("logits").seed(2);
//! let y = logits.call(&flatten(&conv.call(&images).relu()));
//! assert_eq!(y.shape().to_string(), "[?,10]");
//! assert_eq!(graph.variables()[2].name(), "logits/kernel");
//! assert_eq!(conv.num_parameters() + logits.num_parameters(), 40 + 2570);
//! ```
//!
//! What a model is made of becomes a [`Module`](crate::Module).

mod arrays;
mod attention;
mod convolution;
mod dense;
mod dropout;
mod embedding;
mod normalization;
mod pool;
mod position;
mod recurrent;
mod scan;

pub use self::arrays::{concat, flatten, one_hot, stack, unstack};
pub use self::attention::{Attend, KeyValueCache, MultiHeadAttention, padding_mask};
pub use self::convolution::{Conv, ConvTranspose, DepthwiseConv, conv2d};
pub use self::dense::{Dense, dense, dense_with};
pub use self::dropout::{Dropout, dropout};
pub use self::embedding::{Combiner, Embedding, embedding};
pub use self::normalization::{BatchNorm, GroupNorm, LayerNorm, batch_norm, layer_norm};
pub use self::pool::{
    avg_pool, avg_pool2d, global_avg_pool, global_max_pool, max_pool, max_pool2d,
};
pub use self::position::{PositionEmbedding, rotary, sinusoidal_positions};
pub use self::recurrent::{Bidirectional, Gru, Lstm, LstmState, Merge, Recurrent, gru, lstm};
pub use self::scan::scan;

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use tensorfleet_tensor::{DType, invalid_argument};

use crate::graph::Graph;
use crate::initializer::Initializer;
use crate::output::Output;
use crate::variable::Variable;

/// How windows are laid over images.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(8), Some(8), Some(1)]);
/// let same = layers::max_pool2d(&images, 3, 1, Padding::Same);
/// let valid = layers::max_pool2d(&images, 3, 1, Padding::Valid);
/// assert_eq!(same.shape().to_string(), "[?,8,8,1]");
/// assert_eq!(valid.shape().to_string(), "[?,6,6,1]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// With zeros around, so that a stride of one keeps the size.
    Same,
    /// Only where they fit.
    Valid,
}

impl Padding {
    fn name(self) -> &'static str {
        match self {
            Padding::Same => "SAME",
            Padding::Valid => "VALID",
        }
    }
}

/// Whether the step trains: said when the graph is built, or by a tensor that steps are fed with.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([1.0f32; 4]);
/// let training = graph.placeholder::<bool>([]);
/// let y = layers::dropout(&x, 0.5, &training);
/// let session = Session::new(&graph)?;
/// assert_eq!(session.run((&training, false), y.value::<Vec<f32>>())?, [1.0; 4]);
/// let trained = session.run((&training, true), y.value::<Vec<f32>>())?;
/// assert!(trained.iter().all(|value| [0.0, 2.0].contains(value)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Training {
    /// Always or never.
    Fixed(bool),
    /// As a `bool` scalar says.
    When(Output),
}

impl From<bool> for Training {
    fn from(training: bool) -> Training {
        Training::Fixed(training)
    }
}

impl From<&Output> for Training {
    fn from(training: &Output) -> Training {
        Training::When(training.clone())
    }
}

impl Training {
    /// `training` in a step that trains, `inference` in others.
    #[track_caller]
    fn choose(&self, training: &Output, inference: &Output) -> Output {
        match self {
            Training::Fixed(true) => training.clone(),
            Training::Fixed(false) => inference.clone(),
            Training::When(flag) => training.where_or(flag, inference),
        }
    }
}

/// The size of a dimension that a layer must know.
#[track_caller]
fn size_of(x: &Output, axis: usize) -> usize {
    let shape = x.shape();
    let size = shape.dims.as_ref().and_then(|dims| dims.get(axis).copied().flatten());
    if size.is_none() && x.at.is_some() {
        x.graph().failed(invalid_argument!(
            "the size of dimension {axis} of {} must be known here, but its shape is {shape}",
            x.name()
        ));
    }
    size.unwrap_or(1)
}

#[track_caller]
fn last_size(x: &Output) -> usize {
    let rank = x.rank().unwrap_or(1);
    size_of(x, rank.saturating_sub(1))
}

/// The shape of what windows of a size make of `x`, as far as it is known. Ops of volumes do not tell.
fn with_windows(made: Output, x: &Output, windows: &[[usize; 2]], padding: Padding) -> Output {
    let Some(dims) = x.shape().dims.filter(|dims| dims.len() == windows.len() + 2) else {
        return made;
    };
    let inner = dims[1..].iter().zip(windows).map(|(dim, &[size, stride])| {
        let stride = stride.max(1);
        match padding {
            Padding::Same => Some((*dim)?.div_ceil(stride)),
            Padding::Valid => Some((*dim)?.checked_sub(size)? / stride + 1),
        }
    });
    let channels = made.shape().dims.and_then(|dims| dims.last().copied().flatten());
    let known: Vec<Option<usize>> =
        std::iter::once(dims[0]).chain(inner).chain([channels]).collect();
    made.with_shape(known)
}

/// How a layer makes the initial value of weights of a shape.
#[derive(Clone)]
struct Init(Arc<dyn Fn(Vec<usize>) -> Initializer + Send + Sync>);

impl Init {
    fn new(initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static) -> Init {
        Init(Arc::new(initial))
    }
}

impl fmt::Debug for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Init")
    }
}

/// What all layers with variables have: a name, a seed, and the variables once they are made.
#[derive(Debug)]
struct Base<V> {
    name: String,
    seed: Option<i64>,
    made: OnceLock<V>,
}

impl<V> Base<V> {
    fn new(name: &str) -> Base<V> {
        Base { name: name.to_owned(), seed: None, made: OnceLock::new() }
    }

    /// Builds in the layer's scope with its variables, which the first call makes.
    fn call<R>(
        &self,
        x: &Output,
        caller: &'static Location<'static>,
        make: impl FnOnce(&Maker<'_>) -> V,
        build: impl FnOnce(&V) -> R,
    ) -> R {
        let graph = x.graph();
        graph.layer(&self.name, caller, || {
            let maker = Maker { graph, dtype: x.dtype(), seed: self.seed, drawn: Cell::default() };
            build(self.made.get_or_init(|| make(&maker)))
        })
    }
}

/// Makes the variables of a layer.
struct Maker<'a> {
    graph: &'a Graph,
    dtype: DType,
    seed: Option<i64>,
    drawn: Cell<i64>,
}

impl Maker<'_> {
    /// The initial value of weights; those of one layer draw from different seeds.
    fn initial(&self, initial: &Init, shape: impl Into<Vec<usize>>) -> Initializer {
        let number = self.drawn.get();
        self.drawn.set(number + 1);
        let made = (initial.0)(shape.into()).dtype(self.dtype);
        match self.seed {
            Some(seed) => made.default_seed(seed.wrapping_add(number)),
            None => made,
        }
    }

    #[track_caller]
    fn weights(&self, name: &str, initial: &Init, shape: impl Into<Vec<usize>>) -> Variable {
        self.graph.variable(name, self.initial(initial, shape))
    }
}

/// Gives a layer its name and its seed.
macro_rules! settings {
    ($layer:ident $(<$(const $n:ident: usize),+>)?) => {
        impl $(<$(const $n: usize),+>)? $layer $(<$($n),+>)? {
            /// Names the layer in the graph. See the example of [`layers`](crate::layers).
            #[must_use]
            pub fn named(mut self, name: &str) -> Self {
                self.base.name = name.to_owned();
                self
            }

            /// Draws the same initial values in every run. See the
            /// example of [`layers`](crate::layers).
            #[must_use]
            pub fn seed(mut self, seed: i64) -> Self {
                self.base.seed = Some(seed);
                self
            }
        }
    };
}
use settings;

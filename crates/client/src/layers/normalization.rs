//! Normalisation: of batches, of rows, of groups of channels.

use std::panic::Location;

use tensorfleet_tensor::invalid_argument;

use super::arrays::concat;
use super::{Base, Init, Training, last_size, settings};
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::Output;
use crate::variable::Variable;

/// Normalises each channel, the last dimension, to mean zero and variance one, then scales and
/// shifts it as trained: a [`BatchNorm`] in one line.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32], [3.0]]);
/// let y = layers::batch_norm(&x, "norm", true);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!((y[0] + 1.0).abs() < 1e-2 && (y[1] - 1.0).abs() < 1e-2);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn batch_norm(x: &Output, name: &str, training: impl Into<Training>) -> Output {
    BatchNorm::new().named(name).call(x, training)
}

/// Normalises each row to mean zero and variance one along the last dimension, then scales and
/// shifts it as trained: a [`LayerNorm`] in one line.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32, 3.0]]);
/// let y = layers::layer_norm(&x, "norm");
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!((y[0] + 1.0).abs() < 1e-2 && (y[1] - 1.0).abs() < 1e-2);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn layer_norm(x: &Output, name: &str) -> Output {
    LayerNorm::new().named(name).call(x)
}

/// What all normalisations are told.
#[derive(Clone, Debug)]
struct Style {
    epsilon: f64,
    gamma: Init,
    beta: Init,
}

impl Style {
    fn new() -> Style {
        Style {
            epsilon: 1e-3,
            gamma: Init::new(initializer::ones),
            beta: Init::new(initializer::zeros),
        }
    }
}

/// The settings that all normalisations have.
macro_rules! normalization {
    ($layer:ident) => {
        settings!($layer);

        impl $layer {
            /// Adds so much to the variance; 0.001 by default.
            #[doc = concat!(" See the example of [`", stringify!($layer), "`].")]
            #[must_use]
            pub fn epsilon(mut self, epsilon: f64) -> Self {
                self.style.epsilon = epsilon;
                self
            }

            /// Chooses the initial scale; ones by default. See the example of [`LayerNorm`].
            #[must_use]
            pub fn gamma(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.style.gamma = Init::new(initial);
                self
            }

            /// Chooses the initial shift; zeros by default. See the example of [`LayerNorm`].
            #[must_use]
            pub fn beta(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.style.beta = Init::new(initial);
                self
            }
        }
    };
}

/// Normalises each channel over the batch.
///
/// In training the batch says what mean and variance are, and moving averages of them are kept; the
/// training operation of an optimiser updates these. Otherwise the averages are used.
///
/// ```
/// use tensorfleet_client::layers::BatchNorm;
/// use tensorfleet_client::{Graph, Module, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let norm = BatchNorm::new().momentum(0.9).epsilon(1e-5);
/// let x = graph.constant([[1.0f32], [3.0]]);
/// let (trained, used) = (norm.call(&x, true), norm.call(&x, false));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let trained = session.run((), trained.value::<Vec<f32>>())?;
/// assert!((trained[1] - 1.0).abs() < 1e-4);
/// // Nothing has been learnt yet: a mean of zero and a variance of one.
/// let used = session.run((), used.value::<Vec<f32>>())?;
/// assert!((used[1] - 3.0).abs() < 1e-4);
/// assert_eq!((norm.parameters().len(), norm.num_parameters()), (4, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BatchNorm {
    base: Base<Batches>,
    style: Style,
    momentum: f64,
}

/// The variables of a [`BatchNorm`].
#[derive(Debug)]
struct Batches {
    gamma: Variable,
    beta: Variable,
    moving_mean: Variable,
    moving_variance: Variable,
}

normalization!(BatchNorm);

impl Default for BatchNorm {
    fn default() -> BatchNorm {
        BatchNorm::new()
    }
}

impl BatchNorm {
    /// Of the last dimension. See the example of [`BatchNorm`].
    #[must_use]
    pub fn new() -> BatchNorm {
        BatchNorm { base: Base::new("batch_norm"), style: Style::new(), momentum: 0.99 }
    }

    /// Keeps so much of the moving averages in each step. See the example of [`BatchNorm`].
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> BatchNorm {
        self.momentum = momentum;
        self
    }

    /// Normalises. See the example of [`BatchNorm`].
    #[track_caller]
    pub fn call(&self, x: &Output, training: impl Into<Training>) -> Output {
        let (graph, training) = (x.graph(), training.into());
        self.base.call(
            x,
            Location::caller(),
            |make| {
                let channels = last_size(x);
                let of = |value| initializer::constant([channels], value).dtype(x.dtype());
                Batches {
                    gamma: make.weights("gamma", &self.style.gamma, [channels]),
                    beta: make.weights("beta", &self.style.beta, [channels]),
                    moving_mean: graph.state("moving_mean", of(0.0)),
                    moving_variance: graph.state("moving_variance", of(1.0)),
                }
            },
            |Batches { gamma, beta, moving_mean, moving_variance }| {
                let axes: Vec<i32> = (0..x.rank().unwrap_or(1) as i32 - 1).collect();
                let mean = x.mean_along(&axes[..], false);
                let variance =
                    x.squared_difference(mean.stop_gradient()).mean_along(&axes[..], false);
                if !matches!(training, Training::Fixed(false)) {
                    for (average, value) in [(moving_mean, &mean), (moving_variance, &variance)] {
                        let step = (average.read() - value) * (1.0 - self.momentum);
                        let step = training.choose(&step, &step.zeros_like());
                        graph.add_update(&average.assign_sub(step));
                    }
                }
                let mean = training.choose(&mean, &moving_mean.read());
                let variance = training.choose(&variance, &moving_variance.read());
                let scale = (variance + self.style.epsilon).rsqrt() * gamma;
                x * &scale + (beta.read() - mean * &scale)
            },
        )
    }
}

impl Module for BatchNorm {
    fn parts(&self, parameters: &mut Parameters) {
        if let Some(made) = self.base.made.get() {
            parameters.part("gamma", &made.gamma);
            parameters.part("beta", &made.beta);
            parameters.part("moving_mean", &made.moving_mean);
            parameters.part("moving_variance", &made.moving_variance);
        }
    }
}

/// A scale and a shift.
type Affine = (Variable, Variable);

fn parts(made: Option<&Affine>, parameters: &mut Parameters) {
    if let Some((gamma, beta)) = made {
        parameters.part("gamma", gamma);
        parameters.part("beta", beta);
    }
}

/// Normalises each row along the last dimension.
///
/// ```
/// use tensorfleet_client::layers::LayerNorm;
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let two = |shape| initializer::constant(shape, 2.0);
/// let norm = LayerNorm::new().epsilon(1e-6).gamma(two).beta(initializer::ones);
/// let y = norm.call(&graph.constant([[1.0f32, 3.0]]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!((y[0] + 1.0).abs() < 1e-4 && (y[1] - 3.0).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LayerNorm {
    base: Base<Affine>,
    style: Style,
}

normalization!(LayerNorm);

impl Default for LayerNorm {
    fn default() -> LayerNorm {
        LayerNorm::new()
    }
}

impl LayerNorm {
    /// Of the last dimension. See the example of [`LayerNorm`].
    #[must_use]
    pub fn new() -> LayerNorm {
        LayerNorm { base: Base::new("layer_norm"), style: Style::new() }
    }

    /// Normalises. See the example of [`LayerNorm`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| {
                let size = last_size(x);
                let gamma = make.weights("gamma", &self.style.gamma, [size]);
                (gamma, make.weights("beta", &self.style.beta, [size]))
            },
            |(gamma, beta)| {
                let centered = x - x.mean_along(-1, true);
                let variance = centered.square().mean_along(-1, true);
                centered * (variance + self.style.epsilon).rsqrt() * gamma + beta
            },
        )
    }
}

impl Module for LayerNorm {
    fn parts(&self, parameters: &mut Parameters) {
        parts(self.base.made.get(), parameters);
    }
}

/// Normalises groups of channels, each over all positions of one example: a sequence, an image, a
/// volume.
///
/// ```
/// use tensorfleet_client::layers::GroupNorm;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[[1.0f32, 10.0], [3.0, 30.0]]]);
/// // Each channel by itself, over the two positions.
/// let y = GroupNorm::instance().epsilon(1e-6).call(&x);
/// let both = GroupNorm::new(1).call(&x);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!(y.iter().zip([-1.0, -1.0, 1.0, 1.0]).all(|(y, expected)| (y - expected).abs() < 1e-4));
/// assert_eq!(both.shape().to_string(), "[1,2,2]");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GroupNorm {
    base: Base<Affine>,
    style: Style,
    /// As many as there are channels, if nothing is said.
    groups: Option<usize>,
}

normalization!(GroupNorm);

impl GroupNorm {
    /// So many groups of channels. See the example of [`GroupNorm`].
    #[must_use]
    pub fn new(groups: usize) -> GroupNorm {
        let base = Base::new("group_norm");
        GroupNorm { base, style: Style::new(), groups: Some(groups) }
    }

    /// Each channel by itself: instance normalisation. See the example of [`GroupNorm`].
    #[must_use]
    pub fn instance() -> GroupNorm {
        GroupNorm { base: Base::new("instance_norm"), style: Style::new(), groups: None }
    }

    /// Normalises. See the example of [`GroupNorm`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        let channels = last_size(x);
        let groups = self.groups.unwrap_or(channels);
        if groups == 0 || !channels.is_multiple_of(groups) {
            return x.graph().failed(invalid_argument!(
                "{channels} channels cannot be cut into {groups} groups"
            ));
        }
        self.base.call(
            x,
            Location::caller(),
            |make| {
                let gamma = make.weights("gamma", &self.style.gamma, [channels]);
                (gamma, make.weights("beta", &self.style.beta, [channels]))
            },
            |(gamma, beta)| {
                let graph = x.graph();
                let whole = x.shape_tensor();
                let rows = whole.slice(&[0], &[1]);
                let each = graph.constant([-1, groups as i32, (channels / groups) as i32]);
                let grouped = x.reshape(concat(&[&rows, &each], 0));
                let centered = &grouped - grouped.mean_along([1, 3], true);
                let variance = centered.square().mean_along([1, 3], true);
                let normal = centered * (variance + self.style.epsilon).rsqrt();
                let normal = normal.reshape(&whole);
                let normal = match x.shape().dims {
                    Some(dims) => normal.with_shape(dims),
                    None => normal,
                };
                normal * gamma + beta
            },
        )
    }
}

impl Module for GroupNorm {
    fn parts(&self, parameters: &mut Parameters) {
        parts(self.base.made.get(), parameters);
    }
}

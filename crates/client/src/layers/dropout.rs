//! Dropout.

use super::Training;
use crate::output::Output;

/// Sets a part of the elements to zero in training, and makes the others larger by as much.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([1.0f32; 100]);
/// let (trained, used) = (layers::dropout(&x, 0.2, true), layers::dropout(&x, 0.2, false));
/// let values = (trained.value::<Vec<f32>>(), used.value::<Vec<f32>>());
/// let (trained, used) = Session::new(&graph)?.run((), values)?;
/// assert!(trained.iter().all(|value| [0.0, 1.25].contains(value)));
/// assert_eq!(used, [1.0; 100]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn dropout(x: &Output, rate: f64, training: impl Into<Training>) -> Output {
    Dropout::new(rate).call(x, training)
}

/// Dropout as a value, whose draws can be repeated.
///
/// ```
/// use tensorfleet_client::layers::Dropout;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let draw = || {
///     let graph = Graph::new();
///     let y = Dropout::new(0.5).seed(3).call(&graph.constant([1.0f32; 64]), true);
///     Session::new(&graph)?.run((), y.value::<Vec<f32>>())
/// };
/// assert_eq!(draw()?, draw()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    rate: f64,
    seed: Option<i64>,
}

impl Dropout {
    /// Drops a part of the elements. See the example of [`Dropout`].
    #[must_use]
    pub fn new(rate: f64) -> Dropout {
        Dropout { rate, seed: None }
    }

    /// Drops the same elements in every run. See the example of [`Dropout`].
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Dropout {
        self.seed = Some(seed);
        self
    }

    /// Sets a part of the elements to zero in training. See the example of [`Dropout`].
    #[track_caller]
    pub fn call(&self, x: &Output, training: impl Into<Training>) -> Output {
        let (rate, training) = (self.rate, training.into());
        if matches!(training, Training::Fixed(false)) || rate <= 0.0 {
            return x.identity();
        }
        let graph = x.graph();
        // Zero twice means that the seed is drawn.
        let (seed, seed2) = self.seed.map_or((0, 0), |seed| (seed, 0x5eed));
        let random = graph.op("RandomUniform").input(x.shape_tensor()).attr("dtype", x.dtype());
        let random = random.attr("seed", seed).attr("seed2", seed2).output();
        let kept = random.greater_equal(rate);
        let scaled = (x / (1.0 - rate)).where_or(kept, x.zeros_like());
        let scaled = match x.shape().dims {
            Some(dims) => scaled.with_shape(dims),
            None => scaled,
        };
        training.choose(&scaled, x)
    }
}

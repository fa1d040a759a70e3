//! Gradients cut down to a size.

use super::Update;
use crate::output::{Operand, Output};

/// Cuts every element to the interval from `low` to `high`.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd, clip_by_value};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, 4.0]);
/// let updates = Sgd::new(0.1).compute_gradients(&(w.read().square().sum() * 0.5));
/// let clipped = clip_by_value(updates, -3.5, 3.5);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), clipped[0].0.values().value::<Vec<f32>>())?, [3.0, 3.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn clip_by_value(updates: Vec<Update>, low: f64, high: f64) -> Vec<Update> {
    let cut = |values: &Output| values.clip(low, high);
    updates.into_iter().map(|(gradient, variable)| (gradient.map(cut), variable)).collect()
}

/// Scales each gradient down so that its norm is at most `limit`.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd, clip_by_norm};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, 4.0]);
/// let updates = Sgd::new(0.1).compute_gradients(&(w.read().square().sum() * 0.5));
/// let clipped = clip_by_norm(updates, 2.5);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), clipped[0].0.values().value::<Vec<f32>>())?, [1.5, 2.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn clip_by_norm(updates: Vec<Update>, limit: f64) -> Vec<Update> {
    let cut = |values: &Output| {
        let squares = values.square().sum();
        let is_zero = squares.less_equal(0.0);
        // The root of zero has no gradient.
        let norm = squares.ones_like().where_or(&is_zero, &squares).sqrt();
        values * limit / norm.maximum(limit)
    };
    updates.into_iter().map(|(gradient, variable)| (gradient.map(cut), variable)).collect()
}

/// Scales all gradients down by one factor so that the norm of all of them together is at most
/// `limit`. If one is not finite, all become NaN, so that the mistake shows.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd, clip_by_global_norm};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, 4.0]);
/// let updates = Sgd::new(0.1).compute_gradients(&(w.read().square().sum() * 0.5));
/// let clipped = clip_by_global_norm(updates, 2.5);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), clipped[0].0.values().value::<Vec<f32>>())?, [1.5, 2.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn clip_by_global_norm(updates: Vec<Update>, limit: f64) -> Vec<Update> {
    let Some(norm) = global_norm(&updates) else { return updates };
    let limit = limit.to_output(norm.graph(), Some(norm.dtype()));
    let scale = &limit / norm.maximum(&limit);
    let scale = scale.where_or(norm.is_finite(), f64::NAN);
    let cut = |values: &Output| values * &scale;
    updates.into_iter().map(|(gradient, variable)| (gradient.map(cut), variable)).collect()
}

/// The root of the sum of the squares of all elements of all gradients.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd, global_norm};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [3.0f32, 4.0]);
/// let updates = Sgd::new(0.1).compute_gradients(&(w.read().square().sum() * 0.5));
/// let norm = global_norm(&updates).expect("there is a gradient");
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), norm.value::<f32>())?, 5.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn global_norm(updates: &[Update]) -> Option<Output> {
    let squares: Vec<Output> =
        updates.iter().map(|(gradient, _)| gradient.values().square().sum()).collect();
    let graph = squares.first()?.graph();
    Some(graph.op("AddN").inputs(&squares).output().sqrt())
}

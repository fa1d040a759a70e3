//! Learning rates that change with the number of steps.
//!
//! Each is a function from the step, usually [`Graph::global_step`](crate::Graph::global_step), to a
//! rate, and is computed in every step.

use tensorfleet_tensor::DType;

use crate::output::{Operand, Output};

#[track_caller]
fn fraction(step: &impl Operand, graph: &crate::Graph, steps: f64) -> Output {
    graph.operand(step, None).cast(DType::Float) / steps
}

/// Multiplies the rate by `factor` every `steps` steps, smoothly.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::exponential_decay(&step, 1.0, 10, 0.5);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 0.5, 0.25] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn exponential_decay(step: &crate::Variable, initial: f64, steps: u64, factor: f64) -> Output {
    let graph = step.graph();
    let factor = graph.constant(factor as f32);
    factor.pow(fraction(step, graph, steps as f64)) * initial
}

/// Multiplies the rate by `factor` after every `steps` steps.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::step_decay(&step, 1.0, 15, 0.5);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 1.0, 0.5] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn step_decay(step: &crate::Variable, initial: f64, steps: u64, factor: f64) -> Output {
    let graph = step.graph();
    let factor = graph.constant(factor as f32);
    factor.pow(fraction(step, graph, steps as f64).floor()) * initial
}

/// `initial / (1 + factor * step / steps)`.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::inverse_time_decay(&step, 1.0, 10, 1.0);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 0.5, 1.0 / 3.0] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn inverse_time_decay(step: &crate::Variable, initial: f64, steps: u64, factor: f64) -> Output {
    initial / (fraction(step, step.graph(), steps as f64) * factor + 1.0)
}

/// Falls to `end` within `steps` steps along a polynomial, a line if `power` is one.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::polynomial_decay(&step, 1.0, 0.5, 20, 1.0);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 0.75, 0.5] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn polynomial_decay(
    step: &crate::Variable,
    initial: f64,
    end: f64,
    steps: u64,
    power: f64,
) -> Output {
    let left = 1.0 - fraction(step, step.graph(), steps as f64).minimum(1.0);
    left.pow(power) * (initial - end) + end
}

/// Falls to `initial * alpha` within `steps` steps along half a wave of a cosine.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::cosine_decay(&step, 1.0, 20, 0.0);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 0.5, 0.0] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn cosine_decay(step: &crate::Variable, initial: f64, steps: u64, alpha: f64) -> Output {
    let done = fraction(step, step.graph(), steps as f64).minimum(1.0);
    let wave = ((done * std::f64::consts::PI).cos() + 1.0) * 0.5;
    (wave * (1.0 - alpha) + alpha) * initial
}

/// One of several rates: `values[i]` until the step `boundaries[i]` has been taken, the last one
/// afterwards. There is one value more than there are boundaries.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::piecewise_constant(&step, &[5, 15], &[1.0, 0.5, 0.25]);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [1.0, 0.5, 0.25] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn piecewise_constant(step: &crate::Variable, boundaries: &[i64], values: &[f64]) -> Output {
    let graph = step.graph();
    let count = graph.operand(step, None);
    let rate = |index: usize| values.get(index).copied().unwrap_or_default() as f32;
    let last = graph.constant(rate(boundaries.len()));
    boundaries.iter().enumerate().rev().fold(last, |later, (index, &boundary)| {
        graph.constant(rate(index)).where_or(count.less_equal(boundary), later)
    })
}

/// Rises from zero to the rate within the first `steps` steps.
///
/// ```
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let step = graph.global_step();
/// let rate = schedule::warm_up(&step, 20, 0.5f32);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let later = step.assign_add(10);
/// for expected in [0.0, 0.25, 0.5] {
///     assert!((session.run((), rate.value::<f32>())? - expected).abs() < 1e-6);
///     session.run((), &later)?;
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn warm_up(step: &crate::Variable, steps: u64, rate: impl Operand) -> Output {
    let graph = step.graph();
    let risen = fraction(step, graph, steps as f64).minimum(1.0);
    risen * rate
}

//! How far predictions of numbers are off.

use tensorfleet_tensor::DType;

use super::Metric;
use crate::output::{Operand, Output};

/// Predictions minus targets.
#[track_caller]
fn errors(predictions: &Output, targets: impl Operand) -> Output {
    let targets = predictions.graph().operand(&targets, Some(predictions.dtype()));
    predictions.cast(DType::Double) - targets.cast(DType::Double)
}

impl Metric {
    /// The mean of the squares of the errors.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([1.0f32, 3.0]);
    /// let metric = Metric::mean_squared_error("mse", &predictions, [1.0f32, 1.0]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 2.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn mean_squared_error(name: &str, predictions: &Output, targets: impl Operand) -> Metric {
        Metric::mean(name, &errors(predictions, targets).square())
    }

    /// The root of the mean of the squares of the errors.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([1.0f32, 5.0]);
    /// let metric = Metric::root_mean_squared_error("rmse", &predictions, [3.0f32, 7.0]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 2.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn root_mean_squared_error(
        name: &str,
        predictions: &Output,
        targets: impl Operand,
    ) -> Metric {
        let mut metric = Metric::mean_squared_error(name, predictions, targets);
        metric.updated = metric.updated.sqrt();
        metric.result = metric.result.sqrt();
        metric
    }

    /// The mean of the sizes of the errors.
    ///
    /// ```
    /// use tensorfleet_client::metrics::Metric;
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let predictions = graph.constant([1.0f32, 3.0]);
    /// let metric = Metric::mean_absolute_error("mae", &predictions, [1.0f32, 1.0]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let value = session.run((), metric.updated().value::<f32>())?;
    /// assert!((value - 1.0).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn mean_absolute_error(name: &str, predictions: &Output, targets: impl Operand) -> Metric {
        Metric::mean(name, &errors(predictions, targets).abs())
    }
}

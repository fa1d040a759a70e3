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
    #[track_caller]
    pub fn mean_squared_error(name: &str, predictions: &Output, targets: impl Operand) -> Metric {
        Metric::mean(name, &errors(predictions, targets).square())
    }

    /// The root of the mean of the squares of the errors.
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
    #[track_caller]
    pub fn mean_absolute_error(name: &str, predictions: &Output, targets: impl Operand) -> Metric {
        Metric::mean(name, &errors(predictions, targets).abs())
    }
}

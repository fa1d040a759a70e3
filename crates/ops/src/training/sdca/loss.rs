//! Losses of linear models, with their duals: what stochastic dual coordinate ascent needs of them.

use tensorfleet_tensor::{Result, invalid_argument};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Logistic,
    Squared,
    Hinge,
    SmoothHinge,
    Poisson,
}

/// Newton's method doubles the digits in every step.
const NEWTON_STEPS: usize = 10;

/// An example as its loss sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) label: f64,
    pub(super) weight: f64,
    pub(super) dual: f64,
    /// What the model says.
    pub(super) prediction: f64,
    /// The number of partitions of the loss times the squared norm of the features by the regularisation.
    pub(super) norm: f64,
}

impl Loss {
    pub(super) fn named(name: &str) -> Result<Loss> {
        Ok(match name {
            "logistic_loss" => Loss::Logistic,
            "squared_loss" => Loss::Squared,
            "hinge_loss" => Loss::Hinge,
            "smooth_hinge_loss" => Loss::SmoothHinge,
            "poisson_loss" => Loss::Poisson,
            _ => return Err(invalid_argument!("Unsupported loss type: {name}")),
        })
    }

    /// The label as the formulas want it: classes are -1 and 1.
    pub(super) fn label(self, label: f32) -> Result<f64> {
        match self {
            Loss::Squared => Ok(label.into()),
            Loss::Poisson if label < 0.0 => Err(invalid_argument!(
                "Only non-negative labels can be used with the Poisson log loss. Found example with label: {label}"
            )),
            Loss::Poisson => Ok(label.into()),
            Loss::Logistic | Loss::Hinge | Loss::SmoothHinge if label == 0.0 => Ok(-1.0),
            Loss::Logistic | Loss::Hinge | Loss::SmoothHinge if label == 1.0 => Ok(1.0),
            Loss::Logistic | Loss::Hinge | Loss::SmoothHinge => Err(invalid_argument!(
                "Only labels of 0.0 or 1.0 are supported right now. Found example with label: {label}"
            )),
        }
    }

    /// The dual variable that is best if all others stay.
    pub(super) fn best_dual(self, seen: Seen) -> f64 {
        let Seen { label, dual, prediction, .. } = seen;
        let scale = seen.norm * seen.weight;
        match self {
            Loss::Logistic => {
                let mut x = 0.0f64;
                for _ in 0..NEWTON_STEPS {
                    let tanh = x.tanh();
                    let value =
                        -2.0 * label * x - prediction - scale * (0.5 * (1.0 + tanh) / label - dual);
                    let slope = -2.0 * label - scale * (1.0 - tanh * tanh) * 0.5 / label;
                    x -= value / slope;
                }
                0.5 * (1.0 + x.tanh()) / label
            }
            Loss::Squared => dual + (label - dual - prediction) / (1.0 + scale),
            Loss::Hinge => within(label, dual + (label - prediction) / scale),
            Loss::SmoothHinge => within(label, dual + (label - prediction - dual) / (scale + 1.0)),
            Loss::Poisson => {
                let start = label - dual;
                let mut x = if start > 0.0 { start.ln() } else { 0.0 };
                for _ in 0..NEWTON_STEPS {
                    let exp = x.exp();
                    let value = x - prediction - scale * (label - dual - exp);
                    x -= value / (1.0 + scale * exp);
                }
                label - x.exp()
            }
        }
    }

    pub(super) fn dual_loss(self, Seen { label, weight, dual, .. }: Seen) -> f64 {
        let product = dual * label;
        let inside = (0.0..=1.0).contains(&product);
        match self {
            Loss::Logistic => {
                let log = |x: f64| if x > 0.0 { x.ln() } else { 0.0 };
                (product * log(product) + (1.0 - product) * log(1.0 - product)) * weight
            }
            Loss::Squared => dual * (0.5 * dual - label) * weight,
            Loss::Hinge if inside => -product * weight,
            Loss::SmoothHinge if inside => (-product + 0.5 * dual * dual) * weight,
            Loss::Hinge | Loss::SmoothHinge => f64::MAX,
            Loss::Poisson => match label - dual {
                0.0 => 0.0,
                rest if rest < 0.0 => f64::MAX,
                rest => rest * (rest.ln() - 1.0) * weight,
            },
        }
    }

    pub(super) fn primal_loss(self, Seen { label, weight, prediction, .. }: Seen) -> f64 {
        let margin = label * prediction;
        weight
            * match self {
                Loss::Logistic if margin > 0.0 => (-margin).exp().ln_1p(),
                Loss::Logistic => margin.exp().ln_1p() - margin,
                Loss::Squared => (prediction - label).powi(2) * 0.5,
                Loss::Hinge => (1.0 - margin).max(0.0),
                Loss::SmoothHinge if margin >= 1.0 => 0.0,
                Loss::SmoothHinge if margin <= 0.0 => 0.5 - margin,
                Loss::SmoothHinge => (1.0 - margin).powi(2) * 0.5,
                Loss::Poisson => prediction.exp() - prediction * label,
            }
    }

    /// The slope of the loss of an example of weight 1.
    pub(super) fn slope(self, Seen { label, prediction, .. }: Seen) -> f64 {
        let margin = label * prediction;
        match self {
            Loss::Logistic if margin > 0.0 => -label * (-margin).exp() / (1.0 + (-margin).exp()),
            Loss::Logistic => -label / (1.0 + margin.exp()),
            Loss::Squared => prediction - label,
            Loss::Hinge => {
                if margin < 1.0 {
                    -label
                } else {
                    0.0
                }
            }
            Loss::SmoothHinge if margin >= 1.0 => 0.0,
            Loss::SmoothHinge if margin <= 0.0 => -label,
            Loss::SmoothHinge => prediction - label,
            Loss::Poisson => prediction.exp() - label,
        }
    }

    pub(super) fn smoothness(self) -> f64 {
        match self {
            Loss::Logistic => 4.0,
            Loss::Hinge => 0.0,
            Loss::Squared | Loss::SmoothHinge | Loss::Poisson => 1.0,
        }
    }
}

/// A dual variable of a hinge goes from nothing to its label.
fn within(label: f64, dual: f64) -> f64 {
    match label * dual {
        product if product < 0.0 => 0.0,
        product if product > 1.0 => label,
        _ => dual,
    }
}

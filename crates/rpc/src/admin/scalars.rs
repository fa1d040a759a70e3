//! Numbers that a program tells of its training, such as the loss, for whoever looks at the cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tensorfleet_tensor::{Result, invalid_argument, resource_exhausted};

/// How many curves there may be, and how long their names.
const CURVES: usize = 16;
const LONGEST: usize = 100;

/// A curve with more points loses every second one.
const POINTS: usize = 400;

/// The curves that a task was told.
#[derive(Debug, Default)]
pub struct Scalars(Mutex<BTreeMap<String, Curve>>);

/// Values at steps. A long curve keeps one point in `stride`, and always the last.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Curve {
    points: Vec<(i64, f64)>,
    #[serde(skip)]
    stride: u64,
    #[serde(skip)]
    told: u64,
}

/// What a program tells: values by name, at a step.
#[derive(Debug, Deserialize)]
struct Told {
    step: i64,
    values: BTreeMap<String, f64>,
}

impl Scalars {
    /// Takes a JSON object as `{"step": 10, "values": {"loss": 0.5}}`.
    pub fn add_json(&self, text: &str) -> Result<()> {
        let told: Told = serde_json::from_str(text).map_err(|error| {
            invalid_argument!("not as {{\"step\": 10, \"values\": {{\"loss\": 0.5}}}}: {error}")
        })?;
        told.values.iter().try_for_each(|(name, value)| self.add(name, told.step, *value))
    }

    /// Adds a point to a curve.
    pub fn add(&self, name: &str, step: i64, value: f64) -> Result<()> {
        if name.is_empty() || name.len() > LONGEST {
            return Err(invalid_argument!("the name of a curve has from 1 to {LONGEST} bytes"));
        }
        let mut curves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !curves.contains_key(name) {
            if curves.len() == CURVES {
                return Err(resource_exhausted!("there are {CURVES} curves, which is the limit"));
            }
            curves.insert(name.to_owned(), Curve::default());
        }
        if let Some(curve) = curves.get_mut(name) {
            curve.add(step, value);
        }
        Ok(())
    }

    pub(super) fn curves(&self) -> BTreeMap<String, Curve> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Curve {
    fn add(&mut self, step: i64, value: f64) {
        // JSON knows no infinities.
        let value = if value.is_finite() { value } else { f64::MAX.copysign(value) };
        if let Some(last) = self.points.last_mut().filter(|last| last.0 == step) {
            last.1 = value;
            return;
        }
        let stride = self.stride.max(1);
        // The last point stands for those after the last that is kept.
        if !self.points.is_empty() && !(self.told.saturating_sub(1)).is_multiple_of(stride) {
            self.points.pop();
        }
        self.points.push((step, value));
        self.told += 1;
        if self.points.len() > POINTS {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = stride * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_shape_and_its_last_point() {
        let scalars = Scalars::default();
        for step in 0..10_000 {
            scalars.add("loss", step, step as f64 / 2.0).unwrap();
            let points = &scalars.curves()["loss"].points;
            assert!(points.len() <= POINTS);
            assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert_eq!(points[0].0, 0);
            assert!(points.last().unwrap().0 >= step - 1);
        }
        assert!(scalars.curves()["loss"].points.len() > POINTS / 3);
    }

    #[test]
    fn what_a_program_tells_is_bounded() {
        let scalars = Scalars::default();
        scalars.add_json("{\"step\": 3, \"values\": {\"a\": 0.5}}").unwrap();
        assert_eq!(scalars.curves()["a"].points, [(3, 0.5)]);
        assert!(scalars.add_json("{\"step\": 3}").is_err());
        assert!(scalars.add(&"n".repeat(LONGEST + 1), 0, 0.0).is_err());
        for curve in 1..CURVES {
            scalars.add(&format!("c{curve}"), 0, f64::NAN).unwrap();
        }
        assert!(scalars.add("one more", 0, 0.0).is_err());
        scalars.add("a", 4, f64::INFINITY).unwrap();
        assert!(scalars.curves()["a"].points[1].1.is_finite());
    }
}

//! All ops together: against recorded values, absurd input and finite differences.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod coverage;
mod differentiable;
mod golden;
mod gradient;
mod hostile;

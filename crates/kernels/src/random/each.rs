//! Values drawn one by one, each from a part of the stream of its own.
//!
//! Gamma, Poisson and binomial values take as many words as they happen to need, so TensorFlow
//! gives each a fixed distance from its neighbours. Parameters are numbered first and samples
//! second, whereas the output has the samples outermost.

use half::{bf16, f16};

use super::bits::{normal_pair_f64, unit_f64};
use super::philox::Philox;
use crate::Parallel;

/// The blocks between two values.
pub(super) const BLOCKS_PER_VALUE: u64 = 256;

const PER_TASK: usize = 1 << 10;

/// A number type that parameters are given in or samples are wanted in.
pub trait Number: Copy + Send + Sync {
    /// The largest finite number.
    const HIGHEST: f64;

    /// The number in double precision.
    fn to_f64(self) -> f64;

    /// The nearest number; half precisions round through `f32`, integers drop the fraction.
    fn from_f64(value: f64) -> Self;
}

macro_rules! number {
    ($($number:ty),*; $($half:ty),*) => {
        $(impl Number for $number {
            const HIGHEST: f64 = <$number>::MAX as f64;
            fn to_f64(self) -> f64 { self as f64 }
            fn from_f64(value: f64) -> Self { value as Self }
        })*
        $(impl Number for $half {
            const HIGHEST: f64 = <$half>::MAX.to_f64_const();
            fn to_f64(self) -> f64 { f64::from(self) }
            fn from_f64(value: f64) -> Self { Self::from_f32(value as f32) }
        })*
    };
}

number!(i32, i64, f32, f64; f16, bf16);

/// Fills `out`, which has the shape `[samples, params]`, by `draw(param, number of the value)`.
pub(super) fn fill_each<P: Sync, T: Send>(
    parallel: Parallel,
    params: &[P],
    out: &mut [T],
    draw: impl Fn(&P, u64) -> T + Sync,
) {
    if params.is_empty() {
        return;
    }
    let samples = out.len() / params.len();
    parallel.for_each(out, PER_TASK, |positions, out| {
        for (position, out) in positions.zip(out) {
            let (sample, param) = (position / params.len(), position % params.len());
            *out = draw(&params[param], (param * samples + sample) as u64);
        }
    });
}

/// Doubles made two at a time and handed out last first.
#[derive(Debug)]
pub(super) struct Backwards {
    make: fn([u32; 4]) -> [f64; 2],
    values: [f64; 2],
    left: usize,
}

impl Backwards {
    pub(super) fn uniforms() -> Self {
        Self::new(|block| [unit_f64(block[0], block[1]), unit_f64(block[2], block[3])])
    }

    pub(super) fn normals() -> Self {
        Self::new(normal_pair_f64)
    }

    fn new(make: fn([u32; 4]) -> [f64; 2]) -> Self {
        Self { make, values: [0.0; 2], left: 0 }
    }

    pub(super) fn next(&mut self, philox: &mut Philox) -> f64 {
        if self.left == 0 {
            self.values = (self.make)(philox.next_block());
            self.left = 2;
        }
        self.left -= 1;
        self.values[self.left]
    }
}

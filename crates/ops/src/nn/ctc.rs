//! Connectionist temporal classification: the loss of label sequences without alignment, and the
//! decoding of such sequences.

use tensorfleet_framework::Op;
use tensorfleet_kernels::Wide;

mod beam_search;
mod decoder;
mod labels;
mod loss;

pub(super) const DECODERS: &[Op] = decoder::OPS;
pub(super) const LOSS: &[Op] = loss::OPS;

/// The logarithm of the sum of two numbers given by their logarithms. As in TensorFlow, the smaller
/// one's part is computed in single precision.
fn add_logs<T: Wide>(a: T, b: T) -> T {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if small == T::neg_infinity() {
        return large;
    }
    let share = (small - large).to_f32().unwrap_or(f32::NAN).exp().ln_1p();
    large + T::of(share.into())
}

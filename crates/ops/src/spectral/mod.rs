//! Fourier transforms, and sound.

mod axes;
mod fft;
mod mfcc;
mod plan;
mod rfft;
mod spectrogram;
mod wav;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[fft::OPS, mfcc::OPS, rfft::OPS, spectrogram::OPS, wav::OPS];

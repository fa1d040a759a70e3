//! Fourier transforms, and sound.

mod corner;
mod fft;
mod mfcc;
mod rfft;
mod spectrogram;
mod wav;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[fft::OPS, mfcc::OPS, rfft::OPS, spectrogram::OPS, wav::OPS];

//! How fast the machine multiplies and adds when nothing else is in the way.
//!
//! No kernel can be faster than this, so benchmarks put their figures beside it.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use crate::conv::lanes::x86::{Avx2Single, Avx512Single};
use crate::conv::lanes::{Lanes, Portable};
use crate::simd::{Level, level};

/// Enough independent chains to hide the latency of an instruction, few enough for the registers.
const CHAINS: usize = 12;

/// Runs chains of multiply-adds in registers and returns the number of operations, two for each.
pub fn multiply_adds(rounds: usize) -> usize {
    // SAFETY: `level` names only what the machine was found to have.
    let (lanes, sum) = unsafe {
        match level() {
            Level::Baseline => chains::<Portable<f32>>(rounds),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(rounds),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(rounds),
        }
    };
    // The sum must matter, or there would be nothing to compute.
    rounds * CHAINS * lanes * if sum.is_nan() { 1 } else { 2 }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(rounds: usize) -> (usize, f32) {
    // SAFETY: the instructions are enabled here.
    unsafe { chains::<Avx2Single>(rounds) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(rounds: usize) -> (usize, f32) {
    // SAFETY: the instructions are enabled here.
    unsafe { chains::<Avx512Single>(rounds) }
}

/// Returns the number of lanes and a sum over all chains and lanes.
///
/// # Safety
/// The machine must have the instructions of `L`.
#[inline(always)]
unsafe fn chains<L: Lanes<Element = f32>>(rounds: usize) -> (usize, f32) {
    let mut lanes = [0.0; 64];
    // SAFETY: the caller vouches for the instructions; a vector has fewer lanes than the array.
    unsafe {
        // Numbers that the compiler does not know: it would find out where chains lead, or that they
        // are all the same.
        let half = L::splat(black_box(0.5));
        let mut sums = [half; CHAINS];
        for sum in &mut sums {
            *sum = L::splat(black_box(0.25));
        }
        for _ in 0..rounds {
            for sum in &mut sums {
                // Tends to 1, so that no number becomes large or denormal.
                *sum = L::fma(*sum, half, half);
            }
        }
        let total = sums.into_iter().fold(L::splat(0.0), |a, b| L::add(a, b));
        L::store(lanes.as_mut_ptr(), total);
    }
    (L::COUNT, lanes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::at_every_level;

    #[test]
    fn counts_two_operations_for_each_multiply_add() {
        at_every_level(|| {
            let done = multiply_adds(10);
            assert!(done > 0 && done.is_multiple_of(2 * 10 * CHAINS), "{done}");
        });
    }
}

//! How fast the machine multiplies and adds when nothing else is in the way.
//!
//! No kernel can be faster than this, so benchmarks put their figures beside it.

use crate::simd::dispatch;

/// Enough independent chains to hide the latency of an instruction, few enough for the registers.
const CHAINS: usize = 12;
const LANES: usize = 16;

/// Runs chains of multiply-adds in registers and returns the number of operations, two for each.
pub fn multiply_adds(rounds: usize) -> usize {
    let sum: f32 = chains(rounds).iter().flatten().sum();
    // The sum must matter, or there would be nothing to compute.
    rounds * CHAINS * LANES * if sum.is_nan() { 1 } else { 2 }
}

dispatch! {
    fn chains[I](rounds: usize) -> [[f32; LANES]; CHAINS] {
        let mut sums = [[1.0_f32; LANES]; CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                for lane in sum {
                    // Tends to 1, so that no number becomes large or denormal.
                    *lane = I::fma32(*lane, 0.5, 0.5);
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_two_operations_for_each_multiply_add() {
        assert_eq!(super::multiply_adds(10), 2 * 10 * super::CHAINS * super::LANES);
    }
}

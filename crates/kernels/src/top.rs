//! Whether a value is among the largest of its row.

use crate::Parallel;
use crate::parallel::{rows, rows_mut};
use crate::simd::dispatch;

/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;

/// For each row of `classes` values, whether fewer than `k` of them are above the one that `targets`
/// names. Nothing can be said of a target that is no class, nor next to values that are not finite.
///
/// # Panics
/// If the slices have not as many rows as there are targets.
pub fn in_top_k(
    par: Parallel,
    values: &[f32],
    classes: usize,
    targets: &[i64],
    k: i64,
    out: &mut [bool],
) {
    let count = targets.len();
    assert_eq!((values.len(), out.len()), (count * classes, count), "a row for each target");
    if classes == 0 {
        return out.fill(false);
    }
    let work = (rows(values, count), rows(targets, count), rows_mut(out, count));
    par.for_each(work, MIN_VALUES.div_ceil(classes), |_, (values, targets, out)| {
        let of_rows = values.data.chunks_exact(classes).zip(targets.data);
        for (out, (row, &target)) in out.data.iter_mut().zip(of_rows) {
            let own = usize::try_from(target).ok().and_then(|target| row.get(target));
            *out = own.is_some_and(|&own| {
                let (above, all_finite) = above(row, own);
                all_finite && i64::from(above) < k
            });
        }
    });
}

dispatch! {
    /// How many values are above one, and whether all are finite.
    fn above[I](row: &[f32], own: f32) -> (u32, bool) {
        let (mut count, mut others) = (0u32, 0u32);
        for &value in row {
            count += u32::from(value > own);
            others += u32::from(!value.is_finite());
        }
        (count, others == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::at_every_level;

    #[test]
    fn ties_count_for_the_target_and_odd_values_for_nobody() {
        let values = [1.0, 3.0, 2.0, 3.0, f32::NAN, 0.0, 0.0, 0.0, 4.0, 3.0, 2.0, 1.0];
        at_every_level(|| {
            let mut out = [true; 3];
            in_top_k(Parallel::SERIAL, &values, 4, &[3, 1, 2], 2, &mut out);
            assert_eq!(out, [true, false, false]);
            in_top_k(Parallel::SERIAL, &values, 4, &[2, 9, 2], 3, &mut out);
            assert_eq!(out, [true, false, true]);
        });
    }
}

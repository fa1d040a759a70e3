//! Where the extreme values are.

use half::{bf16, f16};
use num_traits::AsPrimitive;

use crate::Parallel;
use crate::parallel::{rows, rows_mut};
use crate::simd::dispatch;

/// A type with an order; NaN is unordered, and neither above nor below anything.
pub trait Ordered: Copy + PartialOrd + Send + Sync + 'static {
    /// Not above any value.
    const LOWEST: Self;
    /// Not below any value.
    const HIGHEST: Self;
    /// The lowest finite value.
    const FINITE_LOWEST: Self;
}

macro_rules! ordered {
    ($($type:ty: $lowest:expr, $highest:expr, $finite:expr;)+) => {$(
        impl Ordered for $type {
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            const FINITE_LOWEST: Self = $finite;
        }
    )+};
}

ordered! {
    i8: Self::MIN, Self::MAX, Self::MIN;
    i16: Self::MIN, Self::MAX, Self::MIN;
    i32: Self::MIN, Self::MAX, Self::MIN;
    i64: Self::MIN, Self::MAX, Self::MIN;
    u8: Self::MIN, Self::MAX, Self::MIN;
    u16: Self::MIN, Self::MAX, Self::MIN;
    u32: Self::MIN, Self::MAX, Self::MIN;
    u64: Self::MIN, Self::MAX, Self::MIN;
    bool: false, true, false;
    f16: Self::NEG_INFINITY, Self::INFINITY, Self::MIN;
    bf16: Self::NEG_INFINITY, Self::INFINITY, Self::MIN;
    f32: Self::NEG_INFINITY, Self::INFINITY, Self::MIN;
    f64: Self::NEG_INFINITY, Self::INFINITY, Self::MIN;
}

/// For each position of `outer x inner`, the index of the first largest value along the middle
/// dimension; NaN is passed over.
///
/// # Panics
/// If the slices have not the lengths that the dimensions say.
pub fn argmax<T: Ordered, O: Copy + Send + 'static>(
    par: Parallel,
    x: &[T],
    dims: [usize; 3],
    out: &mut [O],
) where
    usize: AsPrimitive<O>,
{
    find(par, x, dims, out, T::LOWEST, |x, best| x > best);
}

/// As [`argmax`], for the smallest value.
///
/// # Panics
/// If the slices have not the lengths that the dimensions say.
pub fn argmin<T: Ordered, O: Copy + Send + 'static>(
    par: Parallel,
    x: &[T],
    dims: [usize; 3],
    out: &mut [O],
) where
    usize: AsPrimitive<O>,
{
    find(par, x, dims, out, T::HIGHEST, |x, best| x < best);
}

fn find<T: Ordered, O: Copy + Send + 'static>(
    par: Parallel,
    x: &[T],
    [outer, middle, inner]: [usize; 3],
    out: &mut [O],
    worst: T,
    better: impl Fn(T, T) -> bool + Sync,
) where
    usize: AsPrimitive<O>,
{
    assert_eq!((x.len(), out.len()), (outer * middle * inner, outer * inner), "argmax shapes");
    out.fill(0.as_());
    if x.is_empty() {
        return;
    }
    let slab = middle * inner;
    let min_slabs = (16 * 1024usize).div_ceil(slab);
    if inner == 1 {
        return par.for_each((rows(x, outer), rows_mut(out, outer)), min_slabs, |_, (x, out)| {
            for (row, out) in x.data.chunks_exact(middle).zip(out.data) {
                let best = best_of(row, worst, &better);
                *out = if better(best, worst) { first_place(row, best).as_() } else { 0.as_() };
            }
        });
    }
    par.for_each((rows(x, outer), rows_mut(out, outer)), min_slabs, |_, (x, out)| {
        let mut bests = vec![worst; inner];
        for (x, out) in x.data.chunks_exact(slab).zip(out.data.chunks_exact_mut(inner)) {
            bests.fill(worst);
            for (index, row) in x.chunks_exact(inner).enumerate() {
                for ((best, out), &x) in bests.iter_mut().zip(&mut *out).zip(row) {
                    if better(x, *best) {
                        *best = x;
                        *out = index.as_();
                    }
                }
            }
        }
    });
}

dispatch! {
    /// The best value of a row, or `worst`; in lanes, which vectorises.
    fn best_of[I, T: Ordered, B: Fn(T, T) -> bool](row: &[T], worst: T, better: &B) -> T {
        const LANES: usize = 32;
        let pick = |best: T, x: T| if better(x, best) { x } else { best };
        let mut lanes = [worst; LANES];
        let (chunks, tail) = row.as_chunks::<LANES>();
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = pick(*lane, x);
            }
        }
        lanes.iter().chain(tail).fold(worst, |best, &x| pick(best, x))
    }
}

dispatch! {
    /// The first place of a value that a row has.
    fn first_place[I, T: Ordered](row: &[T], value: T) -> usize {
        const BLOCK: usize = 64;
        let has = |block: &[T]| block.iter().fold(false, |any, &x| any | (x == value));
        let skipped = row.chunks_exact(BLOCK).take_while(|block| !has(block)).count() * BLOCK;
        skipped + row[skipped..].iter().position(|&x| x == value).unwrap_or(0)
    }
}

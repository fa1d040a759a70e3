//! One pass of a reduction over data seen as `outer x reduced x inner`.

use std::ops::Range;

use super::Reduction;
use crate::Parallel;
use crate::parallel::{rows, rows_mut};

/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;
/// Values gathered in lanes before their results are combined, lest rounding errors pile up.
const FOLD_BLOCK: usize = 4096;
/// Rows added up before their sums are combined, for the same reason.
const ROW_BLOCK: usize = 128;
/// Columns whose results stay in the nearest cache while rows are added to them.
const COL_BLOCK: usize = 1024;

/// Partial results of each `outer x inner` position.
///
/// `fold` gathers adjacent values; `fold_into` adds a row of values to a row of results.
pub(super) fn pass<T: Copy + Send + Sync, A: Copy + Send + Sync>(
    par: Parallel,
    x: &[T],
    [outer, reduced, inner]: [usize; 3],
    empty: A,
    combine: impl Fn(A, A) -> A + Sync,
    fold: impl Fn(&[T]) -> A + Sync,
    fold_into: impl Fn(&mut [A], &[T]) + Sync,
) -> Vec<A> {
    let mut accs = vec![empty; outer * inner];
    if x.is_empty() {
        return accs;
    }
    let slab = reduced * inner;
    let one_slab = |x: &[T], accs: &mut [A]| {
        if inner == 1 {
            accs[0] = fold_halves(x, &combine, &fold);
        } else {
            columns(x, inner, 0..inner, empty, &combine, &fold_into, accs);
        }
    };
    // Enough slabs for all threads, or too little work to cut one.
    if outer >= 2 * par.threads() || slab < 2 * MIN_VALUES || par == Parallel::SERIAL {
        let work = (rows(x, outer), rows_mut(&mut accs, outer));
        par.for_each(work, MIN_VALUES.div_ceil(slab), |_, (x, accs)| {
            let accs = accs.data.chunks_exact_mut(inner);
            x.data.chunks_exact(slab).zip(accs).for_each(|(x, accs)| one_slab(x, accs));
        });
        return accs;
    }
    for (x, accs) in x.chunks_exact(slab).zip(accs.chunks_exact_mut(inner)) {
        if inner >= par.threads() * COL_BLOCK {
            par.for_each(accs, MIN_VALUES.div_ceil(reduced), |cols, accs| {
                columns(x, inner, cols, empty, &combine, &fold_into, accs);
            });
            continue;
        }
        let parts = par.map_ranges(reduced, MIN_VALUES.div_ceil(inner), |range| {
            let mut part = vec![empty; inner];
            one_slab(&x[range.start * inner..range.end * inner], &mut part);
            part
        });
        for part in parts {
            accs.iter_mut().zip(part).for_each(|(acc, part)| *acc = combine(*acc, part));
        }
    }
    accs
}

/// A pass over partial results of an earlier one.
pub(super) fn combine_pass<R: Reduction<T> + ?Sized, T: Copy + Send + Sync>(
    par: Parallel,
    accs: &[R::Acc],
    dims: [usize; 3],
) -> Vec<R::Acc> {
    let fold = |accs: &[R::Acc]| accs.iter().fold(R::empty(), |a, &b| R::combine(a, b));
    let fold_into = |sums: &mut [R::Acc], accs: &[R::Acc]| {
        sums.iter_mut().zip(accs).for_each(|(sum, &acc)| *sum = R::combine(*sum, acc));
    };
    pass(par, accs, dims, R::empty(), R::combine, fold, fold_into)
}

/// Gathers adjacent values block by block, and combines the blocks as a balanced tree.
fn fold_halves<T, A>(x: &[T], combine: &impl Fn(A, A) -> A, fold: &impl Fn(&[T]) -> A) -> A {
    if x.len() <= FOLD_BLOCK {
        return fold(x);
    }
    let (left, right) = x.split_at((x.len() / 2).next_multiple_of(FOLD_BLOCK));
    combine(fold_halves(left, combine, fold), fold_halves(right, combine, fold))
}

/// Adds up the columns `cols` of rows of length `width`.
fn columns<T: Copy, A: Copy>(
    x: &[T],
    width: usize,
    cols: Range<usize>,
    empty: A,
    combine: &impl Fn(A, A) -> A,
    fold_into: &impl Fn(&mut [A], &[T]),
    accs: &mut [A],
) {
    let first = cols.start;
    for left in cols.clone().step_by(COL_BLOCK) {
        let right = cols.end.min(left + COL_BLOCK);
        // Blocks combined as a balanced tree: sums of equally many blocks meet.
        let mut sums: Vec<(usize, Vec<A>)> = Vec::new();
        let mut spare = Vec::new();
        for block in x.chunks(ROW_BLOCK * width) {
            let mut sum: Vec<A> = spare.pop().unwrap_or_default();
            sum.clear();
            sum.resize(right - left, empty);
            for row in block.chunks_exact(width) {
                fold_into(&mut sum, &row[left..right]);
            }
            let mut blocks = 1;
            while let Some((_, other)) = sums.pop_if(|(count, _)| *count == blocks) {
                sum.iter_mut().zip(&other).for_each(|(sum, &other)| *sum = combine(other, *sum));
                blocks *= 2;
                spare.push(other);
            }
            sums.push((blocks, sum));
        }
        let accs = &mut accs[left - first..right - first];
        for (_, sum) in sums.iter().rev() {
            accs.iter_mut().zip(sum).for_each(|(acc, &sum)| *acc = combine(*acc, sum));
        }
    }
}

/// Gathers adjacent values in lanes; a loop that vectorises.
#[inline(always)]
pub(super) fn fold_lanes<R: Reduction<T> + ?Sized, T: Copy + Send + Sync>(x: &[T]) -> R::Acc {
    const LANES: usize = 32;
    let mut lanes = [R::empty(); LANES];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = R::combine(lanes[i], R::lift(chunk[i]));
        }
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            lanes[i] = R::combine(lanes[i], lanes[i + width]);
        }
    }
    tail.iter().fold(lanes[0], |acc, &x| R::combine(acc, R::lift(x)))
}

pub(super) mod simd {
    //! The same loops compiled for every instruction set.

    use std::marker::PhantomData;

    use super::{Reduction, fold_lanes};
    use crate::simd::dispatch;

    dispatch! {
        pub(in crate::reduce) fn fold[I, R: Reduction<T>, T: Copy + Send + Sync](
            _kind: PhantomData<R>,
            x: &[T],
        ) -> R::Acc {
            fold_lanes::<R, T>(x)
        }
    }

    dispatch! {
        pub(in crate::reduce) fn fold_into[I, R: Reduction<T>, T: Copy + Send + Sync](
            _kind: PhantomData<R>,
            accs: &mut [R::Acc],
            x: &[T],
        ) {
            for (acc, &x) in accs.iter_mut().zip(x) {
                *acc = R::combine(*acc, R::lift(x));
            }
        }
    }
}

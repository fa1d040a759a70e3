//! Applies a rule to whole variables, or to some of their rows.

use std::array;
use std::ops::Range;

use half::{bf16, f16};
use num_complex::Complex;

use super::{Rule, Scalar};
use crate::elementwise::{BLOCK, MIN_CHEAP};
use crate::parallel::{Rows, rows_mut};
use crate::simd::dispatch;
use crate::{Parallel, Real};

/// Elements that the compiler gets to see at once.
const LANES: usize = 16;

/// Rows narrower than this are updated by one thread, which reads the list of rows only once.
const MIN_PARALLEL_WIDTH: usize = 8;

/// A type of a variable that optimisers update.
pub trait Stored: Copy + Send + Sync + 'static {
    /// The type it is computed in.
    type Wide: Scalar;

    /// Converts to the wide type, exactly.
    fn widen(self) -> Self::Wide;

    /// Updates all elements, on this thread.
    fn update<R: Rule<Self::Wide, N>, const N: usize>(
        state: [&mut [Self]; N],
        grad: &[Self],
        rule: &R,
    );

    /// Updates those rows that lie in `range`, the rows that `state` holds; on this thread.
    fn update_rows<R: Rule<Self::Wide, N>, const N: usize>(
        state: [&mut [Self]; N],
        range: Range<usize>,
        updates: &RowUpdates<'_, Self>,
        rule: &R,
    );
}

/// Gradients of some rows, in the order in which they are to be applied; a row may come again.
#[derive(Debug)]
pub struct RowUpdates<'a, T> {
    rows: &'a [usize],
    width: usize,
    grad: &'a [T],
}

/// Applies `rule` to all elements.
///
/// # Panics
/// If the slices differ in length.
pub fn dense<T: Stored, R: Rule<T::Wide, N>, const N: usize>(
    par: Parallel,
    state: [&mut [T]; N],
    grad: &[T],
    rule: R,
) {
    par.for_each((state, grad), MIN_CHEAP, |_, (state, grad)| T::update(state, grad, &rule));
}

/// Applies `rule` to row `rows[i]` of a table of `count` rows with row `i` of `grad`, one after the
/// other.
///
/// # Panics
/// If a row is not in the table, or a slice does not hold whole rows.
pub fn sparse<T: Stored, R: Rule<T::Wide, N>, const N: usize>(
    par: Parallel,
    state: [&mut [T]; N],
    count: usize,
    grad: &[T],
    rows: &[usize],
    rule: R,
) {
    if grad.is_empty() {
        return;
    }
    let updates = RowUpdates { rows, width: grad.len() / rows.len(), grad };
    let state = state.map(|slice| rows_mut(slice, count));
    assert!(state.iter().all(|rows| rows.width == updates.width), "rows differ in width");
    assert!(rows.iter().all(|&row| row < count), "a row is not in the table");
    // Each thread owns a part of the table, so that updates of one row keep their order.
    let alone = grad.len() < MIN_CHEAP || updates.width < MIN_PARALLEL_WIDTH;
    let min_rows = if alone { count } else { count.div_ceil(par.threads()) };
    par.for_each(state, min_rows, |range, state| {
        T::update_rows(state.map(|Rows { data, .. }| data), range, &updates, &rule);
    });
}

impl<T> RowUpdates<'_, T> {
    /// Calls `update` for every row in `range` with the place of its elements in that range and
    /// with its gradient.
    #[inline(always)]
    fn for_each_in(&self, range: Range<usize>, mut update: impl FnMut(Range<usize>, &[T])) {
        for (&row, grad) in self.rows.iter().zip(self.grad.chunks_exact(self.width)) {
            if range.contains(&row) {
                let start = (row - range.start) * self.width;
                update(start..start + self.width, grad);
            }
        }
    }
}

dispatch! {
    fn update_wide[I, W: Scalar, R: Rule<W, N>, const N: usize](
        state: [&mut [W]; N],
        grad: &[W],
        rule: &R,
    ) {
        each(state, grad, rule);
    }
}

dispatch! {
    fn update_wide_rows[I, W: Scalar, R: Rule<W, N>, const N: usize](
        state: [&mut [W]; N],
        range: Range<usize>,
        updates: &RowUpdates<'_, W>,
        rule: &R,
    ) {
        let mut state = state;
        updates.for_each_in(range, |place, grad| {
            each(state.each_mut().map(|slice| &mut slice[place.clone()]), grad, rule);
        });
    }
}

/// Local arrays, unlike slices, cannot overlap: that is what makes the loop over them vectorise for
/// any number of slots.
#[inline(always)]
fn each<W: Scalar, R: Rule<W, N>, const N: usize>(state: [&mut [W]; N], grad: &[W], rule: &R) {
    let len = grad.len();
    let mut state = state.map(|slice| &mut slice[..len]);
    // One or two slices are looped over as they are.
    if let [var] = &mut state[..] {
        for (var, &grad) in var.iter_mut().zip(grad) {
            *var = rule.step([*var; N], grad)[0];
        }
        return;
    }
    if let [var, slot] = &mut state[..] {
        for ((var, slot), &grad) in var.iter_mut().zip(slot.iter_mut()).zip(grad) {
            let mut one = [*var; N];
            one[1] = *slot;
            let next = rule.step(one, grad);
            (*var, *slot) = (next[0], next[1]);
        }
        return;
    }
    let whole = len - len % LANES;
    for start in (0..whole).step_by(LANES) {
        let lanes = start..start + LANES;
        let grad = load(&grad[lanes.clone()]);
        let mut now = [grad; N];
        for k in 0..N {
            now[k] = load(&state[k][lanes.clone()]);
        }
        for lane in 0..LANES {
            let mut one = [grad[lane]; N];
            for k in 0..N {
                one[k] = now[k][lane];
            }
            let next = rule.step(one, grad[lane]);
            for k in 0..N {
                now[k][lane] = next[k];
            }
        }
        for k in 0..N {
            state[k][lanes.clone()].copy_from_slice(&now[k]);
        }
    }
    for i in whole..len {
        let next = rule.step(array::from_fn(|k| state[k][i]), grad[i]);
        for k in 0..N {
            state[k][i] = next[k];
        }
    }
}

/// A copy and not `array::from_fn`, whose closure is not always inlined.
#[inline(always)]
fn load<W: Copy>(from: &[W]) -> [W; LANES] {
    *from.first_chunk().expect("a slice of as many lanes")
}

macro_rules! wide {
    ($($type:ty),*) => {
        $(
            impl Stored for $type {
                type Wide = Self;

                fn widen(self) -> Self {
                    self
                }

                fn update<R: Rule<Self, N>, const N: usize>(
                    state: [&mut [Self]; N],
                    grad: &[Self],
                    rule: &R,
                ) {
                    update_wide(state, grad, rule);
                }

                fn update_rows<R: Rule<Self, N>, const N: usize>(
                    state: [&mut [Self]; N],
                    range: Range<usize>,
                    updates: &RowUpdates<'_, Self>,
                    rule: &R,
                ) {
                    update_wide_rows(state, range, updates, rule);
                }
            }
        )*
    };
}

wide!(f32, f64, Complex<f32>, Complex<f64>);

macro_rules! half {
    ($($type:ty),*) => {
        $(
            impl Stored for $type {
                type Wide = f32;

                fn widen(self) -> f32 {
                    Real::widen(self)
                }

                fn update<R: Rule<f32, N>, const N: usize>(
                    state: [&mut [Self]; N],
                    grad: &[Self],
                    rule: &R,
                ) {
                    update_in_blocks(state, grad, rule);
                }

                fn update_rows<R: Rule<f32, N>, const N: usize>(
                    mut state: [&mut [Self]; N],
                    range: Range<usize>,
                    updates: &RowUpdates<'_, Self>,
                    rule: &R,
                ) {
                    updates.for_each_in(range, |place, grad| {
                        let row = state.each_mut().map(|slice| &mut slice[place.clone()]);
                        update_in_blocks(row, grad, rule);
                    });
                }
            }
        )*
    };
}

half!(f16, bf16);

fn update_in_blocks<T: Real<Wide = f32>, R: Rule<f32, N>, const N: usize>(
    mut state: [&mut [T]; N],
    grad: &[T],
    rule: &R,
) {
    let mut wide_state = [[0.0; BLOCK]; N];
    let mut wide_grad = [0.0; BLOCK];
    for (i, grad) in grad.chunks(BLOCK).enumerate() {
        let place = i * BLOCK..i * BLOCK + grad.len();
        T::widen_slice(grad, &mut wide_grad[..grad.len()]);
        for (wide, narrow) in wide_state.iter_mut().zip(&state) {
            T::widen_slice(&narrow[place.clone()], &mut wide[..grad.len()]);
        }
        let block = wide_state.each_mut().map(|wide| &mut wide[..grad.len()]);
        update_wide(block, &wide_grad[..grad.len()], rule);
        for (wide, narrow) in wide_state.iter().zip(&mut state) {
            T::narrow_slice(&wide[..grad.len()], &mut narrow[place.clone()]);
        }
    }
}

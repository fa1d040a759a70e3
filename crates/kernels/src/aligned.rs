//! Scratch memory that begins on a cache line, so that whole-vector loads never straddle two.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A line of the cache, zeros at first.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A type for which zero bytes are a value, namely zero.
///
/// # Safety
/// All bit patterns must be values, and the alignment at most 64.
pub(crate) unsafe trait Plain: Copy + 'static {}

// SAFETY: floats have no invalid patterns.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}

/// A vector of plain values whose memory begins on a cache line.
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Plain> Aligned<T> {
    pub(crate) fn zeros(len: usize) -> Self {
        let mut new = Self::default();
        new.reset(len);
        new
    }

    /// Makes this `len` zeros.
    pub(crate) fn reset(&mut self, len: usize) {
        self.lines.clear();
        self.lines.resize((len * size_of::<T>()).div_ceil(64), Line([0; 64]));
        self.len = len;
    }

    /// Makes this `len` values, whatever they are.
    pub(crate) fn resize(&mut self, len: usize) {
        self.lines.resize((len * size_of::<T>()).div_ceil(64), Line([0; 64]));
        self.len = len;
    }
}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), len: 0, element: PhantomData }
    }
}

impl<T: Plain> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the lines hold at least `len` elements, of a type of which all bytes are values.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Plain> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_begins_on_a_line() {
        for len in [0, 1, 16, 1000, 100_000] {
            let mut values = Aligned::<f32>::zeros(len);
            assert_eq!(values.len(), len);
            assert!(values.as_ptr().addr().is_multiple_of(64) && values.iter().all(|x| *x == 0.0));
            values.fill(1.0);
            values.reset(len / 2);
            assert!(values.iter().all(|x| *x == 0.0));
        }
    }
}

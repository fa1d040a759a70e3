//! Matrices as views of slices: a size and two strides.

use std::marker::PhantomData;

/// A matrix that is read: `op(A)` in a product.
///
/// Transposing and conjugating change the view, never the data.
#[derive(Debug)]
pub struct Mat<'a, T> {
    data: *const T,
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
    conjugate: bool,
    lifetime: PhantomData<&'a [T]>,
}

impl<T> Clone for Mat<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Mat<'_, T> {}

// SAFETY: a `Mat` is a shared slice with a shape.
unsafe impl<T: Sync> Send for Mat<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mat<'_, T> {}

impl<'a, T: Copy> Mat<'a, T> {
    /// Views the first `rows * cols` elements in row-major order.
    ///
    /// # Panics
    /// If `data` is too short.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::with_strides(data, rows, cols, cols, 1)
    }

    /// Views element `(i, j)` at `i * row_stride + j * col_stride`.
    ///
    /// # Panics
    /// If `data` is too short.
    pub fn with_strides(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Self {
        check_extent(data.len(), rows, cols, row_stride, col_stride);
        let lifetime = PhantomData;
        Self { data: data.as_ptr(), rows, cols, row_stride, col_stride, conjugate: false, lifetime }
    }

    /// The transpose.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// The transpose if `yes`, as a transpose attribute asks.
    #[must_use]
    pub fn t_if(self, yes: bool) -> Self {
        if yes { self.t() } else { self }
    }

    /// The complex conjugate; real types are not changed by it.
    #[must_use]
    pub fn conj(self) -> Self {
        Self { conjugate: !self.conjugate, ..self }
    }

    /// The conjugate transpose if `yes`, as an adjoint attribute asks.
    #[must_use]
    pub fn adjoint_if(self, yes: bool) -> Self {
        if yes { self.t().conj() } else { self }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    pub(super) fn row_stride(&self) -> usize {
        self.row_stride
    }

    pub(super) fn col_stride(&self) -> usize {
        self.col_stride
    }

    pub(super) fn is_conjugate(&self) -> bool {
        self.conjugate
    }

    pub(super) fn as_ptr(&self) -> *const T {
        self.data
    }

    /// The element at `(i, j)`, before any conjugation.
    #[inline(always)]
    pub(super) fn at(&self, i: usize, j: usize) -> T {
        debug_assert!(i < self.rows && j < self.cols);
        // SAFETY: the constructor checked the farthest element, and callers stay within the shape.
        unsafe { *self.data.add(i * self.row_stride + j * self.col_stride) }
    }

    /// Row `i`, if its elements are adjacent.
    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> Option<&'a [T]> {
        if self.col_stride != 1 && self.cols > 1 {
            return None;
        }
        assert!(i < self.rows);
        // SAFETY: the row lies within the slice this view was made from.
        Some(unsafe { std::slice::from_raw_parts(self.data.add(i * self.row_stride), self.cols) })
    }

    /// All columns, one after the other, if they lie so: the transpose of a row-major matrix.
    pub(super) fn columns(&self) -> Option<&'a [T]> {
        let is_turned = self.row_stride == 1 && self.col_stride == self.rows && self.rows > 1;
        if !is_turned || self.cols == 0 {
            return None;
        }
        // SAFETY: the last of these elements is the matrix's last, which the constructor checked.
        Some(unsafe { std::slice::from_raw_parts(self.data, self.rows * self.cols) })
    }

    /// Rows `start..end`.
    pub(super) fn row_range(self, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= self.rows);
        let data = self.data.wrapping_add(start * self.row_stride);
        Self { data, rows: end - start, ..self }
    }

    /// Columns `start..end`.
    pub(super) fn col_range(self, start: usize, end: usize) -> Self {
        self.t().row_range(start, end).t()
    }
}

/// A matrix that is written, in row-major order: `C` in a product.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    data: *mut T,
    rows: usize,
    cols: usize,
    row_stride: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: a `MatMut` is an exclusive slice with a shape; splitting yields disjoint elements.
unsafe impl<T: Send> Send for MatMut<'_, T> {}

impl<'a, T: Copy> MatMut<'a, T> {
    /// Views the first `rows * cols` elements.
    ///
    /// # Panics
    /// If `data` is too short.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self::with_stride(data, rows, cols, cols)
    }

    /// Views rows that start `row_stride` elements apart.
    ///
    /// # Panics
    /// If `data` is too short or rows overlap.
    pub fn with_stride(data: &'a mut [T], rows: usize, cols: usize, row_stride: usize) -> Self {
        check_extent(data.len(), rows, cols, row_stride, 1);
        assert!(row_stride >= cols || rows < 2, "rows of {cols} every {row_stride} overlap");
        Self { data: data.as_mut_ptr(), rows, cols, row_stride, lifetime: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    pub(super) fn row_stride(&self) -> usize {
        self.row_stride
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.data
    }

    #[inline(always)]
    pub(super) fn row(&mut self, i: usize) -> &mut [T] {
        assert!(i < self.rows);
        // SAFETY: the row lies within the slice this view was made from, which it borrows mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(i * self.row_stride), self.cols) }
    }

    /// Cuts into rows before and from `mid`.
    pub(super) fn split_rows(self, mid: usize) -> (Self, Self) {
        assert!(mid <= self.rows);
        let rest = self.data.wrapping_add(mid * self.row_stride);
        (Self { rows: mid, ..self }, Self { data: rest, rows: self.rows - mid, ..self })
    }

    /// Cuts into columns before and from `mid`.
    pub(super) fn split_cols(self, mid: usize) -> (Self, Self) {
        assert!(mid <= self.cols);
        let rest = self.data.wrapping_add(mid);
        (Self { cols: mid, ..self }, Self { data: rest, cols: self.cols - mid, ..self })
    }
}

fn check_extent(len: usize, rows: usize, cols: usize, row_stride: usize, col_stride: usize) {
    if rows == 0 || cols == 0 {
        return;
    }
    let last = (rows - 1)
        .checked_mul(row_stride)
        .zip((cols - 1).checked_mul(col_stride))
        .and_then(|(row, col)| row.checked_add(col));
    assert!(
        last.is_some_and(|last| last < len),
        "a {rows}x{cols} matrix with strides ({row_stride}, {col_stride}) needs more than {len} elements"
    );
}

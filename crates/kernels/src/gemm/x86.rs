//! The assembly kernels of `private-gemm-x86` on machines with AVX2 or AVX-512.
//!
//! Only its single-thread path is used; threads are cut above, where the shape of the whole product
//! is known.

use std::ptr::null;

use num_complex::{Complex32, Complex64};
use private_gemm_x86::{Accum, DType, DstKind, IType, InstrSet, gemm};

use super::{Element, Mat, MatMut};
use crate::simd::{Level, level};

/// A product of at most `FLAT_ROWS` rows reads `B` for little work, so that from `FLAT_BYTES` of it on
/// it matters that what is read stays near: such products are summed up `FLAT_DEPTH` terms at a time.
const FLAT_ROWS: usize = 128;
const FLAT_BYTES: usize = 1024 * 1024;
const FLAT_DEPTH: usize = 128;

/// A choice among the assembly kernels that this machine can run.
#[derive(Clone, Copy)]
pub(super) struct Kernel(InstrSet);

/// A type with assembly kernels.
pub(super) trait Assembled: Element {
    const TYPE: DType;
}

impl Assembled for f32 {
    const TYPE: DType = DType::F32;
}

impl Assembled for f64 {
    const TYPE: DType = DType::F64;
}

impl Assembled for Complex32 {
    const TYPE: DType = DType::C32;
}

impl Assembled for Complex64 {
    const TYPE: DType = DType::C64;
}

impl Kernel {
    pub(super) fn detect() -> Option<Self> {
        match level() {
            Level::Baseline => None,
            Level::Avx2 => Some(Self(InstrSet::Avx256)),
            Level::Avx512 => Some(Self(InstrSet::Avx512)),
        }
    }

    /// `c = alpha * a * b + beta * c`, for matrices of at least one element.
    pub(super) fn gemm<T: Assembled>(
        self,
        alpha: T,
        a: Mat<'_, T>,
        b: Mat<'_, T>,
        beta: T,
        mut c: MatMut<'_, T>,
    ) {
        let depth = a.cols();
        let bytes = depth * b.cols() * size_of::<T>();
        if a.rows() > FLAT_ROWS || bytes < FLAT_BYTES {
            return self.gemm_at_once(alpha, a, b, beta, &mut c);
        }
        for start in (0..depth).step_by(FLAT_DEPTH) {
            let end = depth.min(start + FLAT_DEPTH);
            let (a, b) = (a.col_range(start, end), b.row_range(start, end));
            self.gemm_at_once(alpha, a, b, if start == 0 { beta } else { T::ONE }, &mut c);
        }
    }

    fn gemm_at_once<T: Assembled>(
        self,
        alpha: T,
        a: Mat<'_, T>,
        b: Mat<'_, T>,
        beta: T,
        c: &mut MatMut<'_, T>,
    ) {
        assert_eq!((a.rows(), b.cols(), a.cols()), (c.rows(), c.cols(), b.rows()));
        let accumulate = if beta == T::ZERO {
            Accum::Replace
        } else {
            super::scale(beta, c);
            Accum::Add
        };
        // SAFETY: the views guarantee that every element of their shapes lies within their slices;
        // the shapes agree; `c` is exclusive; and `level` found the instruction set.
        unsafe {
            gemm(
                T::TYPE,
                IType::U64,
                self.0,
                c.rows(),
                c.cols(),
                a.cols(),
                c.as_mut_ptr().cast(),
                c.row_stride().cast_signed(),
                1,
                null(),
                null(),
                DstKind::Full,
                accumulate,
                a.as_ptr().cast(),
                a.row_stride().cast_signed(),
                a.col_stride().cast_signed(),
                a.is_conjugate(),
                null(),
                0,
                b.as_ptr().cast(),
                b.row_stride().cast_signed(),
                b.col_stride().cast_signed(),
                b.is_conjugate(),
                (&raw const alpha).cast(),
                1,
            );
        }
    }
}

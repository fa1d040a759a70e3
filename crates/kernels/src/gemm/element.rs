//! The element types that products exist for.

use ::half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::gemv::ROWS_AT_ONCE;
use super::{Mat, MatMut, gemv, half, portable};
use crate::simd::{Baseline, Isa};

/// An element of a matrix product.
pub trait Element: Copy + Send + Sync + PartialEq + 'static {
    /// The additive neutral.
    const ZERO: Self;
    /// The multiplicative neutral.
    const ONE: Self;

    /// `self + a * b`; integers wrap.
    #[must_use]
    fn mul_acc(self, a: Self, b: Self) -> Self;

    /// The complex conjugate; the value itself for real types.
    #[must_use]
    fn conjugate(self) -> Self {
        self
    }

    /// `c = alpha * a * b + beta * c` on this thread, for matrices of at least one element.
    fn gemm_serial(
        alpha: Self,
        a: Mat<'_, Self>,
        b: Mat<'_, Self>,
        beta: Self,
        c: MatMut<'_, Self>,
    ) {
        if c.rows() == 1 || c.cols() == 1 {
            gemv::gemv(alpha, a, b, beta, c);
        } else {
            portable::gemm(alpha, a, b, beta, c);
        }
    }

    /// The sum of `a[i] * b[i]`.
    fn dot(a: &[Self], b: &[Self]) -> Self {
        a.iter().zip(b).fold(Self::ZERO, |sum, (&a, &b)| sum.mul_acc(a, b))
    }

    /// The sums of `rows[r][i] * x[i]`.
    fn dots(rows: [&[Self]; ROWS_AT_ONCE], x: &[Self]) -> [Self; ROWS_AT_ONCE] {
        rows.map(|row| Self::dot(row, x))
    }

    /// Adds the rows of a matrix, each times its weight, to `y`. Elements of a row are adjacent.
    fn add_weighted_rows(weights: &[Self], matrix: Mat<'_, Self>, y: &mut [Self]) {
        for (i, &weight) in weights.iter().enumerate() {
            let row = matrix.row(i).expect("rows are adjacent by contract");
            y.iter_mut().zip(row).for_each(|(y, &b)| *y = y.mul_acc(weight, b));
        }
    }
}

macro_rules! float {
    ($type:ty, $fma:ident) => {
        impl Element for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn mul_acc(self, a: Self, b: Self) -> Self {
                Baseline::$fma(a, b, self)
            }

            fn gemm_serial(
                alpha: Self,
                a: Mat<'_, Self>,
                b: Mat<'_, Self>,
                beta: Self,
                c: MatMut<'_, Self>,
            ) {
                if c.rows() == 1 || c.cols() == 1 {
                    return gemv::gemv(alpha, a, b, beta, c);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(kernel) = super::x86::Kernel::detect() {
                    return kernel.gemm(alpha, a, b, beta, c);
                }
                portable::gemm(alpha, a, b, beta, c);
            }

            fn dot(a: &[Self], b: &[Self]) -> Self {
                gemv::dot(a, b)
            }

            fn dots(rows: [&[Self]; ROWS_AT_ONCE], x: &[Self]) -> [Self; ROWS_AT_ONCE] {
                gemv::dots(rows, x)
            }

            fn add_weighted_rows(weights: &[Self], matrix: Mat<'_, Self>, y: &mut [Self]) {
                gemv::add_weighted_rows(weights, matrix, y);
            }
        }
    };
}

float!(f32, fma32);
float!(f64, fma64);

macro_rules! complex {
    ($type:ty) => {
        impl Element for $type {
            const ZERO: Self = <$type>::new(0.0, 0.0);
            const ONE: Self = <$type>::new(1.0, 0.0);

            #[inline(always)]
            fn mul_acc(self, a: Self, b: Self) -> Self {
                self + a * b
            }

            #[inline(always)]
            fn conjugate(self) -> Self {
                self.conj()
            }

            fn gemm_serial(
                alpha: Self,
                a: Mat<'_, Self>,
                b: Mat<'_, Self>,
                beta: Self,
                c: MatMut<'_, Self>,
            ) {
                if c.rows() == 1 || c.cols() == 1 {
                    return gemv::gemv(alpha, a, b, beta, c);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(kernel) = super::x86::Kernel::detect() {
                    return kernel.gemm(alpha, a, b, beta, c);
                }
                portable::gemm(alpha, a, b, beta, c);
            }
        }
    };
}

complex!(Complex32);
complex!(Complex64);

macro_rules! integer {
    ($($type:ty)+) => {$(
        impl Element for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn mul_acc(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_mul(b))
            }
        }
    )+};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! half {
    ($type:ty) => {
        impl Element for $type {
            const ZERO: Self = <$type>::ZERO;
            const ONE: Self = <$type>::ONE;

            fn mul_acc(self, a: Self, b: Self) -> Self {
                Self::from_f32(self.to_f32() + a.to_f32() * b.to_f32())
            }

            fn gemm_serial(
                alpha: Self,
                a: Mat<'_, Self>,
                b: Mat<'_, Self>,
                beta: Self,
                c: MatMut<'_, Self>,
            ) {
                half::gemm(alpha, a, b, beta, c);
            }
        }
    };
}

half!(f16);
half!(bf16);

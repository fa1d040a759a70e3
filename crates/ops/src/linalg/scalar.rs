//! The numbers that matrices are made of: real and complex, single and double.

use std::ops::Neg;

use num_complex::Complex;
use num_traits::{Float, NumAssign, One, Zero};
use tensorfleet_kernels::gemm::{self, Mat, MatMut};
use tensorfleet_kernels::{Parallel, vector};
use tensorfleet_tensor::Element;

/// A real or complex number. Algorithms are written once, for complex numbers; the conjugate of a
/// real number is itself.
pub(super) trait Scalar: Element + NumAssign + Neg<Output = Self> {
    /// The type of absolute values.
    type Real: Scalar<Real = Self::Real> + Float;

    /// A number from its real and imaginary parts; real types drop the latter.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    fn re(self) -> Self::Real;
    fn im(self) -> Self::Real;
    fn conjugate(self) -> Self;
    /// The absolute value.
    fn modulus(self) -> Self::Real;

    /// The square root; of a negative real number, NaN.
    fn root(self) -> Self;

    fn from_real(re: Self::Real) -> Self {
        Self::from_parts(re, Self::Real::zero())
    }

    /// The square of the absolute value.
    fn norm_sqr(self) -> Self::Real {
        self.re() * self.re() + self.im() * self.im()
    }

    /// The number of the same direction whose absolute value is one.
    fn direction(self) -> Self {
        self.scale(<Self::Real as One>::one() / self.modulus())
    }

    fn scale(self, factor: Self::Real) -> Self {
        Self::from_parts(self.re() * factor, self.im() * factor)
    }

    /// Adds `alpha * a * b` to `c`.
    fn add_product(
        par: Parallel,
        alpha: Self,
        a: Mat<'_, Self>,
        b: Mat<'_, Self>,
        c: MatMut<'_, Self>,
    );

    /// The sum of the products of conjugated elements of `a` with elements of `b`.
    fn dot(a: &[Self], b: &[Self]) -> Self {
        a.iter().zip(b).fold(Self::zero(), |sum, (&a, &b)| sum + a.conjugate() * b)
    }

    /// Adds `factor * x` to `y`.
    fn add_scaled(y: &mut [Self], factor: Self, x: &[Self]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y += factor * x;
        }
    }

    /// Turns pairs: `(x, y)` becomes `(c x + conj(s) y, conj(c) y - s x)`.
    fn rotate(x: &mut [Self], y: &mut [Self], c: Self, s: Self) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (c * *x + s.conjugate() * *y, c.conjugate() * *y - s * *x);
        }
    }
}

/// Elements that are not worth the call of a vectorised loop.
const SHORT: usize = 16;

macro_rules! scalars {
    ($($real:ty),*) => {
        $(
            impl Scalar for $real {
                type Real = $real;

                fn from_parts(re: $real, _: $real) -> $real {
                    re
                }

                fn re(self) -> $real {
                    self
                }

                fn im(self) -> $real {
                    0.0
                }

                fn conjugate(self) -> $real {
                    self
                }

                fn modulus(self) -> $real {
                    self.abs()
                }

                fn root(self) -> $real {
                    self.sqrt()
                }

                // Infinity has a sign too.
                fn direction(self) -> $real {
                    self.signum()
                }

                fn add_product(
                    par: Parallel,
                    alpha: Self,
                    a: Mat<'_, Self>,
                    b: Mat<'_, Self>,
                    c: MatMut<'_, Self>,
                ) {
                    gemm::gemm(par, alpha, a, b, Self::one(), c);
                }

                fn dot(a: &[$real], b: &[$real]) -> $real {
                    if a.len() < SHORT {
                        return a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b);
                    }
                    vector::dot(a, b)
                }

                fn add_scaled(y: &mut [$real], factor: $real, x: &[$real]) {
                    if x.len() < SHORT {
                        y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
                        return;
                    }
                    vector::add_scaled(y, factor, x);
                }

                fn rotate(x: &mut [$real], y: &mut [$real], c: $real, s: $real) {
                    vector::rotate(x, y, c, s);
                }
            }

            impl Scalar for Complex<$real> {
                type Real = $real;

                fn from_parts(re: $real, im: $real) -> Complex<$real> {
                    Complex::new(re, im)
                }

                fn re(self) -> $real {
                    self.re
                }

                fn im(self) -> $real {
                    self.im
                }

                fn conjugate(self) -> Complex<$real> {
                    self.conj()
                }

                fn modulus(self) -> $real {
                    self.norm()
                }

                fn root(self) -> Complex<$real> {
                    self.sqrt()
                }

                fn add_product(
                    par: Parallel,
                    alpha: Self,
                    a: Mat<'_, Self>,
                    b: Mat<'_, Self>,
                    c: MatMut<'_, Self>,
                ) {
                    gemm::gemm(par, alpha, a, b, Self::one(), c);
                }
            }
        )*
    };
}

scalars!(f32, f64);

/// A small number of a real type.
pub(super) fn real<R: Float>(value: f64) -> R {
    R::from(value).unwrap_or_else(R::nan)
}

/// The sum of the squares of absolute values.
pub(super) fn norm_sqr<S: Scalar>(values: &[S]) -> S::Real {
    S::dot(values, values).re()
}

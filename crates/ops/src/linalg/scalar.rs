//! The numbers that matrices are made of: real and complex, single and double.

use std::ops::Neg;

use num_complex::Complex;
use num_traits::{Float, NumAssign, One, Zero};
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
}

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
            }
        )*
    };
}

scalars!(f32, f64);

/// A small number of a real type.
pub(super) fn real<R: Float>(value: f64) -> R {
    R::from(value).unwrap_or_else(R::nan)
}

/// The sum of the products of conjugated elements of `a` with elements of `b`.
pub(super) fn dot<S: Scalar>(a: &[S], b: &[S]) -> S {
    a.iter().zip(b).fold(S::zero(), |sum, (&a, &b)| sum + a.conjugate() * b)
}

/// Adds `factor * x` to `y`.
pub(super) fn add_scaled<S: Scalar>(y: &mut [S], factor: S, x: &[S]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// The sum of the squares of absolute values.
pub(super) fn norm_sqr<S: Scalar>(values: &[S]) -> S::Real {
    values.iter().fold(S::Real::zero(), |sum, value| sum + value.norm_sqr())
}

//! Optimisers: how a variable and its slots follow a gradient.
//!
//! A [`Rule`] says what happens to one element; [`dense`] and [`sparse`] apply it to whole variables,
//! in one pass over all of them. State is an array of slices: the variable first, then its slots.

mod rules;
mod run;

pub use rules::{
    AdaMax, Adadelta, Adagrad, AdagradDa, AdagradV2, Adam, AddSign, AmsGrad, AnyPower,
    CenteredRmsProp, Ftrl, GradientDescent, KerasMomentum, Momentum, PowerSign, ProximalAdagrad,
    ProximalGradientDescent, RmsProp, SquareRoot,
};
pub use run::{Stored, dense, sparse};

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex;

/// What happens to one element of a variable and its `N - 1` slots.
pub trait Rule<W, const N: usize>: Copy + Send + Sync {
    /// The state after a gradient.
    fn step(&self, state: [W; N], grad: W) -> [W; N];
}

/// A number that rules compute with: real or complex.
pub trait Scalar:
    Copy
    + Default
    + Send
    + Sync
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Rounds a real number.
    fn of(value: f64) -> Self;
    /// The principal square root.
    fn sqrt(self) -> Self;

    /// One.
    #[inline(always)]
    fn one() -> Self {
        Self::of(1.0)
    }

    /// The product with itself; of a complex number too.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
}

macro_rules! scalars {
    ($($real:ty),*) => {
        $(
            impl Scalar for $real {
                #[inline(always)]
                #[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
                fn of(value: f64) -> Self {
                    value as $real
                }

                #[inline(always)]
                fn sqrt(self) -> Self {
                    <$real>::sqrt(self)
                }
            }

            impl Scalar for Complex<$real> {
                #[inline(always)]
                fn of(value: f64) -> Self {
                    Complex::new(<$real as Scalar>::of(value), 0.0)
                }

                #[inline]
                fn sqrt(self) -> Self {
                    Complex::sqrt(self)
                }
            }
        )*
    };
}

scalars!(f32, f64);

#[cfg(test)]
mod tests;

//! The Euclidean norm as a reduction.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_kernels::reduce::Reduction;

/// The square root of the sum of squares; of integers, wrapped and truncated.
#[derive(Debug)]
pub(super) struct EuclideanNorm;

macro_rules! norms {
    ($($type:ty as $acc:ty: |$x:ident| $square:expr, |$a:ident, $b:ident| $sum:expr,
        |$norm:ident| $root:expr;)+) => {$(
        impl Reduction<$type> for EuclideanNorm {
            type Acc = $acc;

            fn empty() -> $acc {
                <$acc>::default()
            }

            fn lift($x: $type) -> $acc {
                $square
            }

            fn combine($a: $acc, $b: $acc) -> $acc {
                $sum
            }

            fn finish($norm: $acc, _: usize) -> $type {
                $root
            }
        }
    )+};
}

norms! {
    f32 as f32: |x| x * x, |a, b| a + b, |sum| sum.sqrt();
    f64 as f64: |x| x * x, |a, b| a + b, |sum| sum.sqrt();
    // Squares overflow as they do in TensorFlow, which rounds them.
    f16 as f32: |x| (x * x).to_f32(), |a, b| a + b, |sum| f16::from_f32(f16::from_f32(sum).to_f32().sqrt());
    bf16 as f32: |x| (x * x).to_f32(), |a, b| a + b, |sum| bf16::from_f32(sum.sqrt());
    Complex<f32> as f32: |z| z.norm_sqr(), |a, b| a + b, |sum| sum.sqrt().into();
    Complex<f64> as f64: |z| z.norm_sqr(), |a, b| a + b, |sum| sum.sqrt().into();
}

macro_rules! integers {
    ($($type:ident)+) => {
        norms! {$(
            $type as $type: |x| x.wrapping_mul(x), |a, b| a.wrapping_add(b),
                |sum| (sum as f64).sqrt() as $type;
        )+}
    };
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

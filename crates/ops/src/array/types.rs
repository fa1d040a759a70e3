//! Sets of element types for which TensorFlow has CPU kernels.

use tensorfleet_tensor::DType::{self, *};

/// Real numbers.
pub(super) const REAL: &[DType] =
    &[Half, BFloat16, Float, Double, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];

/// Real and complex numbers.
pub(super) const NUMBERS: &[DType] = &join::<14>(REAL, &[Complex64, Complex128]);

/// Everything of fixed size except quantised and packed types.
pub(super) const PLAIN: &[DType] = &join::<15>(NUMBERS, &[Bool]);

/// Plain types and strings.
pub(super) const BASIC: &[DType] = &join::<16>(PLAIN, &[String]);

/// Basic types, handles and variants.
pub(super) const ALL: &[DType] = &join::<18>(BASIC, &[Resource, Variant]);

pub(super) const ALL_AND_FLOAT8: &[DType] = &join::<20>(ALL, FLOAT8);

pub(super) const BASIC_AND_QUANTIZED: &[DType] = &join::<19>(BASIC, &[QInt8, QUInt8, QInt32]);

pub(super) const SLICED: &[DType] = &join::<21>(BASIC_AND_QUANTIZED, FLOAT8);

pub(super) const STRIDED: &[DType] = &join::<23>(SLICED, &[Resource, Variant]);

pub(super) const CONCATENATED: &[DType] = &join::<23>(SLICED, &[QInt16, QUInt16]);

pub(super) const GATHERED: &[DType] = &join::<25>(CONCATENATED, &[Resource, Variant]);

pub(super) const SPLIT: &[DType] = &join::<23>(ALL_AND_FLOAT8, &[QUInt8, Int4, UInt4]);

const FLOAT8: &[DType] = &[Float8E5M2, Float8E4M3FN];

/// Joins two lists that have `N` members together.
pub(super) const fn join<const N: usize>(a: &[DType], b: &[DType]) -> [DType; N] {
    assert!(a.len() + b.len() == N, "the length of a set of types");
    let mut all = [Float; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < a.len() { a[i] } else { b[i - a.len()] };
        i += 1;
    }
    all
}

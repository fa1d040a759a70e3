//! Element types, numbered and named as in TensorFlow.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;

macro_rules! dtypes {
    ($($variant:ident = $number:literal $name:literal $size:literal;)*) => {
        /// The type of a tensor's elements. The number is the one on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType { $($variant = $number,)* }

        impl DType {
            /// Every element type, in the order of their numbers.
            pub const ALL: &'static [DType] = &[$(DType::$variant,)*];

            /// Reads a wire number. Reference types (100 + n) are not element types.
            pub fn from_number(number: i32) -> Option<DType> {
                match number { $($number => Some(DType::$variant),)* _ => None }
            }

            /// TensorFlow's short name, as in op definitions: `float`, `int32`.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// Bytes of one element in memory; 0 for strings, resources and variants.
            pub fn size(self) -> usize {
                match self { $(DType::$variant => $size,)* }
            }
        }
    };
}

dtypes! {
    Float = 1 "float" 4;
    Double = 2 "double" 8;
    Int32 = 3 "int32" 4;
    UInt8 = 4 "uint8" 1;
    Int16 = 5 "int16" 2;
    Int8 = 6 "int8" 1;
    String = 7 "string" 0;
    Complex64 = 8 "complex64" 8;
    Int64 = 9 "int64" 8;
    Bool = 10 "bool" 1;
    QInt8 = 11 "qint8" 1;
    QUInt8 = 12 "quint8" 1;
    QInt32 = 13 "qint32" 4;
    BFloat16 = 14 "bfloat16" 2;
    QInt16 = 15 "qint16" 2;
    QUInt16 = 16 "quint16" 2;
    UInt16 = 17 "uint16" 2;
    Complex128 = 18 "complex128" 16;
    Half = 19 "half" 2;
    Resource = 20 "resource" 0;
    Variant = 21 "variant" 0;
    UInt32 = 22 "uint32" 4;
    UInt64 = 23 "uint64" 8;
    Float8E5M2 = 24 "float8_e5m2" 1;
    Float8E4M3FN = 25 "float8_e4m3fn" 1;
    Float8E4M3FNUZ = 26 "float8_e4m3fnuz" 1;
    Float8E4M3B11FNUZ = 27 "float8_e4m3b11fnuz" 1;
    Float8E5M2FNUZ = 28 "float8_e5m2fnuz" 1;
    Int4 = 29 "int4" 1;
    UInt4 = 30 "uint4" 1;
    Int2 = 31 "int2" 1;
    UInt2 = 32 "uint2" 1;
}

impl DType {
    /// Finds a type by its short name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// Whether elements are plain bytes that may be copied as a block.
    pub fn is_plain(self) -> bool {
        self.size() != 0
    }

    /// Whether this is a real floating-point type with arithmetic.
    pub fn is_floating(self) -> bool {
        matches!(self, DType::Float | DType::Double | DType::Half | DType::BFloat16)
    }

    /// Whether this is one of the two complex types.
    pub fn is_complex(self) -> bool {
        matches!(self, DType::Complex64 | DType::Complex128)
    }

    /// Whether this is an ordinary (not quantised, not packed) integer type.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            DType::Int8
                | DType::Int16
                | DType::Int32
                | DType::Int64
                | DType::UInt8
                | DType::UInt16
                | DType::UInt32
                | DType::UInt64
        )
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose values are elements of a tensor in memory.
///
/// Sealed: the buffer relies on the layouts listed here.
pub trait Element:
    sealed::Sealed + Copy + Send + Sync + fmt::Debug + Default + PartialEq + 'static
{
    /// The element type that this Rust type stores.
    const DTYPE: DType;
}

pub(crate) mod sealed {
    /// Implemented only for types without padding whose all-zero bytes are a value.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty = $variant:ident;)*) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust { const DTYPE: DType = DType::$variant; }
        )*
    };
}

macro_rules! newtypes {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
            #[repr(transparent)]
            pub struct $name(pub $inner);
        )*
    };
}

newtypes! {
    /// A quantised signed byte.
    QInt8(i8);
    /// A quantised unsigned byte.
    QUInt8(u8);
    /// A quantised 16-bit signed integer.
    QInt16(i16);
    /// A quantised 16-bit unsigned integer.
    QUInt16(u16);
    /// A quantised 32-bit signed integer.
    QInt32(i32);
}

elements! {
    f32 = Float;
    f64 = Double;
    i32 = Int32;
    u8 = UInt8;
    i16 = Int16;
    i8 = Int8;
    Complex<f32> = Complex64;
    i64 = Int64;
    bool = Bool;
    QInt8 = QInt8;
    QUInt8 = QUInt8;
    QInt32 = QInt32;
    bf16 = BFloat16;
    QInt16 = QInt16;
    QUInt16 = QUInt16;
    u16 = UInt16;
    Complex<f64> = Complex128;
    f16 = Half;
    u32 = UInt32;
    u64 = UInt64;
}

/// Runs a generic expression for the Rust type of a [`DType`] chosen at run time.
///
/// `dispatch!(dtype, [f32, f64], T => expr, else => other)` evaluates `expr` with `T` bound to the
/// listed type that stores `dtype`, or `other` when none does.
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, [$($rust:ty),* $(,)?], $T:ident => $body:expr, else => $other:expr $(,)?) => {{
        let dtype: $crate::DType = $dtype;
        $(
            if dtype == <$rust as $crate::Element>::DTYPE {
                type $T = $rust;
                $body
            } else
        )*
        { $other }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_round_trip() {
        for &dtype in DType::ALL {
            assert_eq!(DType::from_number(dtype as i32), Some(dtype));
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::from_number(0), None);
        assert_eq!(DType::from_number(101), None);
    }

    #[test]
    fn dispatch_binds_the_type() {
        let size = |dtype| dispatch!(dtype, [f32, f64], T => size_of::<T>(), else => 0);
        assert_eq!((size(DType::Float), size(DType::Double), size(DType::Bool)), (4, 8, 0));
    }
}

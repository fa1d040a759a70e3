//! The types of fields: how they are encoded, and which tensors hold them.

use bytes::Bytes;
use prost_reflect::Value;
use tensorfleet_tensor::DType;

/// The type of a field, as a `.proto` file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Double,
    Float,
    Int64,
    UInt64,
    Int32,
    Fixed64,
    Fixed32,
    Bool,
    String,
    Group,
    Message,
    Bytes,
    UInt32,
    Enum,
    SFixed32,
    SFixed64,
    SInt32,
    SInt64,
}

/// How a value is encoded; the numbers are those of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Group = 3,
    Fixed32 = 5,
}

/// One value of a field: a number by its bits in the type of its tensor, or bytes.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Bits(u64),
    Bytes(Bytes),
}

impl Kind {
    pub(super) fn new(kind: &prost_reflect::Kind, group: bool) -> Kind {
        match kind {
            prost_reflect::Kind::Double => Kind::Double,
            prost_reflect::Kind::Float => Kind::Float,
            prost_reflect::Kind::Int32 => Kind::Int32,
            prost_reflect::Kind::Int64 => Kind::Int64,
            prost_reflect::Kind::Uint32 => Kind::UInt32,
            prost_reflect::Kind::Uint64 => Kind::UInt64,
            prost_reflect::Kind::Sint32 => Kind::SInt32,
            prost_reflect::Kind::Sint64 => Kind::SInt64,
            prost_reflect::Kind::Fixed32 => Kind::Fixed32,
            prost_reflect::Kind::Fixed64 => Kind::Fixed64,
            prost_reflect::Kind::Sfixed32 => Kind::SFixed32,
            prost_reflect::Kind::Sfixed64 => Kind::SFixed64,
            prost_reflect::Kind::Bool => Kind::Bool,
            prost_reflect::Kind::String => Kind::String,
            prost_reflect::Kind::Bytes => Kind::Bytes,
            prost_reflect::Kind::Message(_) if group => Kind::Group,
            prost_reflect::Kind::Message(_) => Kind::Message,
            prost_reflect::Kind::Enum(_) => Kind::Enum,
        }
    }

    pub(super) fn wire(self) -> Wire {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::SFixed64 => Wire::Fixed64,
            Kind::Float | Kind::Fixed32 | Kind::SFixed32 => Wire::Fixed32,
            Kind::String | Kind::Message | Kind::Bytes => Wire::Bytes,
            Kind::Group => Wire::Group,
            _ => Wire::Varint,
        }
    }

    /// The types of tensors that hold the field, the one of its own width first.
    pub(super) fn dtypes(self) -> &'static [DType] {
        match self {
            Kind::Double => &[DType::Double],
            Kind::Float => &[DType::Float, DType::Double],
            Kind::Int64 | Kind::SFixed64 | Kind::SInt64 => &[DType::Int64],
            Kind::UInt64 | Kind::Fixed64 => &[DType::UInt64],
            Kind::Int32 | Kind::SFixed32 | Kind::SInt32 => &[DType::Int32, DType::Int64],
            Kind::UInt32 | Kind::Fixed32 => &[DType::UInt32, DType::UInt64],
            Kind::Bool => &[DType::Bool],
            Kind::Enum => &[DType::Int32],
            Kind::String | Kind::Group | Kind::Message | Kind::Bytes => &[DType::String],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Double => "double",
            Kind::Float => "float",
            Kind::Int64 => "int64",
            Kind::UInt64 => "uint64",
            Kind::Int32 => "int32",
            Kind::Fixed64 => "fixed64",
            Kind::Fixed32 => "fixed32",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Group => "group",
            Kind::Message => "message",
            Kind::Bytes => "bytes",
            Kind::UInt32 => "uint32",
            Kind::Enum => "enum",
            Kind::SFixed32 => "sfixed32",
            Kind::SFixed64 => "sfixed64",
            Kind::SInt32 => "sint32",
            Kind::SInt64 => "sint64",
        }
    }

    /// The name of the type in which C++ holds a value.
    pub(super) fn cpp_name(self) -> &'static str {
        match self {
            Kind::Group => "message",
            Kind::Enum => "enum",
            Kind::Bytes => "string",
            Kind::String | Kind::Message => self.name(),
            _ => self.dtypes()[0].name(),
        }
    }

    /// The bits of a value in a tensor of `dtype`, from those on the wire.
    pub(super) fn read(self, bits: u64, dtype: DType) -> u64 {
        let half = bits as u32;
        match self {
            Kind::Float if dtype == DType::Double => f64::from(f32::from_bits(half)).to_bits(),
            Kind::Bool => u64::from(bits != 0),
            Kind::Int32 | Kind::SFixed32 | Kind::Enum => half as i32 as i64 as u64,
            Kind::SInt32 => i64::from((half >> 1) as i32 ^ -((half & 1) as i32)) as u64,
            Kind::SInt64 => bits >> 1 ^ (bits & 1).wrapping_neg(),
            Kind::UInt32 | Kind::Fixed32 | Kind::Float => half.into(),
            _ => bits,
        }
    }

    /// The bits on the wire of a value in a tensor of `dtype`.
    pub(super) fn write(self, bits: u64, dtype: DType) -> u64 {
        let half = bits as u32;
        match self {
            Kind::Float if dtype == DType::Double => (f64::from_bits(bits) as f32).to_bits().into(),
            // Negative numbers are encoded in full width.
            Kind::Int32 | Kind::Enum => half as i32 as i64 as u64,
            Kind::SInt32 => (half << 1 ^ (half as i32 >> 31) as u32).into(),
            Kind::SInt64 => bits << 1 ^ (bits as i64 >> 63) as u64,
            Kind::UInt32 | Kind::Fixed32 | Kind::SFixed32 | Kind::Float => half.into(),
            _ => bits,
        }
    }
}

impl Scalar {
    /// What stands for a field that a message lacks, by its bits on the wire.
    pub(super) fn default_of(kind: Kind, of: &prost_reflect::Kind, value: Value) -> Scalar {
        let bits = |bits: u64| Scalar::Bits(bits);
        match value {
            Value::Bool(value) => bits(value.into()),
            Value::I32(value) => bits(kind.write(value as u32 as u64, DType::Int32)),
            Value::I64(value) => bits(kind.write(value as u64, DType::Int64)),
            Value::U32(value) => bits(value.into()),
            Value::U64(value) => bits(value),
            Value::F32(value) => bits(value.to_bits().into()),
            Value::F64(value) => bits(value.to_bits()),
            Value::EnumNumber(value) => bits(value as i64 as u64),
            Value::String(value) => Scalar::Bytes(value.into()),
            Value::Bytes(value) => Scalar::Bytes(value),
            Value::Message(_) => Scalar::Bytes(Bytes::new()),
            Value::List(_) | Value::Map(_) => match of {
                prost_reflect::Kind::Enum(of) => bits(of.default_value().number() as i64 as u64),
                _ if kind.dtypes() == [DType::String] => Scalar::Bytes(Bytes::new()),
                _ => bits(0),
            },
        }
    }
}

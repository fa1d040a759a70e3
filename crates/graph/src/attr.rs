//! Attribute values of nodes and functions.

use std::fmt;

use bytes::Bytes;
use tensorfleet_tensor::{DType, PartialShape, Tensor};

use crate::AttrMap;

/// The value of one attribute.
#[derive(Clone, Debug)]
pub enum AttrValue {
    String(Bytes),
    Int(i64),
    Float(f32),
    Bool(bool),
    Type(DType),
    Shape(PartialShape),
    Tensor(Tensor),
    Func(Func),
    /// The name of a function's attribute that stands for the value inside its body.
    Placeholder(String),
    List(AttrList),
    /// No value, or one that we do not understand: an error only for who asks for it.
    Unset,
}

/// A homogeneous list. An empty list does not say of what.
#[derive(Clone, Debug)]
pub enum AttrList {
    Empty,
    Strings(Vec<Bytes>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Bools(Vec<bool>),
    Types(Vec<DType>),
    Shapes(Vec<PartialShape>),
    Tensors(Vec<Tensor>),
    Funcs(Vec<Func>),
}

/// A function's name with values for its attributes.
#[derive(Clone, Debug, Default)]
pub struct Func {
    pub name: String,
    pub attrs: AttrMap,
}

impl AttrList {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            AttrList::Empty => 0,
            AttrList::Strings(v) => v.len(),
            AttrList::Ints(v) => v.len(),
            AttrList::Floats(v) => v.len(),
            AttrList::Bools(v) => v.len(),
            AttrList::Types(v) => v.len(),
            AttrList::Shapes(v) => v.len(),
            AttrList::Tensors(v) => v.len(),
            AttrList::Funcs(v) => v.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether two lists have the same values, bit by bit where they are numbers.
    fn same(&self, other: &AttrList) -> bool {
        match (self, other) {
            (AttrList::Strings(a), AttrList::Strings(b)) => a == b,
            (AttrList::Ints(a), AttrList::Ints(b)) => a == b,
            (AttrList::Floats(a), AttrList::Floats(b)) => {
                a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
            }
            (AttrList::Bools(a), AttrList::Bools(b)) => a == b,
            (AttrList::Types(a), AttrList::Types(b)) => a == b,
            (AttrList::Shapes(a), AttrList::Shapes(b)) => a == b,
            // The long form tells tensors apart to the last element.
            _ => format!("{self:#?}") == format!("{other:#?}"),
        }
    }
}

impl AttrValue {
    /// Whether two values are the same, bit by bit where they are numbers.
    pub fn same(&self, other: &AttrValue) -> bool {
        match (self, other) {
            (AttrValue::String(a), AttrValue::String(b)) => a == b,
            (AttrValue::Int(a), AttrValue::Int(b)) => a == b,
            (AttrValue::Float(a), AttrValue::Float(b)) => a.to_bits() == b.to_bits(),
            (AttrValue::Bool(a), AttrValue::Bool(b)) => a == b,
            (AttrValue::Type(a), AttrValue::Type(b)) => a == b,
            (AttrValue::Shape(a), AttrValue::Shape(b)) => a == b,
            (AttrValue::Placeholder(a), AttrValue::Placeholder(b)) => a == b,
            (AttrValue::Unset, AttrValue::Unset) => true,
            (AttrValue::Func(a), AttrValue::Func(b)) => {
                a.name == b.name && same_attrs(&a.attrs, &b.attrs)
            }
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => {
                a.dtype() == b.dtype()
                    && a.shape() == b.shape()
                    && match a.dtype() {
                        DType::String => a.strings().ok() == b.strings().ok(),
                        dtype if dtype.is_plain() => a.raw() == b.raw(),
                        _ => false,
                    }
            }
            (AttrValue::List(AttrList::Empty), AttrValue::List(list))
            | (AttrValue::List(list), AttrValue::List(AttrList::Empty)) => list.is_empty(),
            (AttrValue::List(a), AttrValue::List(b)) => a.same(b),
            _ => false,
        }
    }

    /// Calls `visit` with every function that the value names.
    pub(crate) fn each_func<'a>(&'a self, visit: &mut dyn FnMut(&'a Func)) {
        match self {
            AttrValue::Func(func) => visit(func),
            AttrValue::List(AttrList::Funcs(funcs)) => funcs.iter().for_each(visit),
            _ => {}
        }
    }
}

/// Whether all attributes are there with the same values.
pub(crate) fn same_attrs(a: &AttrMap, b: &AttrMap) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.same(b.1))
}

macro_rules! conversions {
    ($($from:ty, $value:ident => $to:expr;)+) => {$(
        impl From<$from> for AttrValue {
            fn from($value: $from) -> AttrValue {
                $to
            }
        }
    )+};
}

conversions! {
    &str, value => AttrValue::String(Bytes::copy_from_slice(value.as_bytes()));
    String, value => AttrValue::String(value.into());
    Bytes, value => AttrValue::String(value);
    i64, value => AttrValue::Int(value);
    i32, value => AttrValue::Int(value.into());
    f32, value => AttrValue::Float(value);
    bool, value => AttrValue::Bool(value);
    DType, value => AttrValue::Type(value);
    PartialShape, value => AttrValue::Shape(value);
    Tensor, value => AttrValue::Tensor(value);
    Func, value => AttrValue::Func(value);
    Vec<Bytes>, values => AttrValue::List(AttrList::Strings(values));
    Vec<i64>, values => AttrValue::List(AttrList::Ints(values));
    Vec<f32>, values => AttrValue::List(AttrList::Floats(values));
    Vec<bool>, values => AttrValue::List(AttrList::Bools(values));
    Vec<DType>, values => AttrValue::List(AttrList::Types(values));
    Vec<PartialShape>, values => AttrValue::List(AttrList::Shapes(values));
    Vec<Func>, values => AttrValue::List(AttrList::Funcs(values));
}

/// Prints a value as TensorFlow's error messages do.
impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::String(v) => write!(f, "\"{}\"", String::from_utf8_lossy(v)),
            AttrValue::Int(v) => write!(f, "{v}"),
            AttrValue::Float(v) => write!(f, "{v}"),
            AttrValue::Bool(v) => write!(f, "{v}"),
            AttrValue::Type(v) => write!(f, "DT_{}", v.name().to_uppercase()),
            AttrValue::Shape(v) => write!(f, "{v}"),
            AttrValue::Tensor(v) => write!(f, "Tensor<type: {} shape: {}>", v.dtype(), v.shape()),
            AttrValue::Func(v) => write!(f, "{}[]", v.name),
            AttrValue::Placeholder(v) => write!(f, "${v}"),
            AttrValue::List(list) => {
                let items: Vec<String> = match list {
                    AttrList::Empty => Vec::new(),
                    AttrList::Strings(v) => {
                        v.iter().map(|s| format!("\"{}\"", String::from_utf8_lossy(s))).collect()
                    }
                    AttrList::Ints(v) => v.iter().map(i64::to_string).collect(),
                    AttrList::Floats(v) => v.iter().map(f32::to_string).collect(),
                    AttrList::Bools(v) => v.iter().map(bool::to_string).collect(),
                    AttrList::Types(v) => {
                        v.iter().map(|t| AttrValue::Type(*t).to_string()).collect()
                    }
                    AttrList::Shapes(v) => v.iter().map(PartialShape::to_string).collect(),
                    AttrList::Tensors(v) => {
                        v.iter().map(|t| AttrValue::Tensor(t.clone()).to_string()).collect()
                    }
                    AttrList::Funcs(v) => v.iter().map(|g| format!("{}[]", g.name)).collect(),
                };
                write!(f, "[{}]", items.join(", "))
            }
            AttrValue::Unset => f.write_str("<unset>"),
        }
    }
}

//! Kernels that compute every element from the elements at the same position.
//!
//! Such a kernel says which function it applies, so that the executor may run several of them in one
//! pass over memory, as one node.

use std::fmt;

use tensorfleet_tensor::{DType, Element};

/// A part of an operand: as many values as the output row has, or one for all of them.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a, T> {
    Slice(&'a [T]),
    Value(T),
}

/// The function that a kernel applies to every position, for numbers of its type.
#[derive(Clone, Copy, Debug)]
pub enum Pointwise {
    F32(PointwiseFn<f32>),
    F64(PointwiseFn<f64>),
    I32(PointwiseFn<i32>),
    I64(PointwiseFn<i64>),
}

/// A function over rows. What it gives for a position does not depend on how rows are cut.
#[derive(Clone, Copy)]
pub enum PointwiseFn<T> {
    One(fn(&[T], &mut [T])),
    /// Of two operands, either of which may be a scalar.
    Two(fn(Row<'_, T>, Row<'_, T>, &mut [T])),
    /// Of two operands of the same shape.
    Pair(fn(&[T], &[T], &mut [T])),
}

impl<T> fmt::Debug for PointwiseFn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PointwiseFn::One(_) => "One",
            PointwiseFn::Two(_) => "Two",
            PointwiseFn::Pair(_) => "Pair",
        })
    }
}

impl<T> PointwiseFn<T> {
    /// The number of operands.
    pub fn arity(&self) -> usize {
        match self {
            PointwiseFn::One(_) => 1,
            PointwiseFn::Two(_) | PointwiseFn::Pair(_) => 2,
        }
    }
}

impl Pointwise {
    /// The type of operands and results.
    pub fn dtype(&self) -> DType {
        match self {
            Pointwise::F32(_) => DType::Float,
            Pointwise::F64(_) => DType::Double,
            Pointwise::I32(_) => DType::Int32,
            Pointwise::I64(_) => DType::Int64,
        }
    }

    /// The number of operands.
    pub fn arity(&self) -> usize {
        match self {
            Pointwise::F32(function) => function.arity(),
            Pointwise::F64(function) => function.arity(),
            Pointwise::I32(function) => function.arity(),
            Pointwise::I64(function) => function.arity(),
        }
    }
}

/// The element types that [`Pointwise`] has functions for.
pub trait PointwiseElement: Element {
    /// The function, if it is one of this type.
    fn function(pointwise: Pointwise) -> Option<PointwiseFn<Self>>;
}

macro_rules! elements {
    ($($element:ty: $variant:ident;)+) => {$(
        impl PointwiseElement for $element {
            fn function(pointwise: Pointwise) -> Option<PointwiseFn<Self>> {
                match pointwise {
                    Pointwise::$variant(function) => Some(function),
                    _ => None,
                }
            }
        }

        impl From<PointwiseFn<$element>> for Pointwise {
            fn from(function: PointwiseFn<$element>) -> Pointwise {
                Pointwise::$variant(function)
            }
        }
    )+};
}

elements! {
    f32: F32;
    f64: F64;
    i32: I32;
    i64: I64;
}

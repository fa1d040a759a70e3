//! Arithmetic on outputs and variables: `&x * &w + 1.0`.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::output::{Operand, Output};
use crate::variable::Variable;

macro_rules! binary {
    ($($trait:ident $method:ident $op:literal;)+) => {$(
        binary!(@on $trait $method $op; Output, &Output, Variable, &Variable);
        binary!(@number $trait $method $op; f64 i64);
    )+};
    (@on $trait:ident $method:ident $op:literal; $($left:ty),+) => {$(
        impl<R: Operand> $trait<R> for $left {
            type Output = Output;

            #[track_caller]
            fn $method(self, right: R) -> Output {
                let left = Operand::to_output(&self, self.graph(), None);
                left.binary($op, right)
            }
        }
    )+};
    // One type of each kind, so that literals need no suffix.
    (@number $trait:ident $method:ident $op:literal; $($number:ty)+) => {$(
        impl $trait<Output> for $number {
            type Output = Output;

            #[track_caller]
            fn $method(self, right: Output) -> Output {
                self.$method(&right)
            }
        }

        impl $trait<&Output> for $number {
            type Output = Output;

            #[track_caller]
            fn $method(self, right: &Output) -> Output {
                let left = self.to_output(right.graph(), Some(right.dtype()));
                left.binary($op, right)
            }
        }
    )+};
}

binary! {
    Add add "AddV2";
    Sub sub "Sub";
    Mul mul "Mul";
    Div div "RealDiv";
    Rem rem "FloorMod";
}

impl Output {
    /// A function of two tensors, element by element; a number takes this tensor's type.
    #[track_caller]
    pub(crate) fn binary(&self, op: &str, right: impl Operand) -> Output {
        // Integers have no fractions; dividing them rounds toward zero, as Rust does.
        let op = if op == "RealDiv" && self.dtype().is_integer() { "TruncateDiv" } else { op };
        self.graph().op(op).input(self).input_like(right, Some(self.dtype())).output()
    }

    /// A function of this tensor alone.
    #[track_caller]
    pub(crate) fn unary(&self, op: &str) -> Output {
        self.graph().op(op).input(self).output()
    }
}

impl Neg for Output {
    type Output = Output;

    #[track_caller]
    fn neg(self) -> Output {
        self.unary("Neg")
    }
}

impl Neg for &Output {
    type Output = Output;

    #[track_caller]
    fn neg(self) -> Output {
        self.unary("Neg")
    }
}

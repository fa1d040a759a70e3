//! Bits of integers.

use tensorfleet_framework::{Op, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor};

use super::super::dtypes::{INTEGERS, T_INTEGER};
use super::table;

table! {
    BitwiseAnd("x: T", "y: T") commutative: T_INTEGER, INTEGERS => { integer(|a, b| a & b) } no_gradient;
    BitwiseOr("x: T", "y: T") commutative: T_INTEGER, INTEGERS => { integer(|a, b| a | b) } no_gradient;
    BitwiseXor("x: T", "y: T") commutative: T_INTEGER, INTEGERS => { integer(|a, b| a ^ b) } no_gradient;
    /// Distances outside of the type's bits count as the nearest that is inside.
    LeftShift("x: T", "y: T"): T_INTEGER, INTEGERS => {
        integer(|a, b| a << b.clamp(0, T::BITS as T - 1))
    } no_gradient;
    /// Distances outside of the type's bits count as the nearest that is inside.
    RightShift("x: T", "y: T"): T_INTEGER, INTEGERS => {
        integer(|a, b| a >> b.clamp(0, T::BITS as T - 1))
    } no_gradient;
}

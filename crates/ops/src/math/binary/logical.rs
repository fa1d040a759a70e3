//! Conjunction and disjunction.

use tensorfleet_framework::{Op, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor};

use super::{Elementwise, Function, same};

pub(in crate::math) const OPS: &[Op] = &[
    Op {
        name: "LogicalAnd",
        inputs: &["x: bool", "y: bool"],
        outputs: &["z: bool"],
        commutative: true,
        kernels: &[cpu::<Elementwise<LogicalAnd>>()],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "LogicalOr",
        inputs: &["x: bool", "y: bool"],
        outputs: &["z: bool"],
        commutative: true,
        kernels: &[cpu::<Elementwise<LogicalOr>>()],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct LogicalAnd;

impl Function for LogicalAnd {
    fn apply(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
        same(par, x, y, |a: bool, b: bool| a & b)
    }
}

#[derive(Debug)]
struct LogicalOr;

impl Function for LogicalOr {
    fn apply(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
        same(par, x, y, |a: bool, b: bool| a | b)
    }
}

//! Optimisers that look at the signs of gradient and momentum.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::Result;

use super::apply::{Apply, Optimizer, REALS, Scalar, T, Update, for_real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyAddSign",
        inputs: &[
            "var: Ref(T)",
            "m: Ref(T)",
            "lr: T",
            "alpha: T",
            "sign_decay: T",
            "beta: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<AddSign, 2, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyPowerSign",
        inputs: &[
            "var: Ref(T)",
            "m: Ref(T)",
            "lr: T",
            "logbase: T",
            "sign_decay: T",
            "beta: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<PowerSign, 2, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAddSign",
        inputs: &[
            "var: resource",
            "m: resource",
            "lr: T",
            "alpha: T",
            "sign_decay: T",
            "beta: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<AddSign, 2, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyPowerSign",
        inputs: &[
            "var: resource",
            "m: resource",
            "lr: T",
            "logbase: T",
            "sign_decay: T",
            "beta: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<PowerSign, 2, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct AddSign;

impl Optimizer<2> for AddSign {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(AddSign)
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "m"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[
                    Scalar::any("lr"),
                    Scalar::any("alpha"),
                    Scalar::any("sign_decay"),
                    Scalar::any("beta"),
                ],
                &[],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        for_real!(update, [lr, alpha, sign_decay, beta] => {
            rules::AddSign { lr, alpha, sign_decay, beta }
        })
    }
}

#[derive(Debug)]
struct PowerSign;

impl Optimizer<2> for PowerSign {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(PowerSign)
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "m"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[
                    Scalar::any("lr"),
                    Scalar::any("logbase"),
                    Scalar::any("sign_decay"),
                    Scalar::any("beta"),
                ],
                &[],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        for_real!(update, [lr, logbase, sign_decay, beta] => {
            rules::PowerSign::new([lr, logbase, sign_decay, beta])
        })
    }
}

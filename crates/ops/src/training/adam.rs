//! Adam and its variants.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::{DType, Result};

use super::apply::{Apply, FIELDS, Optimizer, REALS, Scalar, T, Update, for_field, for_real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyAdaMax",
        inputs: &[
            "var: Ref(T)",
            "m: Ref(T)",
            "v: Ref(T)",
            "beta1_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<AdaMax, 3, false>>().types("T", MAX_REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyAdam",
        inputs: &[
            "var: Ref(T)",
            "m: Ref(T)",
            "v: Ref(T)",
            "beta1_power: T",
            "beta2_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "use_nesterov: bool = false"],
        kernels: &[cpu::<Apply<Adam, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdaMax",
        inputs: &[
            "var: resource",
            "m: resource",
            "v: resource",
            "beta1_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<AdaMax, 3, false>>().types("T", MAX_REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdam",
        inputs: &[
            "var: resource",
            "m: resource",
            "v: resource",
            "beta1_power: T",
            "beta2_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false", "use_nesterov: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Adam, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdamWithAmsgrad",
        inputs: &[
            "var: resource",
            "m: resource",
            "v: resource",
            "vhat: resource",
            "beta1_power: T",
            "beta2_power: T",
            "lr: T",
            "beta1: T",
            "beta2: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<AmsGrad, 4, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
];

const MAX_REALS: &[DType] = &[DType::Float, DType::Double, DType::Half];

const MOMENTS: &[Scalar] = &[
    Scalar::any("beta1_power"),
    Scalar::any("beta2_power"),
    Scalar::any("lr"),
    Scalar::any("beta1"),
    Scalar::any("beta2"),
    Scalar::any("epsilon"),
];

#[derive(Debug)]
struct Adam {
    use_nesterov: bool,
}

impl Optimizer<3> for Adam {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Adam { use_nesterov: attrs.bool("use_nesterov")? })
    }

    fn state(_: bool) -> [&'static str; 3] {
        ["var", "m", "v"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        [MOMENTS, &[]]
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        let nesterov = self.use_nesterov;
        for_field!(update, [b1p, b2p, lr, b1, b2, eps] => {
            rules::Adam::new([b1p, b2p, lr, b1, b2, eps], nesterov)
        })
    }
}

/// `AdamWithAmsgrad`.
#[derive(Debug)]
struct AmsGrad;

impl Optimizer<4> for AmsGrad {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(AmsGrad)
    }

    fn state(_: bool) -> [&'static str; 4] {
        ["var", "m", "v", "vhat"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        [MOMENTS, &[]]
    }

    fn apply(&self, update: Update<'_, 4>) -> Result<()> {
        for_real!(update, [b1p, b2p, lr, b1, b2, eps] => {
            rules::AmsGrad::new([b1p, b2p, lr, b1, b2, eps])
        })
    }
}

#[derive(Debug)]
struct AdaMax;

impl Optimizer<3> for AdaMax {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(AdaMax)
    }

    fn state(_: bool) -> [&'static str; 3] {
        ["var", "m", "v"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[
                    Scalar::any("beta1_power"),
                    Scalar::any("lr"),
                    Scalar::any("beta1"),
                    Scalar::any("beta2"),
                    Scalar::any("epsilon"),
                ],
                &[],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        for_real!(update, [b1p, lr, b1, b2, eps] => rules::AdaMax::new([b1p, lr, b1, b2, eps]))
    }
}

//! RMSProp, plain and centred.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::Result;

use super::apply::{Apply, FIELDS, Optimizer, SPARSE_FIELDS, Scalar, T, Update, for_field};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyCenteredRMSProp",
        inputs: &[
            "var: Ref(T)",
            "mg: Ref(T)",
            "ms: Ref(T)",
            "mom: Ref(T)",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<CenteredRmsProp, 4, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyRMSProp",
        inputs: &[
            "var: Ref(T)",
            "ms: Ref(T)",
            "mom: Ref(T)",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<RmsProp, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyCenteredRMSProp",
        inputs: &[
            "var: resource",
            "mg: resource",
            "ms: resource",
            "mom: resource",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<CenteredRmsProp, 4, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyRMSProp",
        inputs: &[
            "var: resource",
            "ms: resource",
            "mom: resource",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<RmsProp, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyCenteredRMSProp",
        inputs: &[
            "var: resource",
            "mg: resource",
            "ms: resource",
            "mom: resource",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<CenteredRmsProp, 4, true>>().types("T", SPARSE_FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyRMSProp",
        inputs: &[
            "var: resource",
            "ms: resource",
            "mom: resource",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<RmsProp, 3, true>>().types("T", SPARSE_FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyCenteredRMSProp",
        inputs: &[
            "var: Ref(T)",
            "mg: Ref(T)",
            "ms: Ref(T)",
            "mom: Ref(T)",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<CenteredRmsProp, 4, true>>().types("T", SPARSE_FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyRMSProp",
        inputs: &[
            "var: Ref(T)",
            "ms: Ref(T)",
            "mom: Ref(T)",
            "lr: T",
            "rho: T",
            "momentum: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<RmsProp, 3, true>>().types("T", SPARSE_FIELDS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct RmsProp;

impl Optimizer<3> for RmsProp {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(RmsProp)
    }

    fn state(_: bool) -> [&'static str; 3] {
        ["var", "ms", "mom"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[
                    Scalar::any("lr"),
                    Scalar::any("rho"),
                    Scalar::any("momentum"),
                    Scalar::any("epsilon"),
                ],
                &[],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        for_field!(update, [lr, rho, momentum, epsilon] => {
            rules::RmsProp { lr, rho, momentum, epsilon }
        })
    }
}

#[derive(Debug)]
struct CenteredRmsProp;

impl Optimizer<4> for CenteredRmsProp {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(CenteredRmsProp)
    }

    fn state(_: bool) -> [&'static str; 4] {
        ["var", "mg", "ms", "mom"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[
                    Scalar::any("lr"),
                    Scalar::any("rho"),
                    Scalar::any("momentum"),
                    Scalar::any("epsilon"),
                ],
                &[],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 4>) -> Result<()> {
        for_field!(update, [lr, rho, momentum, epsilon] => {
            rules::CenteredRmsProp { lr, rho, momentum, epsilon }
        })
    }
}

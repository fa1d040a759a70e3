//! Adadelta.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::Result;

use super::apply::{Apply, FIELDS, Optimizer, Scalar, T, Update, for_field};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyAdadelta",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "accum_update: Ref(T)",
            "lr: T",
            "rho: T",
            "epsilon: T",
            "grad: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<Adadelta, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdadelta",
        inputs: &[
            "var: resource",
            "accum: resource",
            "accum_update: resource",
            "lr: T",
            "rho: T",
            "epsilon: T",
            "grad: T",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Adadelta, 3, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyAdadelta",
        inputs: &[
            "var: resource",
            "accum: resource",
            "accum_update: resource",
            "lr: T",
            "rho: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Adadelta, 3, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyAdadelta",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "accum_update: Ref(T)",
            "lr: T",
            "rho: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<Adadelta, 3, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Adadelta;

impl Optimizer<3> for Adadelta {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Adadelta)
    }

    fn state(sparse: bool) -> [&'static str; 3] {
        ["var", if sparse { "accum_grad" } else { "accum" }, "accum_update"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const { [&[Scalar::any("lr"), Scalar::any("rho"), Scalar::any("epsilon")], &[]] }
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        for_field!(update, [lr, rho, epsilon] => rules::Adadelta { lr, rho, epsilon })
    }
}

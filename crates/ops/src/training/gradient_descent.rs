//! Gradient descent, plain and proximal.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::Result;

use super::apply::{Apply, FIELDS, Optimizer, Scalar, T, Update, WIDE, for_field, for_wide};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyGradientDescent",
        inputs: &["var: Ref(T)", "alpha: T", "delta: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<GradientDescent, 1, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyProximalGradientDescent",
        inputs: &["var: Ref(T)", "alpha: T", "l1: T", "l2: T", "delta: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<ProximalGradientDescent, 1, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyGradientDescent",
        inputs: &["var: resource", "alpha: T", "delta: T"],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<GradientDescent, 1, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyProximalGradientDescent",
        inputs: &["var: resource", "alpha: T", "l1: T", "l2: T", "delta: T"],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<ProximalGradientDescent, 1, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyProximalGradientDescent",
        inputs: &["var: resource", "alpha: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<ProximalGradientDescent, 1, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyProximalGradientDescent",
        inputs: &["var: Ref(T)", "alpha: T", "l1: T", "l2: T", "grad: T", "indices: Tindices"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<ProximalGradientDescent, 1, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct GradientDescent;

impl Optimizer<1> for GradientDescent {
    const GRAD: &'static str = "delta";

    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(GradientDescent)
    }

    fn state(_: bool) -> [&'static str; 1] {
        ["var"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const { [&[Scalar::any("alpha")], &[]] }
    }

    fn apply(&self, update: Update<'_, 1>) -> Result<()> {
        for_field!(update, [lr] => rules::GradientDescent { lr })
    }
}

#[derive(Debug)]
struct ProximalGradientDescent;

impl Optimizer<1> for ProximalGradientDescent {
    const GRAD: &'static str = "delta";

    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(ProximalGradientDescent)
    }

    fn state(_: bool) -> [&'static str; 1] {
        ["var"]
    }

    fn scalars(sparse: bool) -> [&'static [Scalar]; 2] {
        const L1: Scalar = Scalar::any("l1 regularization strength");
        const L2: Scalar = Scalar::any("l2 regularization strength");
        let dense = const { &[Scalar::any("alpha"), L1, L2] };
        [if sparse { const { &[Scalar::any("lr"), L1, L2] } } else { dense }, &[]]
    }

    fn apply(&self, update: Update<'_, 1>) -> Result<()> {
        for_wide!(update, [lr, l1, l2] => rules::ProximalGradientDescent { lr, l1, l2 })
    }
}

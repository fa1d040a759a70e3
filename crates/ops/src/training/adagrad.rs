//! Adagrad and its kin.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::Result;

use super::apply::{Apply, FIELDS, Optimizer, Scalar, T, Update, WIDE, for_field, for_wide};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyAdagrad",
        inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "update_slots: bool = true"],
        kernels: &[cpu::<Apply<Adagrad, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyAdagradDA",
        inputs: &[
            "var: Ref(T)",
            "gradient_accumulator: Ref(T)",
            "gradient_squared_accumulator: Ref(T)",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "global_step: int64",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<AdagradDa, 3, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyAdagradV2",
        inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "epsilon: T", "grad: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "update_slots: bool = true"],
        kernels: &[cpu::<Apply<AdagradV2, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyProximalAdagrad",
        inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "l1: T", "l2: T", "grad: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false"],
        kernels: &[cpu::<Apply<ProximalAdagrad, 2, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdagrad",
        inputs: &["var: resource", "accum: resource", "lr: T", "grad: T"],
        attrs: &[T, "use_locking: bool = false", "update_slots: bool = true"],
        stateful: true,
        kernels: &[cpu::<Apply<Adagrad, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdagradDA",
        inputs: &[
            "var: resource",
            "gradient_accumulator: resource",
            "gradient_squared_accumulator: resource",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "global_step: int64",
        ],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<AdagradDa, 3, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyAdagradV2",
        inputs: &["var: resource", "accum: resource", "lr: T", "epsilon: T", "grad: T"],
        attrs: &[T, "use_locking: bool = false", "update_slots: bool = true"],
        stateful: true,
        kernels: &[cpu::<Apply<AdagradV2, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyProximalAdagrad",
        inputs: &["var: resource", "accum: resource", "lr: T", "l1: T", "l2: T", "grad: T"],
        attrs: &[T, "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<ProximalAdagrad, 2, false>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyAdagrad",
        inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "indices: Tindices"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "update_slots: bool = true",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<Adagrad, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyAdagradDA",
        inputs: &[
            "var: resource",
            "gradient_accumulator: resource",
            "gradient_squared_accumulator: resource",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "global_step: int64",
        ],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<AdagradDa, 3, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyAdagradV2",
        inputs: &[
            "var: resource",
            "accum: resource",
            "lr: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "update_slots: bool = true",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<AdagradV2, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyProximalAdagrad",
        inputs: &[
            "var: resource",
            "accum: resource",
            "lr: T",
            "l1: T",
            "l2: T",
            "grad: T",
            "indices: Tindices",
        ],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<ProximalAdagrad, 2, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyAdagrad",
        inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "indices: Tindices"],
        outputs: &["out: Ref(T)"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "update_slots: bool = true",
        ],
        kernels: &[cpu::<Apply<Adagrad, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyAdagradDA",
        inputs: &[
            "var: Ref(T)",
            "gradient_accumulator: Ref(T)",
            "gradient_squared_accumulator: Ref(T)",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "global_step: int64",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<AdagradDa, 3, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyAdagradV2",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "lr: T",
            "epsilon: T",
            "grad: T",
            "indices: Tindices",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "update_slots: bool = true",
        ],
        kernels: &[cpu::<Apply<AdagradV2, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyProximalAdagrad",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "lr: T",
            "l1: T",
            "l2: T",
            "grad: T",
            "indices: Tindices",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "Tindices: {int32, int64}", "use_locking: bool = false"],
        kernels: &[cpu::<Apply<ProximalAdagrad, 2, true>>().types("T", WIDE)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Adagrad {
    update_slots: bool,
}

impl Optimizer<2> for Adagrad {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Adagrad { update_slots: attrs.bool("update_slots")? })
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "accum"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const { [&[Scalar::any("lr")], &[]] }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        let update_slots = self.update_slots;
        for_field!(update, [lr] => rules::Adagrad { lr, update_slots })
    }
}

#[derive(Debug)]
struct AdagradV2 {
    update_slots: bool,
}

impl Optimizer<2> for AdagradV2 {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(AdagradV2 { update_slots: attrs.bool("update_slots")? })
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "accum"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const { [&[Scalar::any("lr"), Scalar::any("epsilon")], &[]] }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        let update_slots = self.update_slots;
        for_field!(update, [lr, epsilon] => rules::AdagradV2 { lr, epsilon, update_slots })
    }
}

#[derive(Debug)]
struct AdagradDa;

impl Optimizer<3> for AdagradDa {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(AdagradDa)
    }

    fn state(_: bool) -> [&'static str; 3] {
        ["var", "accum", "accum"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const {
            [
                &[],
                &[
                    Scalar::any("lr"),
                    Scalar::any("l1 regularization strength"),
                    Scalar::any("l2 regularization strength"),
                    Scalar::any("global_step"),
                ],
            ]
        }
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        for_wide!(update, [lr, l1, l2, global_step] => rules::AdagradDa { lr, l1, l2, global_step })
    }
}

#[derive(Debug)]
struct ProximalAdagrad;

impl Optimizer<2> for ProximalAdagrad {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(ProximalAdagrad)
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "accum"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const L1: Scalar = Scalar::not_negative("l1 regularization strength");
        const L2: Scalar = Scalar::not_negative("l2 regularization strength");
        const { [&[Scalar::positive("lr"), L1, L2], &[]] }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        for_wide!(update, [lr, l1, l2] => rules::ProximalAdagrad { lr, l1, l2 })
    }
}

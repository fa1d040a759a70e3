//! Momentum, TensorFlow's and Keras's.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules};
use tensorfleet_tensor::{Error, Result, invalid_argument};

use super::apply::{Apply, FIELDS, Optimizer, Scalar, T, Update, for_field};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyMomentum",
        inputs: &["var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "momentum: T"],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "use_nesterov: bool = false"],
        kernels: &[cpu::<Apply<Momentum<false>, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyKerasMomentum",
        inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "momentum: T"],
        attrs: &[T, "use_locking: bool = false", "use_nesterov: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Momentum<true>, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyMomentum",
        inputs: &["var: resource", "accum: resource", "lr: T", "grad: T", "momentum: T"],
        attrs: &[T, "use_locking: bool = false", "use_nesterov: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Momentum<false>, 2, false>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyKerasMomentum",
        inputs: &[
            "var: resource",
            "accum: resource",
            "lr: T",
            "grad: T",
            "indices: Tindices",
            "momentum: T",
        ],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "use_nesterov: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<Momentum<true>, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyMomentum",
        inputs: &[
            "var: resource",
            "accum: resource",
            "lr: T",
            "grad: T",
            "indices: Tindices",
            "momentum: T",
        ],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "use_nesterov: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<Momentum<false>, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyMomentum",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "lr: T",
            "grad: T",
            "indices: Tindices",
            "momentum: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "use_nesterov: bool = false",
        ],
        kernels: &[cpu::<Apply<Momentum<false>, 2, true>>().types("T", FIELDS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Momentum<const KERAS: bool> {
    use_nesterov: bool,
}

impl<const KERAS: bool> Optimizer<2> for Momentum<KERAS> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Momentum { use_nesterov: attrs.bool("use_nesterov")? })
    }

    fn state(_: bool) -> [&'static str; 2] {
        ["var", "accum"]
    }

    fn scalars(_: bool) -> [&'static [Scalar]; 2] {
        const { [&[Scalar::any("lr")], &[Scalar::any("momentum")]] }
    }

    fn apply(&self, update: Update<'_, 2>) -> Result<()> {
        let use_nesterov = self.use_nesterov;
        if KERAS {
            for_field!(update, [lr, momentum] => rules::KerasMomentum { lr, momentum, use_nesterov })
        } else {
            for_field!(update, [lr, momentum] => rules::Momentum { lr, momentum, use_nesterov })
        }
    }

    fn out_of_range(index: i64, offset: usize, rows: usize) -> Error {
        if KERAS {
            return invalid_argument!("indices[{offset}] = {index} is not in [0, {rows})");
        }
        invalid_argument!("Index {index} at offset {offset} in indices is out of range")
    }
}

//! FTRL: follow the regularised leader.

use tensorfleet_framework::{Attrs, Op, cpu};
use tensorfleet_kernels::optimizers::{self as rules, AnyPower, SquareRoot};
use tensorfleet_tensor::{Result, invalid_argument};

use super::apply::{Apply, Optimizer, REALS, Scalar, T, Update, for_real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ApplyFtrl",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "linear: Ref(T)",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "lr_power: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
        kernels: &[cpu::<Apply<Ftrl<false>, 3, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ApplyFtrlV2",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "linear: Ref(T)",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "l2_shrinkage: T",
            "lr_power: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[T, "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
        kernels: &[cpu::<Apply<Ftrl<true>, 3, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyFtrl",
        inputs: &[
            "var: resource",
            "accum: resource",
            "linear: resource",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "lr_power: T",
        ],
        attrs: &[T, "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Ftrl<false>, 3, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceApplyFtrlV2",
        inputs: &[
            "var: resource",
            "accum: resource",
            "linear: resource",
            "grad: T",
            "lr: T",
            "l1: T",
            "l2: T",
            "l2_shrinkage: T",
            "lr_power: T",
        ],
        attrs: &[T, "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
        stateful: true,
        kernels: &[cpu::<Apply<Ftrl<true>, 3, false>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyFtrl",
        inputs: &[
            "var: resource",
            "accum: resource",
            "linear: resource",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "lr_power: T",
        ],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "multiply_linear_by_lr: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<Ftrl<false>, 3, true>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceSparseApplyFtrlV2",
        inputs: &[
            "var: resource",
            "accum: resource",
            "linear: resource",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "l2_shrinkage: T",
            "lr_power: T",
        ],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "multiply_linear_by_lr: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<Apply<Ftrl<true>, 3, true>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyFtrl",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "linear: Ref(T)",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "lr_power: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "multiply_linear_by_lr: bool = false",
        ],
        kernels: &[cpu::<Apply<Ftrl<false>, 3, true>>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseApplyFtrlV2",
        inputs: &[
            "var: Ref(T)",
            "accum: Ref(T)",
            "linear: Ref(T)",
            "grad: T",
            "indices: Tindices",
            "lr: T",
            "l1: T",
            "l2: T",
            "l2_shrinkage: T",
            "lr_power: T",
        ],
        outputs: &["out: Ref(T)"],
        attrs: &[
            T,
            "Tindices: {int32, int64}",
            "use_locking: bool = false",
            "multiply_linear_by_lr: bool = false",
        ],
        kernels: &[cpu::<Apply<Ftrl<true>, 3, true>>().types("T", REALS)],
        ..Op::DEFAULT
    },
];

/// `FtrlV2` is `Ftrl` with a penalty on the size of the variable.
#[derive(Debug)]
struct Ftrl<const V2: bool> {
    multiply_linear_by_lr: bool,
}

const L1: &str = "l1 regularization strength";
const L2: &str = "l2 regularization strength";
const SHRINKAGE: &str = "l2 shrinkage regularization strength";
/// TensorFlow checks values for sparse updates only.
const SPARSE_LR: Scalar = Scalar {
    wanted: "a positive scalar (or zero if multiply_linear_by_lr is set)",
    ..Scalar::not_negative("lr")
};

impl<const V2: bool> Optimizer<3> for Ftrl<V2> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Ftrl { multiply_linear_by_lr: attrs.bool("multiply_linear_by_lr")? })
    }

    fn state(_: bool) -> [&'static str; 3] {
        ["var", "accum", "linear"]
    }

    fn scalars(sparse: bool) -> [&'static [Scalar]; 2] {
        const DENSE: &[Scalar] =
            &[Scalar::any("lr"), Scalar::any(L1), Scalar::any(L2), Scalar::any("lr_power")];
        const DENSE_V2: &[Scalar] = &[
            Scalar::any("lr"),
            Scalar::any(L1),
            Scalar::any(L2),
            Scalar::any(SHRINKAGE),
            Scalar::any("lr_power"),
        ];
        const SPARSE: &[Scalar] = &[
            SPARSE_LR,
            Scalar::not_negative(L1),
            Scalar::not_negative(L2),
            Scalar::not_positive("lr_power"),
        ];
        const SPARSE_V2: &[Scalar] = &[
            SPARSE_LR,
            Scalar::not_negative(L1),
            Scalar::not_negative(L2),
            Scalar::not_negative(SHRINKAGE),
            Scalar::not_positive("lr_power"),
        ];
        let after = match (V2, sparse) {
            (false, false) => DENSE,
            (true, false) => DENSE_V2,
            (false, true) => SPARSE,
            (true, true) => SPARSE_V2,
        };
        [&[], after]
    }

    fn apply(&self, update: Update<'_, 3>) -> Result<()> {
        let multiply_linear_by_lr = self.multiply_linear_by_lr;
        if update.is_sparse() && !multiply_linear_by_lr && update.scalar(0)? == 0.0 {
            return Err(invalid_argument!("lr is not {}: []", SPARSE_LR.wanted));
        }
        // One of two loops for each version: the usual power needs no call of `pow`.
        match (V2, update.scalar(if V2 { 4 } else { 3 })? == -0.5) {
            (false, true) => for_real!(update, [lr, l1, l2, _lr_power] => rules::Ftrl {
                lr, l1, l2, l2_shrinkage: Default::default(), power: SquareRoot,
                multiply_linear_by_lr
            }),
            (false, false) => for_real!(update, [lr, l1, l2, lr_power] => rules::Ftrl {
                lr, l1, l2, l2_shrinkage: Default::default(), power: AnyPower { lr_power },
                multiply_linear_by_lr
            }),
            (true, true) => {
                for_real!(update, [lr, l1, l2, l2_shrinkage, _lr_power] => rules::Ftrl {
                    lr, l1, l2, l2_shrinkage, power: SquareRoot, multiply_linear_by_lr
                })
            }
            (true, false) => {
                for_real!(update, [lr, l1, l2, l2_shrinkage, lr_power] => rules::Ftrl {
                    lr, l1, l2, l2_shrinkage, power: AnyPower { lr_power }, multiply_linear_by_lr
                })
            }
        }
    }
}

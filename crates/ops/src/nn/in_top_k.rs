//! `InTopK`: whether each target is among the `k` largest predictions of its row.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::top::in_top_k;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "InTopK",
        inputs: &["predictions: float", "targets: T"],
        outputs: &["precision: bool"],
        attrs: &["k: int", "T: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<InTopK>()],
        ..Op::DEFAULT
    },
    Op {
        name: "InTopKV2",
        inputs: &["predictions: float", "targets: T", "k: T"],
        outputs: &["precision: bool"],
        attrs: &["T: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<InTopK>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct InTopK {
    /// As an attribute; otherwise it is an input.
    k: Option<i64>,
}

impl Kernel for InTopK {
    fn new(attrs: &Attrs<'_>) -> Result<InTopK> {
        Ok(InTopK { k: if attrs.op() == "InTopK" { Some(attrs.int("k")?) } else { None } })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (predictions, targets) = (ctx.input(0)?, ctx.input(1)?);
        let k = match self.k {
            Some(k) => k,
            None if !ctx.input(2)?.shape().is_scalar() => {
                return Err(invalid_argument!(
                    "k must be 0-D, got shape {}",
                    ctx.input(2)?.shape()
                ));
            }
            None => ctx.input(2)?.to_i64_vec()?[0],
        };
        let &[rows, classes] = predictions.dims() else {
            return Err(invalid_argument!("predictions must be 2-dimensional"));
        };
        if targets.rank() != 1 {
            return Err(invalid_argument!("targets must be 1-dimensional"));
        }
        if targets.num_elements() != rows {
            return Err(invalid_argument!(
                "First dimension of predictions {rows} must match length of targets {}",
                targets.num_elements()
            ));
        }
        let par = Parallel::new(ctx.parallelism());
        let (values, targets) = (predictions.values::<f32>()?, targets.to_i64_vec()?);
        let result = Tensor::build(Shape::vector(rows), |out: &mut [bool]| {
            in_top_k(par, values, classes, &targets, k, out);
        })?;
        ctx.set_output(0, result);
        Ok(())
    }
}

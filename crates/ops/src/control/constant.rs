//! `Const`, and placeholders for what a step must feed.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{PartialShape, Result, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Const",
        outputs: &["output: dtype"],
        attrs: &["value: tensor", "dtype: type"],
        kernels: &[cpu::<Const>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Placeholder",
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape = unknown"],
        kernels: &[cpu::<Placeholder>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PlaceholderV2",
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape"],
        kernels: &[cpu::<Placeholder>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Const(Tensor);

impl Kernel for Const {
    fn new(attrs: &Attrs<'_>) -> Result<Const> {
        let (value, dtype) = (attrs.tensor("value")?, attrs.dtype("dtype")?);
        if value.dtype() != dtype {
            return Err(invalid_argument!(
                "Type mismatch between value ({}) and dtype ({dtype})",
                value.dtype()
            ));
        }
        Ok(Const(value.clone()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.set_output(0, self.0.clone());
        Ok(())
    }
}

/// A placeholder that a step reaches was not fed.
#[derive(Debug)]
struct Placeholder(String);

impl Kernel for Placeholder {
    fn new(attrs: &Attrs<'_>) -> Result<Placeholder> {
        let shape = attrs.shape("shape")?;
        let with_shape = if shape == &PartialShape::UNKNOWN || shape.rank() == Some(0) {
            String::new()
        } else {
            format!(" and shape {shape}")
        };
        Ok(Placeholder(format!("dtype {}{with_shape}", attrs.dtype("dtype")?)))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        Err(invalid_argument!(
            "You must feed a value for placeholder tensor '{}' with {}",
            ctx.node_name(),
            self.0
        ))
    }
}

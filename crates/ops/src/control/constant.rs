//! `Const`, and placeholders for what a step must feed.

use crate::shapes::from_attr;
use tensorfleet_framework::{
    Attrs, Kernel, KernelContext, Nature, Op, ShapeContext, cpu, no_gradient,
};
use tensorfleet_tensor::{PartialShape, Result, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Const",
        outputs: &["output: dtype"],
        attrs: &["value: tensor", "dtype: type"],
        kernels: &[cpu::<Const>()],
        shape: Some(const_shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "HostConst",
        outputs: &["output: dtype"],
        attrs: &["value: tensor", "dtype: type"],
        kernels: &[cpu::<Const>()],
        shape: Some(const_shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Placeholder",
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape = unknown"],
        kernels: &[cpu::<Placeholder>()],
        shape: Some(from_attr),
        gradient: Some(no_gradient),
        nature: Nature::READS_OUTSIDE,
        ..Op::DEFAULT
    },
    Op {
        name: "PlaceholderV2",
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "shape: shape"],
        kernels: &[cpu::<Placeholder>()],
        shape: Some(from_attr),
        gradient: Some(no_gradient),
        nature: Nature::READS_OUTSIDE,
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

    fn constant(&self) -> Option<&Tensor> {
        Some(&self.0)
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

fn const_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.attrs().tensor("value")?.shape().into()])
}

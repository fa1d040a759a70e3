//! `Shape`, `ShapeN`, `Size`, `Rank`: what a tensor looks like, as a tensor.

use tensorfleet_framework::{
    Attrs, Kernel, KernelContext, KernelDef, Nature, Op, ShapeContext, Value, cpu, no_gradient,
};
use tensorfleet_tensor::PartialShape;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

const SHAPES: &[KernelDef] = &[cpu::<Shapes>()];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Rank",
        inputs: &["input: T"],
        outputs: &["output: int32"],
        attrs: &["T: type"],
        kernels: &[cpu::<Rank>()],
        shape: Some(crate::shapes::scalar),
        gradient: Some(no_gradient),
        nature: Nature::NEEDS_ONLY_SHAPE,
        ..Op::DEFAULT
    },
    Op {
        name: "Shape",
        inputs: &["input: T"],
        outputs: &["output: out_type"],
        attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
        kernels: SHAPES,
        shape: Some(shape_shape),
        gradient: Some(no_gradient),
        nature: Nature::NEEDS_ONLY_SHAPE,
        ..Op::DEFAULT
    },
    Op {
        name: "ShapeN",
        inputs: &["input: N * T"],
        outputs: &["output: N * out_type"],
        attrs: &["N: int >= 1", "T: type", "out_type: {int32, int64} = DT_INT32"],
        kernels: SHAPES,
        shape: Some(shape_shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Size",
        inputs: &["input: T"],
        outputs: &["output: out_type"],
        attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Size>()],
        shape: Some(crate::shapes::scalar),
        gradient: Some(no_gradient),
        nature: Nature::NEEDS_ONLY_SHAPE,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Rank;

impl Kernel for Rank {
    fn new(_: &Attrs<'_>) -> Result<Rank> {
        Ok(Rank)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let rank = ctx.input(0)?.rank() as i32;
        ctx.set_output(0, Tensor::scalar(rank));
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// The shape of every input.
#[derive(Debug)]
struct Shapes(DType);

impl Kernel for Shapes {
    fn new(attrs: &Attrs<'_>) -> Result<Shapes> {
        Ok(Shapes(attrs.dtype("out_type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        for index in 0..ctx.num_inputs() {
            let shape = shape_tensor(ctx.input(index)?.shape(), self.0)?;
            ctx.set_output(index, shape);
        }
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

fn shape_tensor(shape: &Shape, dtype: DType) -> Result<Tensor> {
    let as_vector = Shape::vector(shape.rank());
    if dtype == DType::Int64 {
        return Tensor::build(as_vector, |out: &mut [i64]| {
            out.iter_mut().zip(shape.signed()).for_each(|(out, dim)| *out = dim);
        });
    }
    Tensor::try_build(as_vector, |out: &mut [i32]| {
        for (i, (out, &dim)) in out.iter_mut().zip(shape.dims()).enumerate() {
            *out = i32::try_from(dim).map_err(|_| {
                invalid_argument!("Shape output type is 32-bit  but dim {i} is {dim}")
            })?;
        }
        Ok(())
    })
}

#[derive(Debug)]
struct Size(DType);

impl Kernel for Size {
    fn new(attrs: &Attrs<'_>) -> Result<Size> {
        Ok(Size(attrs.dtype("out_type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = ctx.input(0)?.num_elements();
        let output = if self.0 == DType::Int64 {
            Tensor::scalar(size as i64)
        } else {
            Tensor::scalar(i32::try_from(size).map_err(|_| {
                invalid_argument!(
                    "Number of elements was larger than representable by 32-bit output type"
                )
            })?)
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

fn shape_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let of = |index| PartialShape::known([c.input(index).rank()]);
    Ok((0..c.num_outputs()).map(of).collect())
}

//! Reading some rows of a variable.
//!
//! The variable stays locked for reading meanwhile: a snapshot that is still alive would make the
//! next update copy the whole table.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Nature, NewNode, Op, Value,
    Variable, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::scatter_nd::BadIndices;
use crate::array::gather::{batch_dims, gather};
use crate::array::gather_nd::gather_nd;
use tensorfleet_tensor::unimplemented_error;

const GATHERED: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::String,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::QInt8,
    DType::QUInt8,
    DType::QInt32,
    DType::BFloat16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::Resource,
    DType::Variant,
    DType::UInt32,
    DType::UInt64,
];

const GATHERED_ND: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::String,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::BFloat16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::Resource,
    DType::Variant,
    DType::UInt32,
    DType::UInt64,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ResourceGather",
        inputs: &["resource: resource", "indices: Tindices"],
        outputs: &["output: dtype"],
        attrs: &[
            "batch_dims: int = 0",
            "validate_indices: bool = true",
            "dtype: type",
            "Tindices: {int32, int64}",
        ],
        stateful: true,
        kernels: &[cpu::<ResourceGather>().types("dtype", GATHERED)],
        gradient: Some(gradient),
        nature: Nature::READS_VARIABLE,
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceGatherNd",
        inputs: &["resource: resource", "indices: Tindices"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type", "Tindices: {int32, int64}"],
        stateful: true,
        kernels: &[cpu::<ResourceGatherNd>().types("dtype", GATHERED_ND)],
        gradient: Some(nd_gradient),
        ..Op::DEFAULT
    },
];

/// Looks at the variable that input 0 is a handle of.
fn look<R>(
    ctx: &KernelContext<'_>,
    dtype: DType,
    look: impl FnOnce(&Tensor) -> Result<R>,
) -> Result<R> {
    ctx.resource::<Variable>(0)?.with(|params| {
        if params.dtype() != dtype {
            return Err(invalid_argument!(
                "Trying to gather from a variable of type {} as {dtype}",
                params.dtype()
            ));
        }
        look(params)
    })
}

#[derive(Debug)]
struct ResourceGather {
    dtype: DType,
    batch_dims: i64,
}

impl Kernel for ResourceGather {
    fn new(attrs: &Attrs<'_>) -> Result<ResourceGather> {
        Ok(ResourceGather { dtype: attrs.dtype("dtype")?, batch_dims: attrs.int("batch_dims")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let indices = ctx.input(1)?;
        let par = Parallel::new(ctx.parallelism());
        let rows = look(ctx, self.dtype, |params| {
            if params.rank() == 0 {
                return Err(invalid_argument!("params must be at least 1 dimensional"));
            }
            if self.batch_dims > params.rank() as i64 {
                return Err(invalid_argument!(
                    "params must have at least {} (batch_dims) dimensions but it has shape {}",
                    self.batch_dims,
                    params.shape()
                ));
            }
            let axis = usize::try_from(self.batch_dims).unwrap_or(0);
            let batch_dims = batch_dims(self.batch_dims, params, indices, axis)?;
            gather(params, indices, axis, batch_dims, par)
        })?;
        ctx.set_output(0, rows);
        Ok(())
    }

    /// How wide a row is would need the lock; a few dozen elements are usual.
    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [_, Value::Tensor(indices)] => indices.num_elements() as u64 * 32,
            _ => 0,
        }
    }
}

#[derive(Debug)]
struct ResourceGatherNd {
    dtype: DType,
}

impl Kernel for ResourceGatherNd {
    fn new(attrs: &Attrs<'_>) -> Result<ResourceGatherNd> {
        Ok(ResourceGatherNd { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let indices = ctx.input(1)?;
        let parts =
            look(ctx, self.dtype, |params| gather_nd(ctx, params, indices, BadIndices::Fail))?;
        ctx.set_output(0, parts);
        Ok(())
    }
}

/// Rows that were read have a gradient, others none: it stays sparse.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    if g.attrs().int("batch_dims")? != 0 {
        return Err(unimplemented_error!("ResourceGather with batch_dims has no gradient"));
    }
    let (handle, indices, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let dense_shape = g.call("VariableShape", [handle])?;
    let slices = crate::array::gather::slices(g, grad, indices, dense_shape)?;
    Ok(vec![Some(slices.into()), None])
}

/// The parts go back to where they came from, and all else is zero.
fn nd_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (indices, grad) = (g.input(1), g.grad(0)?);
    let node = NewNode::new("VariableShape").input(g.input(0));
    let shape = g.out(node.attr("out_type", g.dtype(indices)))?;
    Ok(vec![Some(g.call("ScatterNd", [indices, grad, shape])?.into()), None])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tensorfleet_framework::Change;
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::{OpRun, step_context};

    use super::*;

    #[test]
    fn gathering_leaves_the_table_to_itself() {
        let step = step_context();
        let make = || Ok(Variable::new("table", DType::Float));
        let table = step.resources.lookup_or_create("", "table", make).unwrap();
        let values: Vec<f32> = (0..40).map(|i| i as f32).collect();
        table.assign(Tensor::from_slice([10, 4].into(), &values).unwrap()).unwrap();
        let handle = step.resources.handle::<Variable>(&step.device, "", "table", Vec::new());
        let rows = OpRun::new("ResourceGather")
            .attr("dtype", AttrValue::Type(DType::Float))
            .attr("Tindices", AttrValue::Type(DType::Int32))
            .input(Tensor::resource(handle))
            .input(Tensor::vector(&[9, 0]).unwrap())
            .run_in(&crate::registry().unwrap(), &step)
            .unwrap();
        assert_eq!(rows[0].values::<f32>().unwrap()[..4], [36.0, 37.0, 38.0, 39.0]);
        assert!(table.update(&Change::UNRECORDED, |value| Ok(value.is_unique())).unwrap());
        assert_eq!(Arc::strong_count(&table), 2);
    }
}

//! Changing some rows of a variable, which are named by their numbers.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::combine::{Combine, combine_rows};
use super::number::{self, NUMBERS, REAL_NUMBERS};
use crate::array::arguments::coordinates;

const TINDICES: &str = "Tindices: {int32, int64}";
const NUMBER_DTYPE: &str = "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, \
    qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}";
const REF_NUMBER: &[&str] = &[number::T, TINDICES, "use_locking: bool = false"];
const REF_REAL: &[&str] =
    &["T: {half, bfloat16, float, double, int32, int64}", TINDICES, "use_locking: bool = false"];
const RESOURCE_NUMBER: &[&str] = &[NUMBER_DTYPE, TINDICES];

const UPDATED: &[DType] = &[
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
const RESOURCE_UPDATED: &[DType] = &[
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
    DType::Variant,
    DType::UInt32,
    DType::UInt64,
];

const fn by_ref(
    name: &'static str,
    attrs: &'static [&'static str],
    kernels: &'static [KernelDef],
) -> Op {
    Op {
        name,
        inputs: &["ref: Ref(T)", "indices: Tindices", "updates: T"],
        outputs: &["output_ref: Ref(T)"],
        attrs,
        kernels,
        ..Op::DEFAULT
    }
}

const fn by_handle(
    name: &'static str,
    attrs: &'static [&'static str],
    kernels: &'static [KernelDef],
) -> Op {
    Op {
        name,
        inputs: &["resource: resource", "indices: Tindices", "updates: dtype"],
        attrs,
        stateful: true,
        kernels,
        ..Op::DEFAULT
    }
}

const REF_NUMBER_KERNELS: &[KernelDef] = &[cpu::<Scatter>().types("T", NUMBERS)];
const REF_REAL_KERNELS: &[KernelDef] = &[cpu::<Scatter>().types("T", REAL_NUMBERS)];
const NUMBER_KERNELS: &[KernelDef] = &[cpu::<Scatter>().types("dtype", NUMBERS)];
const REAL_KERNELS: &[KernelDef] = &[cpu::<Scatter>().types("dtype", REAL_NUMBERS)];

pub(super) const OPS: &[Op] = &[
    by_handle("ResourceScatterAdd", RESOURCE_NUMBER, NUMBER_KERNELS),
    by_handle("ResourceScatterDiv", RESOURCE_NUMBER, NUMBER_KERNELS),
    by_handle("ResourceScatterMax", RESOURCE_NUMBER, REAL_KERNELS),
    by_handle("ResourceScatterMin", RESOURCE_NUMBER, REAL_KERNELS),
    by_handle("ResourceScatterMul", RESOURCE_NUMBER, NUMBER_KERNELS),
    by_handle("ResourceScatterSub", RESOURCE_NUMBER, NUMBER_KERNELS),
    by_handle(
        "ResourceScatterUpdate",
        &["dtype: type", TINDICES],
        &[cpu::<Scatter>().types("dtype", RESOURCE_UPDATED)],
    ),
    by_ref("ScatterAdd", REF_NUMBER, REF_NUMBER_KERNELS),
    by_ref("ScatterDiv", REF_NUMBER, REF_NUMBER_KERNELS),
    by_ref("ScatterMax", REF_REAL, REF_REAL_KERNELS),
    by_ref("ScatterMin", REF_REAL, REF_REAL_KERNELS),
    by_ref("ScatterMul", REF_NUMBER, REF_NUMBER_KERNELS),
    by_ref("ScatterSub", REF_NUMBER, REF_NUMBER_KERNELS),
    by_ref(
        "ScatterUpdate",
        &["T: type", TINDICES, "use_locking: bool = true"],
        &[cpu::<Scatter>().types("T", UPDATED)],
    ),
];

#[derive(Debug)]
struct Scatter {
    how: Combine,
    changer: Changer,
}

impl Kernel for Scatter {
    fn new(attrs: &Attrs<'_>) -> Result<Scatter> {
        Ok(Scatter { how: Combine::of_op(attrs.op())?, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let is_ref = matches!(ctx.value(0)?, Value::Ref(_));
        let variable = super::variable_at(ctx, 0)?;
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        variable.update(&ctx.change(&self.changer), |params| {
            if is_ref && params.rank() == 0 {
                return Err(invalid_argument!(
                    "params must be at least 1-D, got shape {}",
                    params.shape()
                ));
            }
            // TensorFlow looks at nothing else of a handle's update without rows.
            if !is_ref && indices.num_elements() == 0 {
                return Ok(());
            }
            if !is_ref && updates.rank() > 0 && !updates.dims().starts_with(indices.dims()) {
                return Err(invalid_argument!(
                    "The shape of indices ({}) must be a prefix of the shape of updates ({})",
                    indices.shape(),
                    updates.shape()
                ));
            }
            check_shapes(params, indices, updates)?;
            let rows = rows(params.dims()[0], indices)?;
            let width = params.dims()[1..].iter().product();
            combine_rows(self.how, params, &rows, width, updates)
        })?;
        if is_ref {
            ctx.set_output_ref(0, Arc::clone(&variable));
        }
        Ok(())
    }
}

/// Updates have the shape of the indices and then that of a row, or are one element for all.
fn check_shapes(params: &Tensor, indices: &Tensor, updates: &Tensor) -> Result<()> {
    let fits = params.rank() > 0
        && (updates.rank() == 0
            || updates.dims().split_at_checked(indices.rank())
                == Some((indices.dims(), &params.dims()[1..])));
    if fits {
        return Ok(());
    }
    Err(invalid_argument!(
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got \
         updates.shape {}, indices.shape {}, params.shape {}",
        updates.shape(),
        indices.shape(),
        params.shape()
    ))
}

fn rows(count: usize, indices: &Tensor) -> Result<Vec<Option<usize>>> {
    let row = |(at, index): (usize, i64)| match usize::try_from(index) {
        Ok(row) if row < count => Ok(Some(row)),
        _ => Err(invalid_argument!(
            "indices{} = {index} is not in [0, {count})",
            coordinates(at, indices.dims())
        )),
    };
    indices.to_i64_vec()?.into_iter().enumerate().map(row).collect()
}

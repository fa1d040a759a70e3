//! Changing slices of a variable, which are named by the first of their coordinates.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::combine::{Combine, combine_rows};
use super::number::{self, NUMBERS, NUMBERS_AND_BOOL, REAL_NUMBERS};
use crate::array::arguments::coordinates;

const TINDICES: &str = "Tindices: {int32, int64}";
const POLICY: &str = "bad_indices_policy: string = ''";
const REF_NUMBER: &[&str] = &[number::T, TINDICES, "use_locking: bool = false", POLICY];
const ANY: &[&str] = &["T: type", TINDICES, "use_locking: bool = true", POLICY];

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

const fn by_handle(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["ref: resource", "indices: Tindices", "updates: T"],
        attrs: ANY,
        stateful: true,
        kernels,
        ..Op::DEFAULT
    }
}

const REF_SUMS: &[KernelDef] = &[cpu::<ScatterNd>().types("T", NUMBERS)];
const SUMS: &[KernelDef] = &[cpu::<ScatterNd>().types("T", NUMBERS_AND_BOOL)];
const EXTREMES: &[KernelDef] = &[cpu::<ScatterNd>().types("T", REAL_NUMBERS)];
const UPDATES: &[KernelDef] = &[cpu::<ScatterNd>().types("T", UPDATED)];

pub(super) const OPS: &[Op] = &[
    by_handle("ResourceScatterNdAdd", SUMS),
    by_handle("ResourceScatterNdMax", EXTREMES),
    by_handle("ResourceScatterNdMin", EXTREMES),
    by_handle("ResourceScatterNdSub", SUMS),
    by_handle("ResourceScatterNdUpdate", UPDATES),
    by_ref("ScatterNdAdd", REF_NUMBER, REF_SUMS),
    by_ref("ScatterNdMax", REF_NUMBER, EXTREMES),
    by_ref("ScatterNdMin", REF_NUMBER, EXTREMES),
    by_ref("ScatterNdSub", REF_NUMBER, REF_SUMS),
    by_ref("ScatterNdUpdate", ANY, UPDATES),
];

#[derive(Debug)]
struct ScatterNd {
    how: Combine,
    bad_indices: BadIndices,
    changer: Changer,
}

/// What becomes of updates whose place is not in the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadIndices {
    Fail,
    Ignore,
}

impl BadIndices {
    /// Reads the attribute `bad_indices_policy`.
    pub(crate) fn from_policy(policy: &str) -> Result<BadIndices> {
        match policy {
            "" | "DEFAULT" | "ERROR" => Ok(BadIndices::Fail),
            "IGNORE" => Ok(BadIndices::Ignore),
            _ => Err(invalid_argument!("Unknown bad indices handling attribute: {policy}")),
        }
    }
}

impl Kernel for ScatterNd {
    fn new(attrs: &Attrs<'_>) -> Result<ScatterNd> {
        let bad_indices = BadIndices::from_policy(&attrs.string("bad_indices_policy")?)?;
        Ok(ScatterNd { how: Combine::of_op(attrs.op())?, bad_indices, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = super::variable_at(ctx, 0)?;
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        variable.update(&ctx.change(&self.changer), |target| {
            scatter_nd(self.how, target, indices, updates, self.bad_indices)
        })?;
        if matches!(ctx.value(0)?, Value::Ref(_)) {
            ctx.set_output_ref(0, Arc::clone(&variable));
        }
        Ok(())
    }
}

/// Combines slices of `target` with slices of `updates`. The last dimension of `indices` holds the
/// coordinates of a slice.
pub(crate) fn scatter_nd(
    how: Combine,
    target: &mut Tensor,
    indices: &Tensor,
    updates: &Tensor,
    bad_indices: BadIndices,
) -> Result<()> {
    check_shapes(target, indices, updates)?;
    let depth = depth(indices);
    let (outer, inner) = target.dims().split_at(depth);
    let width = inner.iter().product();
    let rows = rows(outer, target, indices, bad_indices)?;
    combine_rows(how, target, &rows, width, updates)
}

/// How many coordinates name a slice.
fn depth(indices: &Tensor) -> usize {
    if indices.rank() > 1 { indices.dims()[indices.rank() - 1] } else { 1 }
}

fn check_shapes(target: &Tensor, indices: &Tensor, updates: &Tensor) -> Result<()> {
    let shape = target.shape();
    if shape.is_scalar() {
        return Err(invalid_argument!("Output must be at least 1-D, got shape: {shape}"));
    }
    let counts = [target, indices, updates].map(Tensor::num_elements);
    if counts.contains(&0) && counts != [0, 0, 0] && counts[1..] != [0, 0] {
        return Err(invalid_argument!(
            "Indices and updates specified for empty output.  indices shape: {}",
            indices.shape()
        ));
    }
    let batch = if indices.rank() > 1 { indices.rank() - 1 } else { 1 };
    for dim in 0..batch {
        let (want, have) = (indices.dims().get(dim), updates.dims().get(dim));
        if want.is_none() || want != have {
            let size = |dim: Option<&usize>| dim.map_or("none".to_owned(), usize::to_string);
            return Err(invalid_argument!(
                "Dimensions [0,{batch}) of indices[shape={}] = {} must match dimensions \
                 [0,{batch}) of updates[shape={}] = {}",
                indices.shape(),
                size(want),
                updates.shape(),
                size(have)
            ));
        }
    }
    let depth = depth(indices);
    if shape.dims().get(depth..) != updates.dims().get(batch..) || shape.rank() < depth {
        return Err(invalid_argument!(
            "Dimensions [{depth},{}) of input[shape={shape}] must match dimensions [{depth},{}) of \
             updates[shape={}]",
            shape.rank(),
            updates.rank(),
            updates.shape()
        ));
    }
    Ok(())
}

/// The number of each slice among all slices of the target.
fn rows(
    outer: &[usize],
    target: &Tensor,
    indices: &Tensor,
    bad_indices: BadIndices,
) -> Result<Vec<Option<usize>>> {
    let places = indices.to_i64_vec()?;
    let row = |place: &[i64]| {
        place.iter().zip(outer).try_fold(0, |row, (&coordinate, &size)| {
            let coordinate = usize::try_from(coordinate).ok().filter(|&c| c < size)?;
            Some(row * size + coordinate)
        })
    };
    places
        .chunks_exact(outer.len().max(1))
        .enumerate()
        .map(|(at, place)| match row(place) {
            None if bad_indices == BadIndices::Fail => {
                let batch = &indices.dims()[..indices.rank().saturating_sub(1).max(1)];
                let place: Vec<String> = place.iter().map(i64::to_string).collect();
                Err(invalid_argument!(
                    "indices{} = [{}] does not index into shape {}",
                    coordinates(at, batch),
                    place.join(", "),
                    target.shape()
                ))
            }
            row => Ok(row),
        })
        .collect()
}

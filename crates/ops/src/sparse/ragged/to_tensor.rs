//! `RaggedTensorToTensor`: a dense tensor with a default value behind the end of each row.

use tensorfleet_framework::{
    Attrs, GradientContext, IndexedSlices, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::super::rearrange::pick_rows;
use super::read_splits;
use crate::array::arguments::check_size;

pub(super) const OPS: &[Op] = &[Op {
    name: "RaggedTensorToTensor",
    inputs: &[
        "shape: Tshape",
        "values: T",
        "default_value: T",
        "row_partition_tensors: num_row_partition_tensors * Tindex",
    ],
    outputs: &["result: T"],
    attrs: &[
        "T: type",
        "Tindex: {int64, int32}",
        "Tshape: {int64, int32}",
        "num_row_partition_tensors: int >= 1",
        "row_partition_types: list(string)",
    ],
    kernels: &[cpu::<ToTensor>()],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partition {
    FirstDimSize,
    ValueRowIds,
    RowSplits,
}

#[derive(Debug)]
struct ToTensor {
    partitions: Vec<Partition>,
}

impl Kernel for ToTensor {
    fn new(attrs: &Attrs<'_>) -> Result<ToTensor> {
        let kinds = attrs.strings("row_partition_types")?.iter().map(|kind| match &kind[..] {
            b"FIRST_DIM_SIZE" => Ok(Partition::FirstDimSize),
            b"VALUE_ROWIDS" => Ok(Partition::ValueRowIds),
            b"ROW_SPLITS" => Ok(Partition::RowSplits),
            other => Err(invalid_argument!(
                "Unsupported row partition type: {}",
                String::from_utf8_lossy(other)
            )),
        });
        let partitions: Vec<Partition> = kinds.collect::<Result<_>>()?;
        let sizes = partitions.iter().filter(|kind| **kind == Partition::FirstDimSize).count();
        if partitions.is_empty() || sizes > 1 || sizes == partitions.len() {
            return Err(invalid_argument!("Invalid row_partition_types"));
        }
        Ok(ToTensor { partitions })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (requested, values, default) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let Some((&rows, inner)) = values.dims().split_first() else {
            return Err(invalid_argument!("values must have at least one dimension"));
        };
        let (first, levels) = self.levels(ctx)?;
        let wanted = requested_dims(requested, levels.len() + values.rank())?;
        // The sizes of the ragged dimensions, then those within a value.
        let mut dims = vec![wanted[0].unwrap_or(first)];
        for (level, widths) in wanted[1..].iter().zip(&levels) {
            dims.push(level.unwrap_or(widths.windows(2).map(|p| p[1] - p[0]).max().unwrap_or(0)));
        }
        for (&have, want) in inner.iter().zip(&wanted[levels.len() + 1..]) {
            if want.is_some_and(|want| want != have) {
                return Err(invalid_argument!(
                    "Inner shape of a ragged tensor does not fit the requested shape: {have} vs. \
                     {want:?}"
                ));
            }
        }
        let outer = Shape::new(&dims)?.num_elements();
        let shape = Shape::new(&[&dims[..], inner].concat())?;
        check_size(values.dtype(), &shape)?;
        if levels.last().and_then(|splits| splits.last()).is_some_and(|&last| last != rows) {
            return Err(invalid_argument!(
                "the partitions are of {:?} values, but there are {rows}",
                levels.last().and_then(|splits| splits.last())
            ));
        }
        let default = broadcast_default(default, inner)?;
        // Each place of the output holds a row of the values, or the default behind the last.
        let mut places = vec![rows; outer];
        let mut at: Vec<Option<usize>> =
            (0..first).map(|row| (row < dims[0]).then_some(row)).collect();
        for (level, splits) in levels.iter().enumerate() {
            let width = dims[level + 1];
            let mut next = Vec::with_capacity(splits.last().copied().unwrap_or(0));
            for (parent, pair) in at.iter().zip(splits.windows(2)) {
                let place = |j: usize| parent.filter(|_| j < width).map(|p| p * width + j);
                next.extend((0..pair[1] - pair[0]).map(place));
            }
            at = next;
        }
        for (row, place) in at.iter().enumerate() {
            if let Some(place) = *place {
                places[place] = row;
            }
        }
        let len = Shape::new(inner)?.num_elements();
        let all = Shape::new(&[&[rows + 1], inner].concat())?;
        let pool = crate::data_flow::join::join(values.dtype(), all, &[values.clone(), default])?;
        let output = pick_rows(&pool, &places, len, shape)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl ToTensor {
    /// The number of rows of the outermost dimension, and the splits of each level.
    fn levels(&self, ctx: &KernelContext<'_>) -> Result<(usize, Vec<Vec<usize>>)> {
        let mut rows = None;
        let mut levels = Vec::new();
        for (at, kind) in self.partitions.iter().enumerate() {
            let tensor = ctx.input(3 + at)?;
            match kind {
                Partition::FirstDimSize => {
                    let [size] = tensor.to_i64_vec()?[..] else {
                        return Err(invalid_argument!("FIRST_DIM_SIZE must be a scalar"));
                    };
                    rows = Some(usize::try_from(size).map_err(|_| {
                        invalid_argument!("FIRST_DIM_SIZE must not be negative, got {size}")
                    })?);
                }
                Partition::RowSplits => {
                    if tensor.rank() != 1 {
                        return Err(invalid_argument!("ROW_SPLITS must be a vector"));
                    }
                    let values = tensor.to_i64_vec()?.last().copied().unwrap_or(0);
                    let splits = read_splits(tensor, usize::try_from(values).unwrap_or(0))?;
                    let have = splits.len() - 1;
                    if rows.is_some_and(|rows| rows != have) {
                        return Err(invalid_argument!(
                            "Invalid row split size: {have} rows, expected {}",
                            rows.unwrap_or(0)
                        ));
                    }
                    rows = splits.last().copied();
                    levels.push(splits);
                }
                Partition::ValueRowIds => {
                    let Some(count) = rows else {
                        return Err(invalid_argument!(
                            "Cannot handle VALUE_ROWIDS in first dimension."
                        ));
                    };
                    let ids = tensor.to_i64_vec()?;
                    levels.push(splits_of_ids(&ids, count)?);
                    rows = Some(ids.len());
                }
            }
        }
        let first = levels.first().map_or(0, |splits| splits.len() - 1);
        Ok((first, levels))
    }
}

/// The splits that row numbers in order mean.
fn splits_of_ids(ids: &[i64], rows: usize) -> Result<Vec<usize>> {
    // Made of the numbers themselves: a hostile number of rows makes no memory.
    let mut splits = vec![0];
    let mut previous = 0;
    for (at, &id) in ids.iter().enumerate() {
        let row = usize::try_from(id)
            .ok()
            .filter(|&row| row < rows)
            .ok_or_else(|| invalid_argument!("Value rowid {id} is not in [0, {rows})"))?;
        if row < previous {
            return Err(invalid_argument!(
                "Value rowids must be in order, got {id} after {previous}"
            ));
        }
        splits.resize(row + 1, at);
        previous = row;
    }
    Shape::new(&[rows])?;
    splits
        .try_reserve(rows.saturating_add(1).saturating_sub(splits.len()))
        .map_err(|_| tensorfleet_tensor::resource_exhausted!("no memory for {rows} rows"))?;
    splits.resize(rows + 1, ids.len());
    Ok(splits)
}

/// The sizes that were asked for, none where any will do.
fn requested_dims(requested: &Tensor, rank: usize) -> Result<Vec<Option<usize>>> {
    if requested.rank() == 0 {
        if requested.to_i64_vec()? == [-1] {
            return Ok(vec![None; rank]);
        }
        return Err(invalid_argument!(
            "The only valid scalar shape tensor is the fully unknown shape specified as -1."
        ));
    }
    let dims = requested.to_i64_vec()?;
    if dims.len() != rank {
        return Err(invalid_argument!(
            "Requested shape has {} dimensions, but the ragged tensor has {rank}",
            dims.len()
        ));
    }
    let sizes = dims.iter().map(|&dim| match dim {
        -1 => Ok(None),
        dim => usize::try_from(dim)
            .map(Some)
            .map_err(|_| invalid_argument!("Dimension {dim} must be >= -1")),
    });
    sizes.collect()
}

/// The default value under the shape of a single value.
fn broadcast_default(default: &Tensor, inner: &[usize]) -> Result<Tensor> {
    let wrong = || {
        invalid_argument!(
            "default_value.shape={} and rt_input.flat_values.shape[1:]={} are incompatible",
            default.shape(),
            Shape::new(inner).unwrap_or_default()
        )
    };
    let dims = default.dims();
    let missing = inner.len().checked_sub(dims.len()).ok_or_else(wrong)?;
    if dims.iter().zip(&inner[missing..]).any(|(&have, &want)| have != 1 && have != want) {
        return Err(wrong());
    }
    if default.dtype() == DType::Resource && default.num_elements() == 0 {
        return Err(wrong());
    }
    let shape = Shape::new(inner)?;
    let places: Vec<usize> = (0..shape.num_elements())
        .map(|mut at| {
            let (mut place, mut stride) = (0, 1);
            for (&have, &want) in dims.iter().zip(&inner[missing..]).rev() {
                place += if have == 1 { 0 } else { at % want * stride };
                stride *= have;
                at /= want;
            }
            place
        })
        .collect();
    let flat = default.reshape(Shape::vector(default.num_elements()))?;
    pick_rows(&flat, &places, 1, shape)
}

/// The dense tensor of the values' numbers says which element came from which value, and which are
/// the default.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (values, default, grad) = (g.input(1), g.input(2), g.grad(0)?);
    let types = g.attrs().strings("row_partition_types")?;
    let ragged = types.iter().filter(|kind| &***kind != b"FIRST_DIM_SIZE").count() as i32;
    let dense_shape = g.shape_tensor(values)?;
    let (zero, one) = (g.scalar(0i32)?, g.scalar(1i32)?);
    let rows = g.call("GatherV2", [dense_shape, zero, zero])?;
    let numbers = g.call("Range", [zero, rows, one])?;
    let outer =
        g.call("Slice", [g.shape_tensor(grad)?, g.vector(&[0i32])?, g.vector(&[1 + ragged])?])?;
    let node = NewNode::new("RaggedTensorToTensor").input(outer).input(numbers);
    let node = node.input(g.scalar(-1i32)?).list(g.inputs(3..g.num_inputs()));
    let node = node.attr("T", DType::Int32).attr("Tshape", DType::Int32);
    let numbers = g.out(g.with_attrs_of(node)?)?;
    let is_default = g.call("Less", [numbers, zero])?;
    let taken = g.call("Where", [g.call("LogicalNot", [is_default])?])?;
    let slices = IndexedSlices {
        values: g.call("GatherNd", [grad, taken])?,
        indices: g.call("GatherNd", [numbers, taken])?,
        dense_shape,
    };
    let defaults = g.call("GatherNd", [grad, g.call("Where", [is_default])?])?;
    let of_default = g.unbroadcast(defaults, default, defaults)?;
    let mut gradients = vec![None, Some(slices.into()), Some(of_default.into())];
    gradients.resize(g.num_inputs(), None);
    Ok(gradients)
}

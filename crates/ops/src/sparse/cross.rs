//! Feature crosses: every combination of one feature from each column of a row, as joined strings
//! or as hashes.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::hash::{fingerprint_cat64, fingerprint64, siphash};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::parts::{Sparse, bracketed};
use super::rearrange::index_matrix;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RaggedCross",
        inputs: &[
            "ragged_values: ragged_values_types",
            "ragged_row_splits: ragged_splits_types",
            "sparse_indices: Nsparse * int64",
            "sparse_values: sparse_values_types",
            "sparse_shape: Nsparse * int64",
            "dense_inputs: dense_types",
        ],
        outputs: &["output_values: out_values_type", "output_row_splits: out_row_splits_type"],
        attrs: &[
            "Nsparse: int >= 0",
            "input_order: string",
            "hashed_output: bool",
            "num_buckets: int >= 0",
            "hash_key: int",
            "ragged_values_types: list({int64, string}) >= 0",
            "ragged_splits_types: list({int32, int64}) >= 0",
            "sparse_values_types: list({int64, string}) >= 0",
            "dense_types: list({int64, string}) >= 0",
            "out_values_type: {int64, string}",
            "out_row_splits_type: {int32, int64}",
        ],
        kernels: &[cpu::<RaggedCross>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseCross",
        inputs: &[
            "indices: N * int64",
            "values: sparse_types",
            "shapes: N * int64",
            "dense_inputs: dense_types",
        ],
        outputs: &["output_indices: int64", "output_values: out_type", "output_shape: int64"],
        attrs: &[
            "N: int >= 0",
            "hashed_output: bool",
            "num_buckets: int >= 0",
            "hash_key: int",
            "sparse_types: list({int64, string}) >= 0",
            "dense_types: list({int64, string}) >= 0",
            "out_type: {int64, string}",
            "internal_type: {int64, string}",
        ],
        kernels: &[cpu::<SparseCross>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseCrossHashed",
        inputs: &[
            "indices: N * int64",
            "values: sparse_types",
            "shapes: N * int64",
            "dense_inputs: dense_types",
            "num_buckets: int64",
            "strong_hash: bool",
            "salt: int64",
        ],
        outputs: &["output_indices: int64", "output_values: int64", "output_shape: int64"],
        attrs: &[
            "N: int >= 0",
            "sparse_types: list({int64, string}) >= 0",
            "dense_types: list({int64, string}) >= 0",
        ],
        kernels: &[cpu::<SparseCrossHashed>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseCrossV2",
        inputs: &[
            "indices: N * int64",
            "values: sparse_types",
            "shapes: N * int64",
            "dense_inputs: dense_types",
            "sep: string",
        ],
        outputs: &["output_indices: int64", "output_values: string", "output_shape: int64"],
        attrs: &[
            "N: int >= 0",
            "sparse_types: list({int64, string}) >= 0",
            "dense_types: list({int64, string}) >= 0",
        ],
        kernels: &[cpu::<SparseCrossV2>()],
        ..Op::DEFAULT
    },
];

/// The features of one column: those of row `r` are `starts[r]..starts[r + 1]` of the values.
struct Column<'a> {
    values: &'a Tensor,
    starts: Vec<usize>,
    is_dense: bool,
}

/// How a feature becomes a number.
#[derive(Clone, Copy)]
enum Numbering {
    /// An integer is itself, a string its fingerprint.
    Plain,
    /// Integers are hashed too, and under a key if there is one.
    Hashed(Option<[u64; 2]>),
}

impl Column<'_> {
    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn text(&self, at: usize) -> Result<Bytes> {
        if self.values.dtype() == DType::String {
            return Ok(self.values.strings()?[at].clone());
        }
        Ok(self.values.values::<i64>()?[at].to_string().into())
    }

    /// The number that stands for a feature.
    fn number(&self, at: usize, numbering: Numbering) -> Result<u64> {
        let hash = |bytes: &[u8]| match numbering {
            Numbering::Hashed(Some(key)) => siphash(key, bytes),
            _ => fingerprint64(bytes),
        };
        if self.values.dtype() == DType::String {
            return Ok(hash(&self.values.strings()?[at]));
        }
        let value = self.values.values::<i64>()?[at];
        Ok(match numbering {
            // TensorFlow hashes the lower half of an integer, and that only in sparse columns.
            Numbering::Hashed(key) if key.is_some() || !self.is_dense => {
                hash(&(value as u32).to_le_bytes())
            }
            _ => value as u64,
        })
    }
}

fn dense_column(values: &Tensor) -> Result<Column<'_>> {
    let &[rows, width] = values.dims() else {
        return Err(invalid_argument!(
            "Dense inputs should be a matrix but received shape {}",
            values.shape()
        ));
    };
    Ok(Column { values, starts: (0..=rows).map(|row| row * width).collect(), is_dense: true })
}

fn sparse_column<'a>(input: Sparse<'a>) -> Result<Column<'a>> {
    let &[rows, _] = input.dims else {
        return Err(invalid_argument!(
            "Input shapes should be of length 2, but got {}",
            input.rank()
        ));
    };
    let rows = usize::try_from(rows)
        .map_err(|_| invalid_argument!("a shape has no negative dimension, got {rows}"))?;
    // Checked before anything is made of that size: an empty matrix may claim any number of rows.
    Shape::new(&[rows, 1])?;
    let mut starts = Vec::new();
    let mut previous = 0;
    for at in 0..input.len() {
        let row = usize::try_from(input.index(at)[0]).ok().filter(|&row| row < rows);
        let row = row.filter(|&row| row >= previous).ok_or_else(|| {
            invalid_argument!(
                "the row {} of entry {at} is out of order or outside of {rows} rows",
                input.index(at)[0]
            )
        })?;
        starts.resize(row + 1, at);
        previous = row;
    }
    reserve(&mut starts, rows)?;
    starts.resize(rows + 1, input.len());
    Ok(Column { values: input.values, starts, is_dense: false })
}

/// Refuses numbers of rows for which there is no memory.
fn reserve(starts: &mut Vec<usize>, rows: usize) -> Result<()> {
    starts
        .try_reserve(rows.saturating_add(1).saturating_sub(starts.len()))
        .map_err(|_| tensorfleet_tensor::resource_exhausted!("no memory for {rows} rows"))
}

/// How a combination becomes a value.
enum Crosser {
    Join { separator: Bytes },
    Hash { start: Option<u64>, numbering: Numbering, buckets: u64 },
}

enum Crossed {
    Strings(Vec<Bytes>),
    Numbers(Vec<i64>),
}

impl Crosser {
    fn empty(&self) -> Crossed {
        match self {
            Crosser::Join { .. } => Crossed::Strings(Vec::new()),
            Crosser::Hash { .. } => Crossed::Numbers(Vec::new()),
        }
    }

    /// Adds the value of the features at `places`, one of each column.
    fn push(&self, columns: &[Column<'_>], places: &[usize], out: &mut Crossed) -> Result<()> {
        match (self, out) {
            (Crosser::Join { separator }, Crossed::Strings(out)) => {
                let mut text = Vec::new();
                for (index, (column, &at)) in columns.iter().zip(places).enumerate() {
                    if index > 0 {
                        text.extend_from_slice(separator);
                    }
                    text.extend_from_slice(&column.text(at)?);
                }
                out.push(text.into());
            }
            (Crosser::Hash { start, numbering, buckets }, Crossed::Numbers(out)) => {
                let mut hash = *start;
                for (column, &at) in columns.iter().zip(places) {
                    let number = column.number(at, *numbering)?;
                    hash = Some(match hash {
                        Some(hash) => fingerprint_cat64(hash, number),
                        None => number,
                    });
                }
                let limit = if *buckets > 0 { *buckets } else { i64::MAX as u64 };
                out.push((hash.unwrap_or(0) % limit) as i64);
            }
            _ => {}
        }
        Ok(())
    }

    /// The combinations of all rows, the last column changing fastest, and how many each row has.
    fn cross(&self, columns: &[Column<'_>], rows: usize) -> Result<(Crossed, Vec<usize>)> {
        let mut out = self.empty();
        let mut counts = vec![0; rows];
        let mut places = vec![0; columns.len()];
        for (row, count) in counts.iter_mut().enumerate() {
            let starts: Vec<usize> = columns.iter().map(|column| column.starts[row]).collect();
            let ends: Vec<usize> = columns.iter().map(|column| column.starts[row + 1]).collect();
            if columns.is_empty() || starts.iter().zip(&ends).any(|(start, end)| start >= end) {
                continue;
            }
            places.copy_from_slice(&starts);
            'combinations: loop {
                self.push(columns, &places, &mut out)?;
                *count += 1;
                for column in (0..columns.len()).rev() {
                    places[column] += 1;
                    if places[column] < ends[column] {
                        continue 'combinations;
                    }
                    places[column] = starts[column];
                }
                break;
            }
        }
        Ok((out, counts))
    }
}

/// Checks that all columns have the same rows.
fn rows_of(columns: &[Column<'_>]) -> Result<usize> {
    let Some(first) = columns.first() else { return Ok(0) };
    match columns.iter().position(|column| column.rows() != first.rows()) {
        Some(at) => Err(invalid_argument!(
            "Expected batch size {} got {} at input {at}",
            first.rows(),
            columns[at].rows()
        )),
        None => Ok(first.rows()),
    }
}

fn to_tensor(crossed: Crossed) -> Result<Tensor> {
    match crossed {
        Crossed::Strings(values) => Tensor::from_strings(Shape::vector(values.len()), values),
        Crossed::Numbers(values) => Tensor::vector(&values),
    }
}

/// The columns of the sparse ops: `sparse` triples of lists, then dense tensors up to `end`.
fn sparse_columns<'a>(
    ctx: &'a KernelContext<'_>,
    sparse: usize,
    end: usize,
) -> Result<Vec<Column<'a>>> {
    let mut columns = Vec::new();
    for at in 0..sparse {
        let (indices, values) = (ctx.input(at)?, ctx.input(sparse + at)?);
        let shape = ctx.input(2 * sparse + at)?;
        check_sparse(indices, values, shape, at)?;
        columns.push(sparse_column(Sparse::new(indices, values, shape)?)?);
    }
    for (at, input) in (3 * sparse..end).enumerate() {
        let dense = ctx.input(input)?;
        if dense.rank() != 2 {
            return Err(invalid_argument!(
                "Dense inputs should be a matrix but received shape {} at position {at}",
                dense.shape()
            ));
        }
        columns.push(dense_column(dense)?);
    }
    if let Some(rows) = columns.first().map(Column::rows)
        && let Some(at) = columns.iter().position(|column| column.rows() != rows)
    {
        let (kind, place) =
            if at < sparse { ("position", at) } else { ("dense tensor", at - sparse) };
        return Err(invalid_argument!(
            "Expected batch size {rows} got {} at {kind} {place}",
            columns[at].rows()
        ));
    }
    Ok(columns)
}

/// Refuses parts of which no column of features is made.
fn check_sparse(indices: &Tensor, values: &Tensor, shape: &Tensor, at: usize) -> Result<()> {
    let (&[count, rank], &[size]) = (indices.dims(), values.dims()) else {
        let (what, kind, part) = match indices.rank() {
            2 => ("values", "vector", values),
            _ => ("indices", "matrix", indices),
        };
        return Err(invalid_argument!(
            "Input {what} should be a {kind} but received shape {} at position {at}",
            part.shape()
        ));
    };
    if rank != 2 {
        return Err(invalid_argument!("Expected D2 of index to be 2 got {rank} at position {at}"));
    }
    if shape.rank() != 1 {
        return Err(invalid_argument!(
            "Input shapes should be a vector but received shape {} at position {at}",
            shape.shape()
        ));
    }
    if size != count {
        return Err(invalid_argument!(
            "Expected size of values to be {count} got {size} at position {at}"
        ));
    }
    if shape.num_elements() != 2 {
        return Err(invalid_argument!(
            "shape should imply a 2D tensor, but got {} at position {at}",
            bracketed(shape.values()?)
        ));
    }
    Ok(())
}

/// Crosses the columns and sets the three parts of the sparse result.
fn set_sparse(
    ctx: &mut KernelContext<'_>,
    crosser: &Crosser,
    sparse: usize,
    end: usize,
) -> Result<()> {
    let columns = sparse_columns(ctx, sparse, end)?;
    let rows = rows_of(&columns)?;
    let (crossed, counts) = crosser.cross(&columns, rows)?;
    let entries = counts
        .iter()
        .enumerate()
        .flat_map(|(row, &count)| (0..count).flat_map(move |at| [row as i64, at as i64]));
    let indices: Vec<i64> = entries.collect();
    let widest = counts.iter().copied().max().unwrap_or(0);
    let indices = index_matrix(&indices, 2, indices.len() / 2)?;
    ctx.set_output(0, indices);
    ctx.set_output(1, to_tensor(crossed)?);
    ctx.set_output(2, Tensor::vector(&[rows as i64, widest as i64])?);
    Ok(())
}

/// How the ops with attributes cross.
fn crosser_of(attrs: &Attrs<'_>, hashed: bool) -> Result<Crosser> {
    if !hashed {
        return Ok(Crosser::Join { separator: Bytes::from_static(b"_X_") });
    }
    Ok(Crosser::Hash {
        start: Some(attrs.int("hash_key")? as u64),
        numbering: Numbering::Plain,
        buckets: attrs.int("num_buckets")? as u64,
    })
}

fn sparse_count(attrs: &Attrs<'_>) -> Result<usize> {
    let count = attrs.int("N")?;
    usize::try_from(count).map_err(|_| invalid_argument!("N must not be negative, got {count}"))
}

struct Shown<T>(T);

impl<T> std::fmt::Debug for Shown<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

#[derive(Debug)]
struct SparseCross {
    crosser: Shown<Crosser>,
    sparse: usize,
}

impl Kernel for SparseCross {
    fn new(attrs: &Attrs<'_>) -> Result<SparseCross> {
        let hashed = attrs.dtype("out_type")? == DType::Int64;
        if attrs.dtype("internal_type")? == DType::String {
            let types = [attrs.dtypes("sparse_types")?, attrs.dtypes("dense_types")?].concat();
            if let Some(other) = types.iter().find(|dtype| **dtype != DType::String) {
                return Err(invalid_argument!(
                    "Input values should be of internal type {} but received {}",
                    DType::String as u8,
                    *other as u8
                ));
            }
        }
        Ok(SparseCross { crosser: Shown(crosser_of(attrs, hashed)?), sparse: sparse_count(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = ctx.num_inputs();
        set_sparse(ctx, &self.crosser.0, self.sparse, end)
    }
}

#[derive(Debug)]
struct SparseCrossV2 {
    sparse: usize,
}

impl Kernel for SparseCrossV2 {
    fn new(attrs: &Attrs<'_>) -> Result<SparseCrossV2> {
        Ok(SparseCrossV2 { sparse: sparse_count(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = ctx.num_inputs() - 1;
        let separator = ctx.input(end)?;
        let ([separator], true) = (separator.strings()?, separator.shape().is_scalar()) else {
            return Err(invalid_argument!("Input separator should be a scalar."));
        };
        let crosser = Crosser::Join { separator: separator.clone() };
        set_sparse(ctx, &crosser, self.sparse, end)
    }
}

#[derive(Debug)]
struct SparseCrossHashed {
    sparse: usize,
}

impl Kernel for SparseCrossHashed {
    fn new(attrs: &Attrs<'_>) -> Result<SparseCrossHashed> {
        Ok(SparseCrossHashed { sparse: sparse_count(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = ctx.num_inputs() - 3;
        let buckets = ctx.input(end)?.scalar_value::<i64>()?;
        let strong = ctx.input(end + 1)?.scalar_value::<bool>()?;
        let &[low, high] = ctx.input(end + 2)?.values::<i64>()? else {
            return Err(invalid_argument!(
                "Input \"salt\" must have length 2 but has length {}",
                ctx.input(end + 2)?.num_elements()
            ));
        };
        let key = strong.then_some([low as u64, high as u64]);
        let crosser = Crosser::Hash {
            start: None,
            numbering: Numbering::Hashed(key),
            buckets: buckets.max(0) as u64,
        };
        set_sparse(ctx, &crosser, self.sparse, end)
    }
}

/// Crosses ragged, sparse and dense columns in the order that an attribute says.
#[derive(Debug)]
struct RaggedCross {
    crosser: Shown<Crosser>,
    order: Vec<u8>,
    ragged: usize,
    sparse: usize,
    splits: DType,
}

impl Kernel for RaggedCross {
    fn new(attrs: &Attrs<'_>) -> Result<RaggedCross> {
        let sparse = attrs.int("Nsparse")?;
        Ok(RaggedCross {
            crosser: Shown(crosser_of(attrs, attrs.bool("hashed_output")?)?),
            order: attrs.bytes("input_order")?.to_vec(),
            ragged: attrs.dtypes("ragged_values_types")?.len(),
            sparse: usize::try_from(sparse)
                .map_err(|_| invalid_argument!("Nsparse must not be negative, got {sparse}"))?,
            splits: attrs.dtype("out_row_splits_type")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (ragged, sparse) = (self.ragged, self.sparse);
        let (mut next_ragged, mut next_sparse, mut next_dense) = (0, 0, 2 * ragged + 3 * sparse);
        let mut columns = Vec::with_capacity(self.order.len());
        for kind in &self.order {
            columns.push(match kind {
                b'R' if next_ragged < ragged => {
                    let at = next_ragged;
                    next_ragged += 1;
                    ragged_column(ctx.input(at)?, ctx.input(ragged + at)?)?
                }
                b'S' if next_sparse < sparse => {
                    let at = 2 * ragged + next_sparse;
                    next_sparse += 1;
                    let indices = ctx.input(at)?;
                    let (values, shape) = (ctx.input(at + sparse)?, ctx.input(at + 2 * sparse)?);
                    sparse_column(Sparse::new(indices, values, shape)?)?
                }
                b'D' if next_dense < ctx.num_inputs() => {
                    next_dense += 1;
                    dense_column(ctx.input(next_dense - 1)?)?
                }
                _ => {
                    return Err(invalid_argument!(
                        "Invalid input_order {}",
                        String::from_utf8_lossy(&self.order)
                    ));
                }
            });
        }
        let rows = rows_of(&columns)?;
        let (crossed, counts) = self.crosser.0.cross(&columns, rows)?;
        let mut splits = vec![0i64];
        for count in counts {
            splits.push(splits[splits.len() - 1] + count as i64);
        }
        let splits = super::ragged::splits_tensor(self.splits, &splits)?;
        ctx.set_output(0, to_tensor(crossed)?);
        ctx.set_output(1, splits);
        Ok(())
    }
}

fn ragged_column<'a>(values: &'a Tensor, splits: &Tensor) -> Result<Column<'a>> {
    if values.rank() != 1 {
        return Err(invalid_argument!("tf.ragged.cross only supports inputs with rank=2."));
    }
    let starts = super::ragged::read_splits(splits, values.num_elements())?;
    Ok(Column { values, starts, is_dense: false })
}

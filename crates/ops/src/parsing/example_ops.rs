//! `ParseExample`, `ParseExampleV2` and `ParseSingleExample`.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument};

use super::column::{Column, Layout};
use super::example::{Keys, parse_batch, parse_single};
use super::feature::Kind;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ParseExample",
        inputs: &[
            "serialized: string",
            "names: string",
            "sparse_keys: Nsparse * string",
            "dense_keys: Ndense * string",
            "dense_defaults: Tdense",
        ],
        outputs: &[
            "sparse_indices: Nsparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: Nsparse * int64",
            "dense_values: Tdense",
        ],
        attrs: &[
            "Nsparse: int >= 0",
            "Ndense: int >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "Tdense: list({float, int64, string}) >= 0",
            "dense_shapes: list(shape) >= 0",
        ],
        kernels: &[cpu::<ParseExample>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseExampleV2",
        inputs: &[
            "serialized: string",
            "names: string",
            "sparse_keys: string",
            "dense_keys: string",
            "ragged_keys: string",
            "dense_defaults: Tdense",
        ],
        outputs: &[
            "sparse_indices: num_sparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: num_sparse * int64",
            "dense_values: Tdense",
            "ragged_values: ragged_value_types",
            "ragged_row_splits: ragged_split_types",
        ],
        attrs: &[
            "Tdense: list({float, int64, string}) >= 0",
            "num_sparse: int >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "ragged_value_types: list({float, int64, string}) >= 0",
            "ragged_split_types: list({int32, int64}) >= 0",
            "dense_shapes: list(shape) >= 0",
        ],
        kernels: &[cpu::<ParseExampleV2>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseSingleExample",
        inputs: &["serialized: string", "dense_defaults: Tdense"],
        outputs: &[
            "sparse_indices: num_sparse * int64",
            "sparse_values: sparse_types",
            "sparse_shapes: num_sparse * int64",
            "dense_values: Tdense",
        ],
        attrs: &[
            "num_sparse: int >= 0",
            "sparse_keys: list(string) >= 0",
            "dense_keys: list(string) >= 0",
            "sparse_types: list({float, int64, string}) >= 0",
            "Tdense: list({float, int64, string}) >= 0",
            "dense_shapes: list(shape) >= 0",
        ],
        kernels: &[cpu::<ParseSingleExample>()],
        ..Op::DEFAULT
    },
];

/// Parsing takes about so many nanoseconds a byte.
pub(super) fn parse_cost(inputs: &[Value]) -> u64 {
    match inputs.first() {
        Some(Value::Tensor(serialized)) => serialized.byte_len() as u64 * 2,
        _ => 0,
    }
}

/// What the attributes say of the features.
#[derive(Debug)]
pub(super) struct Features {
    pub(super) sparse: Vec<Kind>,
    pub(super) dense_types: Vec<DType>,
    dense_shapes: Vec<PartialShape>,
    pub(super) ragged: Vec<(Kind, DType)>,
}

pub(super) fn kinds(attrs: &Attrs<'_>, name: &str) -> Result<Vec<Kind>> {
    attrs.dtypes(name)?.iter().map(|&dtype| Kind::of(dtype)).collect()
}

pub(super) fn ragged_kinds(
    attrs: &Attrs<'_>,
    values: &str,
    splits: &str,
) -> Result<Vec<(Kind, DType)>> {
    let (values, splits) = (kinds(attrs, values)?, attrs.dtypes(splits)?);
    if values.len() != splits.len() {
        return Err(invalid_argument!(
            "len(ragged_value_types) != len(ragged_split_types): {} vs. {}",
            values.len(),
            splits.len()
        ));
    }
    Ok(values.into_iter().zip(splits.iter().copied()).collect())
}

impl Features {
    /// Some ops say how many sparse features there are beside their types.
    fn check_num_sparse(&self, attrs: &Attrs<'_>) -> Result<()> {
        let declared = attrs.int("num_sparse")?;
        if declared != self.sparse.len() as i64 {
            return Err(invalid_argument!(
                "len(sparse_types) != num_sparse: {} vs. {declared}",
                self.sparse.len()
            ));
        }
        Ok(())
    }

    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Features> {
        let ragged = match attrs.get("ragged_value_types") {
            Some(_) => ragged_kinds(attrs, "ragged_value_types", "ragged_split_types")?,
            None => Vec::new(),
        };
        let features = Features {
            sparse: kinds(attrs, "sparse_types")?,
            dense_types: attrs.dtypes("Tdense")?.to_vec(),
            dense_shapes: attrs.shapes("dense_shapes")?.to_vec(),
            ragged,
        };
        if features.dense_types.len() != features.dense_shapes.len() {
            return Err(invalid_argument!(
                "len(dense_keys) != len(dense_shapes): {} vs. {}",
                features.dense_types.len(),
                features.dense_shapes.len()
            ));
        }
        for shape in &features.dense_shapes {
            if shape.dims.is_none() {
                return Err(invalid_argument!("dense_shapes has an unknown rank: {shape}"));
            }
        }
        Ok(features)
    }

    /// The columns for the keys of the sparse, dense and ragged features, in this order.
    pub(super) fn columns(
        &self,
        keys: (&[Bytes], &[Bytes], &[Bytes]),
        defaults: &[&Tensor],
    ) -> Result<Vec<Column>> {
        let sparse = keys.0.iter().zip(&self.sparse);
        let mut columns: Vec<Column> =
            sparse.map(|(key, kind)| Column::new(key.clone(), *kind, Layout::Sparse)).collect();
        for (index, (key, default)) in keys.1.iter().zip(defaults).enumerate() {
            let shape = &self.dense_shapes[index];
            columns.push(Column::dense(key.clone(), shape, default, index)?);
        }
        for (key, &(kind, splits)) in keys.2.iter().zip(&self.ragged) {
            columns.push(Column::new(key.clone(), kind, Layout::Ragged { splits }));
        }
        Ok(columns)
    }

    /// Sets the outputs from the columns.
    fn output(
        &self,
        ctx: &mut KernelContext<'_>,
        columns: Vec<Column>,
        single: bool,
    ) -> Result<()> {
        let (sparse, dense) = (self.sparse.len(), self.dense_types.len());
        let mut columns = columns.into_iter();
        for index in 0..sparse {
            let Some(column) = columns.next() else { break };
            for (part, tensor) in column.into_sparse(single)?.into_iter().enumerate() {
                ctx.set_output(part * sparse + index, tensor);
            }
        }
        for index in 0..dense {
            let Some(column) = columns.next() else { break };
            ctx.set_output(3 * sparse + index, column.into_dense(single)?);
        }
        let ragged = 3 * sparse + dense;
        for (index, column) in columns.enumerate() {
            let [values, splits] = column.into_ragged(single)?;
            ctx.set_output(ragged + index, values);
            ctx.set_output(ragged + self.ragged.len() + index, splits);
        }
        Ok(())
    }
}

fn check_names(names: &Tensor, serialized: &Tensor) -> Result<()> {
    if names.num_elements() > 0 && names.shape() != serialized.shape() {
        return Err(invalid_argument!(
            "Expected names have the same shape as serialized: name.shape={}, serialized.shape={}",
            names.shape(),
            serialized.shape()
        ));
    }
    Ok(())
}

#[derive(Debug)]
struct ParseExample(Features);

impl Kernel for ParseExample {
    fn new(attrs: &Attrs<'_>) -> Result<ParseExample> {
        Ok(ParseExample(Features::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (serialized, names) = (ctx.input(0)?, ctx.input(1)?);
        if serialized.rank() != 1 {
            return Err(invalid_argument!(
                "Expected serialized to be a vector, got shape: {}",
                serialized.shape()
            ));
        }
        check_names(names, serialized)?;
        let (sparse, dense) = (self.0.sparse.len(), self.0.dense_types.len());
        let keys = |range| -> Result<Vec<Bytes>> {
            ctx.input_list(range)?
                .into_iter()
                .map(|key| match key.strings()? {
                    [key] => Ok(key.clone()),
                    _ => Err(invalid_argument!(
                        "Expected keys to be scalars, got shape: {}",
                        key.shape()
                    )),
                })
                .collect()
        };
        let sparse_keys = keys(2..2 + sparse)?;
        let dense_keys = keys(2 + sparse..2 + sparse + dense)?;
        let defaults = ctx.input_list(2 + sparse + dense..ctx.num_inputs())?;
        let mut columns = self.0.columns((&sparse_keys, &dense_keys, &[]), &defaults)?;
        let keys = Keys::new(columns.iter().map(|column| &column.key));
        let (records, names) = (serialized.strings()?, names.strings()?);
        parse_batch(&keys, records, names, &mut columns, ctx.parallelism())?;
        self.0.output(ctx, columns, false)
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        parse_cost(inputs)
    }
}

#[derive(Debug)]
struct ParseExampleV2(Features);

impl Kernel for ParseExampleV2 {
    fn new(attrs: &Attrs<'_>) -> Result<ParseExampleV2> {
        let features = Features::new(attrs)?;
        features.check_num_sparse(attrs)?;
        Ok(ParseExampleV2(features))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (serialized, names) = (ctx.input(0)?, ctx.input(1)?);
        if serialized.rank() > 1 {
            return Err(invalid_argument!(
                "Expected serialized to be a scalar or vector, got shape: {}",
                serialized.shape()
            ));
        }
        check_names(names, serialized)?;
        let keys = |input: usize, (what, of): (&str, &str), declared| -> Result<&[Bytes]> {
            let keys = ctx.input(input)?.strings()?;
            if keys.len() != declared {
                return Err(invalid_argument!(
                    "Expected len({what}) == {of} but got: {} vs. {declared}",
                    keys.len()
                ));
            }
            Ok(keys)
        };
        let sparse = keys(2, ("sparse_keys", "num_sparse"), self.0.sparse.len())?;
        let dense = keys(3, ("dense_keys", "len(dense_types)"), self.0.dense_types.len())?;
        let ragged = keys(4, ("ragged_keys", "len(ragged_value_types)"), self.0.ragged.len())?;
        let defaults = ctx.input_list(5..ctx.num_inputs())?;
        let mut columns = self.0.columns((sparse, dense, ragged), &defaults)?;
        let keys = Keys::new(columns.iter().map(|column| &column.key));
        let single = serialized.rank() == 0;
        match (single, serialized.strings()?) {
            (true, [record]) => parse_single(&keys, record, &mut columns)?,
            (_, records) => {
                let names = names.strings()?;
                parse_batch(&keys, records, names, &mut columns, ctx.parallelism())?;
            }
        }
        self.0.output(ctx, columns, single)
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        parse_cost(inputs)
    }
}

#[derive(Debug)]
struct ParseSingleExample {
    features: Features,
    sparse_keys: Vec<Bytes>,
    dense_keys: Vec<Bytes>,
    keys: Keys,
}

impl Kernel for ParseSingleExample {
    fn new(attrs: &Attrs<'_>) -> Result<ParseSingleExample> {
        let features = Features::new(attrs)?;
        features.check_num_sparse(attrs)?;
        let (sparse, dense) = (attrs.strings("sparse_keys")?, attrs.strings("dense_keys")?);
        for (keys, types, what) in [
            (sparse.len(), features.sparse.len(), "sparse"),
            (dense.len(), features.dense_types.len(), "dense"),
        ] {
            if keys != types {
                return Err(invalid_argument!(
                    "len({what}_keys) != len({what}_types): {keys} vs. {types}"
                ));
            }
        }
        Ok(ParseSingleExample {
            features,
            sparse_keys: sparse.to_vec(),
            dense_keys: dense.to_vec(),
            keys: Keys::new(sparse.iter().chain(dense)),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let serialized = ctx.input(0)?;
        let record = match serialized.strings()? {
            [record] if serialized.rank() == 0 => record,
            _ => {
                return Err(invalid_argument!(
                    "Expected serialized to be a scalar, got shape: {}",
                    serialized.shape()
                ));
            }
        };
        let defaults = ctx.input_list(1..ctx.num_inputs())?;
        let keys = (&self.sparse_keys[..], &self.dense_keys[..], &[][..]);
        let mut columns = self.features.columns(keys, &defaults)?;
        parse_single(&self.keys, record, &mut columns)?;
        self.features.output(ctx, columns, true)
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        parse_cost(inputs)
    }
}

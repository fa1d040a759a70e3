//! `ParseSequenceExample`, `ParseSequenceExampleV2` and `ParseSingleSequenceExample`.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::example_ops::{kinds, parse_cost, ragged_kinds};
use super::feature::Kind;
use super::sequence::{Context, List, Names, Wanted, parse};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ParseSequenceExample",
        inputs: &[
            "serialized: string",
            "debug_name: string",
            "context_dense_defaults: Tcontext_dense",
        ],
        outputs: &[
            "context_sparse_indices: Ncontext_sparse * int64",
            "context_sparse_values: context_sparse_types",
            "context_sparse_shapes: Ncontext_sparse * int64",
            "context_dense_values: Tcontext_dense",
            "feature_list_sparse_indices: Nfeature_list_sparse * int64",
            "feature_list_sparse_values: feature_list_sparse_types",
            "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
            "feature_list_dense_values: feature_list_dense_types",
            "feature_list_dense_lengths: Nfeature_list_dense * int64",
        ],
        attrs: &[
            "feature_list_dense_missing_assumed_empty: list(string) >= 0",
            "context_sparse_keys: list(string) >= 0",
            "context_dense_keys: list(string) >= 0",
            "feature_list_sparse_keys: list(string) >= 0",
            "feature_list_dense_keys: list(string) >= 0",
            "Ncontext_sparse: int >= 0 = 0",
            "Ncontext_dense: int >= 0 = 0",
            "Nfeature_list_sparse: int >= 0 = 0",
            "Nfeature_list_dense: int >= 0 = 0",
            "context_sparse_types: list({float, int64, string}) >= 0 = []",
            "Tcontext_dense: list({float, int64, string}) >= 0 = []",
            "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
            "context_dense_shapes: list(shape) >= 0 = []",
            "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
            "feature_list_dense_shapes: list(shape) >= 0 = []",
        ],
        kernels: &[cpu::<ParseSequenceExample>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseSequenceExampleV2",
        inputs: &[
            "serialized: string",
            "debug_name: string",
            "context_sparse_keys: string",
            "context_dense_keys: string",
            "context_ragged_keys: string",
            "feature_list_sparse_keys: string",
            "feature_list_dense_keys: string",
            "feature_list_ragged_keys: string",
            "feature_list_dense_missing_assumed_empty: bool",
            "context_dense_defaults: Tcontext_dense",
        ],
        outputs: &[
            "context_sparse_indices: Ncontext_sparse * int64",
            "context_sparse_values: context_sparse_types",
            "context_sparse_shapes: Ncontext_sparse * int64",
            "context_dense_values: Tcontext_dense",
            "context_ragged_values: context_ragged_value_types",
            "context_ragged_row_splits: context_ragged_split_types",
            "feature_list_sparse_indices: Nfeature_list_sparse * int64",
            "feature_list_sparse_values: feature_list_sparse_types",
            "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
            "feature_list_dense_values: feature_list_dense_types",
            "feature_list_dense_lengths: Nfeature_list_dense * int64",
            "feature_list_ragged_values: feature_list_ragged_value_types",
            "feature_list_ragged_outer_splits: feature_list_ragged_split_types",
            "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
        ],
        attrs: &[
            "Ncontext_sparse: int >= 0 = 0",
            "Tcontext_dense: list({float, int64, string}) >= 0 = []",
            "context_sparse_types: list({float, int64, string}) >= 0 = []",
            "context_ragged_value_types: list({float, int64, string}) >= 0 = []",
            "context_ragged_split_types: list({int32, int64}) >= 0 = []",
            "context_dense_shapes: list(shape) >= 0 = []",
            "Nfeature_list_sparse: int >= 0 = 0",
            "Nfeature_list_dense: int >= 0 = 0",
            "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
            "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
            "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []",
            "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []",
            "feature_list_dense_shapes: list(shape) >= 0 = []",
        ],
        kernels: &[cpu::<ParseSequenceExample>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ParseSingleSequenceExample",
        inputs: &[
            "serialized: string",
            "feature_list_dense_missing_assumed_empty: string",
            "context_sparse_keys: Ncontext_sparse * string",
            "context_dense_keys: Ncontext_dense * string",
            "feature_list_sparse_keys: Nfeature_list_sparse * string",
            "feature_list_dense_keys: Nfeature_list_dense * string",
            "context_dense_defaults: Tcontext_dense",
            "debug_name: string",
        ],
        outputs: &[
            "context_sparse_indices: Ncontext_sparse * int64",
            "context_sparse_values: context_sparse_types",
            "context_sparse_shapes: Ncontext_sparse * int64",
            "context_dense_values: Tcontext_dense",
            "feature_list_sparse_indices: Nfeature_list_sparse * int64",
            "feature_list_sparse_values: feature_list_sparse_types",
            "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
            "feature_list_dense_values: feature_list_dense_types",
        ],
        attrs: &[
            "Ncontext_sparse: int >= 0 = 0",
            "Ncontext_dense: int >= 0 = 0",
            "Nfeature_list_sparse: int >= 0 = 0",
            "Nfeature_list_dense: int >= 0 = 0",
            "context_sparse_types: list({float, int64, string}) >= 0 = []",
            "Tcontext_dense: list({float, int64, string}) >= 0 = []",
            "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
            "context_dense_shapes: list(shape) >= 0 = []",
            "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
            "feature_list_dense_shapes: list(shape) >= 0 = []",
        ],
        kernels: &[cpu::<ParseSequenceExample>()],
        ..Op::DEFAULT
    },
];

/// Where an op finds its keys.
#[derive(Debug)]
enum Source {
    /// Attributes of the first version: context sparse and dense, lists sparse and dense, and the
    /// lists that may be missing.
    Attributes { keys: [Vec<Bytes>; 4], may_be_missing: Vec<Bytes> },
    /// Vectors that are inputs of the second version.
    Vectors,
    /// Scalars that are inputs of the op for single examples.
    Scalars,
}

/// The types and shapes of all features.
#[derive(Debug)]
struct ParseSequenceExample {
    source: Source,
    context_sparse: Vec<Kind>,
    context_dense: Vec<Shape>,
    context_ragged: Vec<(Kind, DType)>,
    list_sparse: Vec<Kind>,
    list_dense: Vec<(Kind, Shape)>,
    list_ragged: Vec<(Kind, DType)>,
}

fn shapes(attrs: &Attrs<'_>, name: &str) -> Result<Vec<Shape>> {
    let defined = |shape: &tensorfleet_tensor::PartialShape| {
        shape.to_shape().ok_or_else(|| invalid_argument!("Shape {shape} is not fully defined"))
    };
    attrs.shapes(name)?.iter().map(defined).collect()
}

fn check_count(what: &str, have: usize, want: usize) -> Result<()> {
    if have != want {
        return Err(invalid_argument!("Expected {want} {what}, but there are {have}"));
    }
    Ok(())
}

/// The keys of an op, by the kinds of its features.
struct AllKeys {
    context: [Vec<Bytes>; 3],
    lists: [Vec<Bytes>; 3],
    may_be_missing: Vec<bool>,
    /// Where the defaults of dense features of the context begin among the inputs.
    defaults: usize,
}

impl Kernel for ParseSequenceExample {
    fn new(attrs: &Attrs<'_>) -> Result<ParseSequenceExample> {
        let keys = |name: &str| -> Result<Vec<Bytes>> { Ok(attrs.strings(name)?.to_vec()) };
        let source = match attrs.op() {
            "ParseSequenceExample" => Source::Attributes {
                keys: [
                    keys("context_sparse_keys")?,
                    keys("context_dense_keys")?,
                    keys("feature_list_sparse_keys")?,
                    keys("feature_list_dense_keys")?,
                ],
                may_be_missing: keys("feature_list_dense_missing_assumed_empty")?,
            },
            "ParseSequenceExampleV2" => Source::Vectors,
            _ => Source::Scalars,
        };
        let ragged = |values: &str, splits: &str| match attrs.get(values) {
            Some(_) => ragged_kinds(attrs, values, splits),
            None => Ok(Vec::new()),
        };
        let list_kinds = kinds(attrs, "feature_list_dense_types")?;
        let list_shapes = shapes(attrs, "feature_list_dense_shapes")?;
        check_count("feature_list_dense_shapes", list_shapes.len(), list_kinds.len())?;
        let parser = ParseSequenceExample {
            source,
            context_sparse: kinds(attrs, "context_sparse_types")?,
            context_dense: shapes(attrs, "context_dense_shapes")?,
            context_ragged: ragged("context_ragged_value_types", "context_ragged_split_types")?,
            list_sparse: kinds(attrs, "feature_list_sparse_types")?,
            list_dense: list_kinds.into_iter().zip(list_shapes).collect(),
            list_ragged: ragged(
                "feature_list_ragged_value_types",
                "feature_list_ragged_split_types",
            )?,
        };
        check_count(
            "context_dense_shapes",
            parser.context_dense.len(),
            attrs.dtypes("Tcontext_dense")?.len(),
        )?;
        let counts = [
            ("Ncontext_sparse", parser.context_sparse.len()),
            ("Nfeature_list_sparse", parser.list_sparse.len()),
            ("Nfeature_list_dense", parser.list_dense.len()),
        ];
        for (attr, want) in counts {
            // An op has as many outputs as these attributes say.
            check_count(attr, usize::try_from(attrs.int(attr)?).unwrap_or(0), want)?;
        }
        Ok(parser)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let serialized = ctx.input(0)?;
        let keys = self.keys(ctx)?;
        let name = match self.source {
            Source::Scalars => ctx.input(ctx.num_inputs() - 1)?,
            _ => ctx.input(1)?,
        };
        let single = self.check_serialized(serialized, name)?;
        let dense = self.context_dense.len();
        let defaults = ctx.input_list(keys.defaults..keys.defaults + dense)?;
        let (context, lists) = (self.context(&keys, &defaults)?, self.lists(&keys));
        let no_name = Bytes::new();
        let names = match self.source {
            Source::Scalars => Names::One(name.strings()?.first().unwrap_or(&no_name)),
            _ => Names::Batch(name.strings()?),
        };
        let (context, lists) = parse(&context, &lists, serialized.strings()?, names, single)?;
        let mut output = 0;
        let mut set = |ctx: &mut KernelContext<'_>, columns: &[Vec<Tensor>], parts: usize| {
            for part in 0..parts {
                for column in columns {
                    if let Some(tensor) = column.get(part) {
                        ctx.set_output(output, tensor.clone());
                        output += 1;
                    }
                }
            }
        };
        let (sparse, rest) = context.split_at(self.context_sparse.len());
        let (dense, ragged) = rest.split_at(self.context_dense.len());
        set(ctx, sparse, 3);
        set(ctx, dense, 1);
        set(ctx, ragged, 2);
        let (sparse, rest) = lists.split_at(self.list_sparse.len());
        let (dense, ragged) = rest.split_at(self.list_dense.len());
        set(ctx, sparse, 3);
        // Only the ops for batches say how long lists are.
        set(ctx, dense, if matches!(self.source, Source::Scalars) { 1 } else { 2 });
        set(ctx, ragged, 3);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        parse_cost(inputs)
    }
}

impl ParseSequenceExample {
    /// Checks ranks; whether there is a single example.
    fn check_serialized(&self, serialized: &Tensor, name: &Tensor) -> Result<bool> {
        let rank = serialized.rank();
        let want = match self.source {
            Source::Scalars if rank != 0 => "scalar",
            Source::Attributes { .. } | Source::Vectors if rank > 1 => "scalar or vector",
            _ => {
                let names = name.num_elements();
                if names > 0 && names != serialized.num_elements() {
                    return Err(invalid_argument!(
                        "example_names must be empty or have the correct number of elements"
                    ));
                }
                return Ok(rank == 0);
            }
        };
        Err(invalid_argument!(
            "Expected serialized to be a {want}, got shape: {}",
            serialized.shape()
        ))
    }

    fn keys(&self, ctx: &KernelContext<'_>) -> Result<AllKeys> {
        let vector =
            |input: usize| -> Result<Vec<Bytes>> { Ok(ctx.input(input)?.strings()?.to_vec()) };
        let may_be_missing = |lists: &[Bytes], missing: &[Bytes]| {
            lists.iter().map(|key| missing.contains(key)).collect()
        };
        let keys = match &self.source {
            Source::Attributes { keys, may_be_missing: missing } => {
                let [sparse, dense, list_sparse, list_dense] = keys.clone();
                AllKeys {
                    may_be_missing: may_be_missing(&list_dense, missing),
                    context: [sparse, dense, Vec::new()],
                    lists: [list_sparse, list_dense, Vec::new()],
                    defaults: 2,
                }
            }
            Source::Vectors => AllKeys {
                context: [vector(2)?, vector(3)?, vector(4)?],
                lists: [vector(5)?, vector(6)?, vector(7)?],
                may_be_missing: ctx.input(8)?.values::<bool>()?.to_vec(),
                defaults: 9,
            },
            Source::Scalars => {
                let mut next = 2;
                let mut scalars = |count: usize| -> Result<Vec<Bytes>> {
                    next += count;
                    let inputs = ctx.input_list(next - count..next)?;
                    inputs
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
                let context = [
                    scalars(self.context_sparse.len())?,
                    scalars(self.context_dense.len())?,
                    Vec::new(),
                ];
                let lists =
                    [scalars(self.list_sparse.len())?, scalars(self.list_dense.len())?, Vec::new()];
                let missing = vector(1)?;
                AllKeys {
                    may_be_missing: may_be_missing(&lists[1], &missing),
                    context,
                    lists,
                    defaults: next,
                }
            }
        };
        for (what, have, want) in [
            ("context_sparse_keys", keys.context[0].len(), self.context_sparse.len()),
            ("context_dense_keys", keys.context[1].len(), self.context_dense.len()),
            ("context_ragged_keys", keys.context[2].len(), self.context_ragged.len()),
            ("feature_list_sparse_keys", keys.lists[0].len(), self.list_sparse.len()),
            ("feature_list_dense_keys", keys.lists[1].len(), self.list_dense.len()),
            ("feature_list_ragged_keys", keys.lists[2].len(), self.list_ragged.len()),
            (
                "feature_list_dense_missing_assumed_empty",
                keys.may_be_missing.len(),
                self.list_dense.len(),
            ),
        ] {
            check_count(what, have, want)?;
        }
        Ok(keys)
    }

    fn context(&self, keys: &AllKeys, defaults: &[&Tensor]) -> Result<Vec<Wanted<Context>>> {
        let mut wanted = Vec::new();
        for (key, &kind) in keys.context[0].iter().zip(&self.context_sparse) {
            wanted.push(Wanted { key: key.clone(), kind, layout: Context::Sparse });
        }
        let dense = keys.context[1].iter().zip(&self.context_dense).zip(defaults);
        for (index, ((key, shape), &default)) in dense.enumerate() {
            if default.num_elements() > 0 && default.shape() != shape {
                return Err(invalid_argument!(
                    "context_dense_defaults[{index}].shape() == {} != context_dense_shapes[{index}] \
                     == {shape}",
                    default.shape()
                ));
            }
            let kind = Kind::of(default.dtype())?;
            let layout = Context::Dense { shape: shape.clone(), default: default.clone() };
            wanted.push(Wanted { key: key.clone(), kind, layout });
        }
        for (key, &(kind, splits)) in keys.context[2].iter().zip(&self.context_ragged) {
            wanted.push(Wanted { key: key.clone(), kind, layout: Context::Ragged { splits } });
        }
        Ok(wanted)
    }

    fn lists(&self, keys: &AllKeys) -> Vec<Wanted<List>> {
        let mut wanted = Vec::new();
        for (key, &kind) in keys.lists[0].iter().zip(&self.list_sparse) {
            wanted.push(Wanted { key: key.clone(), kind, layout: List::Sparse });
        }
        let dense = keys.lists[1].iter().zip(&self.list_dense).zip(&keys.may_be_missing);
        for ((key, (kind, shape)), &may_be_missing) in dense {
            let layout = List::Dense { shape: shape.clone(), may_be_missing };
            wanted.push(Wanted { key: key.clone(), kind: *kind, layout });
        }
        for (key, &(kind, splits)) in keys.lists[2].iter().zip(&self.list_ragged) {
            wanted.push(Wanted { key: key.clone(), kind, layout: List::Ragged { splits } });
        }
        wanted
    }
}

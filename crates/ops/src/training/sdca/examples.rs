//! The examples of a batch, and the weights of the model that learns from them.

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::KernelContext;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::Regularization;

/// How many columns of features there are, and so where each input is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) sparse: usize,
    /// Of the sparse ones, the first so many have values; the others are there or not.
    pub(super) with_values: usize,
    pub(super) dense: usize,
}

impl Columns {
    fn values(self) -> usize {
        2 * self.sparse
    }

    fn dense(self) -> usize {
        self.values() + self.with_values
    }

    fn example_weights(self) -> usize {
        self.dense() + self.dense
    }

    fn labels(self) -> usize {
        self.example_weights() + 1
    }

    fn weight_indices(self) -> usize {
        self.labels() + 1
    }

    fn sparse_weights(self) -> usize {
        self.weight_indices() + self.sparse
    }

    fn dense_weights(self) -> usize {
        self.sparse_weights() + self.sparse
    }

    /// Where the state of the examples is.
    pub(super) fn state(self) -> usize {
        self.dense_weights() + self.dense
    }
}

/// A sparse column: places in the model's weights, with values, example after example.
#[derive(Debug)]
struct SparseColumn<'a> {
    places: Vec<usize>,
    values: Option<&'a [f32]>,
    /// Where the features of each example end.
    ends: Vec<usize>,
}

impl SparseColumn<'_> {
    fn of(&self, example: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let start = if example == 0 { 0 } else { self.ends[example - 1] };
        (start..self.ends[example])
            .map(|at| (self.places[at], self.values.map_or(1.0, |values| values[at].into())))
    }
}

#[derive(Debug)]
struct DenseColumn<'a> {
    values: &'a [f32],
    width: usize,
}

impl DenseColumn<'_> {
    fn of(&self, example: usize) -> &[f32] {
        &self.values[example * self.width..(example + 1) * self.width]
    }
}

#[derive(Debug)]
pub(super) struct Batch<'a> {
    pub(super) weights: &'a [f32],
    pub(super) labels: &'a [f32],
    sparse: Vec<SparseColumn<'a>>,
    dense: Vec<DenseColumn<'a>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new<'c: 'a>(ctx: &'c KernelContext<'_>, columns: Columns) -> Result<Batch<'a>> {
        let weights = ctx.input(columns.example_weights())?.values::<f32>()?;
        let labels = ctx.input(columns.labels())?.values::<f32>()?;
        let len = weights.len();
        if labels.len() != len {
            return Err(invalid_argument!(
                "Expected {len} example labels but got {}",
                labels.len()
            ));
        }
        let dense = (0..columns.dense)
            .map(|column| dense_column(ctx, columns, column, len))
            .collect::<Result<_>>()?;
        let sparse = (0..columns.sparse)
            .map(|column| sparse_column(ctx, columns, column, len))
            .collect::<Result<_>>()?;
        Ok(Batch { weights, labels, sparse, dense })
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn squared_norm(&self, example: usize) -> f64 {
        let sparse = self.sparse.iter().flat_map(|column| column.of(example));
        let dense =
            self.dense.iter().map(|column| column.of(example).iter().map(|x| x * x).sum::<f32>());
        sparse.map(|(_, value)| value * value).sum::<f64>() + dense.map(f64::from).sum::<f64>()
    }
}

fn dense_column<'a>(
    ctx: &'a KernelContext<'_>,
    columns: Columns,
    column: usize,
    len: usize,
) -> Result<DenseColumn<'a>> {
    let features = ctx.input(columns.dense() + column)?;
    let [rows, width] = *features.dims() else {
        return Err(invalid_argument!(
            "Dense features at index {column} must be rank 2 but is rank {}",
            features.rank()
        ));
    };
    let weights = ctx.input(columns.dense_weights() + column)?.num_elements();
    if width == 0 || width > weights {
        return Err(invalid_argument!("More dense features than we have parameters for: {width}"));
    }
    if rows < len {
        return Err(invalid_argument!(
            "Dense features at index {column} have {rows} rows for {len} examples"
        ));
    }
    Ok(DenseColumn { values: features.values()?, width })
}

fn sparse_column<'a>(
    ctx: &'a KernelContext<'_>,
    columns: Columns,
    column: usize,
    len: usize,
) -> Result<SparseColumn<'a>> {
    let examples = ctx.input(column)?.values::<i64>()?;
    let features = ctx.input(columns.sparse + column)?.values::<i64>()?;
    if examples.len() != features.len() {
        return Err(invalid_argument!(
            "Found mismatched example_indices and feature_indices [{examples:?}] vs [{features:?}]"
        ));
    }
    let values = if column < columns.with_values {
        Some(ctx.input(columns.values() + column)?.values::<f32>()?)
    } else {
        None
    };
    if values.is_some_and(|values| values.len() < features.len()) {
        return Err(invalid_argument!(
            "Sparse features at index {column} have fewer values than indices"
        ));
    }
    let known = ctx.input(columns.weight_indices() + column)?.values::<i64>()?;
    let place_of: FxHashMap<i64, usize> =
        known.iter().enumerate().map(|(place, &index)| (index, place)).collect();
    if known.len() > ctx.input(columns.sparse_weights() + column)?.num_elements() {
        return Err(invalid_argument!(
            "Sparse features at index {column} have fewer weights than indices"
        ));
    }
    let (mut places, mut ends) = (Vec::with_capacity(features.len()), Vec::with_capacity(len));
    let mut seen = FxHashSet::default();
    for example in 0..len {
        seen.clear();
        while examples.get(places.len()) == Some(&(example as i64)) {
            let feature = features[places.len()];
            let Some(&place) = place_of.get(&feature) else {
                return Err(invalid_argument!(
                    "Found sparse feature indices out of valid range: {feature}"
                ));
            };
            if !seen.insert(feature) {
                return Err(invalid_argument!("Duplicate index in sparse vector."));
            }
            places.push(place);
        }
        ends.push(places.len());
    }
    Ok(SparseColumn { places, values, ends })
}

/// Weights as they came, and what they learnt since.
#[derive(Debug)]
struct Weights<'a> {
    nominal: &'a [f32],
    delta: Vec<f32>,
    shape: Shape,
}

impl Weights<'_> {
    fn new(tensor: &Tensor) -> Result<Weights<'_>> {
        let nominal = tensor.values::<f32>()?;
        Ok(Weights { nominal, delta: vec![0.0; nominal.len()], shape: tensor.shape().clone() })
    }
}

#[derive(Debug)]
pub(super) struct Model<'a> {
    sparse: Vec<Weights<'a>>,
    dense: Vec<Weights<'a>>,
}

impl<'a> Model<'a> {
    pub(super) fn new<'c: 'a>(ctx: &'c KernelContext<'_>, columns: Columns) -> Result<Model<'a>> {
        let weights = |first: usize, count: usize| {
            (first..first + count)
                .map(|index| Weights::new(ctx.input(index)?))
                .collect::<Result<Vec<_>>>()
        };
        Ok(Model {
            sparse: weights(columns.sparse_weights(), columns.sparse)?,
            dense: weights(columns.dense_weights(), columns.dense)?,
        })
    }

    /// What the model says of an example now, and what it said before the batch.
    pub(super) fn predict(
        &self,
        batch: &Batch<'_>,
        example: usize,
        partitions: f32,
        regularization: Regularization,
    ) -> (f64, f64) {
        let (mut now, mut before) = (0.0, 0.0);
        for (weights, column) in self.sparse.iter().zip(&batch.sparse) {
            for (place, value) in column.of(example) {
                let nominal = weights.nominal[place];
                let learnt = nominal + weights.delta[place] * partitions;
                before += value * regularization.shrink(nominal.into());
                now += value * regularization.shrink(learnt.into());
            }
        }
        for (weights, column) in self.dense.iter().zip(&batch.dense) {
            let (mut dense_now, mut dense_before) = (0.0f32, 0.0f32);
            let pairs = weights.nominal.iter().zip(&weights.delta);
            for ((nominal, delta), value) in pairs.zip(column.of(example)) {
                dense_before += value * regularization.shrink_f32(*nominal);
                dense_now += value * regularization.shrink_f32(nominal + delta * partitions);
            }
            before += f64::from(dense_before);
            now += f64::from(dense_now);
        }
        (now, before)
    }

    /// Adds an example's features so many times to the weights.
    pub(super) fn learn(&mut self, batch: &Batch<'_>, example: usize, factor: f64) {
        for (weights, column) in self.sparse.iter_mut().zip(&batch.sparse) {
            for (place, value) in column.of(example) {
                let delta = &mut weights.delta[place];
                *delta = (f64::from(*delta) + value * factor) as f32;
            }
        }
        for (weights, column) in self.dense.iter_mut().zip(&batch.dense) {
            for (delta, value) in weights.delta.iter_mut().zip(column.of(example)) {
                *delta += value * factor as f32;
            }
        }
    }

    /// What was learnt, sparse columns first.
    pub(super) fn into_deltas(self) -> Result<Vec<Tensor>> {
        let all = self.sparse.into_iter().chain(self.dense);
        all.map(|weights| Tensor::from_vec(weights.shape, weights.delta)).collect()
    }
}

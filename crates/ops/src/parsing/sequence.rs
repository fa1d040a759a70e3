//! Sequence examples: features of a context, and lists that have a feature for each step.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Error, Result, Shape, Tensor, invalid_argument};

use super::column::split_tensor;
use super::example::{Keys, broken};
use super::feature::{Feature, Kind, Values};
use super::fields::{Field, Fields, Malformed};

/// What is collected of one feature of the context.
#[derive(Debug)]
pub(super) enum Context {
    Sparse,
    Ragged {
        splits: DType,
    },
    /// Of one shape in every example; a default may stand in for it.
    Dense {
        shape: Shape,
        default: Tensor,
    },
}

/// What is collected of one list.
#[derive(Debug)]
pub(super) enum List {
    Sparse,
    Ragged {
        splits: DType,
    },
    /// Of one shape in every step. Lists may be missing if that counts as empty.
    Dense {
        shape: Shape,
        may_be_missing: bool,
    },
}

/// A feature or a list over all examples of a batch.
#[derive(Debug)]
pub(super) struct Wanted<L> {
    pub(super) key: Bytes,
    pub(super) kind: Kind,
    pub(super) layout: L,
}

/// How examples are called in errors, which also tells how the op words them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Names<'a> {
    /// The op for one example looks at one feature after the other, and complains about the first.
    /// The example is called so even if that is nothing.
    One(&'a Bytes),
    /// The ops for batches count the values of all examples before they look at each. There may be
    /// a name for each example.
    Batch(&'a [Bytes]),
}

impl Names<'_> {
    fn of(&self, row: usize) -> String {
        match self {
            Names::One(name) => String::from_utf8_lossy(name).into_owned(),
            Names::Batch(names) => names.get(row).map_or_else(
                || "<unknown>".to_owned(),
                |name| String::from_utf8_lossy(name).into_owned(),
            ),
        }
    }
}

/// Values of a column with the ends of its steps and of its examples.
#[derive(Debug)]
struct Collected {
    values: Values,
    /// Where the values of each step end; for the context, a step is an example.
    steps: Vec<usize>,
    /// Where the steps of each example end.
    examples: Vec<usize>,
    /// What is wrong with one example, if the counts over all are right.
    wrong: Option<Error>,
}

/// The tensors of each column.
pub(super) type Columns = Vec<Vec<Tensor>>;

/// The tensors of all columns, in the order of the columns: three for a sparse one, two or three
/// for a ragged one, one for a dense feature, two for a dense list (values and lengths).
pub(super) fn parse(
    context: &[Wanted<Context>],
    lists: &[Wanted<List>],
    records: &[Bytes],
    names: Names<'_>,
    single: bool,
) -> Result<(Columns, Columns)> {
    let collect = |kind| Collected {
        values: Values::new(kind),
        steps: vec![],
        examples: vec![],
        wrong: None,
    };
    let mut context_columns: Vec<_> = context.iter().map(|wanted| collect(wanted.kind)).collect();
    let mut list_columns: Vec<_> = lists.iter().map(|wanted| collect(wanted.kind)).collect();
    let context_keys = Keys::new(context.iter().map(|wanted| &wanted.key));
    let list_keys = Keys::new(lists.iter().map(|wanted| &wanted.key));
    let (mut features, mut sequences) = (vec![None; context.len()], vec![None; lists.len()]);
    for (row, record) in records.iter().enumerate() {
        features.fill(None);
        sequences.fill(None);
        find(record, (&context_keys, &mut features), (&list_keys, &mut sequences)).map_err(
            |Malformed| match names {
                Names::One(_) => broken(record),
                Names::Batch(_) => invalid_argument!(
                    "Invalid protocol message input, example id: {}",
                    names.of(row)
                ),
            },
        )?;
        for ((wanted, column), message) in context.iter().zip(&mut context_columns).zip(&features) {
            add_feature(wanted, column, *message, record, (names, row))?;
        }
        for ((wanted, column), message) in lists.iter().zip(&mut list_columns).zip(&sequences) {
            add_list(wanted, column, *message, record, (names, row))?;
        }
    }
    for (wanted, column) in context.iter().zip(&mut context_columns) {
        check_counts(wanted, column)?;
    }
    for (wanted, column) in lists.iter().zip(&mut list_columns) {
        check_totals(wanted, column)?;
    }
    let context = context.iter().zip(context_columns);
    let lists = lists.iter().zip(list_columns);
    Ok((
        context
            .map(|(wanted, column)| column.context_tensors(wanted, single))
            .collect::<Result<_>>()?,
        lists.map(|(wanted, column)| column.list_tensors(wanted, single)).collect::<Result<_>>()?,
    ))
}

/// Checks that the examples of a batch have as many values of a dense feature as they must. As in
/// TensorFlow the largest number of all comes first, and no examples are no values.
fn check_counts(wanted: &Wanted<Context>, column: &mut Collected) -> Result<()> {
    if let Context::Dense { shape, default } = &wanted.layout {
        let (have, want) =
            (longest(&column.steps).max(default.num_elements()), shape.num_elements());
        if have != want {
            return Err(inconsistent(&wanted.key, want, have));
        }
    }
    column.wrong.take().map_or(Ok(()), Err)
}

/// The same for a dense list, whose values must fill whole steps.
fn check_totals(wanted: &Wanted<List>, column: &mut Collected) -> Result<()> {
    if let (List::Dense { shape, .. }, Some(_)) = (&wanted.layout, &column.wrong) {
        let values_before = |steps: usize| if steps == 0 { 0 } else { column.steps[steps - 1] };
        let ends: Vec<usize> = column.examples.iter().map(|steps| values_before(*steps)).collect();
        let total = longest(&ends);
        if total.checked_rem(shape.num_elements()).unwrap_or(total) != 0 {
            let inner: String = shape.dims().iter().map(|dim| format!(",{dim}")).collect();
            return Err(invalid_argument!(
                "Feature list '{}' has an unexpected number of values.  Total values size: {total} \
                 is not consistent with output shape: [?{inner}]",
                String::from_utf8_lossy(&wanted.key)
            ));
        }
    }
    column.wrong.take().map_or(Ok(()), Err)
}

fn inconsistent(key: &Bytes, want: usize, have: usize) -> Error {
    invalid_argument!(
        "Inconsistent max number of elements for feature {}: expected {want}, but found {have}",
        String::from_utf8_lossy(key)
    )
}

type Search<'k, 'f, 'a> = (&'k Keys, &'f mut [Option<&'a [u8]>]);

fn find<'a>(
    record: &'a [u8],
    context: Search<'_, '_, 'a>,
    lists: Search<'_, '_, 'a>,
) -> Result<(), Malformed> {
    let mut fields = Fields::new(record);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(message)) => context.0.find(message, context.1)?,
            (2, Field::Bytes(message)) => lists.0.find(message, lists.1)?,
            _ => {}
        }
    }
    Ok(())
}

fn add_feature(
    wanted: &Wanted<Context>,
    column: &mut Collected,
    message: Option<&[u8]>,
    record: &Bytes,
    (names, row): (Names<'_>, usize),
) -> Result<()> {
    let key = String::from_utf8_lossy(&wanted.key);
    let wrong = || {
        invalid_argument!(
            "Name: {}, Context feature: {key}.  Data types don't match. Expected type: {}",
            names.of(row),
            wanted.kind.dtype()
        )
    };
    let feature = match message {
        Some(message) => Feature::new(message).map_err(|Malformed| wrong())?,
        None => None,
    };
    let before = column.values.len();
    if let Some(feature) = feature {
        if feature.kind != wanted.kind {
            return Err(wrong());
        }
        column.values.extend(feature, record).map_err(|Malformed| wrong())?;
    }
    if let Context::Dense { shape, default } = &wanted.layout {
        // In a batch, a feature without values is there all the same.
        if message.is_none() || (feature.is_none() && matches!(names, Names::One(_))) {
            column.values.extend_from(default)?;
        }
        let (have, want) = (column.values.len() - before, shape.num_elements());
        if have != want {
            let (name, dtype) = (names.of(row), wanted.kind.dtype());
            match (names, message, feature) {
                (Names::One(_), _, None) => {
                    return Err(invalid_argument!(
                        "Name: {name}, Context feature '{key}' is required but could not be found."
                    ));
                }
                (Names::One(_), _, Some(_)) => {
                    return Err(invalid_argument!(
                        "Name: {name}, Key: {key}, Index: 0.  Number of {dtype} values != expected. \
                         \u{20}values size: {have} but output shape: {shape}"
                    ));
                }
                (Names::Batch(_), None, _) => column.wrong.get_or_insert_with(|| {
                    invalid_argument!(
                        "Feature: {key} (data type: {dtype}) is required but could not be found."
                    )
                }),
                (Names::Batch(_), Some(_), _) => column.wrong.get_or_insert_with(|| {
                    invalid_argument!("Unexpected number of elements in example {name}")
                }),
            };
        }
    }
    column.steps.push(column.values.len());
    Ok(())
}

fn add_list(
    wanted: &Wanted<List>,
    column: &mut Collected,
    message: Option<&[u8]>,
    record: &Bytes,
    (names, row): (Names<'_>, usize),
) -> Result<()> {
    let name = || names.of(row);
    let key = String::from_utf8_lossy(&wanted.key);
    let Some(message) = message else {
        if let List::Dense { may_be_missing: false, .. } = wanted.layout {
            return Err(invalid_argument!(
                "Name: {}, Feature list '{key}' is required but could not be found.  Did you mean \
                 to include it in feature_list_dense_missing_assumed_empty or \
                 feature_list_dense_defaults?",
                name()
            ));
        }
        column.examples.push(column.steps.len());
        return Ok(());
    };
    let first = column.steps.len();
    let wrong = |step: usize| -> Error {
        invalid_argument!(
            "Name: {}, Feature list: {key}, Index: {step}.  Data types don't match. Expected type: \
             {}",
            name(),
            wanted.kind.dtype()
        )
    };
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next().map_err(|Malformed| wrong(column.steps.len() - first))? {
        let (1, Field::Bytes(message)) = field else { continue };
        let step = column.steps.len() - first;
        let before = column.values.len();
        if let Some(feature) = Feature::new(message).map_err(|Malformed| wrong(step))? {
            if feature.kind != wanted.kind {
                return Err(wrong(step));
            }
            column.values.extend(feature, record).map_err(|Malformed| wrong(step))?;
        }
        if let List::Dense { shape, .. } = &wanted.layout {
            let have = column.values.len() - before;
            if have != shape.num_elements() {
                let error = |dtype: &str| {
                    invalid_argument!(
                        "Name: {}, Key: {key}, Index: {step}.  Number of {dtype}values != expected. \
                         \u{20}values size: {have} but output shape: {shape}",
                        name()
                    )
                };
                match names {
                    Names::One(_) => return Err(error(&format!("{} ", wanted.kind.dtype()))),
                    Names::Batch(_) => drop(column.wrong.get_or_insert_with(|| error(""))),
                }
            }
        }
        column.steps.push(column.values.len());
    }
    column.examples.push(column.steps.len());
    Ok(())
}

fn longest(ends: &[usize]) -> usize {
    let starts = std::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(start, end)| end - start).max().unwrap_or(0)
}

/// The splits of a single example tell nothing; TensorFlow has a scalar in their place.
fn no_splits(dtype: DType) -> Result<Tensor> {
    Tensor::zeros(dtype, Shape::SCALAR)
}

impl Collected {
    fn context_tensors(self, wanted: &Wanted<Context>, single: bool) -> Result<Vec<Tensor>> {
        let count = self.values.len();
        let flat = Shape::vector(count);
        match &wanted.layout {
            Context::Sparse => {
                let mut indices = Vec::with_capacity(2 * count);
                let mut start = 0;
                for (row, &end) in self.steps.iter().enumerate() {
                    for value in 0..end - start {
                        if !single {
                            indices.push(row as i64);
                        }
                        indices.push(value as i64);
                    }
                    start = end;
                }
                let longest = longest(&self.steps) as i64;
                let shape =
                    if single { vec![longest] } else { vec![self.steps.len() as i64, longest] };
                Ok(vec![
                    Tensor::from_slice(Shape::matrix(count, shape.len()), &indices)?,
                    self.values.into_tensor(flat)?,
                    Tensor::vector(&shape)?,
                ])
            }
            Context::Ragged { splits } => {
                let ends =
                    if single { no_splits(*splits)? } else { split_tensor(*splits, &self.steps)? };
                Ok(vec![self.values.into_tensor(flat)?, ends])
            }
            Context::Dense { shape, .. } => {
                let shape = if single {
                    shape.clone()
                } else {
                    Shape::new(&[&[self.steps.len()], shape.dims()].concat())?
                };
                Ok(vec![self.values.into_tensor(shape)?])
            }
        }
    }

    fn list_tensors(self, wanted: &Wanted<List>, single: bool) -> Result<Vec<Tensor>> {
        match &wanted.layout {
            List::Sparse => self.sparse_list(single),
            List::Ragged { splits } => {
                let outer = if single {
                    no_splits(*splits)?
                } else {
                    split_tensor(*splits, &self.examples)?
                };
                let inner = split_tensor(*splits, &self.steps)?;
                let flat = Shape::vector(self.values.len());
                Ok(vec![self.values.into_tensor(flat)?, outer, inner])
            }
            List::Dense { shape, .. } => self.dense_list(shape, single),
        }
    }

    fn sparse_list(self, single: bool) -> Result<Vec<Tensor>> {
        let count = self.values.len();
        let rank = if single { 2 } else { 3 };
        let mut indices = Vec::with_capacity(rank * count);
        let (mut first_step, mut start) = (0, 0);
        for (row, &last_step) in self.examples.iter().enumerate() {
            for (step, &end) in self.steps[first_step..last_step].iter().enumerate() {
                for value in 0..end - start {
                    if !single {
                        indices.push(row as i64);
                    }
                    indices.extend_from_slice(&[step as i64, value as i64]);
                }
                start = end;
            }
            first_step = last_step;
        }
        let sizes = [longest(&self.examples) as i64, longest(&self.steps) as i64];
        let shape = if single {
            Tensor::vector(&sizes)?
        } else {
            Tensor::vector(&[self.examples.len() as i64, sizes[0], sizes[1]])?
        };
        Ok(vec![
            Tensor::from_slice(Shape::matrix(count, rank), &indices)?,
            self.values.into_tensor(Shape::vector(count))?,
            shape,
        ])
    }

    fn dense_list(self, shape: &Shape, single: bool) -> Result<Vec<Tensor>> {
        let (width, most) = (shape.num_elements(), longest(&self.examples));
        let mut lengths = Vec::with_capacity(self.examples.len());
        let mut start = 0;
        for &end in &self.examples {
            lengths.push((end - start) as i64);
            start = end;
        }
        if single {
            let shape = Shape::new(&[&[most], shape.dims()].concat())?;
            let length = Tensor::scalar(lengths.first().copied().unwrap_or(0));
            return Ok(vec![self.values.into_tensor(shape)?, length]);
        }
        let shape = Shape::new(&[&[self.examples.len(), most], shape.dims()].concat())?;
        let ends: Vec<usize> = self.examples.iter().map(|steps| steps * width).collect();
        let dtype = match &self.values {
            Values::Bytes(_) => DType::String,
            Values::Float(_) => DType::Float,
            Values::Int64(_) => DType::Int64,
        };
        let padding = Tensor::zeros(dtype, Shape::SCALAR)?;
        let values = self.values.into_padded(&ends, most * width, &padding, shape)?;
        Ok(vec![values, Tensor::vector(&lengths)?])
    }
}

//! Columns: what is collected of one feature over the examples of a batch.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Error, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::feature::{Feature, Kind, Values};

/// How the values of a column are laid out in the end.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// As many as there are, in a sparse tensor.
    Sparse,
    /// As many as there are, in rows with splits.
    Ragged { splits: DType },
    /// So many in every example, which may be given by a default.
    Dense { shape: Shape, default: Option<Tensor> },
    /// Any number of rows of `stride` values; shorter examples are padded.
    Padded { shape: PartialShape, stride: usize, padding: Tensor },
}

/// One feature of all examples of a batch.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) key: Bytes,
    pub(super) kind: Kind,
    pub(super) layout: Layout,
    values: Values,
    /// Where the values of each example end.
    ends: Vec<usize>,
}

/// Which example an error is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// The only one.
    Single,
    /// One of a batch, with a name if the caller gave names.
    Row { row: usize, name: Option<&'a Bytes> },
}

impl Place<'_> {
    fn key(self, key: &Bytes) -> String {
        let key = String::from_utf8_lossy(key);
        match self {
            Place::Single => format!("Key: {key}.  "),
            Place::Row { row, .. } => {
                format!("{}Key: {key}, Index: {row}.  ", self.name())
            }
        }
    }

    fn name(self) -> String {
        match self {
            Place::Single => String::new(),
            Place::Row { name, .. } => {
                let name = name.map_or("<unknown>".into(), |name| String::from_utf8_lossy(name));
                format!("Name: {name}, ")
            }
        }
    }
}

impl Column {
    pub(super) fn new(key: Bytes, kind: Kind, layout: Layout) -> Column {
        Column { key, kind, layout, values: Values::new(kind), ends: Vec::new() }
    }

    /// A dense column by its declared shape and default, which are checked; `index` counts them.
    pub(super) fn dense(
        key: Bytes,
        shape: &PartialShape,
        default: &Tensor,
        index: usize,
    ) -> Result<Column> {
        let kind = Kind::of(default.dtype())?;
        let layout = match shape.to_shape() {
            Some(fixed) => {
                let given = default.num_elements() > 0;
                if given && *default.shape() != fixed {
                    return Err(invalid_argument!(
                        "def_value[{index}].shape() == {} is not compatible with \
                         dense_shapes_[{index}] == {shape}",
                        default.shape()
                    ));
                }
                Layout::Dense { shape: fixed, default: given.then(|| default.clone()) }
            }
            None => {
                if default.num_elements() != 1 {
                    return Err(invalid_argument!(
                        "dense_shape[{index}] is a variable length shape: {shape}, therefore \
                         def_value[{index}] must contain a single element (the padding element).  \
                         But its shape is: {}",
                        default.shape()
                    ));
                }
                let inner = shape.dims.as_deref().and_then(|dims| dims.get(1..)).unwrap_or(&[]);
                let stride = inner
                    .iter()
                    .try_fold(1usize, |product, dim| product.checked_mul((*dim)?))
                    .ok_or_else(|| {
                        invalid_argument!(
                            "Only the first dimension of a dense shape may be unknown, got {shape}"
                        )
                    })?;
                let padding = default.clone();
                Layout::Padded { shape: shape.clone(), stride, padding }
            }
        };
        Ok(Column::new(key, kind, layout))
    }

    /// An empty column of the same kind.
    pub(super) fn like(&self) -> Column {
        Column::new(self.key.clone(), self.kind, self.layout.clone())
    }

    /// Appends what was collected of later examples.
    pub(super) fn append(&mut self, later: Column) {
        let start = self.values.len();
        self.values.append(later.values);
        self.ends.extend(later.ends.iter().map(|end| start + end));
    }

    /// Adds the feature of the next example, or that it has none.
    pub(super) fn add(
        &mut self,
        encoded: Option<&[u8]>,
        record: &Bytes,
        place: Place<'_>,
    ) -> Result<()> {
        let feature = match encoded {
            Some(message) => Feature::new(message).map_err(|_| self.broken(place))?,
            None => None,
        };
        let Some(feature) = feature else {
            self.add_missing(place)?;
            self.ends.push(self.values.len());
            return Ok(());
        };
        if feature.kind != self.kind {
            return Err(self.wrong_kind(feature.kind, place));
        }
        let before = self.values.len();
        if self.values.extend(feature, record).is_err() {
            return Err(self.broken(place));
        }
        self.check_count(self.values.len() - before, place)?;
        self.ends.push(self.values.len());
        Ok(())
    }

    /// TensorFlow's complaint about a feature whose list is none.
    fn broken(&self, place: Place<'_>) -> Error {
        let why = match (place, self.kind, &self.layout) {
            (Place::Row { .. }, ..) => String::new(),
            (Place::Single, Kind::Bytes, Layout::Sparse | Layout::Ragged { .. }) => {
                ": Could not get num elements in bytes_list".to_owned()
            }
            (Place::Single, kind, _) => format!(": Parsing {} failed", kind.list_name()),
        };
        invalid_argument!("{}Can't parse serialized Example{why}.", place.key(&self.key))
    }

    fn add_missing(&mut self, place: Place<'_>) -> Result<()> {
        let Layout::Dense { default, .. } = &self.layout else { return Ok(()) };
        match default {
            Some(default) => self.values.extend_from(default),
            None => Err(invalid_argument!(
                "{}Feature: {} (data type: {}) is required but could not be found.",
                place.name(),
                String::from_utf8_lossy(&self.key),
                self.kind.dtype()
            )),
        }
    }

    fn wrong_kind(&self, kind: Kind, place: Place<'_>) -> Error {
        let (have, want) = (kind.dtype(), self.kind.dtype());
        let place = place.key(&self.key);
        match self.layout {
            Layout::Sparse | Layout::Ragged { .. } => invalid_argument!(
                "{place}Data types don't match. Expected type: {want}, Actual type: {have}"
            ),
            Layout::Dense { .. } | Layout::Padded { .. } => invalid_argument!(
                "{place}Data types don't match. Data type: {have} but expected type: {want}"
            ),
        }
    }

    fn check_count(&self, count: usize, place: Place<'_>) -> Result<()> {
        let dtype = self.kind.dtype();
        match (&self.layout, place) {
            (Layout::Dense { shape, .. }, Place::Single) if count != shape.num_elements() => {
                Err(invalid_argument!(
                    "{}Can't parse serialized Example: Some {} slice was not parsed.",
                    place.key(&self.key),
                    self.kind.list_name()
                ))
            }
            (Layout::Dense { shape, .. }, _) if count != shape.num_elements() => {
                Err(invalid_argument!(
                    "{}Number of {dtype} values != expected.  Values size: {count} but output \
                     shape: {shape}",
                    place.key(&self.key)
                ))
            }
            (Layout::Padded { shape, stride, .. }, _)
                if count.checked_rem(*stride).unwrap_or(count) != 0 =>
            {
                Err(invalid_argument!(
                    "{}Number of {dtype} values is not a multiple of stride length. Saw {count} \
                     values but output shape is: {shape}",
                    place.key(&self.key)
                ))
            }
            _ => Ok(()),
        }
    }

    fn longest(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| end - start).max().unwrap_or(0)
    }

    /// Indices, values and shape of a sparse tensor; without rows for a single example.
    pub(super) fn into_sparse(self, single: bool) -> Result<[Tensor; 3]> {
        let (count, rank) = (self.values.len(), if single { 1 } else { 2 });
        let longest = self.longest() as i64;
        let indices = Tensor::build(Shape::matrix(count, rank), |out: &mut [i64]| {
            if single {
                out.iter_mut().zip(0..).for_each(|(out, index)| *out = index);
                return;
            }
            let mut places = out.chunks_exact_mut(2);
            let mut start = 0;
            for (row, &end) in self.ends.iter().enumerate() {
                for (column, place) in places.by_ref().take(end - start).enumerate() {
                    place.copy_from_slice(&[row as i64, column as i64]);
                }
                start = end;
            }
        })?;
        let shape = if single {
            Tensor::vector(&[longest])?
        } else {
            Tensor::vector(&[self.ends.len() as i64, longest])?
        };
        Ok([indices, self.values.into_tensor(Shape::vector(count))?, shape])
    }

    /// Values and splits of a ragged tensor; a single example needs no splits.
    pub(super) fn into_ragged(self, single: bool) -> Result<[Tensor; 2]> {
        let count = self.values.len();
        let splits = match self.layout {
            Layout::Ragged { splits } => splits,
            _ => DType::Int64,
        };
        let splits = if single {
            Tensor::zeros(splits, Shape::vector(0))?
        } else {
            split_tensor(splits, &self.ends)?
        };
        Ok([self.values.into_tensor(Shape::vector(count))?, splits])
    }

    /// A dense tensor with a row for each example, or that of a single example.
    pub(super) fn into_dense(self, single: bool) -> Result<Tensor> {
        let rows = self.ends.len();
        let longest = self.longest();
        let with_rows = |dims: &[usize]| {
            if single { Shape::new(dims) } else { Shape::new(&[&[rows], dims].concat()) }
        };
        match &self.layout {
            Layout::Dense { shape, .. } => {
                let shape = with_rows(shape.dims())?;
                self.values.into_tensor(shape)
            }
            Layout::Padded { shape, stride, padding } => {
                let inner = shape.dims.as_deref().and_then(|dims| dims.get(1..)).unwrap_or(&[]);
                let mut dims = vec![longest.checked_div(*stride).unwrap_or(0)];
                dims.extend(inner.iter().map(|dim| dim.unwrap_or(0)));
                self.values.into_padded(&self.ends, longest, padding, with_rows(&dims)?)
            }
            Layout::Sparse | Layout::Ragged { .. } => {
                let shape = Shape::vector(self.values.len());
                self.values.into_tensor(shape)
            }
        }
    }
}

/// Row splits: where rows end, with a zero in front.
pub(super) fn split_tensor(dtype: DType, ends: &[usize]) -> Result<Tensor> {
    let all = std::iter::once(0).chain(ends.iter().copied());
    match dtype {
        DType::Int32 => Tensor::vector(&all.map(|end| end as i32).collect::<Vec<_>>()),
        _ => Tensor::vector(&all.map(|end| end as i64).collect::<Vec<_>>()),
    }
}

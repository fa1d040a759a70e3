//! The table: a map from keys to values of any type, each possibly a whole tensor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{Durable, Kept, Measure, Resource, Unit};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, aborted, failed_precondition, invalid_argument,
    unimplemented_error,
};

use super::dense::{Dense, Places};
use super::kept::event;

/// How a table may change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Filled once.
    Immutable,
    Mutable,
    /// Two keys stand for places without an entry, so they cannot be used.
    Dense(Dense),
}

/// What a table was made for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature {
    pub(super) kind: Kind,
    pub(super) key_dtype: DType,
    pub(super) key_shape: Shape,
    pub(super) value_dtype: DType,
    pub(super) value_shape: Shape,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) signature: Signature,
    pub(super) kept: Kept,
    state: RwLock<State>,
    reads: AtomicU64,
    updates: AtomicU64,
}

impl Resource for Table {
    const TYPE_NAME: &'static str = "N10tensorflow6lookup15LookupInterfaceE";

    fn durable(&self) -> Option<&dyn Durable> {
        Some(self)
    }

    fn measure(&self) -> Measure {
        let Signature { key_dtype, key_shape, value_dtype, value_shape, .. } = &self.signature;
        // What a cell has in a block of its own; texts are not counted.
        let apart = |dtype: &DType, shape: &Shape| match dtype.size() * shape.num_elements() {
            ..=16 => 0,
            large => large,
        };
        let each = size_of::<(Cell, Cell)>()
            + apart(key_dtype, key_shape)
            + apart(value_dtype, value_shape);
        let entries = self.len();
        Measure {
            dtype: format!("{key_dtype}->{value_dtype}"),
            entries: Some(entries as u64),
            bytes: (entries * each) as u64,
            reads: self.reads.load(Ordering::Relaxed),
            updates: self.updates.load(Ordering::Relaxed),
            ..Measure::default()
        }
    }
}

#[derive(Debug, Default)]
struct State {
    initialized: bool,
    /// What all tables but dense ones hold.
    entries: FxHashMap<Cell, Cell>,
    /// What a dense table holds.
    places: Places,
}

/// A key or a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cell {
    /// Up to 16 bytes of a plain type, and how many.
    Small([u8; 16], u8),
    Large(Box<[u8]>),
    String(Bytes),
    Strings(Box<[Bytes]>),
}

impl Cell {
    pub(super) fn plain(bytes: &[u8]) -> Cell {
        match bytes.len() {
            ..=16 => {
                let mut small = [0; 16];
                small[..bytes.len()].copy_from_slice(bytes);
                Cell::Small(small, bytes.len() as u8)
            }
            _ => Cell::Large(bytes.into()),
        }
    }
}

/// A tensor seen as rows of so many elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    tensor: &'a Tensor,
    width: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn new(tensor: &'a Tensor, element: &Shape) -> Result<Cells<'a>> {
        if matches!(tensor.dtype(), DType::Resource | DType::Variant) {
            return Err(unimplemented_error!("no tables of type {}", tensor.dtype()));
        }
        Ok(Cells { tensor, width: element.num_elements() })
    }

    pub(super) fn tensor(&self) -> Tensor {
        self.tensor.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.tensor.num_elements().checked_div(self.width).unwrap_or(0)
    }

    pub(super) fn get(&self, index: usize) -> Result<Cell> {
        let range = index * self.width..(index + 1) * self.width;
        if self.tensor.dtype() == DType::String {
            let strings = &self.tensor.strings()?[range];
            return Ok(match strings {
                [one] => Cell::String(one.clone()),
                _ => Cell::Strings(strings.into()),
            });
        }
        let size = self.tensor.dtype().size();
        Ok(Cell::plain(&self.tensor.raw()[range.start * size..range.end * size]))
    }
}

/// Makes a tensor of cells.
pub(super) fn assemble<'a>(
    dtype: DType,
    shape: Shape,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<Tensor> {
    if dtype == DType::String {
        let mut strings = Vec::with_capacity(shape.num_elements());
        for cell in cells {
            match cell {
                Cell::String(one) => strings.push(one.clone()),
                Cell::Strings(many) => strings.extend_from_slice(many),
                Cell::Small(..) | Cell::Large(_) => {}
            }
        }
        return Tensor::from_strings(shape, strings);
    }
    let cells: Vec<&Cell> = cells.collect();
    let total = shape.num_elements().saturating_mul(dtype.size());
    let width = total.checked_div(cells.len()).unwrap_or(0);
    Tensor::build_raw(dtype, shape, |out| {
        if width == 0 {
            return Ok(());
        }
        for (to, cell) in out.chunks_exact_mut(width).zip(cells) {
            match cell {
                Cell::Small(bytes, _) => to.copy_from_slice(&bytes[..width]),
                Cell::Large(bytes) => to.copy_from_slice(bytes),
                Cell::String(_) | Cell::Strings(_) => {}
            }
        }
        Ok(())
    })
}

impl Table {
    pub(super) fn new(name: &str, signature: Signature) -> Table {
        let places = match &signature.kind {
            Kind::Dense(dense) => Places::new(dense),
            Kind::Immutable | Kind::Mutable => Places::default(),
        };
        let state = RwLock::new(State { places, ..State::default() });
        let ([reads, updates], kept) = Default::default();
        Table { name: name.to_owned(), signature, kept, state, reads, updates }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.updates.fetch_add(1, Ordering::Relaxed);
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_initialized(&self, state: &State) -> Result<()> {
        if self.signature.kind == Kind::Immutable && !state.initialized {
            return Err(failed_precondition!("Table not initialized."));
        }
        Ok(())
    }

    /// Refuses what a table filled once cannot do.
    fn check_mutable(&self, what: &str) -> Result<()> {
        if self.signature.kind == Kind::Immutable {
            return Err(unimplemented_error!(
                "{what} not supported by InitializableLookupTable implementations"
            ));
        }
        Ok(())
    }

    /// How the table is laid out, if it is dense.
    fn dense(&self) -> Option<&Dense> {
        match &self.signature.kind {
            Kind::Dense(dense) => Some(dense),
            Kind::Immutable | Kind::Mutable => None,
        }
    }

    pub(super) fn is_dense(&self) -> bool {
        self.dense().is_some()
    }

    /// Refuses keys that are no vector of keys, of which alone dense tables know.
    pub(super) fn check_key_batch(&self, keys: &Tensor) -> Result<()> {
        let (batch, width) = (keys.dims().first().copied().unwrap_or(1), &self.signature.key_shape);
        if self.dense().is_some() && keys.num_elements() != batch * width.num_elements() {
            return Err(invalid_argument!(
                "Expected key shape {} got {}",
                Shape::new(&[&[batch], width.dims()].concat())?,
                keys.shape()
            ));
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        let state = self.read();
        // One of them is empty.
        state.entries.len() + state.places.entries()
    }

    /// The values of keys; for keys that are not there, `default` of their position.
    pub(super) fn find(
        &self,
        keys: Cells<'_>,
        default: impl Fn(usize) -> Result<Cell>,
    ) -> Result<Vec<Cell>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let state = self.read();
        self.check_initialized(&state)?;
        let mut found = Vec::with_capacity(keys.len());
        for index in 0..keys.len() {
            let key = keys.get(index)?;
            let value = match self.dense() {
                Some(dense) => state.places.get(dense, &key)?,
                None => state.entries.get(&key),
            };
            found.push(match value {
                Some(value) => value.clone(),
                None => default(index)?,
            });
        }
        Ok(found)
    }

    pub(super) fn insert(
        &self,
        unit: Option<&dyn Unit>,
        keys: Cells<'_>,
        values: Cells<'_>,
    ) -> Result<()> {
        self.check_mutable("Insert")?;
        let telling = self.kept.enter(unit)?;
        let mut state = self.write();
        let inserted = self.insert_into(&mut state, keys, values);
        telling.tell(unit, inserted.is_err(), || event::insert(keys, values));
        inserted
    }

    fn insert_into(&self, state: &mut State, keys: Cells<'_>, values: Cells<'_>) -> Result<()> {
        if let Some(dense) = self.dense() {
            state.places.reserve(dense, keys.len())?;
        }
        for index in 0..keys.len() {
            let (key, value) = (keys.get(index)?, values.get(index)?);
            match self.dense() {
                Some(dense) => state.places.insert(dense, key, value)?,
                None => {
                    state.entries.insert(key, value);
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, unit: Option<&dyn Unit>, keys: Cells<'_>) -> Result<()> {
        self.check_mutable("Remove")?;
        let telling = self.kept.enter(unit)?;
        let mut state = self.write();
        let removed = self.remove_from(&mut state, keys);
        telling.tell(unit, removed.is_err(), || event::remove(keys));
        removed
    }

    fn remove_from(&self, state: &mut State, keys: Cells<'_>) -> Result<()> {
        for index in 0..keys.len() {
            let key = keys.get(index)?;
            match self.dense() {
                Some(dense) => state.places.remove(dense, &key)?,
                None => {
                    state.entries.remove(&key);
                }
            }
        }
        Ok(())
    }

    /// Replaces everything; in a dense table by places as it exports them.
    pub(super) fn import(
        &self,
        unit: Option<&dyn Unit>,
        keys: Cells<'_>,
        values: Cells<'_>,
    ) -> Result<()> {
        if self.signature.kind == Kind::Immutable {
            return self.initialize(unit, keys, values);
        }
        let new = match self.dense() {
            Some(dense) => {
                State { places: Places::import(dense, keys, values)?, ..State::default() }
            }
            None => {
                let mut entries = FxHashMap::default();
                for index in 0..keys.len() {
                    entries.insert(keys.get(index)?, values.get(index)?);
                }
                State { entries, ..State::default() }
            }
        };
        let telling = self.kept.enter(unit)?;
        let mut state = self.write();
        *state = new;
        telling.tell(unit, false, || event::import(keys, values));
        Ok(())
    }

    /// Fills a table that is filled once. Doing it again with as many entries changes nothing.
    pub(super) fn initialize(
        &self,
        unit: Option<&dyn Unit>,
        keys: Cells<'_>,
        values: Cells<'_>,
    ) -> Result<()> {
        let telling = self.kept.enter(unit)?;
        let mut state = self.write();
        if state.initialized {
            if state.entries.len() == keys.len() {
                return Ok(());
            }
            return Err(failed_precondition!("Table was already initialized with different data."));
        }
        let mut entries = FxHashMap::default();
        for index in 0..keys.len() {
            let (key, value) = (keys.get(index)?, values.get(index)?);
            if let Some(have) = entries.get(&key) {
                if *have != value {
                    return Err(failed_precondition!(
                        "HashTable has different value for same key. Key {} has {} and trying to \
                         add value {}",
                        show(self.signature.key_dtype, &key),
                        show(self.signature.value_dtype, have),
                        show(self.signature.value_dtype, &value)
                    ));
                }
                continue;
            }
            entries.insert(key, value);
        }
        *state = State { initialized: true, entries, ..State::default() };
        telling.tell(unit, false, || event::initialize(keys, values));
        Ok(())
    }

    /// Whether there is anything in the table that was put there.
    pub(super) fn is_filled(&self) -> bool {
        match self.signature.kind {
            Kind::Immutable => self.read().initialized,
            Kind::Mutable => self.len() > 0,
            // Places that were freed stay as they are.
            Kind::Dense(_) => true,
        }
    }

    /// All keys and all values, in the same order.
    pub(super) fn export(&self) -> Result<(Tensor, Tensor)> {
        let state = self.read();
        if self.check_initialized(&state).is_err() {
            return Err(aborted!("HashTable is not initialized."));
        }
        if let Some(dense) = self.dense() {
            return self.export_places(&state.places, dense);
        }
        let signature = &self.signature;
        let shape =
            |element: &Shape| Shape::new(&[&[state.entries.len()], element.dims()].concat());
        let keys =
            assemble(signature.key_dtype, shape(&signature.key_shape)?, state.entries.keys())?;
        let values = assemble(
            signature.value_dtype,
            shape(&signature.value_shape)?,
            state.entries.values(),
        )?;
        Ok((keys, values))
    }

    /// The places of a dense table, also those without an entry.
    fn export_places(&self, places: &Places, dense: &Dense) -> Result<(Tensor, Tensor)> {
        let signature = &self.signature;
        let zeros = Tensor::zeros(signature.value_dtype, signature.value_shape.clone())?;
        let nothing = Cells::new(&zeros, &signature.value_shape)?.get(0)?;
        let pairs = places.export(dense, &nothing);
        let width = |element: &Shape| Shape::new(&[pairs.len(), element.num_elements()]);
        let (key_shape, value_shape) =
            (width(&signature.key_shape)?, width(&signature.value_shape)?);
        let (keys, values): (Vec<&Cell>, Vec<&Cell>) = pairs.into_iter().unzip();
        Ok((
            assemble(signature.key_dtype, key_shape, keys.into_iter())?,
            assemble(signature.value_dtype, value_shape, values.into_iter())?,
        ))
    }
}

/// A cell of one element for an error message.
fn show(dtype: DType, cell: &Cell) -> String {
    match cell {
        Cell::String(text) => String::from_utf8_lossy(text).into_owned(),
        Cell::Small(bytes, _) => {
            let bytes = &bytes[..dtype.size()];
            let Ok(tensor) = Tensor::from_bytes(dtype, Shape::SCALAR, bytes) else {
                return String::new();
            };
            tensorfleet_tensor::dispatch!(
                dtype,
                [i32, i64, f32, f64, bool],
                T => tensor.scalar_value::<T>().map_or_else(|_| String::new(), |v| v.to_string()),
                else => String::new()
            )
        }
        Cell::Large(_) | Cell::Strings(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: Kind) -> Table {
        let signature = Signature {
            kind,
            key_dtype: DType::String,
            key_shape: Shape::SCALAR,
            value_dtype: DType::Int64,
            value_shape: Shape::SCALAR,
        };
        Table::new("t", signature)
    }

    fn strings(values: &[&'static str]) -> Tensor {
        let bytes = values.iter().map(|value| Bytes::from(*value)).collect();
        Tensor::from_strings(Shape::vector(values.len()), bytes).unwrap()
    }

    fn cells(tensor: &Tensor) -> Cells<'_> {
        Cells::new(tensor, &Shape::SCALAR).unwrap()
    }

    #[test]
    fn a_table_that_is_filled_once_says_so() {
        let table = table(Kind::Immutable);
        let keys = strings(&["a", "b"]);
        let values = Tensor::vector(&[1i64, 2]).unwrap();
        assert!(table.find(cells(&keys), |_| Ok(Cell::plain(&[0; 8]))).is_err());
        assert!(table.insert(None, cells(&keys), cells(&values)).is_err());
        table.initialize(None, cells(&keys), cells(&values)).unwrap();
        table.initialize(None, cells(&keys), cells(&values)).unwrap();
        assert!(table.initialize(None, cells(&strings(&["c"])), cells(&values)).is_err());
        let again = strings(&["b", "x"]);
        let found = table.find(cells(&again), |_| Ok(Cell::plain(&[255; 8]))).unwrap();
        let found = assemble(DType::Int64, Shape::vector(2), found.iter()).unwrap();
        assert_eq!(found.values::<i64>().unwrap(), [2, -1]);
    }

    #[test]
    fn a_mutable_table_exports_what_it_imported() {
        let table = table(Kind::Mutable);
        let (keys, values) = (strings(&["a", "b"]), Tensor::vector(&[1i64, 2]).unwrap());
        table.insert(None, cells(&keys), cells(&values)).unwrap();
        table.remove(None, cells(&strings(&["a"]))).unwrap();
        let (keys, values) = table.export().unwrap();
        assert_eq!(keys.strings().unwrap(), [Bytes::from("b")]);
        assert_eq!(values.values::<i64>().unwrap(), [2]);
        table.import(None, cells(&strings(&["q"])), cells(&values)).unwrap();
        assert_eq!(table.len(), 1);
    }
}

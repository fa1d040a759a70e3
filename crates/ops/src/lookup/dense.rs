//! Tables of places, as TensorFlow's dense ones are.
//!
//! Such a table is exported, and so saved in checkpoints, place by place, and is imported the same
//! way. Which place an entry has depends on what was put and removed before, so places are kept, each
//! with the number of its entry.

use tensorfleet_kernels::hash::murmur64;
use tensorfleet_tensor::{DType, Result, internal, invalid_argument, resource_exhausted};

use super::table::{Cell, Cells};

/// A table that is exported has all of its places in memory.
pub(super) const MOST_PLACES: usize = 1 << 28;

/// What a dense table was made for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dense {
    pub(super) key_dtype: DType,
    /// The key of a place that has no entry.
    pub(super) empty: Cell,
    /// The key of a place whose entry was removed.
    pub(super) deleted: Cell,
    pub(super) initial_places: usize,
    /// The part of all places that may be taken.
    pub(super) max_load: f32,
}

impl Dense {
    /// Refuses the keys that stand for no key.
    fn check_key(&self, key: &Cell) -> Result<()> {
        for (reserved, name) in [(&self.empty, "empty_key"), (&self.deleted, "deleted_key")] {
            if key == reserved {
                return Err(invalid_argument!("Using the {name} as a table key is not allowed"));
            }
        }
        Ok(())
    }
}

/// The places of a table and what they hold.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// For each place the number of its pair, counted from one; zero if it never had any.
    numbers: Vec<u32>,
    /// Keys and values; the key of a removed entry is the one for that, and its value stays.
    pairs: Vec<(Cell, Cell)>,
    /// Pairs that are not removed.
    entries: usize,
}

/// What a key finds on its way from place to place.
enum Found {
    Pair(usize),
    /// A place that is free, and the pair of a removed entry in it.
    Free(usize, Option<usize>),
}

impl Places {
    pub(super) fn new(dense: &Dense) -> Places {
        Places { numbers: vec![0; dense.initial_places], ..Places::default() }
    }

    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    /// Follows a key until its pair or a free place; also one whose entry was removed, if `reuse`.
    fn probe(&self, dense: &Dense, key: &Cell, reuse: bool, what: &str) -> Result<Found> {
        let count = self.numbers.len();
        let mask = count.saturating_sub(1);
        let mut place = hash(dense.key_dtype, key) as usize & mask;
        for probes in 1..=count {
            match self.numbers[place].checked_sub(1) {
                None => return Ok(Found::Free(place, None)),
                Some(number) => {
                    let number = number as usize;
                    let have = &self.pairs[number].0;
                    if have == key {
                        return Ok(Found::Pair(number));
                    }
                    if reuse && *have == dense.deleted {
                        return Ok(Found::Free(place, Some(number)));
                    }
                }
            }
            place = (place + probes) & mask;
        }
        Err(internal!("Internal error in MutableDenseHashTable {what}"))
    }

    pub(super) fn get(&self, dense: &Dense, key: &Cell) -> Result<Option<&Cell>> {
        dense.check_key(key)?;
        Ok(match self.probe(dense, key, false, "lookup")? {
            Found::Pair(number) => Some(&self.pairs[number].1),
            Found::Free(..) => None,
        })
    }

    /// Makes room for so many entries more, whether or not their keys are new.
    pub(super) fn reserve(&mut self, dense: &Dense, more: usize) -> Result<()> {
        let pending = (self.entries + more) as f32;
        let mut count = self.numbers.len().max(1);
        while pending > count as f32 * dense.max_load {
            count *= 2;
            if count > MOST_PLACES {
                return Err(resource_exhausted!(
                    "a table of {count} buckets does not fit into memory"
                ));
            }
        }
        if count <= self.numbers.len() {
            return Ok(());
        }
        let old = std::mem::replace(self, Places { numbers: vec![0; count], ..Places::default() });
        let mut pairs: Vec<_> = old.pairs.into_iter().map(Some).collect();
        for number in old.numbers {
            let pair = number.checked_sub(1).and_then(|number| pairs[number as usize].take());
            if let Some((key, value)) = pair
                && dense.check_key(&key).is_ok()
            {
                self.insert(dense, key, value)?;
            }
        }
        Ok(())
    }

    /// Puts an entry, for which there is room.
    pub(super) fn insert(&mut self, dense: &Dense, key: Cell, value: Cell) -> Result<()> {
        dense.check_key(&key)?;
        match self.probe(dense, &key, true, "insert")? {
            Found::Pair(number) => self.pairs[number].1 = value,
            Found::Free(_, Some(number)) => {
                self.pairs[number] = (key, value);
                self.entries += 1;
            }
            Found::Free(place, None) => {
                self.pairs.push((key, value));
                self.numbers[place] = self.pairs.len() as u32;
                self.entries += 1;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, dense: &Dense, key: &Cell) -> Result<()> {
        dense.check_key(key)?;
        if let Found::Pair(number) = self.probe(dense, key, false, "remove")? {
            self.pairs[number].0 = dense.deleted.clone();
            self.entries -= 1;
        }
        Ok(())
    }

    /// The places that an export shows.
    pub(super) fn import(dense: &Dense, keys: Cells<'_>, values: Cells<'_>) -> Result<Places> {
        let mut places = Places { numbers: vec![0; keys.len()], ..Places::default() };
        for place in 0..keys.len() {
            let key = keys.get(place)?;
            if key == dense.empty {
                continue;
            }
            if key != dense.deleted {
                places.entries += 1;
            }
            places.pairs.push((key, values.get(place)?));
            places.numbers[place] = places.pairs.len() as u32;
        }
        Ok(places)
    }

    /// What each place holds; the key for none and `nothing` where that is nothing.
    pub(super) fn export<'a>(
        &'a self,
        dense: &'a Dense,
        nothing: &'a Cell,
    ) -> Vec<(&'a Cell, &'a Cell)> {
        let pair = |number: &u32| match number.checked_sub(1) {
            None => (&dense.empty, nothing),
            Some(number) => {
                let (key, value) = &self.pairs[number as usize];
                (key, value)
            }
        };
        self.numbers.iter().map(pair).collect()
    }
}

/// TensorFlow's hash of a key.
fn hash(dtype: DType, key: &Cell) -> u64 {
    match key {
        Cell::String(text) => murmur64(text),
        Cell::Strings(texts) => combine(texts.iter().map(|text| murmur64(text))),
        Cell::Large(bytes) => numbers(dtype, bytes),
        // What lies behind a short key is zero, but it is not part of it.
        Cell::Small(bytes, len) => numbers(dtype, &bytes[..usize::from(*len)]),
    }
}

fn numbers(dtype: DType, bytes: &[u8]) -> u64 {
    combine(bytes.chunks_exact(dtype.size()).map(|element| {
        let is_negative = !matches!(dtype, DType::Bool | DType::UInt8 | DType::UInt16)
            && element.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = [if is_negative { 0xff } else { 0 }; 8];
        let len = element.len().min(8);
        wide[..len].copy_from_slice(&element[..len]);
        u64::from_le_bytes(wide)
    }))
}

/// One hash of those of all elements; a single element's is its own.
fn combine(mut hashes: impl ExactSizeIterator<Item = u64>) -> u64 {
    if hashes.len() == 1 {
        return hashes.next().unwrap_or(0);
    }
    hashes.fold(0, |all, one| {
        let mixed =
            one.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(all << 10).wrapping_add(all >> 4);
        all ^ mixed
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(key: &[i64]) -> Cell {
        Cell::plain(&key.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
    }

    fn dense(initial_places: usize, width: usize) -> Dense {
        Dense {
            key_dtype: DType::Int64,
            empty: cell(&vec![0; width]),
            deleted: cell(&vec![-1; width]),
            initial_places,
            max_load: 0.8,
        }
    }

    /// Puts keys all at once; each value is the number of its key.
    fn put(dense: &Dense, places: &mut Places, keys: &[Cell]) {
        places.reserve(dense, keys.len()).unwrap();
        for (number, key) in keys.iter().enumerate() {
            places.insert(dense, key.clone(), cell(&[number as i64])).unwrap();
        }
    }

    fn exported(dense: &Dense, places: &Places) -> Vec<Cell> {
        let nothing = cell(&[0]);
        places.export(dense, &nothing).into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// The places are those that TensorFlow 2.21 exports.
    #[test]
    fn places_are_tensorflows() {
        let one = dense(8, 1);
        let mut places = Places::new(&one);
        put(&one, &mut places, &[11, 3, 19, 27, 5].map(|key| cell(&[key])));
        let expected = [0, 27, 0, 11, 3, 5, 19, 0].map(|key| cell(&[key]));
        assert_eq!(exported(&one, &places), expected);
        let two = dense(8, 2);
        let mut places = Places::new(&two);
        put(&two, &mut places, &[[11, 3], [3, 4], [19, 2]].map(|key| cell(&key)));
        let none = [0, 0];
        let expected = [[11, 3], [19, 2], none, none, none, none, none, [3, 4]];
        assert_eq!(exported(&two, &places), expected.map(|key| cell(&key)));
        let texts = Dense {
            key_dtype: DType::String,
            empty: Cell::String("".into()),
            deleted: Cell::String("$".into()),
            ..dense(8, 1)
        };
        let mut places = Places::new(&texts);
        put(&texts, &mut places, &["a", "b", "hello"].map(|text| Cell::String(text.into())));
        let expected = ["", "", "b", "hello", "a", "", "", ""];
        assert_eq!(exported(&texts, &places), expected.map(|text| Cell::String(text.into())));
    }

    /// As TensorFlow 2.21 exports a table that grew from four places and lost two entries.
    #[test]
    fn removed_entries_keep_their_places() {
        let one = dense(4, 1);
        let mut places = Places::new(&one);
        put(&one, &mut places, &[11, 12, 13].map(|key| cell(&[key])));
        put(&one, &mut places, &[14, 15, 16, 17].map(|key| cell(&[key])));
        for key in [12, 15, 99] {
            places.remove(&one, &cell(&[key])).unwrap();
        }
        assert_eq!(places.entries(), 5);
        let expected = [16, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, -1, 13, 14, -1];
        assert_eq!(exported(&one, &places), expected.map(|key| cell(&[key])));
        assert_eq!(places.get(&one, &cell(&[14])).unwrap(), Some(&cell(&[0])));
        assert_eq!(places.get(&one, &cell(&[15])).unwrap(), None);
        assert!(places.get(&one, &cell(&[-1])).is_err());
    }
}

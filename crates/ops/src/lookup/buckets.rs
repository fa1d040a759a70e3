//! The places of entries in TensorFlow's dense tables.
//!
//! Such a table is exported, and so saved in checkpoints, place by place, and TensorFlow takes each
//! place as it finds it. Ours is not made of places; they are computed when somebody asks.

use tensorfleet_kernels::hash::murmur64;
use tensorfleet_tensor::DType;

use super::table::Cell;

/// How many places there are, and how many of them may be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Buckets {
    pub(super) initial: usize,
    pub(super) max_load: f32,
}

impl Buckets {
    /// The number of places of a table with so many entries: a power of two.
    pub(super) fn count(&self, entries: usize) -> usize {
        let mut count = self.initial.max(4);
        while entries as f64 > count as f64 * f64::from(self.max_load.clamp(0.01, 0.99)) {
            count *= 2;
        }
        count
    }

    /// Puts entries, given by their keys, in their places; each place says which entry it has.
    pub(super) fn arrange<'a>(
        &self,
        dtype: DType,
        keys: impl ExactSizeIterator<Item = &'a Cell>,
    ) -> Vec<Option<usize>> {
        let count = self.count(keys.len());
        let mut places = vec![None; count];
        for (entry, key) in keys.enumerate() {
            let mut place = hash(dtype, key) as usize & (count - 1);
            let mut probes = 0;
            while places[place].is_some() {
                probes += 1;
                place = (place + probes) & (count - 1);
            }
            places[place] = Some(entry);
        }
        places
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

    fn places(keys: &[&[i64]]) -> Vec<Option<usize>> {
        let cells: Vec<Cell> = keys
            .iter()
            .map(|key| Cell::plain(&key.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>()))
            .collect();
        Buckets { initial: 8, max_load: 0.8 }.arrange(DType::Int64, cells.iter())
    }

    /// The places are those that TensorFlow 2.21 exports.
    #[test]
    fn places_are_tensorflows() {
        let one = places(&[&[11], &[3], &[19], &[27], &[5]]);
        assert_eq!(one, [None, Some(3), None, Some(0), Some(1), Some(4), Some(2), None]);
        let two = places(&[&[11, 3], &[3, 4], &[19, 2]]);
        assert_eq!(two, [Some(0), Some(2), None, None, None, None, None, Some(1)]);
        let cells = ["a", "b", "hello"].map(|text| Cell::String(text.into()));
        let texts = Buckets { initial: 8, max_load: 0.8 }.arrange(DType::String, cells.iter());
        assert_eq!(texts, [None, None, Some(1), Some(2), Some(0), None, None, None]);
    }

    #[test]
    fn a_full_table_grows() {
        let keys: Vec<Cell> = (0..7i64).map(|key| Cell::plain(&key.to_le_bytes())).collect();
        let places = Buckets { initial: 4, max_load: 0.8 }.arrange(DType::Int64, keys.iter());
        assert_eq!(places.len(), 16);
    }
}

//! Elements of any type as keys that can be compared and hashed.

use std::hash::Hash;

use bytes::Bytes;
use half::{bf16, f16};
use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_tensor::{DType, Result, Tensor, unimplemented_error};

/// The elements of a tensor; equal ones have equal keys.
#[derive(Debug)]
pub(super) enum Keys<'a> {
    Integers(Vec<u64>),
    /// As integers, except that [`NAN`] equals nothing.
    Floats(Vec<u64>),
    Strings(&'a [Bytes]),
}

/// The key of a floating-point value that is equal to nothing, not even itself.
const NAN: u64 = u64::MAX;

impl<'a> Keys<'a> {
    pub(super) fn of(tensor: &'a Tensor) -> Result<Keys<'a>> {
        let raw = tensor.raw();
        Ok(match tensor.dtype() {
            DType::String => Keys::Strings(tensor.strings()?),
            // Adding zero makes one zero of the two.
            DType::Double => {
                let key = |v: &f64| if v.is_nan() { NAN } else { (v + 0.0).to_bits() };
                Keys::Floats(tensor.values::<f64>()?.iter().map(key).collect())
            }
            DType::Float => {
                let key = |v: &f32| if v.is_nan() { NAN } else { (v + 0.0).to_bits().into() };
                Keys::Floats(tensor.values::<f32>()?.iter().map(key).collect())
            }
            // TensorFlow tells the zeros of the half types apart.
            DType::Half => {
                let key = |v: &f16| if v.is_nan() { NAN } else { v.to_bits().into() };
                Keys::Floats(tensor.values::<f16>()?.iter().map(key).collect())
            }
            DType::BFloat16 => {
                let key = |v: &bf16| if v.is_nan() { NAN } else { v.to_bits().into() };
                Keys::Floats(tensor.values::<bf16>()?.iter().map(key).collect())
            }
            dtype => Keys::Integers(match dtype.size() {
                1 => raw.iter().map(|&v| v.into()).collect(),
                2 => raw.as_chunks().0.iter().map(|&v| u16::from_le_bytes(v).into()).collect(),
                4 => raw.as_chunks().0.iter().map(|&v| u32::from_le_bytes(v).into()).collect(),
                8 => raw.as_chunks().0.iter().map(|&v| u64::from_le_bytes(v)).collect(),
                _ => return Err(unimplemented_error!("values of type {dtype} cannot be compared")),
            }),
        })
    }
}

/// Which rows are equal.
#[derive(Debug)]
pub(super) struct Groups {
    /// The first row of each group, in the order in which they appear.
    pub(super) first: Vec<usize>,
    /// The group of each row.
    pub(super) of: Vec<u32>,
}

/// Groups `count` rows of `len` elements.
pub(super) fn group(keys: &Keys<'_>, count: usize, len: usize) -> Groups {
    match keys {
        Keys::Integers(keys) if len == 1 => group_by(keys.iter().map(|&key| Some(key))),
        Keys::Floats(keys) if len == 1 => {
            group_by(keys.iter().map(|&key| (key != NAN).then_some(key)))
        }
        Keys::Strings(keys) if len == 1 => group_by(keys.iter().map(Some)),
        Keys::Integers(keys) => group_by((0..count).map(|row| Some(&keys[row * len..][..len]))),
        Keys::Floats(keys) => group_by((0..count).map(|row| {
            let key = &keys[row * len..][..len];
            (!key.contains(&NAN)).then_some(key)
        })),
        Keys::Strings(keys) => group_by((0..count).map(|row| Some(&keys[row * len..][..len]))),
    }
}

/// Groups rows by their keys; a row without one is alone.
fn group_by<K: Hash + Eq>(rows: impl ExactSizeIterator<Item = Option<K>>) -> Groups {
    let mut groups = Groups { first: Vec::new(), of: Vec::with_capacity(rows.len()) };
    let mut known: FxHashMap<K, u32> = FxHashMap::default();
    for (row, key) in rows.enumerate() {
        let next = groups.first.len() as u32;
        let group = match key {
            Some(key) => *known.entry(key).or_insert(next),
            None => next,
        };
        if group == next {
            groups.first.push(row);
        }
        groups.of.push(group);
    }
    groups
}

/// The positions in `of` of elements that are not in `among`, which is of the same type.
pub(super) fn absent(of: &Keys<'_>, among: &Keys<'_>) -> Vec<u32> {
    fn positions<K: Hash + Eq>(
        of: impl Iterator<Item = K>,
        among: impl Iterator<Item = K>,
        equals_nothing: impl Fn(&K) -> bool,
    ) -> Vec<u32> {
        let known: FxHashSet<K> = among.collect();
        let is_absent = |(_, key): &(u32, K)| equals_nothing(key) || !known.contains(key);
        (0..).zip(of).filter(is_absent).map(|(at, _)| at).collect()
    }
    match (of, among) {
        (Keys::Floats(of), Keys::Floats(among)) => {
            positions(of.iter(), among.iter(), |&&key| key == NAN)
        }
        (Keys::Integers(of), Keys::Integers(among)) => {
            positions(of.iter(), among.iter(), |_| false)
        }
        (Keys::Strings(of), Keys::Strings(among)) => positions(of.iter(), among.iter(), |_| false),
        (Keys::Integers(of) | Keys::Floats(of), _) => (0..of.len() as u32).collect(),
        (Keys::Strings(of), _) => (0..of.len() as u32).collect(),
    }
}

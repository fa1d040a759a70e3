//! A map by name that is cheap to copy and to change after that.
//!
//! It is a stack of tables, each shared with other copies and at least twice as large as the next. A change
//! is a new table of one entry on top, and tables of about one size become one: each entry is copied a
//! few times, however often the whole is copied and changed.

use std::sync::Arc;

use rustc_hash::FxHashMap;

#[derive(Clone, Debug)]
pub(crate) struct Layers<V> {
    /// Largest first. Later ones count; without a value a name is not in the map.
    tables: Vec<Arc<FxHashMap<String, Option<V>>>>,
}

impl<V> Default for Layers<V> {
    fn default() -> Layers<V> {
        Layers { tables: Vec::new() }
    }
}

impl<V: Clone> Layers<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.tables.iter().rev().find_map(|table| table.get(name))?.as_ref()
    }

    pub(crate) fn insert(&mut self, name: String, value: V) {
        self.push(name, Some(value));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if self.get(name).is_some() {
            self.push(name.to_owned(), None);
        }
    }

    /// All entries, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.tables.iter().enumerate().flat_map(move |(depth, table)| {
            let above = &self.tables[depth + 1..];
            table.iter().filter_map(move |(name, value)| {
                let counts = above.iter().all(|table| !table.contains_key(name));
                value.as_ref().filter(|_| counts).map(|value| (name.as_str(), value))
            })
        })
    }

    fn push(&mut self, name: String, value: Option<V>) {
        self.tables.push(Arc::new(FxHashMap::from_iter([(name, value)])));
        while let [.., below, top] = &mut self.tables[..]
            && below.len() < 2 * top.len()
        {
            let is_last = self.tables.len() == 2;
            let Some(top) = self.tables.pop() else { return };
            let Some(below) = self.tables.last_mut() else { return };
            let below = Arc::make_mut(below);
            for (name, value) in Arc::unwrap_or_clone(top) {
                if value.is_none() && is_last {
                    below.remove(&name);
                } else {
                    below.insert(name, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn copies_and_changes_are_those_of_a_plain_map() {
        let (mut layers, mut plain) = (Layers::default(), BTreeMap::new());
        let mut copies = Vec::new();
        let mut state = 1u32;
        for value in 0..2000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let name = format!("{}", (state >> 16) % 300);
            if state & 0x300 == 0 {
                layers.remove(&name);
                plain.remove(&name);
            } else {
                layers.insert(name.clone(), value);
                plain.insert(name, value);
            }
            if value % 100 == 0 {
                copies.push((layers.clone(), plain.clone()));
            }
        }
        copies.push((layers, plain));
        for (layers, plain) in copies {
            let all: BTreeMap<String, i32> =
                layers.iter().map(|(name, value)| (name.to_owned(), *value)).collect();
            assert_eq!(all, plain);
            for number in 0..300 {
                let name = number.to_string();
                assert_eq!(layers.get(&name), plain.get(&name));
            }
        }
    }

    #[test]
    fn copies_that_grow_share_what_they_have() {
        let mut layers = Layers::default();
        let mut copies = Vec::new();
        for value in 0..4096 {
            layers.insert(value.to_string(), value);
            copies.push(layers.clone());
        }
        let mut tables: Vec<_> = copies.iter().flat_map(|copy| &copy.tables).collect();
        tables.sort_by_key(|table| Arc::as_ptr(table));
        tables.dedup_by_key(|table| Arc::as_ptr(table));
        let entries: usize = tables.iter().map(|table| table.len()).sum();
        assert!(entries < 4096 * 20, "{entries} entries for copies of 4096");
    }
}

//! The attributes of a node.

use std::fmt;

use crate::AttrValue;

/// The attributes of a node or a function, by name: few, of which graphs have a great many, so they lie in
/// a sorted list that takes no more memory than they need.
#[derive(Clone, Default)]
pub struct AttrMap(Vec<(String, AttrValue)>);

impl AttrMap {
    /// No attributes.
    pub const fn new() -> AttrMap {
        AttrMap(Vec::new())
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&AttrValue> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// The value of an attribute, for changing.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AttrValue> {
        self.place(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether there is an attribute of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Sets an attribute and returns the value that it had.
    pub fn insert(&mut self, name: String, value: AttrValue) -> Option<AttrValue> {
        match self.place(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                if self.0.len() == self.0.capacity() {
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Sets an attribute that has no value yet.
    pub fn insert_new(&mut self, name: &str, value: AttrValue) {
        if !self.contains_key(name) {
            self.insert(name.to_owned(), value);
        }
    }

    /// Takes an attribute out.
    pub fn remove(&mut self, name: &str) -> Option<AttrValue> {
        self.place(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Keeps the attributes that `keep` says yes to.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut AttrValue) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// All attributes in the order of their names.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&String, &AttrValue)> + DoubleEndedIterator {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// All names in their order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> + DoubleEndedIterator {
        self.0.iter().map(|(name, _)| name)
    }

    /// All values in the order of their names.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &AttrValue> + DoubleEndedIterator {
        self.0.iter().map(|(_, value)| value)
    }

    /// All values in the order of their names, for changing.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut AttrValue> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for AttrMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Of attributes with one name the last one counts.
impl FromIterator<(String, AttrValue)> for AttrMap {
    fn from_iter<I: IntoIterator<Item = (String, AttrValue)>>(attrs: I) -> AttrMap {
        let mut attrs: Vec<_> = attrs.into_iter().collect();
        attrs.sort_by(|(a, _), (b, _)| a.cmp(b));
        attrs.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        attrs.shrink_to_fit();
        AttrMap(attrs)
    }
}

impl<const N: usize> From<[(String, AttrValue); N]> for AttrMap {
    fn from(attrs: [(String, AttrValue); N]) -> AttrMap {
        attrs.into_iter().collect()
    }
}

impl Extend<(String, AttrValue)> for AttrMap {
    fn extend<I: IntoIterator<Item = (String, AttrValue)>>(&mut self, attrs: I) {
        for (name, value) in attrs {
            self.insert(name, value);
        }
    }
}

impl IntoIterator for AttrMap {
    type Item = (String, AttrValue);
    type IntoIter = std::vec::IntoIter<(String, AttrValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a AttrMap {
    type Item = (&'a String, &'a AttrValue);
    type IntoIter = std::iter::Map<
        std::slice::Iter<'a, (String, AttrValue)>,
        fn(&'a (String, AttrValue)) -> (&'a String, &'a AttrValue),
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_sorted_and_the_last_of_a_name_counts() {
        let int = |name: &str, value| (name.to_owned(), AttrValue::Int(value));
        let mut attrs = AttrMap::from([int("b", 1), int("a", 2), int("b", 3)]);
        attrs.insert("c".to_owned(), AttrValue::Int(4));
        attrs.insert("a".to_owned(), AttrValue::Int(5));
        assert!(attrs.remove("x").is_none());
        attrs.extend([int("0", 6)]);
        assert_eq!(format!("{attrs:?}"), r#"{"0": Int(6), "a": Int(5), "b": Int(3), "c": Int(4)}"#);
    }
}

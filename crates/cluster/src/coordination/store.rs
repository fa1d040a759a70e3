//! Values under keys, which are paths: `a//b/` is `a/b`, and below `a`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tensorfleet_tensor::{Result, already_exists, failed_precondition, not_found};
use tokio::sync::Notify;

use crate::session::lock;

/// The values that all members share.
#[derive(Debug, Default)]
pub struct Store {
    table: Mutex<BTreeMap<String, Vec<u8>>>,
    added: Notify,
}

/// A key without empty parts.
fn normal(key: &str) -> String {
    let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

impl Store {
    /// Sets a key, which must be new unless it may be overwritten.
    pub fn insert(&self, key: &str, value: Vec<u8>, overwrite: bool) -> Result<()> {
        let key = normal(key);
        let mut table = lock(&self.table);
        if !overwrite && table.contains_key(&key) {
            return Err(already_exists!("key {key} already exists."));
        }
        table.insert(key, value);
        self.added.notify_waiters();
        Ok(())
    }

    /// The value of a key, if it has one.
    pub fn try_get(&self, key: &str) -> Result<Vec<u8>> {
        let value = lock(&self.table).get(&normal(key)).cloned();
        value.ok_or_else(|| not_found!("Config key {key} not found."))
    }

    /// The value of a key, as soon as it has one.
    pub async fn get(&self, key: &str) -> Vec<u8> {
        loop {
            let added = self.added.notified();
            if let Ok(value) = self.try_get(key) {
                return value;
            }
            added.await;
        }
    }

    /// Adds to a number, which is zero before the first time; returns the sum.
    pub fn increment(&self, key: &str, by: i64) -> Result<Vec<u8>> {
        let mut table = lock(&self.table);
        let key = normal(key);
        let number = match table.get(&key) {
            None => 0,
            Some(value) => {
                let text = String::from_utf8_lossy(value);
                text.trim().parse::<i64>().map_err(|_| {
                    failed_precondition!("Failed to parse value \"{text}\" as an integer.")
                })?
            }
        };
        let sum = number.wrapping_add(by).to_string().into_bytes();
        table.insert(key, sum.clone());
        self.added.notify_waiters();
        Ok(sum)
    }

    /// All keys below another one.
    pub fn below(&self, key: &str) -> Vec<(String, Vec<u8>)> {
        let prefix = format!("{}/", normal(key));
        let table = lock(&self.table);
        let from = table.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        from.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Forgets a key and all keys below it.
    pub fn remove(&self, key: &str) {
        let key = normal(key);
        let prefix = format!("{key}/");
        lock(&self.table).retain(|known, _| *known != key && !known.starts_with(&prefix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_paths() {
        let store = Store::default();
        for key in ["d/x", "/d//y/z/", "dd"] {
            store.insert(key, key.as_bytes().to_vec(), false).unwrap();
        }
        let below = |key| store.below(key).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(below("d"), ["d/x", "d/y/z"]);
        assert_eq!(below(""), Vec::<String>::new());
        assert_eq!(store.try_get("//d/x").unwrap(), b"d/x");
        assert!(store.insert("d/x/", Vec::new(), false).is_err());
        store.remove("/d");
        assert_eq!(below("d"), Vec::<String>::new());
        assert_eq!(store.try_get("dd").unwrap(), b"dd");
    }

    #[test]
    fn numbers_are_added_to() {
        let store = Store::default();
        assert_eq!(store.increment("n", 3).unwrap(), b"3");
        assert_eq!(store.increment("n", -5).unwrap(), b"-2");
        store.insert("text", b"abc".to_vec(), false).unwrap();
        assert!(store.increment("text", 1).is_err());
    }
}

//! The tensors that a context keeps for its client, by the numbers that the client gave them.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{Error, Result, Tensor, invalid_argument};

use super::calls::{Handle, Input};
use crate::session::lock;

/// The table of a context.
#[derive(Debug, Default)]
pub(super) struct Handles {
    table: Mutex<FxHashMap<(i64, i32), Held>>,
}

/// What a number stands for.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Tensor(Tensor, Arc<str>),
    /// One tensor for each of several devices.
    Packed(Arc<[Input]>),
}

impl Handles {
    pub(super) fn len(&self) -> usize {
        lock(&self.table).len()
    }

    pub(super) fn insert(&self, op_id: i64, output: i32, held: Held) {
        let replaced = lock(&self.table).insert((op_id, output), held);
        // A variable may go with its last handle: not under the lock.
        drop(replaced);
    }

    pub(super) fn get(&self, handle: &Handle) -> Result<Held> {
        let known = lock(&self.table).get(&(handle.op_id, handle.output)).cloned();
        known.ok_or_else(|| unknown(handle))
    }

    pub(super) fn remove(&self, handle: &Handle) -> Result<()> {
        let removed = lock(&self.table).remove(&(handle.op_id, handle.output));
        removed.map(drop).ok_or_else(|| unknown(handle))
    }
}

/// The coordinator takes these words in an operation for the sign of a restarted worker.
fn unknown(handle: &Handle) -> Error {
    invalid_argument!(
        "Unable to find the relevant tensor remote_handle: Op ID: {}, Output num: {}",
        handle.op_id,
        handle.output
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_is_there_until_it_is_let_go_of() {
        let handles = Handles::default();
        let handle = Handle { op_id: 27, ..Handle::default() };
        handles.insert(27, 0, Held::Tensor(Tensor::scalar(1.0f32), "cpu".into()));
        assert!(handles.get(&handle).is_ok());
        handles.remove(&handle).unwrap();
        let words = "Unable to find the relevant tensor remote_handle: Op ID: 27, Output num: 0";
        assert_eq!(handles.get(&handle).unwrap_err().message(), words);
        assert_eq!(handles.remove(&handle).unwrap_err().message(), words);
    }
}

//! Tensors that a server lets the other end read from its memory.

use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use rustc_hash::FxHashMap;

use super::memory::{Address, PeerMemory};
use super::socket::Socket;

/// Contents below this are sent, because lending takes messages of its own.
const MIN_LENT: usize = 64 << 10;

/// The tensors of one connection that are lent.
#[derive(Debug)]
pub(super) struct Lending(Mutex<State>);

#[derive(Debug)]
struct State {
    is_possible: bool,
    lent: FxHashMap<u64, Lent>,
}

/// What has to be sent when it cannot be read, and until then stays as it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lent {
    /// The response without the contents.
    pub(super) head: Vec<u8>,
    pub(super) contents: Bytes,
}

impl Lending {
    pub(super) fn new(socket: &Socket) -> Lending {
        let is_possible = PeerMemory::of(socket).is_some();
        Lending(Mutex::new(State { is_possible, lent: FxHashMap::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Lends a tensor and returns the message that says so, or the tensor if it is better sent.
    pub(super) fn lend(&self, call: u64, tensor: Lent) -> Result<Vec<u8>, Lent> {
        let mut state = self.lock();
        if !state.is_possible || tensor.contents.len() < MIN_LENT {
            return Err(tensor);
        }
        let message = [&Address::of(&tensor.contents).to_bytes()[..], &tensor.head].concat();
        state.lent.insert(call, tensor);
        Ok(message)
    }

    /// Takes a tensor back.
    pub(super) fn end(&self, call: u64) {
        self.lock().lent.remove(&call);
    }

    /// Takes a tensor back that cannot be read: no other can be.
    pub(super) fn refuse(&self, call: u64) -> Option<Lent> {
        let mut state = self.lock();
        let tensor = state.lent.remove(&call)?;
        state.is_possible = false;
        Some(tensor)
    }

    /// Takes everything back, for good.
    pub(super) fn close(&self) {
        *self.lock() = State { is_possible: false, lent: FxHashMap::default() };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().lent.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(len: usize) -> Lent {
        Lent { head: b"head".to_vec(), contents: Bytes::from(vec![7; len]) }
    }

    #[tokio::test]
    async fn a_tensor_is_kept_until_it_is_returned_or_refused() {
        let (one, _other) = tokio::net::UnixStream::pair().unwrap();
        let lending = Lending::new(&Socket::Unix(one));
        assert_eq!(lending.lend(1, tensor(100)), Err(tensor(100)), "it is small");
        for call in [1, 2] {
            let message = lending.lend(call, tensor(MIN_LENT)).unwrap();
            assert_eq!(&message[Address::SIZE..], b"head");
        }
        lending.end(1);
        assert_eq!(lending.refuse(1), None, "it was returned");
        assert!(lending.lend(3, tensor(MIN_LENT)).is_ok(), "nothing was refused");
        assert_eq!(lending.refuse(2), Some(tensor(MIN_LENT)));
        assert!(lending.lend(4, tensor(MIN_LENT)).is_err(), "once refused, always sent");
        assert!(!lending.is_empty());
        lending.close();
        assert!(lending.is_empty());
    }
}

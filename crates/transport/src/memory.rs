//! What connections hold of a server's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::FREE_MEMORY;
use crate::{Code, Status};

/// The memory of a server for what its clients send and do not read.
#[derive(Debug)]
pub struct Memory {
    limit: usize,
    used: AtomicUsize,
}

impl Memory {
    /// Memory up to a limit.
    pub fn new(limit: usize) -> Arc<Memory> {
        Arc::new(Memory { limit, used: AtomicUsize::new(0) })
    }

    /// Bytes that connections hold, without what each may hold in any case.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes some, if it is there.
    fn take(&self, len: usize) -> bool {
        let more = |used: usize| used.checked_add(len).filter(|used| *used <= self.limit);
        len == 0 || self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<Memory>,
    limit: usize,
    used: usize,
}

impl Share {
    pub(crate) fn new(memory: Arc<Memory>, limit: usize) -> Share {
        Share { memory, limit, used: 0 }
    }

    /// Charges for bytes; says why there are none left.
    pub(crate) fn grow(&mut self, len: usize) -> Result<(), Status> {
        let used = self.used.saturating_add(len);
        if used > self.limit.max(FREE_MEMORY) {
            return Err(exhausted("this connection", self.limit));
        }
        if !self.memory.take(charged(used) - charged(self.used)) {
            return Err(exhausted("the clients of this server together", self.memory.limit));
        }
        self.used = used;
        Ok(())
    }

    pub(crate) fn shrink(&mut self, len: usize) {
        let used = self.used.saturating_sub(len);
        self.memory.used.fetch_sub(charged(self.used) - charged(used), Ordering::Relaxed);
        self.used = used;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(self.used);
    }
}

/// What counts for the server of what a connection uses.
fn charged(used: usize) -> usize {
    used.saturating_sub(FREE_MEMORY)
}

fn exhausted(who: &str, limit: usize) -> Status {
    let words =
        format!("{who} may hold {limit} bytes of requests and answers, and they are used up");
    Status::new(Code::RESOURCE_EXHAUSTED, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    #[test]
    fn connections_share_what_there_is() {
        let memory = Memory::new(2 * MEGABYTE);
        let mut one = Share::new(Arc::clone(&memory), 2 * MEGABYTE);
        let mut other = Share::new(Arc::clone(&memory), 2 * MEGABYTE);
        one.grow(MEGABYTE + FREE_MEMORY).unwrap();
        assert_eq!(memory.used(), MEGABYTE);
        other.grow(MEGABYTE + FREE_MEMORY).unwrap();
        assert_eq!(other.grow(1).unwrap_err().code, Code::RESOURCE_EXHAUSTED);
        one.shrink(MEGABYTE);
        assert_eq!(memory.used(), MEGABYTE);
        other.grow(1).unwrap();
        let mut third = Share::new(Arc::clone(&memory), 2 * MEGABYTE);
        third.grow(MEGABYTE).unwrap();
        third.grow(2 * MEGABYTE).unwrap_err();
        drop((one, other, third));
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn every_connection_has_a_little() {
        let memory = Memory::new(0);
        let mut share = Share::new(memory, 0);
        share.grow(FREE_MEMORY).unwrap();
        share.grow(1).unwrap_err();
    }
}

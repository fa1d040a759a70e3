//! Free blocks that wait for the next tensor of their size.
//!
//! Process-wide like the allocator that it stands in front of: it holds memory, no state that a
//! program could observe. Each class of sizes has a list and a lock of its own.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use super::{ALIGNMENT, LARGE, POOLED_FROM, free};

/// The pool keeps at most this many bytes, and on small machines and in small containers less.
const LIMIT: usize = 512 << 20;

fn limit() -> usize {
    static LEAST: OnceLock<usize> = OnceLock::new();
    *LEAST.get_or_init(|| LIMIT.min(crate::memory::total() / 16))
}

/// The largest block that is pooled: others would push out all the rest.
const LARGEST: usize = LIMIT / 2;

/// Classes of sizes: eight for each power of two.
const CLASSES: usize = class_of(LARGEST) + 1;

static POOL: [Mutex<Vec<Block>>; CLASSES] = [const { Mutex::new(Vec::new()) }; CLASSES];

/// The bytes of all blocks.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Counts the large blocks that came back, to tell which is the oldest.
static AGE: AtomicU64 = AtomicU64::new(0);

struct Block {
    start: NonNull<u8>,
    capacity: usize,
    age: u64,
}

// SAFETY: a free block is owned by the pool alone.
unsafe impl Send for Block {}

/// The bytes of the blocks that wait for the next tensor.
pub(crate) fn bytes() -> usize {
    BYTES.load(Ordering::Relaxed)
}

/// Takes a block of this very capacity, with whatever it holds.
pub(super) fn take(capacity: usize) -> Option<NonNull<u8>> {
    if !is_pooled(capacity) {
        return None;
    }
    // The youngest is the likeliest to be in the cache.
    let block = lock(class_of(capacity)).pop()?;
    BYTES.fetch_sub(block.capacity, Ordering::Relaxed);
    debug_assert_eq!(block.capacity, capacity, "a class has one capacity");
    Some(block.start)
}

/// Keeps a block. False: there is no room for it.
pub(super) fn put(start: NonNull<u8>, capacity: usize) -> bool {
    if !is_pooled(capacity) {
        return false;
    }
    let bytes = BYTES.fetch_add(capacity, Ordering::Relaxed) + capacity;
    if bytes > limit() && capacity < LARGE {
        BYTES.fetch_sub(capacity, Ordering::Relaxed);
        return false;
    }
    let age = if capacity < LARGE { 0 } else { AGE.fetch_add(1, Ordering::Relaxed) };
    lock(class_of(capacity)).push(Block { start, capacity, age });
    while BYTES.load(Ordering::Relaxed) > limit() && evict() {}
    true
}

/// Gives the oldest large block back to the system. False if there is none.
fn evict() -> bool {
    let age = |class: usize| lock(class).first().map(|block| (block.age, class));
    let Some((_, class)) = (class_of(LARGE)..CLASSES).filter_map(age).min() else { return false };
    let mut blocks = lock(class);
    if !blocks.is_empty() {
        let Block { start, capacity, .. } = blocks.remove(0);
        drop(blocks);
        BYTES.fetch_sub(capacity, Ordering::Relaxed);
        // SAFETY: the block was allocated with this capacity and left the pool for good.
        unsafe { free(start, capacity, ALIGNMENT) };
    }
    true
}

/// Gives all blocks back to the system.
pub(crate) fn release_all() {
    for class in 0..CLASSES {
        for Block { start, capacity, .. } in std::mem::take(&mut *lock(class)) {
            BYTES.fetch_sub(capacity, Ordering::Relaxed);
            // SAFETY: the block was allocated with this capacity and left the pool for good.
            unsafe { free(start, capacity, ALIGNMENT) };
        }
    }
}

const fn is_pooled(capacity: usize) -> bool {
    capacity >= POOLED_FROM && capacity <= LARGEST
}

/// The class of a capacity, which is a multiple of an eighth of its power of two.
const fn class_of(capacity: usize) -> usize {
    let power = capacity.ilog2() as usize;
    let eighth = (capacity >> (power - 3)) & 7;
    (power - POOLED_FROM.ilog2() as usize) * 8 + eighth
}

fn lock(class: usize) -> MutexGuard<'static, Vec<Block>> {
    POOL[class].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::super::capacity_for;
    use super::*;

    #[test]
    fn a_class_has_one_capacity() {
        let mut classes = std::collections::BTreeMap::new();
        let lens = (POOLED_FROM..200_000).step_by(97).chain([LARGE, 3 * LARGE + 1, LARGEST]);
        for capacity in lens.map(capacity_for) {
            assert!(is_pooled(capacity));
            assert_eq!(*classes.entry(class_of(capacity)).or_insert(capacity), capacity);
        }
        assert_eq!(classes.keys().max(), Some(&(CLASSES - 1)));
    }
}

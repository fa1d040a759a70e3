//! Blocks of memory behind tensors: 64-byte aligned, always initialised, large ones pooled; and the
//! memory of vectors that programs hand over, which is used as it is.
//!
//! This is the only module of the tensor crate with `unsafe` code. Two facts make it sound: every
//! byte of a block is initialised before anybody can see it (fresh blocks are zeroed, recycled ones
//! hold old values), and every [`Element`] type accepts the bytes that are put under it: plain
//! numbers accept any, and `bool` is only ever written as 0 or 1 (see `Tensor::from_bytes`).
//!
//! All but the smallest blocks go back to a `pool` when dropped: steps need the same sizes again and
//! again, and the system allocator would return large blocks to the kernel, so that every step faulted
//! in the same pages.

#![allow(unsafe_code, reason = "typed views of raw memory; see the module's header")]

mod pool;

pub(crate) use pool::{bytes as pooled_bytes, release_all as release_pool};

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::account::{self, Charge};
use crate::dtype::Element;
use crate::{Result, memory};

/// Alignment of every block: a cache line, and the widest vector register.
const ALIGNMENT: usize = 64;

/// Alignment of a vector's memory that becomes a block: enough for every type that its bytes may be
/// looked at as, and what allocators give to all but the smallest.
const ADOPTED_ALIGNMENT: usize = 16;

/// Blocks of at least this size are pooled: recycled memory needs neither the allocator nor zeros.
const POOLED_FROM: usize = 4 << 10;

/// Blocks of at least this size are worth some trouble.
const LARGE: usize = 256 << 10;

/// An owned block of initialised bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    len: usize,
    capacity: usize,
    /// What the memory was allocated with: [`ALIGNMENT`], or less for that of a vector.
    alignment: usize,
    /// Whom the memory is charged to, if anybody.
    charge: OnceLock<Charge>,
}

// SAFETY: a block is owned memory without interior mutability; sharing it is sharing bytes.
unsafe impl Send for Buffer {}
// SAFETY: as above; `&Buffer` gives only `&[u8]`.
unsafe impl Sync for Buffer {}

/// What a new block must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Zeros.
    Zeroed,
    /// Anything: the caller overwrites all of it.
    Arbitrary,
}

impl Buffer {
    /// Allocates a block of `len` bytes.
    pub(crate) fn new(len: usize, contents: Contents) -> Result<Buffer> {
        let capacity = capacity_for(len);
        let charge = account::charge(capacity)?;
        let (mut buffer, is_zeroed) = match pool::take(capacity) {
            Some(start) => (Buffer::of(start, len, capacity, ALIGNMENT), false),
            None => (Buffer::allocate(len, capacity)?, true),
        };
        if let Some(charge) = charge {
            buffer.charge = OnceLock::from(charge);
        }
        match contents {
            Contents::Zeroed if !is_zeroed => buffer.bytes_mut().fill(0),
            // Whoever forgets to overwrite something finds out while it is tested.
            Contents::Arbitrary if cfg!(debug_assertions) => buffer.bytes_mut().fill(1),
            Contents::Zeroed | Contents::Arbitrary => {}
        }
        Ok(buffer)
    }

    /// A block that nobody is charged for.
    fn of(start: NonNull<u8>, len: usize, capacity: usize, alignment: usize) -> Buffer {
        Buffer { start, len, capacity, alignment, charge: OnceLock::new() }
    }

    /// Charges whoever works on this thread, if nobody is yet.
    pub(crate) fn adopt(&self) {
        if self.charge.get().is_none()
            && let Some(charge) = account::charge_anyway(self.capacity)
        {
            // Somebody else may just have done the same.
            self.charge.set(charge).ok();
        }
    }

    /// Whether somebody is charged.
    pub(crate) fn is_charged(&self) -> bool {
        self.charge.get().is_some()
    }

    /// Allocates zeros.
    fn allocate(len: usize, capacity: usize) -> Result<Buffer> {
        memory::check_room(capacity)?;
        let layout = layout(capacity, ALIGNMENT)?;
        // SAFETY: the layout's size is not zero: `capacity_for` rounds up to the alignment.
        let start = unsafe { alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => Ok(Buffer::of(start, len, capacity, ALIGNMENT)),
            None if len >= LARGE => Err(memory::out_of_memory(len)),
            None => handle_alloc_error(layout),
        }
    }

    /// Takes over the memory of a vector, or gives the vector back if that is not aligned for every
    /// type of element.
    pub(crate) fn from_vec<T: Element>(values: Vec<T>) -> std::result::Result<Buffer, Vec<T>> {
        if values.is_empty() || !(values.as_ptr() as usize).is_multiple_of(ADOPTED_ALIGNMENT) {
            return Err(values);
        }
        let mut values = ManuallyDrop::new(values);
        let buffer = Buffer::of(
            NonNull::from(values.as_mut_slice()).cast(),
            size_of_val(values.as_slice()),
            values.capacity() * size_of::<T>(),
            align_of::<T>(),
        );
        buffer.adopt();
        Ok(buffer)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes and shared with us.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.alignment == ALIGNMENT && pool::put(self.start, self.capacity) {
            return;
        }
        // SAFETY: allocated in `allocate`, or by the vector whose elements have this alignment, with
        // this very layout, and nobody uses it any more.
        unsafe { free(self.start, self.capacity, self.alignment) };
    }
}

/// Gives memory back.
///
/// # Safety
/// It must have been allocated with this size and alignment, and not be used any more.
unsafe fn free(start: NonNull<u8>, capacity: usize, alignment: usize) {
    if let Ok(layout) = layout(capacity, alignment) {
        // SAFETY: passed on.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

fn layout(capacity: usize, alignment: usize) -> Result<Layout> {
    Layout::from_size_align(capacity, alignment).map_err(|_| memory::out_of_memory(capacity))
}

/// Rounds a size up to its class: eight classes for every power of two, so that at most an eighth
/// is wasted and a later tensor of about the same size finds the block.
fn capacity_for(len: usize) -> usize {
    let step = if len < POOLED_FROM { ALIGNMENT } else { 1 << (len.ilog2() - 3) };
    len.max(1).checked_next_multiple_of(step).unwrap_or(usize::MAX)
}

/// Views bytes as elements. The caller has checked that the bytes hold elements of this type.
pub(crate) fn cast<T: Element>(bytes: &[u8]) -> &[T] {
    // SAFETY: `Element` is sealed to types without padding for which the stored bytes are valid;
    // the alignment and the length are checked, and `T` is at most as large as the slice says.
    let (before, elements, after) = unsafe { bytes.align_to::<T>() };
    assert!(before.is_empty() && after.is_empty(), "a tensor's bytes are aligned to its elements");
    elements
}

/// Views bytes as elements that may be written.
pub(crate) fn cast_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: as in `cast`; elements written through the view are valid bytes, having no padding.
    let (before, elements, after) = unsafe { bytes.align_to_mut::<T>() };
    assert!(before.is_empty() && after.is_empty(), "a tensor's bytes are aligned to its elements");
    elements
}

/// Views elements as bytes.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: `Element` types have no padding, so all their bytes are initialised.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_zeroed_even_when_recycled() {
        for len in [0, 1, 63, 1000, POOLED_FROM, POOLED_FROM * 3 + 5] {
            for _ in 0..2 {
                let mut buffer = Buffer::new(len, Contents::Zeroed).unwrap();
                assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
                assert!(buffer.bytes().iter().all(|&b| b == 0));
                buffer.bytes_mut().fill(7);
            }
        }
    }

    #[test]
    fn the_memory_of_a_vector_is_taken_over_and_freed() {
        let mut values = Vec::with_capacity(100);
        values.extend([1.5f64; 40]);
        let start = values.as_ptr() as usize;
        match Buffer::from_vec(values) {
            Ok(mut buffer) => {
                assert_eq!(buffer.bytes().as_ptr() as usize, start);
                cast_mut::<f64>(buffer.bytes_mut())[39] = 2.5;
                assert_eq!(cast::<f64>(buffer.bytes())[38..], [1.5, 2.5]);
            }
            Err(values) => assert!(!start.is_multiple_of(ADOPTED_ALIGNMENT), "{}", values.len()),
        }
        assert!(Buffer::from_vec(Vec::<f32>::new()).is_err());
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Buffer::new(usize::MAX - 1000, Contents::Zeroed).is_err());
    }

    #[test]
    fn capacity_wastes_at_most_an_eighth() {
        for len in [POOLED_FROM, POOLED_FROM + 1, 10_000_001, 1 << 30] {
            let capacity = capacity_for(len);
            assert!(capacity >= len && capacity - len <= len / 8 + ALIGNMENT, "{len}: {capacity}");
        }
    }
}

//! How many threads one operation may use, and how its work is cut into pieces.
//!
//! A kernel is given a [`Parallel`] and describes its work as something that can be [`Split`]: a
//! slice, rows of a slice, or a tuple of those advancing together. The pieces are handed out under a
//! short lock to the calling thread and those idle ones of its [`Threads`] that join it, at most
//! [`Parallel::threads`] in all, so a thread whose core is busy with something else simply takes fewer
//! of them. Work too small to be worth a hand-over runs on the calling thread alone, and so does all
//! work of threads that belong to no pool.

mod threads;

pub use threads::{Jobs, Threads, is_pool_thread};

use std::ops::Range;
use std::sync::Mutex;

use threads::lock;

/// Pieces made for each runner: enough to even out uneven cores, few enough to stay cheap.
const PIECES_PER_THREAD: usize = 4;

/// The number of threads that one operation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    threads: usize,
}

impl Parallel {
    /// Everything on the calling thread.
    pub const SERIAL: Self = Self { threads: 1 };

    /// Allows up to `threads` threads (at least one).
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Allows every thread of the pool that the calling thread belongs to.
    pub fn all() -> Self {
        Self::new(threads::count().unwrap_or(1))
    }

    /// The number of threads allowed.
    pub fn threads(self) -> usize {
        self.threads
    }

    /// Runs `f` on consecutive pieces of `work`, each of at least `min_len` units if there are as
    /// many; `f` also learns which units it has.
    pub fn for_each<S: Split>(self, work: S, min_len: usize, f: impl Fn(Range<usize>, S) + Sync) {
        let len = work.len();
        if len == 0 {
            return;
        }
        let pieces = self.pieces(len, min_len);
        if pieces == 1 {
            return f(0..len, work);
        }
        let chunk = piece_len(len, pieces);
        let queue = Mutex::new((0, Some(work)));
        self.run(pieces, || {
            loop {
                let (range, piece) = {
                    let mut queue = lock(&queue);
                    let (start, Some(rest)) = (queue.0, queue.1.take()) else { return };
                    let end = len.min(start + chunk);
                    let piece = if end < len {
                        let (piece, rest) = rest.split_at(end - start);
                        *queue = (end, Some(rest));
                        piece
                    } else {
                        rest
                    };
                    (start..end, piece)
                };
                f(range, piece);
            }
        });
    }

    /// Runs `f` on consecutive sub-ranges of `0..len`, as [`Parallel::for_each`] does on data.
    pub fn for_each_range(self, len: usize, min_len: usize, f: impl Fn(Range<usize>) + Sync) {
        self.for_each(Count(len), min_len, |range, _| f(range));
    }

    /// Runs `f` on every item, several at a time; for a few items that are large each.
    pub fn for_each_item<T: Send>(self, items: Vec<T>, f: impl Fn(T) + Sync) {
        if self.threads == 1 || items.len() < 2 {
            return items.into_iter().for_each(f);
        }
        let count = items.len();
        let queue = Mutex::new(items.into_iter());
        self.run(count, || {
            loop {
                let Some(item) = lock(&queue).next() else { return };
                f(item);
            }
        });
    }

    /// Collects `f` of consecutive sub-ranges of `0..len`, in order. The cut depends on `len`,
    /// `min_len` and the number of threads only, so equal calls give equal results.
    pub fn map_ranges<R: Send>(
        self,
        len: usize,
        min_len: usize,
        f: impl Fn(Range<usize>) -> R + Sync,
    ) -> Vec<R> {
        if len == 0 {
            return Vec::new();
        }
        let pieces = self.pieces(len, min_len);
        let chunk = piece_len(len, pieces);
        let pieces = len.div_ceil(chunk);
        let mut results: Vec<Option<R>> = (0..pieces).map(|_| None).collect();
        self.for_each(&mut results[..], 1, |indices, slots| {
            for (index, slot) in indices.zip(slots) {
                let start = index * chunk;
                *slot = Some(f(start..len.min(start + chunk)));
            }
        });
        results.into_iter().flatten().collect()
    }

    fn pieces(self, len: usize, min_len: usize) -> usize {
        if self.threads == 1 {
            return 1;
        }
        (len / min_len.max(1)).clamp(1, self.threads * PIECES_PER_THREAD)
    }

    fn run(self, pieces: usize, runner: impl Fn() + Sync) {
        let helpers = self.threads.min(pieces) - 1;
        if !threads::share(helpers, &runner) {
            alone(helpers, &runner);
        }
    }
}

/// What a thread of no pool does.
#[cfg(not(test))]
fn alone(_: usize, runner: &(dyn Fn() + Sync)) {
    runner();
}

/// In the tests of kernels, which run on such threads, others join in nevertheless.
#[cfg(test)]
fn alone(helpers: usize, runner: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        (0..helpers).for_each(|_| {
            scope.spawn(runner);
        });
        runner();
    });
}

/// Work that can be cut in two: units `0..mid` and the rest.
#[expect(clippy::len_without_is_empty, reason = "only lengths are compared here")]
pub trait Split: Send + Sized {
    /// The number of units.
    fn len(&self) -> usize;
    /// Cuts before unit `mid`.
    fn split_at(self, mid: usize) -> (Self, Self);
}

impl<T: Sync> Split for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        <[T]>::split_at(self, mid)
    }
}

impl<T: Send> Split for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        self.split_at_mut(mid)
    }
}

/// A slice (shared or not) whose units are rows of equal width; made by [`rows`] and [`rows_mut`].
#[derive(Debug)]
pub struct Rows<S> {
    /// The rows, one after the other.
    pub data: S,
    /// The number of rows.
    pub count: usize,
    /// The number of elements in a row.
    pub width: usize,
}

/// Views `data` as `count` rows.
///
/// # Panics
/// If `data` does not hold a whole number of elements for each row.
pub fn rows<T>(data: &[T], count: usize) -> Rows<&[T]> {
    let width = row_width(data.len(), count);
    Rows { data, count, width }
}

/// Views `data` as `count` writable rows.
///
/// # Panics
/// If `data` does not hold a whole number of elements for each row.
pub fn rows_mut<T>(data: &mut [T], count: usize) -> Rows<&mut [T]> {
    let width = row_width(data.len(), count);
    Rows { data, count, width }
}

impl<S: Split> Split for Rows<S> {
    fn len(&self) -> usize {
        self.count
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let Self { data, count, width } = self;
        let (left, right) = data.split_at(mid * width);
        (Rows { data: left, count: mid, width }, Rows { data: right, count: count - mid, width })
    }
}

impl<S: Split, const N: usize> Split for [S; N] {
    fn len(&self) -> usize {
        let len = self.first().map_or(0, Split::len);
        assert!(self.iter().all(|part| part.len() == len), "operands of one loop differ in length");
        len
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let mut right = [const { None }; N];
        let mut next = right.iter_mut();
        let left = self.map(|part| {
            let (left, rest) = part.split_at(mid);
            *next.next().expect("as many as parts") = Some(rest);
            left
        });
        (left, right.map(|part| part.expect("each was split")))
    }
}

macro_rules! split_tuple {
    ($($name:ident $index:tt),+) => {
        impl<$($name: Split),+> Split for ($($name,)+) {
            fn len(&self) -> usize {
                let len = self.0.len();
                $(assert_eq!(self.$index.len(), len, "operands of one loop differ in length");)+
                len
            }

            fn split_at(self, mid: usize) -> (Self, Self) {
                let parts = ($(self.$index.split_at(mid),)+);
                (($(parts.$index.0,)+), ($(parts.$index.1,)+))
            }
        }
    };
}

split_tuple!(A 0, B 1);
split_tuple!(A 0, B 1, C 2);
split_tuple!(A 0, B 1, C 2, D 3);
split_tuple!(A 0, B 1, C 2, D 3, E 4);

struct Count(usize);

impl Split for Count {
    fn len(&self) -> usize {
        self.0
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        (Count(mid), Count(self.0 - mid))
    }
}

fn row_width(len: usize, count: usize) -> usize {
    if count == 0 {
        assert_eq!(len, 0, "no rows but {len} elements");
        return 0;
    }
    assert_eq!(len % count, 0, "{len} elements are not {count} equal rows");
    len / count
}

/// Long pieces are whole vectors, so that only the last one has a ragged end.
fn piece_len(len: usize, pieces: usize) -> usize {
    let chunk = len.div_ceil(pieces);
    if chunk >= 1024 { chunk.next_multiple_of(64) } else { chunk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_visited_once() {
        for threads in [1, 2, 3, 7] {
            for len in [0, 1, 5, 64, 1000, 70_001] {
                let input: Vec<usize> = (0..len).collect();
                let mut out = vec![0; len];
                let mut twice = vec![0; 2 * len];
                Parallel::new(threads).for_each(
                    (&input[..], &mut out[..], rows_mut(&mut twice, len)),
                    3,
                    |range, (input, out, twice)| {
                        assert_eq!(input.len(), range.len());
                        for (offset, index) in range.enumerate() {
                            out[offset] += input[offset] + 1;
                            twice.data[2 * offset + 1] += index;
                        }
                    },
                );
                assert!(out.iter().enumerate().all(|(i, &v)| v == i + 1));
                assert!((0..len).all(|i| twice[2 * i] == 0 && twice[2 * i + 1] == i));
            }
        }
    }

    #[test]
    fn ranges_keep_their_order() {
        let ranges = Parallel::new(3).map_ranges(100, 7, |range| range);
        assert!(ranges.len() > 1);
        assert_eq!(
            ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
            Vec::from_iter(0..100)
        );
        assert!(Parallel::new(3).map_ranges(0, 7, |range| range).is_empty());
    }

    #[test]
    fn items_all_run() {
        let total = std::sync::atomic::AtomicUsize::new(0);
        Parallel::new(4).for_each_item((0..50).collect(), |item| {
            total.fetch_add(item, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(total.into_inner(), 49 * 25);
    }
}

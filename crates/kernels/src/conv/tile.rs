//! The register tile that all of a convolution's arithmetic happens in.
//!
//! A tile is a small product: `rows` values at a time, taken from anywhere in `a`, each times a row of
//! adjacent vectors of `b`, summed over the positions of some [`Run`]s. Forward, a row is an output
//! position and the sum goes over the filter's taps; for the filter's gradient a row is a tap and the
//! sum goes over positions. Nothing is copied into patches first, because rows may begin anywhere.

#[cfg(target_arch = "x86_64")]
use super::lanes::x86::{Avx2Double, Avx2Single, Avx512Double, Avx512Single};
use super::lanes::{Lanes, Portable};
use crate::aligned::Plain;
use crate::math::Math;
use crate::simd::{Level, level};

/// A stretch of summed positions: `a` begins `offset` past each row and advances evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// Bytes of both operands that a tile goes through before it writes its sums: most of the first-level
/// cache, where `b` then is for the next tile.
const BLOCK_BYTES: usize = 36 * 1024;

/// Steps that tiles take at a time.
const STEPS: usize = 4;

/// The most rows that a tile has.
pub(super) const MAX_ROWS: usize = 8;

/// The operands of one tile.
pub(super) struct Operands<'a, T> {
    /// The runs that are summed over, one after the other.
    pub(super) runs: &'a [Run],
    pub(super) a: *const T,
    /// Where each row begins in `a`.
    pub(super) a_rows: &'a [usize],
    /// How far `a` advances for the next summed position of a run.
    pub(super) a_step: usize,
    /// The columns of each summed position, one row after the other, also across runs.
    pub(super) b: *const T,
    pub(super) c: *mut T,
    /// Where each row begins in `c`; rows beyond these are computed and dropped.
    pub(super) c_rows: &'a [usize],
    /// How many columns of `c` exist; further ones are computed and dropped.
    pub(super) cols: usize,
    /// Whether to add to `c`.
    pub(super) accumulate: bool,
}

/// Summed positions that are gone through together.
pub(super) struct Block {
    /// How many positions come before.
    pub(super) begin: usize,
    pub(super) runs: Vec<Run>,
}

/// Cuts runs into even blocks that fit the cache for all of some tiles, and merges what is adjacent;
/// `a` advances by `step` in a run.
pub(super) fn blocks<T>(
    runs: &[Run],
    step: usize,
    tiles: impl Iterator<Item = Tile<T>>,
) -> Vec<Block> {
    let largest = tiles.map(|tile| tile.cols + tile.rows).max().unwrap_or(1);
    let fitting = (BLOCK_BYTES / (largest * size_of::<T>())).max(STEPS);
    let depth: usize = runs.iter().map(|run| run.len).sum();
    let len = depth.div_ceil(depth.div_ceil(fitting).max(1)).next_multiple_of(STEPS);
    let mut blocks: Vec<Block> = Vec::new();
    let mut total = 0;
    for &run in runs {
        let mut rest = run;
        while rest.len > 0 {
            let room = len - total % len;
            let part = Run { offset: rest.offset, len: rest.len.min(room) };
            if total.is_multiple_of(len) {
                blocks.push(Block { begin: total, runs: Vec::new() });
            }
            let runs = &mut blocks.last_mut().expect("the first part opens a block").runs;
            match runs.last_mut() {
                Some(last) if last.offset + last.len * step == part.offset => last.len += part.len,
                _ => runs.push(part),
            }
            total += part.len;
            rest = Run { offset: rest.offset + part.len * step, len: rest.len - part.len };
        }
    }
    blocks
}

/// A tile compiled for some size and instruction set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile<T> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    run: unsafe fn(&Operands<'_, T>),
}

impl<T> Tile<T> {
    /// Computes the tile.
    ///
    /// # Safety
    /// For each row and run, `a` must be valid from `a_rows[row] + offset` for `len` steps of
    /// `a_step`; `a_rows` must have `rows` entries and `c_rows` at most as many. `b` must be valid for
    /// `cols` of this tile at each step. `c` must be valid for `operands.cols` from each of `c_rows`,
    /// and not alias the others.
    pub(super) unsafe fn run(&self, operands: &Operands<'_, T>) {
        debug_assert!(operands.a_rows.len() == self.rows && operands.c_rows.len() <= self.rows);
        debug_assert!(operands.cols <= self.cols);
        // SAFETY: passed on; `tiles` only lists what the machine can run.
        unsafe { (self.run)(operands) }
    }
}

/// A type with tiles: `f32` and `f64`.
#[expect(private_bounds, reason = "the set of types is closed")]
pub trait Tiled: Math + crate::gemm::Element + Plain {
    /// The tiles for this machine, widest first; the last one's columns are one vector.
    #[doc(hidden)]
    fn tiles() -> &'static [TileOf<Self>];
}

/// Hides the tile's type from the public trait.
#[derive(Clone, Copy, Debug)]
pub struct TileOf<T>(pub(super) Tile<T>);

macro_rules! tiled {
    ($type:ty, $avx2:ident, $avx512:ident) => {
        impl Tiled for $type {
            fn tiles() -> &'static [TileOf<Self>] {
                const fn tile(
                    rows: usize,
                    cols: usize,
                    run: unsafe fn(&Operands<'_, $type>),
                ) -> TileOf<$type> {
                    TileOf(Tile { rows, cols, run })
                }
                match level() {
                    Level::Baseline => {
                        const LANES: usize = <Portable<$type> as Lanes>::COUNT;
                        const TILES: &[TileOf<$type>] = &[
                            tile(4, 2 * LANES, sum::<Portable<$type>, 4, 2>),
                            tile(4, LANES, sum::<Portable<$type>, 4, 1>),
                        ];
                        TILES
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        #[target_feature(enable = "avx2,fma")]
                        unsafe fn run<const ROWS: usize, const VECTORS: usize>(
                            operands: &Operands<'_, $type>,
                        ) {
                            // SAFETY: the instructions are enabled here; the rest is passed on.
                            unsafe { sum::<$avx2, ROWS, VECTORS>(operands) }
                        }
                        const LANES: usize = <$avx2 as Lanes>::COUNT;
                        const TILES: &[TileOf<$type>] =
                            &[tile(6, 2 * LANES, run::<6, 2>), tile(8, LANES, run::<8, 1>)];
                        TILES
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        #[target_feature(enable = "avx512f")]
                        unsafe fn run<const ROWS: usize, const VECTORS: usize>(
                            operands: &Operands<'_, $type>,
                        ) {
                            // SAFETY: the instructions are enabled here; the rest is passed on.
                            unsafe { sum::<$avx512, ROWS, VECTORS>(operands) }
                        }
                        const LANES: usize = <$avx512 as Lanes>::COUNT;
                        const TILES: &[TileOf<$type>] = &[
                            tile(6, 4 * LANES, run::<6, 4>),
                            tile(8, 2 * LANES, run::<8, 2>),
                            tile(8, LANES, run::<8, 1>),
                        ];
                        TILES
                    }
                }
            }
        }
    };
}

tiled!(f32, Avx2Single, Avx512Single);
tiled!(f64, Avx2Double, Avx512Double);

/// The tile: `ROWS` times `VECTORS` registers of sums.
///
/// # Safety
/// As [`Tile::run`], on a machine that has the instructions of `L`.
#[inline(always)]
unsafe fn sum<L: Lanes, const ROWS: usize, const VECTORS: usize>(
    operands: &Operands<'_, L::Element>,
) {
    // SAFETY: the caller vouches for every access, see `Tile::run`.
    unsafe {
        let zero = L::load([std::mem::zeroed::<L::Element>(); 64].as_ptr());
        let mut sums = [[zero; VECTORS]; ROWS];
        let rows: [usize; ROWS] = std::array::from_fn(|row| operands.a_rows[row]);
        // One loop over the positions of all runs, not a loop in a loop: the compiler keeps the sums
        // in place only then.
        let mut runs = operands.runs.iter();
        let mut run = runs.next().copied().unwrap_or(Run { offset: 0, len: 0 });
        let mut a = operands.a.add(run.offset);
        let mut b = operands.b;
        let steps: usize = operands.runs.iter().map(|run| run.len).sum();
        for _ in 0..steps {
            let vectors: [L::Vector; VECTORS] =
                std::array::from_fn(|i| L::load(b.add(i * L::COUNT)));
            for row in 0..ROWS {
                let x = L::splat(*a.add(rows[row]));
                for i in 0..VECTORS {
                    sums[row][i] = L::fma(x, vectors[i], sums[row][i]);
                }
            }
            b = b.add(VECTORS * L::COUNT);
            a = a.wrapping_add(operands.a_step);
            run.len -= 1;
            if run.len == 0 {
                run = runs.next().copied().unwrap_or(run);
                a = operands.a.wrapping_add(run.offset);
            }
        }
        if operands.cols == VECTORS * L::COUNT {
            for (sums, &start) in sums.iter().zip(operands.c_rows) {
                for (i, &sum) in sums.iter().enumerate() {
                    let c = operands.c.add(start + i * L::COUNT);
                    L::store(c, if operands.accumulate { L::add(sum, L::load(c)) } else { sum });
                }
            }
            return;
        }
        // A ragged right edge goes through memory, padded to whole vectors.
        for (sums, &start) in sums.iter().zip(operands.c_rows) {
            let mut row = [std::mem::zeroed::<L::Element>(); 64];
            let c = operands.c.add(start);
            if operands.accumulate {
                std::ptr::copy_nonoverlapping(c, row.as_mut_ptr(), operands.cols);
            }
            for (i, &sum) in sums.iter().enumerate() {
                let slot = row.as_mut_ptr().add(i * L::COUNT);
                L::store(slot, L::add(sum, L::load(slot)));
            }
            std::ptr::copy_nonoverlapping(row.as_ptr(), c, operands.cols);
        }
    }
}

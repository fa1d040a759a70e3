//! Filling a slice from a distribution, serially or by ranges, with the same numbers.

use super::philox::{BATCH, Philox, Words};
use crate::parallel::{Parallel, rows_mut};
use crate::simd::dispatch;

/// A distribution whose values come in groups, each group from its own place in the stream.
pub trait Distribution: Sync {
    /// What is drawn.
    type Value: Copy + Send;

    /// How many values a group has.
    const GROUP: usize;

    /// How many blocks of the generator lie between the starts of two groups.
    const BLOCKS_PER_GROUP: u64;

    /// How many values are worth a task of their own.
    const PER_TASK: usize;

    /// Fills `out` serially, its first group starting where `philox` stands. The last group may be
    /// short.
    fn fill(&self, philox: Philox, out: &mut [Self::Value]);
}

/// Fills `out` with draws from `distribution`. The values do not depend on `parallel`.
pub fn fill<D: Distribution>(
    parallel: Parallel,
    distribution: &D,
    philox: Philox,
    out: &mut [D::Value],
) {
    let groups = out.len() / D::GROUP;
    let (whole, rest) = out.split_at_mut(groups * D::GROUP);
    let at = |group: usize| philox.skipped((group as u64).wrapping_mul(D::BLOCKS_PER_GROUP));
    parallel.for_each(rows_mut(whole, groups), D::PER_TASK / D::GROUP, |range, groups| {
        distribution.fill(at(range.start), groups.data);
    });
    distribution.fill(at(groups), rest);
}

dispatch! {
    /// The serial fill of a distribution that makes a group of exactly one block.
    pub(super) fn fill_from_blocks[
        I,
        T: Copy,
        const GROUP: usize,
        F: Fn([u32; 4]) -> [T; GROUP]
    ](philox: Philox, out: &mut [T], group: F) {
        let mut philox = philox;
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        let (batches, groups) = groups.as_chunks_mut::<BATCH>();
        for batch in batches {
            for (out, block) in batch.iter_mut().zip(philox.next_batch()) {
                *out = group(block);
            }
        }
        for out in groups {
            *out = group(philox.next_block());
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&group(philox.next_block())[..rest.len()]);
        }
    }
}

/// The words set aside for each value of a distribution that may reject some of them.
const WORDS_PER_VALUE: usize = 256;

/// The distance between groups of `group` values that take as many words as they need.
pub(super) const fn reserved_blocks(group: usize) -> u64 {
    (group * WORDS_PER_VALUE / 4) as u64
}

/// The serial fill of a distribution that takes as many words as it needs.
#[inline]
pub(super) fn fill_from_words<T: Copy, const GROUP: usize>(
    mut philox: Philox,
    out: &mut [T],
    group: impl Fn(&mut Words) -> [T; GROUP],
) {
    for out in out.chunks_mut(GROUP) {
        // A short last group is still drawn whole, but then nothing follows it.
        out.copy_from_slice(&group(&mut philox.words())[..out.len()]);
        philox.skip(reserved_blocks(GROUP));
    }
}

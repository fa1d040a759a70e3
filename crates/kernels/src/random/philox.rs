//! The Philox4x32-10 counter-based generator.
//!
//! A block of four words is a pure function of a 64-bit key and a 128-bit counter, so any block of
//! the stream can be made without making those before it. That is what lets a fill be split over
//! threads and still give the numbers a serial fill gives. Key and counter are laid out as
//! TensorFlow lays them out: it is part of the interface, because stateless ops take both as inputs.

const KEY_STEP: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const ROUNDS: usize = 10;

/// Blocks made together by [`Philox::next_batch`]: enough lanes for the widest vectors.
pub(super) const BATCH: usize = 16;

/// A position in one Philox stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
    counter: u128,
}

impl Philox {
    /// The generator of an op with the attributes `seed` and `seed2`.
    ///
    /// Zero is a seed like any other here; [`super::GuardedPhilox::new`] gives it its special
    /// meaning.
    pub fn new(seed: u64, seed2: u64) -> Self {
        Self::from_key_counter(seed, [0, seed2])
    }

    /// The generator at `counter` (low half first) of the stream chosen by `key`.
    pub fn from_key_counter(key: u64, counter: [u64; 2]) -> Self {
        let counter = u128::from(counter[0]) | u128::from(counter[1]) << 64;
        Self { key: [key as u32, (key >> 32) as u32], counter }
    }

    /// The generator of a stateless op with the input `seed`.
    ///
    /// The two halves of the seed are scrambled, so that neither needs to be strong.
    pub fn from_stateless_seed(seed: [i64; 2]) -> Self {
        const SCRAMBLE: u64 = 0x0246_1e29_3ec8_f720;
        let mixed = Self::from_key_counter(SCRAMBLE, seed.map(|s| s as u64)).next_block();
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Self::from_key_counter(pair(mixed[0], mixed[1]), [0, pair(mixed[2], mixed[3])])
    }

    /// The key, as stateless ops and generator variables store it.
    pub fn key(&self) -> u64 {
        u64::from(self.key[0]) | u64::from(self.key[1]) << 32
    }

    /// The counter of the next block, low half first.
    pub fn counter(&self) -> [u64; 2] {
        [self.counter as u64, (self.counter >> 64) as u64]
    }

    /// Passes over `blocks` blocks of four words.
    pub fn skip(&mut self, blocks: u64) {
        self.counter = self.counter.wrapping_add(u128::from(blocks));
    }

    /// This generator after [`skip`](Self::skip).
    #[must_use]
    pub fn skipped(mut self, blocks: u64) -> Self {
        self.skip(blocks);
        self
    }

    /// The next four words.
    #[inline]
    pub fn next_block(&mut self) -> [u32; 4] {
        let mut state = [
            self.counter as u32,
            (self.counter >> 32) as u32,
            (self.counter >> 64) as u32,
            (self.counter >> 96) as u32,
        ];
        self.counter = self.counter.wrapping_add(1);
        let mut key = self.key;
        for _ in 0..ROUNDS {
            let first = u64::from(MULTIPLIER[0]) * u64::from(state[0]);
            let second = u64::from(MULTIPLIER[1]) * u64::from(state[2]);
            state = [
                (second >> 32) as u32 ^ state[1] ^ key[0],
                second as u32,
                (first >> 32) as u32 ^ state[3] ^ key[1],
                first as u32,
            ];
            key = [key[0].wrapping_add(KEY_STEP[0]), key[1].wrapping_add(KEY_STEP[1])];
        }
        state
    }

    /// The next [`BATCH`] blocks, made word by word in lanes so that the rounds become vector code.
    #[inline(always)]
    pub(super) fn next_batch(&mut self) -> [[u32; 4]; BATCH] {
        let low = self.counter as u32;
        if low > u32::MAX - BATCH as u32 {
            // The lanes would differ in more than their lowest word.
            return std::array::from_fn(|_| self.next_block());
        }
        let mut a: [u32; BATCH] = std::array::from_fn(|lane| low + lane as u32);
        let mut b = [(self.counter >> 32) as u32; BATCH];
        let mut c = [(self.counter >> 64) as u32; BATCH];
        let mut d = [(self.counter >> 96) as u32; BATCH];
        self.counter = self.counter.wrapping_add(BATCH as u128);
        let mut key = self.key;
        for _ in 0..ROUNDS {
            for lane in 0..BATCH {
                let first = u64::from(MULTIPLIER[0]) * u64::from(a[lane]);
                let second = u64::from(MULTIPLIER[1]) * u64::from(c[lane]);
                a[lane] = (second >> 32) as u32 ^ b[lane] ^ key[0];
                b[lane] = second as u32;
                c[lane] = (first >> 32) as u32 ^ d[lane] ^ key[1];
                d[lane] = first as u32;
            }
            key = [key[0].wrapping_add(KEY_STEP[0]), key[1].wrapping_add(KEY_STEP[1])];
        }
        std::array::from_fn(|lane| [a[lane], b[lane], c[lane], d[lane]])
    }

    /// The words of the stream one by one.
    pub fn words(self) -> Words {
        Words { philox: self, block: [0; 4], used: 4 }
    }
}

/// A Philox stream read word by word.
#[derive(Clone, Debug)]
pub struct Words {
    philox: Philox,
    block: [u32; 4],
    used: usize,
}

impl Words {
    /// The next 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            self.block = self.philox.next_block();
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// The next 64 bits, low word first.
    pub fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(low) | u64::from(self.next_u32()) << 32
    }

    /// The next number of [0, 1) with 23 random bits.
    pub fn next_f32(&mut self) -> f32 {
        super::bits::unit_f32(self.next_u32())
    }

    /// The next number of [0, 1) with 52 random bits.
    pub fn next_f64(&mut self) -> f64 {
        let high = self.next_u32();
        super::bits::unit_f64(high, self.next_u32())
    }

    /// Passes over `words` words.
    pub fn skip(&mut self, words: u64) {
        let buffered = (4 - self.used) as u64;
        if words <= buffered {
            self.used += words as usize;
            return;
        }
        let beyond = words - buffered;
        self.philox.skip(beyond / 4);
        self.used = 4;
        let within_block = (beyond % 4) as usize;
        if within_block != 0 {
            self.block = self.philox.next_block();
            self.used = within_block;
        }
    }

    /// An unbiased draw from `0..n`; 0 if `n` is 0.
    ///
    /// The lowest words, which would favour small results, are thrown away. TensorFlow's samplers
    /// draw like this, though `RandomUniformInt` takes the biased remainder.
    pub fn below(&mut self, n: u32) -> u32 {
        if n == 0 || n.is_power_of_two() {
            return self.next_u32() & n.saturating_sub(1);
        }
        loop {
            let word = self.next_u32();
            if word > u32::MAX % n {
                return word % n;
            }
        }
    }

    /// [`below`](Self::below) for 64-bit ranges.
    pub fn below_u64(&mut self, n: u64) -> u64 {
        if n == 0 || n.is_power_of_two() {
            return self.next_u64() & n.saturating_sub(1);
        }
        loop {
            let bits = self.next_u64();
            if bits > u64::MAX % n {
                return bits % n;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published known-answer vectors of Philox4x32-10.
    #[test]
    fn known_answers() {
        let zero = Philox::from_key_counter(0, [0, 0]).next_block();
        assert_eq!(zero, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = Philox::from_key_counter(u64::MAX, [u64::MAX; 2]).next_block();
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn stateless_seeds_are_scrambled_as_tensorflow_does() {
        let philox = Philox::from_stateless_seed([1, 2]);
        assert_eq!(philox.key(), 10_413_732_777_507_651_514);
        assert_eq!(philox.counter(), [0, 17_830_669_156_045_600_267]);
    }

    #[test]
    fn a_batch_is_consecutive_blocks_across_every_carry() {
        for counter in [[0, 0], [u64::from(u32::MAX) - 3, 7], [u64::MAX - 3, 0], [u64::MAX - 3; 2]]
        {
            let mut single = Philox::from_key_counter(42, counter);
            let mut batched = single;
            let blocks: [[u32; 4]; BATCH] = std::array::from_fn(|_| single.next_block());
            assert_eq!(batched.next_batch(), blocks);
            assert_eq!(batched, single);
        }
    }

    #[test]
    fn skipping_words_equals_reading_them() {
        for read in 0..6 {
            for skip in 0..14 {
                let mut skipped = Philox::new(3, 4).words();
                let mut plain = skipped.clone();
                for _ in 0..read {
                    skipped.next_u32();
                    plain.next_u32();
                }
                skipped.skip(skip);
                for _ in 0..skip {
                    plain.next_u32();
                }
                assert_eq!(skipped.next_u64(), plain.next_u64(), "{read} read, {skip} skipped");
            }
        }
    }

    #[test]
    fn draws_below_a_bound_reject_the_low_words() {
        let mut words = Philox::new(5, 6).words();
        for n in [1, 2, 3, 7, 1 << 31, (1 << 31) + 1] {
            assert!((0..50).all(|_| words.below(n) < n));
            assert!((0..50).all(|_| words.below_u64(u64::from(n) << 20) < u64::from(n) << 20));
        }
        assert_eq!((words.below(0), words.below_u64(0)), (0, 0));
    }
}

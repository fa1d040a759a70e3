//! `RandomIndexShuffle`: where a position goes in a random order of all positions, without making
//! that order.
//!
//! A small block cipher (a few rounds of Simon) permutes all numbers of an even count of bits; a
//! number beyond the last position is sent through it again.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

pub(super) const OPS: &[Op] = &[Op {
    name: "RandomIndexShuffle",
    inputs: &["index: dtype", "seed: Tseed", "max_index: dtype"],
    outputs: &["output: dtype"],
    attrs: &[
        "rounds: int = 4",
        "dtype: {int32, uint32, int64, uint64}",
        "Tseed: {int32, uint32, int64, uint64}",
    ],
    kernels: &[cpu::<RandomIndexShuffle>()],
    ..Op::DEFAULT
}];

/// Words in a seed.
const SEED_WORDS: usize = 3;
/// A block of fewer bits would show patterns.
const MIN_BLOCK_BITS: u32 = 16;
/// More rounds than the cipher has bits to mix only cost time.
const MAX_ROUNDS: i64 = 1024;

#[derive(Debug)]
struct RandomIndexShuffle {
    rounds: usize,
}

impl Kernel for RandomIndexShuffle {
    fn new(attrs: &Attrs<'_>) -> Result<RandomIndexShuffle> {
        let rounds = attrs.int("rounds")?;
        if !(4..=MAX_ROUNDS).contains(&rounds) || rounds % 2 != 0 {
            return Err(invalid_argument!("rounds must be even and at least 4 but was {rounds}"));
        }
        Ok(RandomIndexShuffle { rounds: rounds as usize })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (index, seed, max_index) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let count = index
            .num_elements()
            .max(max_index.num_elements())
            .max(seed.num_elements() / SEED_WORDS);
        if index.rank() != 0 && index.dims() != [count] {
            return Err(invalid_argument!("Index bust be a scalar or vector."));
        }
        if seed.dims() != [SEED_WORDS] && seed.dims() != [count, SEED_WORDS] {
            return Err(invalid_argument!(
                "Seed must be a vector of size [3] or a matrix of size [{count}, 3] but got {}.",
                seed.shape()
            ));
        }
        if max_index.rank() != 0 && max_index.dims() != [count] {
            return Err(invalid_argument!(
                "Maxval must be a scalar or a vector of the same size as index but got {}",
                max_index.shape()
            ));
        }
        let is_scalar = index.rank() == 0 && seed.rank() == 1 && max_index.rank() == 0;
        let shape = if is_scalar { Shape::SCALAR } else { Shape::vector(count) };
        let (signed, words) = (is_signed(index.dtype()), numbers(seed)?);
        let (indices, limits) = (numbers(index)?, numbers(max_index)?);
        let of = |values: &[u64], at: usize| values[if values.len() == 1 { 0 } else { at }];
        let mut places = Vec::with_capacity(count);
        for at in 0..count {
            let (index, limit) = (of(&indices, at), of(&limits, at));
            check(index, limit, signed)?;
            let row = if seed.rank() == 1 { 0 } else { at * SEED_WORDS };
            let key = [words[row] as u32, words[row + 1] as u32, words[row + 2] as u32];
            places.push(shuffled(index, key, limit, self.rounds));
        }
        let output = dispatch!(
            index.dtype(),
            [i32, u32, i64, u64],
            T => Tensor::build(shape, |out: &mut [T]| {
                out.iter_mut().zip(&places).for_each(|(out, &place)| *out = place as T);
            }),
            else => Err(internal!("no positions of type {}", index.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::Int32 | DType::Int64)
}

/// Integers as 64 bits, negative ones extended by their sign.
fn numbers(tensor: &Tensor) -> Result<Vec<u64>> {
    Ok(match tensor.dtype() {
        DType::UInt32 => tensor.values::<u32>()?.iter().map(|&value| u64::from(value)).collect(),
        DType::UInt64 => tensor.values::<u64>()?.to_vec(),
        _ => tensor.to_i64_vec()?.into_iter().map(|value| value as u64).collect(),
    })
}

fn check(index: u64, limit: u64, signed: bool) -> Result<()> {
    if signed {
        for (name, value) in [("index", index as i64), ("max_index", limit as i64)] {
            if value < 0 {
                return Err(invalid_argument!("{name} must be >= 0 but was {value}"));
            }
        }
    }
    if limit < index {
        return Err(invalid_argument!("max_index must be >= index, but {limit} < {index}"));
    }
    Ok(())
}

/// The place of `index` among `0..=max_index`.
pub(crate) fn shuffled(index: u64, key: [u32; SEED_WORDS], max_index: u64, rounds: usize) -> u64 {
    if max_index == 0 {
        return 0;
    }
    let bits = (max_index as f64).log2().ceil() as u32;
    let cipher = Cipher::new(key, (bits + bits % 2).clamp(MIN_BLOCK_BITS, 64) / 2, rounds);
    let mut place = index;
    // A permutation comes back to where it started, and `index` is a place itself.
    loop {
        place = cipher.encrypt(place);
        if place <= max_index {
            return place;
        }
    }
}

/// Rounds of Simon on two words of any size.
struct Cipher {
    word_bits: u32,
    round_keys: Vec<u64>,
}

impl Cipher {
    fn new(key: [u32; SEED_WORDS], word_bits: u32, rounds: usize) -> Cipher {
        let mut cipher = Cipher { word_bits, round_keys: Vec::with_capacity(rounds) };
        let mask = cipher.mask();
        cipher.round_keys.extend(key.map(|word| u64::from(word) & mask));
        let mut constants = 0x7369_f885_192c_0ef5_u64 & mask;
        for round in SEED_WORDS..rounds {
            let last = cipher.round_keys[round - 1];
            let next = (0xffff_fffc & mask)
                ^ (constants & 1)
                ^ cipher.round_keys[round - SEED_WORDS]
                ^ cipher.rotate_right(last, 3)
                ^ cipher.rotate_right(last, 4);
            cipher.round_keys.push(next);
            constants >>= 1;
        }
        cipher
    }

    fn mask(&self) -> u64 {
        (1 << self.word_bits) - 1
    }

    fn rotate_right(&self, word: u64, by: u32) -> u64 {
        ((word >> by) | (word << (self.word_bits - by))) & self.mask()
    }

    fn mix(&self, word: u64) -> u64 {
        let left = |by| self.rotate_right(word, self.word_bits - by);
        (left(1) & left(8 % self.word_bits)) ^ left(2)
    }

    fn encrypt(&self, value: u64) -> u64 {
        let mut left = (value >> self.word_bits) & self.mask();
        let mut right = value & self.mask();
        for keys in self.round_keys.chunks_exact(2) {
            left ^= self.mix(right) ^ keys[0];
            right ^= self.mix(left) ^ keys[1];
        }
        (left << self.word_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_its_own_place() {
        for max_index in [1, 2, 9, 300, 70_000] {
            let mut seen = vec![false; max_index + 1];
            for index in 0..=max_index {
                let place = shuffled(index as u64, [7, 8, 9], max_index as u64, 4);
                assert!(!std::mem::replace(&mut seen[place as usize], true));
            }
        }
    }
}

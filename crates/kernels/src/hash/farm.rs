//! FarmHash's 64-bit fingerprint.

use std::num::Wrapping;

use super::{word32, word64};

type Word = Wrapping<u64>;

const K0: Word = Wrapping(0xc3a5_c85c_97cb_3127);
const K1: Word = Wrapping(0xb492_b66f_be98_f273);
const K2: Word = Wrapping(0x9ae1_6a3b_2f90_404f);

/// The fingerprint of `data`.
pub fn fingerprint64(data: &[u8]) -> u64 {
    match data.len() {
        0..=16 => up_to_16(data),
        17..=32 => up_to_32(data),
        33..=64 => up_to_64(data),
        _ => longer(data),
    }
    .0
}

/// The fingerprint of two things by their fingerprints; their order matters.
pub fn fingerprint_cat64(first: u64, second: u64) -> u64 {
    const MULTIPLIER: Word = Wrapping(0xc6a4_a793_5bd1_e995);
    let second = mix(Wrapping(second) * MULTIPLIER) * MULTIPLIER;
    let both = (Wrapping(first) ^ MULTIPLIER ^ second) * MULTIPLIER;
    mix(mix(both) * MULTIPLIER).0
}

fn up_to_16(data: &[u8]) -> Word {
    let len = data.len();
    let multiplier = length_multiplier(len);
    match len {
        8.. => {
            let a = fetch(data, 0) + K2;
            let b = fetch(data, len - 8);
            let c = rotate(b, 37) * multiplier + a;
            let d = (rotate(a, 25) + b) * multiplier;
            combine(c, d, multiplier)
        }
        4.. => {
            let low = u64::from(word32(data, 0)) << 3;
            let high = u64::from(word32(data, len - 4));
            combine(Wrapping(len as u64 + low), Wrapping(high), multiplier)
        }
        1.. => {
            let byte = |at: usize| u32::from(data[at]);
            let y = byte(0) + (byte(len / 2) << 8);
            let z = len as u32 + (byte(len - 1) << 2);
            mix((Wrapping(y.into()) * K2) ^ (Wrapping(z.into()) * K0)) * K2
        }
        0 => K2,
    }
}

fn up_to_32(data: &[u8]) -> Word {
    Ends::new(data, K1).combined()
}

fn up_to_64(data: &[u8]) -> Word {
    let len = data.len();
    let ends = Ends::new(data, K2);
    let multiplier = ends.multiplier;
    let e = fetch(data, 16) * multiplier;
    let f = fetch(data, 24);
    let g = (ends.sum() + fetch(data, len - 32)) * multiplier;
    let h = (ends.combined() + fetch(data, len - 24)) * multiplier;
    combine(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + ends.a, 18) + g, multiplier)
}

/// What the first and the last 16 bytes contribute.
struct Ends {
    a: Word,
    b: Word,
    c: Word,
    d: Word,
    multiplier: Word,
}

impl Ends {
    fn new(data: &[u8], first: Word) -> Self {
        let len = data.len();
        let multiplier = length_multiplier(len);
        Self {
            a: fetch(data, 0) * first,
            b: fetch(data, 8),
            c: fetch(data, len - 8) * multiplier,
            d: fetch(data, len - 16) * K2,
            multiplier,
        }
    }

    fn sum(&self) -> Word {
        rotate(self.a + self.b, 43) + rotate(self.c, 30) + self.d
    }

    fn combined(&self) -> Word {
        combine(self.sum(), self.a + rotate(self.b + K2, 18) + self.c, self.multiplier)
    }
}

fn longer(data: &[u8]) -> Word {
    let last = data.len() - 1;
    let mut state = State::new(fetch(data, 0));
    for block in data[..last / 64 * 64].chunks_exact(64) {
        state.absorb(block, K1, 1);
    }
    // The last block overlaps the one before and is absorbed with a multiplier of its own.
    let multiplier = K1 + ((state.z & Wrapping(0xff)) << 1);
    state.w.0 += last as u64 & 63;
    state.v.0 += state.w.0;
    state.w.0 += state.v.0;
    state.absorb(&data[data.len() - 64..], multiplier, 9);
    let State { v, w, x, y, z } = state;
    combine(
        combine(v.0, w.0, multiplier) + mix(y) * K0 + z,
        combine(v.1, w.1, multiplier) + x,
        multiplier,
    )
}

struct State {
    v: (Word, Word),
    w: (Word, Word),
    x: Word,
    y: Word,
    z: Word,
}

impl State {
    fn new(first: Word) -> Self {
        const SEED: Word = Wrapping(81);
        let y = SEED * K1 + Wrapping(113);
        let z = mix(y * K2 + Wrapping(113)) * K2;
        let zero = (Wrapping(0), Wrapping(0));
        Self { v: zero, w: zero, x: SEED * K2 + first, y, z }
    }

    /// Absorbs 64 bytes.
    fn absorb(&mut self, block: &[u8], multiplier: Word, weight: u64) {
        let Self { v, w, x, y, z } = self;
        let weight = Wrapping(weight);
        *x = rotate(*x + *y + v.0 + fetch(block, 8), 37) * multiplier;
        *y = rotate(*y + v.1 + fetch(block, 48), 42) * multiplier;
        *x ^= w.1 * weight;
        *y += v.0 * weight + fetch(block, 40);
        *z = rotate(*z + w.0, 33) * multiplier;
        *v = absorb_half(&block[..32], v.1 * multiplier, *x + w.0);
        *w = absorb_half(&block[32..], *z + w.1, *y + fetch(block, 16));
        std::mem::swap(x, z);
    }
}

/// Mixes 32 bytes into two words.
fn absorb_half(data: &[u8], a: Word, b: Word) -> (Word, Word) {
    let last = fetch(data, 24);
    let a = a + fetch(data, 0);
    let b = rotate(b + a + last, 21);
    let sum = a + fetch(data, 8) + fetch(data, 16);
    (sum + last, b + rotate(sum, 44) + a)
}

/// Murmur's way of making one word of two.
fn combine(u: Word, v: Word, multiplier: Word) -> Word {
    let a = mix((u ^ v) * multiplier);
    mix((v ^ a) * multiplier) * multiplier
}

fn length_multiplier(len: usize) -> Word {
    K2 + Wrapping(len as u64 * 2)
}

fn mix(value: Word) -> Word {
    value ^ value >> 47
}

fn rotate(value: Word, right: u32) -> Word {
    Wrapping(value.0.rotate_right(right))
}

fn fetch(data: &[u8], at: usize) -> Word {
    Wrapping(word64(data, at))
}

//! FarmHash's 64-bit fingerprint, which never changes: TensorFlow sorts strings into buckets by it.

pub(super) const K0: u64 = 0xc3a5_c85c_97cb_3127;
pub(super) const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// The fingerprint of some bytes.
pub(crate) fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => long(bytes),
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn half_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word).into()
}

pub(super) fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

pub(super) fn mix(u: u64, v: u64, factor: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(factor));
    shift_mix((v ^ a).wrapping_mul(factor)).wrapping_mul(factor)
}

fn factor(len: usize) -> u64 {
    K2.wrapping_add((len as u64).wrapping_mul(2))
}

pub(super) fn up_to_16(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if len >= 8 {
        let factor = factor(len);
        let a = word(bytes, 0).wrapping_add(K2);
        let b = word(bytes, len - 8);
        let c = b.rotate_right(37).wrapping_mul(factor).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(factor);
        return mix(c, d, factor);
    }
    if len >= 4 {
        let a = (half_word(bytes, 0) << 3).wrapping_add(len as u64);
        return mix(a, half_word(bytes, len - 4), factor(len));
    }
    if len > 0 {
        let [a, b, c] = [bytes[0], bytes[len >> 1], bytes[len - 1]].map(u64::from);
        let y = a + (b << 8);
        let z = len as u64 + (c << 2);
        return shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2);
    }
    K2
}

fn up_to_32(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let factor = factor(len);
    let a = word(bytes, 0).wrapping_mul(K1);
    let b = word(bytes, 8);
    let c = word(bytes, len - 8).wrapping_mul(factor);
    let d = word(bytes, len - 16).wrapping_mul(K2);
    mix(
        a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c),
        factor,
    )
}

fn up_to_64(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let factor = factor(len);
    let a = word(bytes, 0).wrapping_mul(K2);
    let b = word(bytes, 8);
    let c = word(bytes, len - 8).wrapping_mul(factor);
    let d = word(bytes, len - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = mix(y, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), factor);
    let e = word(bytes, 16).wrapping_mul(factor);
    let f = word(bytes, 24);
    let g = y.wrapping_add(word(bytes, len - 32)).wrapping_mul(factor);
    let h = z.wrapping_add(word(bytes, len - 24)).wrapping_mul(factor);
    mix(
        e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h),
        e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g),
        factor,
    )
}

/// Mixes 32 bytes at `at` into two seeds.
pub(super) fn weak(bytes: &[u8], at: usize, mut a: u64, mut b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|offset| word(bytes, at + offset));
    a = a.wrapping_add(w);
    b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    a = a.wrapping_add(x).wrapping_add(y);
    b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(z), b.wrapping_add(c))
}

/// What is carried from one block of 64 bytes to the next.
pub(super) struct State {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) z: u64,
    pub(super) v: (u64, u64),
    pub(super) w: (u64, u64),
}

impl State {
    /// Mixes a block in; the last one with another factor and a stronger twist.
    pub(super) fn block(&mut self, bytes: &[u8], at: usize, factor: u64, twist: u64) {
        let State { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(bytes, at + 8));
        *x = x.rotate_right(37).wrapping_mul(factor);
        *y = y.wrapping_add(v.1).wrapping_add(word(bytes, at + 48));
        *y = y.rotate_right(42).wrapping_mul(factor);
        *x ^= w.1.wrapping_mul(twist);
        *y = y.wrapping_add(v.0.wrapping_mul(twist)).wrapping_add(word(bytes, at + 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(factor);
        *v = weak(bytes, at, v.1.wrapping_mul(factor), x.wrapping_add(w.0));
        let seed = y.wrapping_add(word(bytes, at + 16));
        *w = weak(bytes, at + 32, z.wrapping_add(w.1), seed);
        std::mem::swap(z, x);
    }
}

fn long(bytes: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let last = (bytes.len() - 1) & 63;
    let end = bytes.len() - 1 - last;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = SEED.wrapping_mul(K2).wrapping_add(word(bytes, 0));
    let mut state = State { x, y, z, v: (0, 0), w: (0, 0) };
    for at in (0..end).step_by(64) {
        state.block(bytes, at, K1, 1);
    }
    let factor = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(last as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.block(bytes, bytes.len() - 64, factor, 9);
    let State { x, y, z, v, w } = state;
    mix(
        mix(v.0, w.0, factor).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z),
        mix(v.1, w.1, factor).wrapping_add(x),
        factor,
    )
}

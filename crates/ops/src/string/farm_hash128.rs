//! FarmHash's 128-bit fingerprint, which never changes either.

use super::farm_hash::{K0, K1, State, mix, shift_mix, up_to_16, weak, word};

/// The factor by which two words become one.
const FACTOR: u64 = 0x9ddf_ea08_eb38_2d69;

/// The fingerprint of some bytes, low half first.
pub(crate) fn fingerprint128(bytes: &[u8]) -> (u64, u64) {
    match bytes.split_at_checked(16) {
        Some((head, rest)) => with_seed(rest, word(head, 0), word(head, 8).wrapping_add(K0)),
        None => with_seed(bytes, K0, K1),
    }
}

fn with_seed(bytes: &[u8], low: u64, high: u64) -> (u64, u64) {
    if bytes.len() < 128 { short(bytes, low, high) } else { long(bytes, low, high) }
}

fn join(u: u64, v: u64) -> u64 {
    mix(u, v, FACTOR)
}

fn stir(value: u64) -> u64 {
    shift_mix(value.wrapping_mul(K1)).wrapping_mul(K1)
}

fn short(bytes: &[u8], mut a: u64, mut b: u64) -> (u64, u64) {
    let len = bytes.len();
    let (mut c, mut d);
    if len <= 16 {
        a = stir(a);
        c = b.wrapping_mul(K1).wrapping_add(up_to_16(bytes));
        d = shift_mix(a.wrapping_add(if len >= 8 { word(bytes, 0) } else { c }));
    } else {
        c = join(word(bytes, len - 8).wrapping_add(K1), a);
        d = join(b.wrapping_add(len as u64), c.wrapping_add(word(bytes, len - 16)));
        a = a.wrapping_add(d);
        // Whole pairs of words, the last pair only if bytes are left behind it.
        for at in (0..len - 16).step_by(16) {
            a = (a ^ stir(word(bytes, at))).wrapping_mul(K1);
            b ^= a;
            c = (c ^ stir(word(bytes, at + 8))).wrapping_mul(K1);
            d ^= c;
        }
    }
    (a, b) = (join(a, c), join(d, b));
    (a ^ b, join(b, a))
}

fn long(bytes: &[u8], low: u64, high: u64) -> (u64, u64) {
    let len = bytes.len();
    let z = (len as u64).wrapping_mul(K1);
    let v0 = (high ^ K1).rotate_right(49).wrapping_mul(K1).wrapping_add(word(bytes, 0));
    let v1 = v0.rotate_right(42).wrapping_mul(K1).wrapping_add(word(bytes, 8));
    let w0 = high.wrapping_add(z).rotate_right(35).wrapping_mul(K1).wrapping_add(low);
    let w1 = low.wrapping_add(word(bytes, 88)).rotate_right(53).wrapping_mul(K1);
    let mut state = State { x: low, y: high, z, v: (v0, v1), w: (w0, w1) };
    let tail = len % 128;
    for at in (0..len - tail).step_by(64) {
        state.block(bytes, at, K1, 1);
    }
    let State { mut x, mut y, mut z, mut v, mut w } = state;
    x = x.wrapping_add(v.0.wrapping_add(z).rotate_right(49).wrapping_mul(K0));
    y = y.wrapping_mul(K0).wrapping_add(w.1.rotate_right(37));
    z = z.wrapping_mul(K0).wrapping_add(w.0.rotate_right(27));
    w.0 = w.0.wrapping_mul(9);
    v.0 = v.0.wrapping_mul(K0);
    // From the end, 32 bytes at a time, the last of them from before the tail if need be.
    for done in (32..tail + 32).step_by(32) {
        let at = len - done;
        y = x.wrapping_add(y).rotate_right(42).wrapping_mul(K0).wrapping_add(v.1);
        w.0 = w.0.wrapping_add(word(bytes, at + 16));
        x = x.wrapping_mul(K0).wrapping_add(w.0);
        z = z.wrapping_add(w.1).wrapping_add(word(bytes, at));
        w.1 = w.1.wrapping_add(v.0);
        v = weak(bytes, at, v.0.wrapping_add(z), v.1);
        v.0 = v.0.wrapping_mul(K0);
    }
    x = join(x, v.0);
    y = join(y.wrapping_add(z), w.0);
    (join(x.wrapping_add(v.1), w.1).wrapping_add(y), join(x.wrapping_add(w.1), y.wrapping_add(v.1)))
}

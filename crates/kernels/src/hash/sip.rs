//! SipHash-2-4: a keyed hash for which collisions cannot be prepared without the key.

use super::{short_word, word64};

/// The hash of `data` under `key`.
pub fn siphash(key: [u64; 2], data: &[u8]) -> u64 {
    let mut state = State([
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ]);
    let (words, rest) = data.as_chunks::<8>();
    for word in words {
        state.absorb(word64(word, 0));
    }
    state.absorb(short_word(rest) | (data.len() as u64) << 56);
    state.0[2] ^= 0xff;
    state.rounds(4);
    state.0.into_iter().fold(0, |hash, word| hash ^ word)
}

struct State([u64; 4]);

impl State {
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    #[inline(always)]
    fn rounds(&mut self, count: usize) {
        let [mut a, mut b, mut c, mut d] = self.0;
        for _ in 0..count {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.0 = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: key and message count up from zero.
    #[test]
    fn published_vector() {
        let message: Vec<u8> = (0..15).collect();
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }
}

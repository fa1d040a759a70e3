//! New bytes from old ones.

/// Makes inputs, the same ones for the same number.
#[derive(Debug)]
pub struct Mutator(u64);

/// Bytes that mean something in most formats.
const TELLING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'/', b';', b'\n'];

/// No input is longer.
const LONGEST: usize = 64 << 10;

impl Mutator {
    pub fn new(number: u64) -> Mutator {
        Mutator(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn random(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below another one, or zero.
    fn below(&mut self, limit: usize) -> usize {
        (self.random() % limit.max(1) as u64) as usize
    }

    /// Bytes made of one of the seeds by a few changes, or of two.
    pub fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let one = self.below(seeds.len());
        let mut bytes = seeds.get(one).cloned().unwrap_or_default();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len());
        let value = match self.below(2) {
            0 => TELLING[self.below(TELLING.len())],
            _ => self.random() as u8,
        };
        match self.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            1 if !bytes.is_empty() => bytes[at] = value,
            2 => bytes.insert(at, value),
            3 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            4 => bytes.truncate(at),
            5 => {
                let end = at + self.below(bytes.len() - at);
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            6 => {
                let other = self.below(seeds.len());
                if let Some(other) = seeds.get(other) {
                    let from = self.below(other.len());
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
            }
            // A number of four bytes that is large, small or less than nothing.
            _ => {
                let numbers = [0, 1, u32::MAX, i32::MAX as u32, 1 << 31, 1 << 16];
                let number = numbers[self.below(numbers.len())];
                let number =
                    if self.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                let end = (at + 4).min(bytes.len());
                bytes.splice(at..end, number);
            }
        }
    }
}

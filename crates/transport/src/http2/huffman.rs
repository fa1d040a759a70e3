//! The Huffman code of header strings (RFC 7541, appendix B).
//!
//! The code is canonical: the lengths of the codes say everything.

use std::sync::LazyLock;

/// The length of the code of each byte, and of the mark of the end, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const SHORTEST: u32 = 5;
const LONGEST: u32 = 30;

/// The mark of the end, of which only the beginning may stand in a string, as padding.
const END: u16 = 256;

/// The codes of one length are consecutive numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u32,
    /// One past the last code.
    end: u32,
    /// Where the symbols of the codes begin.
    symbols: u32,
}

#[derive(Debug)]
struct Codes {
    runs: [Run; LONGEST as usize + 1],
    symbols: Vec<u16>,
}

static CODES: LazyLock<Codes> = LazyLock::new(|| {
    let mut symbols = Vec::with_capacity(LENGTHS.len());
    let mut runs = [Run::default(); LONGEST as usize + 1];
    let mut code = 0;
    for (length, run) in runs.iter_mut().enumerate() {
        code <<= 1;
        let start = symbols.len();
        let same = |symbol: &u16| usize::from(LENGTHS[usize::from(*symbol)]) == length;
        symbols.extend((0..=END).filter(same));
        let end = code + (symbols.len() - start) as u32;
        *run = Run { first: code, end, symbols: start as u32 };
        code = end;
    }
    Codes { runs, symbols }
});

impl Codes {
    /// The first symbol of `len` bits, at the low end of `bits`, and the length of its code.
    fn first(&self, bits: u64, len: u32) -> Option<(u16, u32)> {
        (SHORTEST..=LONGEST.min(len)).find_map(|length| {
            let code = (bits >> (len - length)) as u32 & ((1 << length) - 1);
            let run = self.runs[length as usize];
            // Shorter codes are smaller numbers, so a code below the end is one of this length.
            (code < run.end)
                .then(|| (self.symbols[(run.symbols + code - run.first) as usize], length))
        })
    }
}

/// Appends what the bytes stand for. Nothing for a code that is none, or padding that is not right.
pub(super) fn decode(bytes: &[u8], text: &mut Vec<u8>) -> Option<()> {
    let mut rest = bytes.iter();
    let (mut bits, mut len) = (0u64, 0u32);
    loop {
        while len < LONGEST
            && let Some(byte) = rest.next()
        {
            bits = bits << 8 | u64::from(*byte);
            len += 8;
        }
        match CODES.first(bits, len) {
            Some((END, _)) => return None,
            Some((symbol, length)) => {
                text.push(symbol as u8);
                len -= length;
            }
            None => {
                let padding = (1u64 << len) - 1;
                return (len < 8 && bits & padding == padding).then_some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        decode(bytes, &mut text)?;
        String::from_utf8(text).ok()
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        let www = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&www).unwrap(), "www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), "no-cache");
        assert_eq!(decoded(&[0x64, 0x02]).unwrap(), "302");
        assert_eq!(decoded(&[]).unwrap(), "");
    }

    #[test]
    fn every_symbol_has_its_own_code() {
        for symbol in 0..=255u8 {
            let length = u32::from(LENGTHS[usize::from(symbol)]);
            let run = CODES.runs[length as usize];
            let at =
                CODES.symbols[run.symbols as usize..].iter().position(|&s| s == u16::from(symbol));
            let code = u64::from(run.first) + at.unwrap() as u64;
            let padding = length.next_multiple_of(8) - length;
            let bits = code << padding | ((1 << padding) - 1);
            let bytes = &bits.to_be_bytes()[8 - length.div_ceil(8) as usize..];
            let mut text = Vec::new();
            assert_eq!((decode(bytes, &mut text), text), (Some(()), vec![symbol]));
        }
    }

    #[test]
    fn wrong_padding_and_the_mark_of_the_end_are_refused() {
        assert_eq!(decoded(&[0x64, 0x02, 0xff]), None, "eight bits of padding");
        assert_eq!(decoded(&[0x00]), None, "padding of zeros");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), None, "the mark of the end");
    }
}

//! Header blocks (RFC 7541).

use std::collections::VecDeque;

use super::huffman;
use super::{Failure, Reason};
use crate::limits::HEADER_LIST;

/// How large the table of headers may be that a client fills: the default of the standard.
const TABLE: usize = 4096;

/// What an entry of the table, or of a list, counts besides its text.
const OVERHEAD: usize = 32;

/// Reads the header blocks of a connection, which share a table.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The newest first.
    entries: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// What the entries count together, and may.
    size: usize,
    limit: usize,
    /// Room for strings that are not in a table.
    name: Vec<u8>,
    value: Vec<u8>,
}

fn broken(why: &'static str) -> Failure {
    Failure { reason: Reason::Compression, why }
}

impl Decoder {
    pub(super) fn new() -> Decoder {
        Decoder {
            entries: VecDeque::new(),
            size: 0,
            limit: TABLE,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Calls `each` with the name and the value of every header of a block, and returns how much
    /// they count. Those beyond the limit are read, for the table's sake, and not handed on.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, Failure> {
        let mut block = Block(block);
        let mut list = 0;
        let mut is_start = true;
        while let Some(&first) = block.0.first() {
            match first {
                0x80.. => {
                    let index = block.integer(7)?;
                    let (name, value) = self.entry(index)?;
                    list += name.len() + value.len() + OVERHEAD;
                    if list <= HEADER_LIST {
                        each(name, value);
                    }
                }
                0x20..0x40 => {
                    let limit = block.integer(5)?;
                    if !is_start || limit > TABLE {
                        return Err(broken("the size of the table is not to be changed so"));
                    }
                    self.limit = limit;
                    self.evict(0);
                    continue;
                }
                _ => {
                    let is_kept = first & 0x40 != 0;
                    self.literal(&mut block, if is_kept { 6 } else { 4 })?;
                    list += self.name.len() + self.value.len() + OVERHEAD;
                    if list <= HEADER_LIST {
                        each(&self.name, &self.value);
                    }
                    if is_kept {
                        self.insert();
                    }
                }
            }
            is_start = false;
        }
        Ok(list)
    }

    /// Reads a header that is not, or not whole, in a table.
    fn literal(&mut self, block: &mut Block<'_>, prefix: u32) -> Result<(), Failure> {
        let index = block.integer(prefix)?;
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        if index == 0 {
            block.string(&mut name)?;
        } else {
            name.extend_from_slice(self.entry(index)?.0);
        }
        self.name = name;
        self.value.clear();
        block.string(&mut self.value)
    }

    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), Failure> {
        let absent = || broken("an entry that the tables do not have");
        let index = index.checked_sub(1).ok_or_else(absent)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let (name, value) = self.entries.get(index - STATIC.len()).ok_or_else(absent)?;
        Ok((name, value))
    }

    /// Keeps the header that was read last.
    fn insert(&mut self) {
        let size = self.name.len() + self.value.len() + OVERHEAD;
        self.evict(size);
        if size <= self.limit {
            self.size += size;
            self.entries.push_front((self.name.clone(), self.value.clone()));
        }
    }

    /// Makes room, of the oldest entries.
    fn evict(&mut self, room: usize) {
        while self.size + room > self.limit
            && let Some((name, value)) = self.entries.pop_back()
        {
            self.size -= name.len() + value.len() + OVERHEAD;
        }
    }
}

/// What is left of a block.
struct Block<'a>(&'a [u8]);

impl Block<'_> {
    /// Reads a number that begins in the low bits of a byte.
    fn integer(&mut self, prefix: u32) -> Result<usize, Failure> {
        let end = || broken("a block that ends within a number");
        let mask = (1u8 << prefix) - 1;
        let (first, rest) = self.0.split_first().ok_or_else(end)?;
        self.0 = rest;
        let mut value = usize::from(first & mask);
        if first & mask < mask {
            return Ok(value);
        }
        // Nothing here is as large as what four more bytes can say.
        for shift in [0, 7, 14, 21] {
            let (byte, rest) = self.0.split_first().ok_or_else(end)?;
            self.0 = rest;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(broken("a number that is too large"))
    }

    fn string(&mut self, text: &mut Vec<u8>) -> Result<(), Failure> {
        let end = || broken("a block that ends within a string");
        let is_huffman = self.0.first().ok_or_else(end)? & 0x80 != 0;
        let len = self.integer(7)?;
        let (string, rest) = self.0.split_at_checked(len).ok_or_else(end)?;
        self.0 = rest;
        if is_huffman {
            return huffman::decode(string, text).ok_or_else(|| broken("a string that is no code"));
        }
        text.extend_from_slice(string);
        Ok(())
    }
}

/// Appends a header that no table is to remember, so that writer and reader need not agree on one.
pub(crate) fn encode(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    block.push(0);
    for string in [name, value] {
        encode_length(string.len(), block);
        block.extend_from_slice(string);
    }
}

/// Appends the length of a string that is not in Huffman's code.
fn encode_length(len: usize, block: &mut Vec<u8>) {
    if len < 0x7f {
        return block.push(len as u8);
    }
    block.push(0x7f);
    let mut rest = len - 0x7f;
    while rest >= 0x80 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// `:status: 200`, which stands in the table of the standard.
pub(super) const OK: u8 = 0x88;

/// The table of the standard (appendix A).
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
    (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
    ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
    ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
    ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
    ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""),
    ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, Reason> {
        let mut headers = Vec::new();
        decoder
            .decode(block, |name, value| {
                let text = [name, b": ", value].concat();
                headers.push(String::from_utf8(text).unwrap());
            })
            .map_err(|failure| failure.reason)?;
        Ok(headers)
    }

    /// The requests of the standard's appendix C.4, which share a table.
    #[test]
    fn the_examples_of_the_standard_are_read() {
        let mut decoder = Decoder::new();
        let first = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        let common = [":method: GET", ":scheme: http"];
        assert_eq!(
            decoded(&mut decoder, first).unwrap(),
            [&common[..], &[":path: /", ":authority: www.example.com"]].concat()
        );
        let second = b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf";
        let wanted = [":path: /", ":authority: www.example.com", "cache-control: no-cache"];
        assert_eq!(decoded(&mut decoder, second).unwrap(), [&common[..], &wanted].concat());
        let third =
            b"\x82\x87\x85\xbf\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf";
        let wanted = [
            ":method: GET",
            ":scheme: https",
            ":path: /index.html",
            ":authority: www.example.com",
            "custom-key: custom-value",
        ];
        assert_eq!(decoded(&mut decoder, third).unwrap(), wanted);
        assert_eq!(decoder.size, 164);
    }

    #[test]
    fn what_is_written_is_read() {
        let long = "x".repeat(300);
        let mut block = vec![OK];
        encode(b"grpc-status", b"0", &mut block);
        encode(b"grpc-message", long.as_bytes(), &mut block);
        let wanted =
            [":status: 200".to_owned(), "grpc-status: 0".into(), format!("grpc-message: {long}")];
        assert_eq!(decoded(&mut Decoder::new(), &block).unwrap(), wanted);
    }

    #[test]
    fn the_table_forgets_the_oldest() {
        let mut decoder = Decoder::new();
        // A table of 100 bytes holds two of these.
        let mut block = b"\x3f\x45".to_vec();
        for value in [b'1', b'2', b'3'] {
            block.extend_from_slice(&[0x40, 1, b'n', 1, value]);
        }
        block.extend_from_slice(&[0xbe, 0xbf]);
        let wanted = ["n: 1", "n: 2", "n: 3", "n: 3", "n: 2"];
        assert_eq!(decoded(&mut decoder, &block).unwrap(), wanted);
        assert_eq!(decoded(&mut decoder, &[0xc0]), Err(Reason::Compression));
    }

    #[test]
    fn broken_blocks_are_refused() {
        for block in [
            &b"\x80"[..],                // entry 0
            b"\xff\xff\xff\xff\xff\xff", // a number without end
            b"\x7f",                     // a number that ends too early
            b"\x40\x05ab",               // a string that ends too early
            b"\x40",                     // no string at all
            b"\x40\x81\x00\x00",         // no code
            b"\x3f\xe2\x1f",             // a larger table than we allow
            b"\x82\x20",                 // a change behind the first header
        ] {
            assert_eq!(decoded(&mut Decoder::new(), block), Err(Reason::Compression), "{block:x?}");
        }
    }

    #[test]
    fn a_small_block_cannot_make_a_large_list() {
        let mut decoder = Decoder::new();
        let mut block = vec![0x40, 1, b'n'];
        encode_length(4000, &mut block);
        block.extend_from_slice(&[b'v'; 4000]);
        block.extend_from_slice(&[0xbe; 100]);
        let mut seen = 0;
        let size = decoder.decode(&block, |name, value| seen += name.len() + value.len()).unwrap();
        assert!(size > 100 * 4000, "what it would have been: {size}");
        assert!(seen <= HEADER_LIST, "{seen} bytes were handed on");
    }
}

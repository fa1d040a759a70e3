//! Character encodings: from bytes to code points and back.

use tensorfleet_tensor::{Result, invalid_argument};

/// How characters are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16(Order),
    Utf32(Order),
    Ascii,
    /// ISO 8859-1: the first 256 code points.
    Latin1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
    /// As a mark at the beginning says; the more significant first if there is none.
    Marked,
}

impl Encoding {
    /// Finds an encoding by any of its usual names, in which case, hyphens and blanks do not count.
    pub(super) fn named(name: &str) -> Result<Encoding> {
        let plain: String = name
            .chars()
            .filter(|c| !matches!(c, '-' | '_' | ' '))
            .map(|c| c.to_ascii_lowercase())
            .collect();
        Ok(match plain.as_str() {
            "utf8" => Encoding::Utf8,
            "utf16" => Encoding::Utf16(Order::Marked),
            "utf16be" => Encoding::Utf16(Order::Big),
            "utf16le" => Encoding::Utf16(Order::Little),
            "utf32" => Encoding::Utf32(Order::Marked),
            "utf32be" => Encoding::Utf32(Order::Big),
            "utf32le" => Encoding::Utf32(Order::Little),
            "usascii" | "ascii" => Encoding::Ascii,
            "iso88591" | "latin1" => Encoding::Latin1,
            _ => {
                return Err(invalid_argument!(
                    "Could not create converter for input encoding: {name}"
                ));
            }
        })
    }

    /// Calls `each` with the offset of every character; `None` stands for bytes that are none. A
    /// mark belongs to the first character.
    pub(super) fn decode(self, bytes: &[u8], mut each: impl FnMut(usize, Option<char>)) {
        match self {
            Encoding::Utf8 => {
                let mut offset = 0;
                for chunk in bytes.utf8_chunks() {
                    for (at, c) in chunk.valid().char_indices() {
                        each(offset + at, Some(c));
                    }
                    offset += chunk.valid().len();
                    if !chunk.invalid().is_empty() {
                        each(offset, None);
                        offset += chunk.invalid().len();
                    }
                }
            }
            Encoding::Utf16(order) => utf16(bytes, order, each),
            Encoding::Utf32(order) => utf32(bytes, order, each),
            Encoding::Ascii => {
                for (offset, &byte) in bytes.iter().enumerate() {
                    each(offset, byte.is_ascii().then_some(char::from(byte)));
                }
            }
            Encoding::Latin1 => {
                for (offset, &byte) in bytes.iter().enumerate() {
                    each(offset, Some(char::from(byte)));
                }
            }
        }
    }

    /// Appends a character.
    pub(super) fn encode(self, c: char, bytes: &mut Vec<u8>) {
        match self {
            Encoding::Utf16(_) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    bytes.extend_from_slice(&unit.to_be_bytes());
                }
            }
            Encoding::Utf32(_) => bytes.extend_from_slice(&u32::from(c).to_be_bytes()),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Where the text begins behind the mark, and whether the less significant byte is first.
fn order(bytes: &[u8], order: Order, width: usize) -> (usize, bool) {
    match order {
        Order::Big => (0, false),
        Order::Little => (0, true),
        Order::Marked => {
            let unit = |little: bool| {
                let unit = bytes.get(..width)?;
                let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
                Some(if little {
                    unit.iter().rev().fold(0, fold)
                } else {
                    unit.iter().fold(0, fold)
                })
            };
            match (unit(false), unit(true)) {
                (Some(0xfeff), _) => (width, false),
                (_, Some(0xfeff)) => (width, true),
                _ => (0, false),
            }
        }
    }
}

fn utf16(bytes: &[u8], byte_order: Order, mut each: impl FnMut(usize, Option<char>)) {
    let (start, little) = order(bytes, byte_order, 2);
    let unit = |at: usize| {
        let pair = [*bytes.get(at)?, *bytes.get(at + 1)?];
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let mut at = start;
    let mut each = |at: usize, c| each(if at == start { 0 } else { at }, c);
    while at < bytes.len() {
        let Some(first) = unit(at) else {
            each(at, None);
            return;
        };
        let second = unit(at + 2).filter(|second| (0xdc00..0xe000).contains(second));
        match (first, second) {
            (0xd800..0xdc00, Some(second)) => {
                let high = u32::from(first) - 0xd800;
                let code = 0x1_0000 + (high << 10 | (u32::from(second) - 0xdc00));
                each(at, char::from_u32(code));
                at += 4;
            }
            _ => {
                // A lone surrogate is no character.
                each(at, char::from_u32(first.into()));
                at += 2;
            }
        }
    }
}

fn utf32(bytes: &[u8], byte_order: Order, mut each: impl FnMut(usize, Option<char>)) {
    let (start, little) = order(bytes, byte_order, 4);
    let (words, rest) = bytes[start..].as_chunks::<4>();
    for (index, &word) in words.iter().enumerate() {
        let code = if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) };
        each(if index == 0 { 0 } else { start + 4 * index }, char::from_u32(code));
    }
    if !rest.is_empty() {
        each(bytes.len() - rest.len(), None);
    }
}

//! Character encodings: from bytes to code points and back.

use tensorfleet_tensor::{Result, invalid_argument};

use super::code_pages::CodePage;

/// How characters are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16(Order),
    Utf32(Order),
    Ascii,
    /// ISO 8859-1: the first 256 code points.
    Latin1,
    /// An older encoding with a table of its characters.
    Table(&'static encoding_rs::Encoding),
    CodePage(&'static CodePage),
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
        let plain = plain_name(name);
        Ok(match plain.as_str() {
            "utf8" => Encoding::Utf8,
            "utf16" => Encoding::Utf16(Order::Marked),
            "utf16be" => Encoding::Utf16(Order::Big),
            "utf16le" => Encoding::Utf16(Order::Little),
            "utf32" => Encoding::Utf32(Order::Marked),
            "utf32be" => Encoding::Utf32(Order::Big),
            "utf32le" => Encoding::Utf32(Order::Little),
            "usascii" | "ascii" | "646" | "cp367" | "ansix3.41968" => Encoding::Ascii,
            "iso88591" | "latin1" | "l1" | "88591" | "cp819" | "ibm819" => Encoding::Latin1,
            _ => {
                let table = tables().find(|table| plain_name(table.name()) == plain);
                table
                    .map(Encoding::Table)
                    .or_else(|| CodePage::named(&plain).map(Encoding::CodePage))
                    .ok_or_else(|| {
                        invalid_argument!("Could not create converter for input encoding: {name}")
                    })?
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
            Encoding::Table(table) => by_table(table, bytes, each),
            Encoding::CodePage(page) => {
                for (offset, &byte) in bytes.iter().enumerate() {
                    each(offset, page.decode(byte));
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

/// A name as the tables have it: of those that ICU knows an encoding by, the one that the web uses.
fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    if let Some(page) = plain.strip_prefix("cp125") {
        return format!("windows125{page}");
    }
    let usual = match plain.as_str() {
        "latin2" | "l2" => "iso88592",
        "latin3" | "l3" => "iso88593",
        "latin4" | "l4" => "iso88594",
        "latin6" | "l6" => "iso885910",
        "latin9" | "l9" => "iso885915",
        "cp866" | "866" => "ibm866",
        "koi8" | "cp878" => "koi8r",
        "mac" | "macroman" => "macintosh",
        "maccy" => "xmaccyrillic",
        "tis620" => "windows874",
        "gb2312" | "euccn" | "cp936" => "gbk",
        "sjis" | "cp932" | "windows31j" | "mskanji" => "shiftjis",
        _ => return plain,
    };
    usual.to_owned()
}

/// The encodings with tables.
fn tables() -> impl Iterator<Item = &'static encoding_rs::Encoding> {
    [
        encoding_rs::BIG5,
        encoding_rs::EUC_JP,
        encoding_rs::EUC_KR,
        encoding_rs::GB18030,
        encoding_rs::GBK,
        encoding_rs::IBM866,
        encoding_rs::ISO_2022_JP,
        encoding_rs::ISO_8859_2,
        encoding_rs::ISO_8859_3,
        encoding_rs::ISO_8859_4,
        encoding_rs::ISO_8859_5,
        encoding_rs::ISO_8859_6,
        encoding_rs::ISO_8859_7,
        encoding_rs::ISO_8859_8,
        encoding_rs::ISO_8859_10,
        encoding_rs::ISO_8859_13,
        encoding_rs::ISO_8859_14,
        encoding_rs::ISO_8859_15,
        encoding_rs::KOI8_R,
        encoding_rs::KOI8_U,
        encoding_rs::MACINTOSH,
        encoding_rs::SHIFT_JIS,
        encoding_rs::WINDOWS_1250,
        encoding_rs::WINDOWS_1251,
        encoding_rs::WINDOWS_1252,
        encoding_rs::WINDOWS_1253,
        encoding_rs::WINDOWS_1254,
        encoding_rs::WINDOWS_1255,
        encoding_rs::WINDOWS_1256,
        encoding_rs::WINDOWS_1257,
        encoding_rs::WINDOWS_1258,
        encoding_rs::WINDOWS_874,
        encoding_rs::X_MAC_CYRILLIC,
    ]
    .into_iter()
}

/// Decodes byte by byte, to know where each character begins.
fn by_table(
    table: &'static encoding_rs::Encoding,
    bytes: &[u8],
    mut each: impl FnMut(usize, Option<char>),
) {
    use encoding_rs::DecoderResult;

    let mut decoder = table.new_decoder_without_bom_handling();
    let mut start = 0;
    let mut text = String::with_capacity(16);
    for at in 0..=bytes.len() {
        let (last, mut input) = match bytes.get(at..at + 1) {
            Some(byte) => (false, byte),
            None => (true, &bytes[..0]),
        };
        loop {
            text.clear();
            let (result, read) =
                decoder.decode_to_string_without_replacement(input, &mut text, last);
            input = &input[read..];
            for c in text.chars() {
                each(start, Some(c));
                start = at + 1;
            }
            match result {
                DecoderResult::Malformed(_, unread) => {
                    each(start, None);
                    // Bytes behind the broken character stand for themselves.
                    start = at + 1 - usize::from(unread) - input.len();
                }
                DecoderResult::InputEmpty | DecoderResult::OutputFull => break,
            }
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

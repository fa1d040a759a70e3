//! A place in a pattern, and the small things that are read there: characters, escapes, names and bounds.

use std::fmt;
use std::sync::LazyLock;

use regex::bytes::Regex;

/// Why a pattern is none.
#[derive(Debug)]
pub(super) struct Refusal {
    why: &'static str,
    /// The part that is wrong; empty where RE2 names none.
    part: String,
}

impl Refusal {
    pub(super) fn new(why: &'static str, part: &[u8]) -> Refusal {
        Refusal { why, part: String::from_utf8_lossy(part).into_owned() }
    }

    pub(super) fn not_utf8() -> Refusal {
        Refusal::new("invalid UTF-8", b"")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)?;
        if self.part.is_empty() { Ok(()) } else { write!(f, ": {}", self.part) }
    }
}

/// What may be the name of a group.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[\pL\pM\pN\p{Pc}]+\z").expect("a valid pattern"));

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    whole: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(whole: &'a [u8]) -> Cursor<'a> {
        Cursor { whole, at: 0 }
    }

    pub(super) fn whole(&self) -> &'a [u8] {
        self.whole
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What was read since an earlier place.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.whole[start..self.at]
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.whole[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.whole.get(self.at).copied()
    }

    pub(super) fn skip(&mut self, len: usize) {
        self.at = (self.at + len).min(self.whole.len());
    }

    /// Reads a character; RE2 takes surrogates for some.
    pub(super) fn character(&mut self) -> Result<u32, Refusal> {
        let rest = self.rest();
        let head = &rest[..rest.len().min(4)];
        if let Some(c) = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
            self.skip(c.len_utf8());
            return Ok(c.into());
        }
        if let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] = *head {
            self.skip(3);
            return Ok(0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f));
        }
        Err(Refusal::not_utf8())
    }

    /// Reads the character that an escape stands for.
    pub(super) fn escape(&mut self) -> Result<u32, Refusal> {
        let start = self.at;
        self.skip(1);
        if self.peek().is_none() {
            return Err(Refusal::new("trailing \\", b""));
        }
        let c = self.character()?;
        let code = match u8::try_from(c) {
            Ok(b'n') => Some(0x0a),
            Ok(b'r') => Some(0x0d),
            Ok(b't') => Some(0x09),
            Ok(b'a') => Some(0x07),
            Ok(b'f') => Some(0x0c),
            Ok(b'v') => Some(0x0b),
            Ok(b'x') => self.hexadecimal()?,
            Ok(first @ b'0'..=b'7') => self.octal(first),
            Ok(byte) if byte.is_ascii() && !byte.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        code.ok_or_else(|| Refusal::new("invalid escape sequence", self.since(start)))
    }

    /// Up to three digits of which one was read; one alone would refer to a group, unless it is zero.
    fn octal(&mut self, first: u8) -> Option<u32> {
        let mut code = u32::from(first - b'0');
        for index in 0..2 {
            match self.peek() {
                Some(digit @ b'0'..=b'7') => {
                    self.skip(1);
                    code = code * 8 + u32::from(digit - b'0');
                }
                _ if index == 0 && first != b'0' => return None,
                _ => break,
            }
        }
        Some(code)
    }

    /// Two digits, or any number of them in braces; nothing if they are none.
    fn hexadecimal(&mut self) -> Result<Option<u32>, Refusal> {
        let digit = |c: u32| char::from_u32(c).and_then(|c| c.to_digit(16));
        if self.peek().is_none() {
            return Ok(None);
        }
        let first = self.character()?;
        if first != u32::from('{') {
            if self.peek().is_none() {
                return Ok(None);
            }
            let second = self.character()?;
            return Ok(digit(first).zip(digit(second)).map(|(high, low)| high << 4 | low));
        }
        let mut code = None;
        loop {
            let c = self.character()?;
            let Some(digit) = digit(c) else {
                return Ok(code.filter(|_| c == u32::from('}')));
            };
            let more = code.unwrap_or(0) << 4 | digit;
            if more > u32::from(char::MAX) || self.peek().is_none() {
                return Ok(None);
            }
            code = Some(more);
        }
    }

    /// The bounds of `{2}`, `{2,}` or `{2,5}` and the length of all that; anything else is no repetition.
    pub(super) fn bounds(&self) -> Option<(u64, Option<u64>, usize)> {
        let inside = self.rest().strip_prefix(b"{")?;
        let inside = &inside[..inside.iter().position(|&byte| byte == b'}')?];
        let bounds = str::from_utf8(inside).ok()?;
        let (least, most) = match bounds.split_once(',') {
            None => (number(bounds)?, Some(number(bounds)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        Some((least, most, inside.len() + 2))
    }

    /// The length of `(?P<name>`, if that is here.
    pub(super) fn capture_name(&self) -> Result<Option<usize>, Refusal> {
        let rest = self.rest();
        let Some(after) = rest.strip_prefix(b"(?P<").filter(|after| !after.is_empty()) else {
            return Ok(None);
        };
        let wrong = |part: &[u8]| match str::from_utf8(part) {
            Ok(_) => Refusal::new("invalid named capture group", part),
            Err(_) => Refusal::not_utf8(),
        };
        let Some(end) = after.iter().position(|&byte| byte == b'>') else {
            return Err(wrong(rest));
        };
        let len = end + b"(?P<>".len();
        if NAME.is_match(&after[..end]) { Ok(Some(len)) } else { Err(wrong(&rest[..len])) }
    }
}

/// A number as RE2 counts: with no zero before it, and below a thousand million.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    if plain && !padded {
        digits.parse().ok().filter(|&number| number < 1_000_000_000)
    } else {
        None
    }
}

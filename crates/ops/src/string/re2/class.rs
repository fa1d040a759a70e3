//! Classes of characters: in brackets, by Perl's letters, by POSIX's names and by Unicode's.

use std::fmt::{self, Write as _};

use super::cursor::{Cursor, Refusal};
use super::groups::unicode;

/// A set of characters, written for the `regex` crate.
#[derive(Debug)]
pub(super) struct Class {
    /// What stands between the brackets.
    members: String,
    negated: bool,
}

/// The crate's class of no character.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}{}]", if self.negated { "^" } else { "" }, self.members)
    }
}

impl Class {
    /// Reads a class in brackets.
    pub(super) fn brackets(cursor: &mut Cursor<'_>) -> Result<Class, Refusal> {
        let whole = cursor.rest();
        cursor.skip(1);
        let negated = cursor.peek() == Some(b'^');
        cursor.skip(usize::from(negated));
        let mut members = String::new();
        let mut first = true;
        loop {
            match cursor.peek() {
                None => return Err(Refusal::new("missing ]", whole)),
                // A bracket that would leave the class empty belongs to it.
                Some(b']') if !first => break,
                Some(_) => first = false,
            }
            let nested = match posix(cursor)? {
                // Of two characters only, this would be an escape, and a wrong one.
                None if cursor.rest().len() > 2 || !is_unicode(cursor) => Class::escaped(cursor)?,
                other => other,
            };
            match nested {
                Some(class) => write!(members, "{class}"),
                None => write!(members, "{}", range(cursor, whole)?),
            }
            .expect("a string takes any text");
        }
        cursor.skip(1);
        Ok(Class { members, negated })
    }

    /// Reads a class that a backslash begins, if one is here.
    pub(super) fn escaped(cursor: &mut Cursor<'_>) -> Result<Option<Class>, Refusal> {
        let (members, negated) = match cursor.rest() {
            [b'\\', b'd', ..] => ("0-9", false),
            [b'\\', b'D', ..] => ("0-9", true),
            [b'\\', b's', ..] => (r"\t\n\f\r\x20", false),
            [b'\\', b'S', ..] => (r"\t\n\f\r\x20", true),
            [b'\\', b'w', ..] => ("0-9A-Za-z_", false),
            [b'\\', b'W', ..] => ("0-9A-Za-z_", true),
            [b'\\', b'p' | b'P', ..] => return group(cursor).map(Some),
            _ => return Ok(None),
        };
        cursor.skip(2);
        Ok(Some(Class { members: members.to_owned(), negated }))
    }
}

fn is_unicode(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.rest(), [b'\\', b'p' | b'P', ..])
}

/// Reads `\pN` or `\p{Greek}`, or what they are not with `\P` or `\p{^Greek}`.
fn group(cursor: &mut Cursor<'_>) -> Result<Class, Refusal> {
    let start = cursor.at();
    let mut negated = cursor.rest().get(1) == Some(&b'P');
    cursor.skip(2);
    let name = match cursor.peek() {
        Some(b'{') => {
            let Some(len) = cursor.rest().iter().position(|&byte| byte == b'}') else {
                cursor.skip(cursor.rest().len());
                return Err(Refusal::new("invalid character class range", cursor.since(start)));
            };
            let name = &cursor.rest()[1..len];
            cursor.skip(len + 1);
            name
        }
        _ => {
            let from = cursor.at();
            // Where no character follows the name is empty, and so no group's.
            cursor.character().unwrap_or_default();
            cursor.since(from)
        }
    };
    let name = str::from_utf8(name).map_err(|_| Refusal::not_utf8())?;
    let plain = name.strip_prefix('^').unwrap_or(name);
    negated ^= plain.len() != name.len();
    match unicode(plain) {
        Some(members) => Ok(Class { members, negated }),
        None => Err(Refusal::new("invalid character class range", cursor.since(start))),
    }
}

/// Reads `[:alpha:]` or `[:^alpha:]` inside of brackets.
fn posix(cursor: &mut Cursor<'_>) -> Result<Option<Class>, Refusal> {
    let rest = cursor.rest();
    let Some(inside) = rest.strip_prefix(b"[:") else { return Ok(None) };
    let Some(len) = inside.windows(2).position(|pair| pair == b":]") else { return Ok(None) };
    let whole = &rest[..len + 4];
    let name = &inside[..len];
    let plain = name.strip_prefix(b"^").unwrap_or(name);
    let members = match plain {
        b"alnum" => "0-9A-Za-z",
        b"alpha" => "A-Za-z",
        b"ascii" => r"\x00-\x7F",
        b"blank" => r"\t\x20",
        b"cntrl" => r"\x00-\x1F\x7F",
        b"digit" => "0-9",
        b"graph" => r"\x21-\x7E",
        b"lower" => "a-z",
        b"print" => r"\x20-\x7E",
        b"punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        b"space" => r"\x09-\x0D\x20",
        b"upper" => "A-Z",
        b"word" => "0-9A-Za-z_",
        b"xdigit" => "0-9A-Fa-f",
        _ => return Err(Refusal::new("invalid character class range", whole)),
    };
    cursor.skip(whole.len());
    Ok(Some(Class { members: members.to_owned(), negated: plain.len() != name.len() }))
}

/// Reads one character or a range of them.
fn range(cursor: &mut Cursor<'_>, class: &[u8]) -> Result<String, Refusal> {
    let start = cursor.at();
    let low = member(cursor, class)?;
    let high = match cursor.rest() {
        [b'-', next, ..] if *next != b']' => {
            cursor.skip(1);
            member(cursor, class)?
        }
        _ => low,
    };
    if high < low {
        return Err(Refusal::new("invalid character class range", cursor.since(start)));
    }
    // The crate knows no surrogates; a range goes around them.
    let low = if char::from_u32(low).is_some() { low } else { 0xe000 };
    let high = if char::from_u32(high).is_some() { high } else { 0xd7ff };
    Ok(if low > high { NOTHING.to_owned() } else { format!(r"\x{{{low:X}}}-\x{{{high:X}}}") })
}

fn member(cursor: &mut Cursor<'_>, class: &[u8]) -> Result<u32, Refusal> {
    match cursor.peek() {
        None => Err(Refusal::new("missing ]", class)),
        Some(b'\\') => cursor.escape(),
        Some(_) => cursor.character(),
    }
}

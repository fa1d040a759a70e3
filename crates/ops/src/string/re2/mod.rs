//! RE2's regular expressions, by which TensorFlow matches: read as RE2 reads them and refused in its words, then
//! written for the `regex` crate.
//!
//! The two languages look alike and differ in much: in RE2 `\d`, `\w`, `\s` and `\b` know ASCII only, a bracket
//! inside of a class is a bracket, `\C` is a byte, `\Q..\E` quotes, and operators do not stack. So nothing of the
//! pattern is passed on as it is: every item is written anew, with the flags that hold where it stands.

mod class;
mod cursor;
mod groups;

use regex::bytes::{Regex, RegexBuilder};
use tensorfleet_tensor::{Result, invalid_argument};

use class::Class;
use cursor::{Cursor, Refusal};

/// The most that a repetition, or repetitions within each other, may ask for.
const MOST_REPEATS: u64 = 1000;

/// How deep groups may nest: the compiler of the `regex` crate calls itself for each.
const DEEPEST: usize = 250;

/// Compiles a pattern.
pub(super) fn compile(pattern: &[u8]) -> Result<Regex> {
    build(pattern, |translated| translated)
}

/// Compiles a pattern that must take the whole text.
pub(super) fn compile_anchored(pattern: &[u8]) -> Result<Regex> {
    build(pattern, |translated| format!(r"\A(?:{translated})\z"))
}

fn build(pattern: &[u8], finish: impl FnOnce(String) -> String) -> Result<Regex> {
    let refused = |why: &dyn std::fmt::Display| {
        invalid_argument!("Invalid pattern: {}, error: {why}", String::from_utf8_lossy(pattern))
    };
    let translated = translate(pattern).map_err(|refusal| refused(&refusal))?;
    // A group makes up to four levels: itself, its alternatives, the items of one, and a repetition of it.
    RegexBuilder::new(&finish(translated))
        .nest_limit(4 * DEEPEST as u32 + 16)
        .build()
        .map_err(|_| refused(&"pattern too large - compile failed"))
}

fn translate(pattern: &[u8]) -> Result<String, Refusal> {
    let mut parser = Parser {
        cursor: Cursor::new(pattern),
        flags: Flags::default(),
        open: Vec::new(),
        group: Group::default(),
    };
    let mut last_repetition = None;
    while let Some(byte) = parser.cursor.peek() {
        last_repetition = parser.item(byte, last_repetition)?;
    }
    if !parser.open.is_empty() {
        return Err(Refusal::new("missing )", pattern));
    }
    Ok(parser.group.finish().text)
}

/// What `(?imsU)` sets.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_takes_newline: bool,
    lazy: bool,
}

/// A part of the pattern that an operator can follow.
#[derive(Debug)]
struct Item {
    text: String,
    /// Whether an operator may stand right behind the text.
    whole: bool,
    /// How often its parts are repeated at most.
    repeats: u64,
}

impl Item {
    fn whole(text: impl Into<String>) -> Item {
        Item { text: text.into(), whole: true, repeats: 1 }
    }

    fn literal(c: u32, flags: Flags) -> Item {
        Item::whole(match char::from_u32(c) {
            Some(c) if flags.fold_case => {
                format!("(?i:{})", regex::escape(c.encode_utf8(&mut [0; 4])))
            }
            Some(c) => regex::escape(c.encode_utf8(&mut [0; 4])),
            // RE2 takes surrogates for characters and finds them where they are written as three bytes.
            None => format!(r"(?-u:\xED\x{:02X}\x{:02X})", 0x80 | c >> 6 & 0x3f, 0x80 | c & 0x3f),
        })
    }
}

/// An open group: finished alternatives and the one being read.
#[derive(Debug, Default)]
struct Group {
    alternatives: Vec<Vec<Item>>,
    current: Vec<Item>,
}

impl Group {
    fn finish(mut self) -> Item {
        self.alternatives.push(self.current);
        let repeats = self.alternatives.iter().flatten().map(|item| item.repeats).max();
        let texts: Vec<String> = self
            .alternatives
            .iter()
            .map(|items| items.iter().map(|item| item.text.as_str()).collect())
            .collect();
        Item { text: texts.join("|"), whole: false, repeats: repeats.unwrap_or(1) }
    }
}

/// What the group around an open group was, for when that closes.
#[derive(Debug)]
struct Outer {
    group: Group,
    flags: Flags,
    captures: bool,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    flags: Flags,
    open: Vec<Outer>,
    group: Group,
}

impl Parser<'_> {
    /// Reads what begins with `byte`; returns where it began if it was a repetition.
    fn item(&mut self, byte: u8, last_repetition: Option<usize>) -> Result<Option<usize>, Refusal> {
        match byte {
            b'(' if self.cursor.rest().starts_with(b"(?") => self.perl_group()?,
            b'(' => {
                self.cursor.skip(1);
                self.open(true)?;
            }
            b')' => self.close()?,
            b'|' => {
                self.cursor.skip(1);
                let done = std::mem::take(&mut self.group.current);
                self.group.alternatives.push(done);
            }
            b'^' => self.push_fixed(if self.flags.multi_line { "(?m:^)" } else { r"\A" }, 1),
            b'$' => self.push_fixed(if self.flags.multi_line { "(?m:$)" } else { r"\z" }, 1),
            b'.' => {
                self.push_fixed(if self.flags.dot_takes_newline { "(?s:.)" } else { r"[^\n]" }, 1)
            }
            b'[' => {
                let class = Class::brackets(&mut self.cursor)?;
                self.push_class(&class);
            }
            b'*' => return self.repetition(0, None, 1, last_repetition),
            b'+' => return self.repetition(1, None, 1, last_repetition),
            b'?' => return self.repetition(0, Some(1), 1, last_repetition),
            b'{' => match self.cursor.bounds() {
                Some((least, most, len)) => {
                    return self.repetition(least, most, len, last_repetition);
                }
                None => self.literal()?,
            },
            b'\\' => self.backslash()?,
            _ => self.literal()?,
        }
        Ok(None)
    }

    fn push(&mut self, item: Item) {
        self.group.current.push(item);
    }

    fn push_fixed(&mut self, text: &str, len: usize) {
        self.cursor.skip(len);
        self.push(Item::whole(text));
    }

    fn push_class(&mut self, class: &Class) {
        let text = class.to_string();
        self.push(Item::whole(if self.flags.fold_case { format!("(?i:{text})") } else { text }));
    }

    fn literal(&mut self) -> Result<(), Refusal> {
        let c = self.cursor.character()?;
        self.push(Item::literal(c, self.flags));
        Ok(())
    }

    fn backslash(&mut self) -> Result<(), Refusal> {
        match self.cursor.rest().get(1) {
            Some(b'b') => self.push_fixed(r"(?-u:\b)", 2),
            Some(b'B') => self.push_fixed(r"(?-u:\B)", 2),
            Some(b'A') => self.push_fixed(r"\A", 2),
            Some(b'z') => self.push_fixed(r"\z", 2),
            Some(b'C') => self.push_fixed("(?s-u:.)", 2),
            Some(b'Q') => {
                self.cursor.skip(2);
                while self.cursor.peek().is_some() {
                    if self.cursor.rest().starts_with(br"\E") {
                        self.cursor.skip(2);
                        break;
                    }
                    self.literal()?;
                }
            }
            _ => match Class::escaped(&mut self.cursor)? {
                Some(class) => self.push_class(&class),
                None => {
                    let c = self.cursor.escape()?;
                    self.push(Item::literal(c, self.flags));
                }
            },
        }
        Ok(())
    }

    fn open(&mut self, captures: bool) -> Result<(), Refusal> {
        if self.open.len() >= DEEPEST {
            return Err(Refusal::new("groups nest too deeply", b""));
        }
        let group = std::mem::take(&mut self.group);
        self.open.push(Outer { group, flags: self.flags, captures });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        let Some(outer) = self.open.pop() else {
            return Err(Refusal::new("unexpected )", self.cursor.whole()));
        };
        self.cursor.skip(1);
        let inner = std::mem::replace(&mut self.group, outer.group).finish();
        self.flags = outer.flags;
        let open = if outer.captures { "(" } else { "(?:" };
        self.push(Item {
            text: format!("{open}{})", inner.text),
            whole: true,
            repeats: inner.repeats,
        });
        Ok(())
    }

    /// Reads `(?P<name>`, `(?flags)` or `(?flags:`.
    fn perl_group(&mut self) -> Result<(), Refusal> {
        let start = self.cursor.at();
        if let Some(name) = self.cursor.capture_name()? {
            self.cursor.skip(name);
            return self.open(true);
        }
        self.cursor.skip(2);
        let mut flags = self.flags;
        let (mut negated, mut seen) = (false, false);
        let wrong =
            |cursor: &Cursor<'_>| Err(Refusal::new("invalid perl operator", cursor.since(start)));
        let opens = loop {
            if self.cursor.peek().is_none() {
                return wrong(&self.cursor);
            }
            let flag = match char::from_u32(self.cursor.character()?) {
                Some('i') => &mut flags.fold_case,
                Some('m') => &mut flags.multi_line,
                Some('s') => &mut flags.dot_takes_newline,
                Some('U') => &mut flags.lazy,
                Some('-') if !negated => {
                    (negated, seen) = (true, false);
                    continue;
                }
                Some(end @ (':' | ')')) => break end == ':',
                _ => return wrong(&self.cursor),
            };
            (*flag, seen) = (!negated, true);
        };
        if negated && !seen {
            return wrong(&self.cursor);
        }
        if opens {
            self.open(false)?;
        }
        self.flags = flags;
        Ok(())
    }

    /// Reads an operator of `len` bytes and what makes it lazy, and puts it behind the last item.
    fn repetition(
        &mut self,
        least: u64,
        most: Option<u64>,
        len: usize,
        last_repetition: Option<usize>,
    ) -> Result<Option<usize>, Refusal> {
        let start = self.cursor.at();
        let counted = self.cursor.peek() == Some(b'{');
        self.cursor.skip(len);
        let lazy = self.cursor.peek() == Some(b'?');
        self.cursor.skip(usize::from(lazy));
        if let Some(last) = last_repetition {
            return Err(Refusal::new("bad repetition operator", self.cursor.since(last)));
        }
        let operator = self.cursor.since(start);
        let too_large = || Refusal::new("invalid repetition size", operator);
        let highest = most.unwrap_or(least);
        if most.is_some_and(|most| most < least) || highest > MOST_REPEATS {
            return Err(too_large());
        }
        let Some(item) = self.group.current.pop() else {
            return Err(Refusal::new("no argument for repetition operator", operator));
        };
        let repeats = item.repeats * if counted { highest.max(1) } else { 1 };
        if highest >= 2 && repeats > MOST_REPEATS {
            return Err(too_large());
        }
        let text = if item.whole { item.text } else { format!("(?:{})", item.text) };
        let bounds = match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        let lazy = if lazy == self.flags.lazy { "" } else { "?" };
        self.push(Item { text: format!("{text}{bounds}{lazy}"), whole: false, repeats });
        Ok(Some(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(pattern: &str) -> String {
        let message = compile(pattern.as_bytes()).unwrap_err().message().to_owned();
        message.strip_prefix(&format!("Invalid pattern: {pattern}, error: ")).unwrap().to_owned()
    }

    #[test]
    fn a_pattern_is_refused_in_the_words_of_re2() {
        for (pattern, words) in [
            ("a**", "bad repetition operator: **"),
            ("a{2}*?", "bad repetition operator: {2}*?"),
            ("x{1001}", "invalid repetition size: {1001}"),
            ("(a{2}){501}", "invalid repetition size: {501}"),
            ("a|*", "no argument for repetition operator: *"),
            ("((a)", "missing ): ((a)"),
            ("a)b(", "unexpected ): a)b("),
            ("x(?<n>a)", "invalid perl operator: (?<"),
            ("(?P<n", "invalid named capture group: (?P<n"),
            ("x[^]", "missing ]: [^]"),
            ("[z-a]", "invalid character class range: z-a"),
            (r"\p{Grek}", r"invalid character class range: \p{Grek}"),
            (r"a\", r"trailing \"),
            (r"(a)\1", r"invalid escape sequence: \1"),
            (r"\x{110000}", r"invalid escape sequence: \x{110000"),
            (r"\pL{1000}", "pattern too large - compile failed"),
        ] {
            assert_eq!(refusal(pattern), words);
        }
        assert!(compile(b"a\xff").unwrap_err().message().ends_with("invalid UTF-8"));
    }

    #[test]
    fn what_the_crate_reads_otherwise_means_what_it_means_to_re2() {
        for (pattern, text, found) in [
            (r"\d+", "٣3", Some(2..3)),
            (r"\b", "éa", Some(2..2)),
            (r"[a&&b]+", "x&b", Some(1..3)),
            (r"[[a]]", "[]", Some(0..2)),
            (r"\Qa.b*\E+", "a.b**", Some(0..5)),
            (r"a*(?i)*B", "aab", Some(0..3)),
            (r"(?U)a+b??", "aab", Some(0..1)),
            (r"\C", "é", Some(0..1)),
            (r"x{,2}", "x{,2}", Some(0..5)),
            (r"\101\x{42}", "AB", Some(0..2)),
            (r"\P{^Greek}", "aα", Some(1..3)),
            (r"\pC", "\u{378}\u{1}", Some(2..3)),
            (r"[^\x00-\x{10FFFF}]", "a", None),
            ("(?m)^b$", "a\nb\n", Some(2..3)),
            ("b$", "b\n", None),
        ] {
            let matched =
                compile(pattern.as_bytes()).unwrap().find(text.as_bytes()).map(|m| m.range());
            assert_eq!(matched, found, "{pattern}");
        }
        assert!(compile(br"\x{D800}").unwrap().is_match(b"\xed\xa0\x80"));
    }

    #[test]
    fn deep_nesting_is_refused_and_not_a_crash() {
        let nested = |depth: usize| format!("{}a{}", "(b|c(?i)".repeat(depth), ")*".repeat(depth));
        assert!(compile(nested(250).as_bytes()).is_ok());
        assert!(compile(nested(100_000).as_bytes()).is_err());
    }
}

//! Splits Rust source into code, comments and literals.
//!
//! Rules look for words, and a word in a comment or a string is not a use of it. Both halves keep
//! the length and the line breaks of the source, so that a position means the same in all three.

/// Rust source in two halves.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The source with comments and the insides of literals replaced by spaces.
    pub(super) code: String,
    /// The source with everything but comments replaced by spaces.
    pub(super) comments: String,
}

/// Splits a source file. It need not compile; what is never closed runs to the end.
pub(super) fn scan(source: &str) -> Scanned {
    let mut scanner = Scanner { rest: source, result: Scanned::default() };
    while let Some(first) = scanner.rest.chars().next() {
        scanner.token(first);
    }
    scanner.result
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

struct Scanner<'a> {
    rest: &'a str,
    result: Scanned,
}

impl Scanner<'_> {
    fn token(&mut self, first: char) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
        } else if rest.starts_with("/*") {
            self.take(block_comment(rest), Kind::Comment);
        } else if let Some(length) = raw_string(rest) {
            self.take(length, Kind::Literal);
        } else if first == '"' {
            self.take(quoted(rest, '"'), Kind::Literal);
        } else if first == '\'' {
            match char_literal(rest) {
                Some(length) => self.take(length, Kind::Literal),
                None => self.take(1, Kind::Code),
            }
        } else if first.is_alphabetic() || first == '_' {
            // A whole word at once, so that the `r` of `for` does not start a raw string.
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.take(length, Kind::Code);
        } else {
            self.take(first.len_utf8(), Kind::Code);
        }
    }

    fn take(&mut self, length: usize, kind: Kind) {
        let (taken, rest) = self.rest.split_at(length);
        for c in taken.chars() {
            let blank = if c == '\n' { "\n" } else { &"    "[..c.len_utf8()] };
            let (code, comments) = (&mut self.result.code, &mut self.result.comments);
            match kind {
                Kind::Code => (code.push(c), comments.push_str(blank)),
                Kind::Comment => (code.push_str(blank), comments.push(c)),
                Kind::Literal => (code.push_str(blank), comments.push_str(blank)),
            };
        }
        self.rest = rest;
    }
}

/// Returns the length of a block comment, which may hold others.
fn block_comment(source: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    source.len()
}

/// Returns the length of a raw string such as `r#"text"#`, if one starts here.
fn raw_string(source: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| source.starts_with(prefix))?;
    let after = &source[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = source.len() - body.len();
    Some(body.find(&end).map_or(source.len(), |at| start + at + end.len()))
}

/// Returns the length of a literal between quotes, in which a backslash hides the next character.
fn quoted(source: &str, quote: char) -> usize {
    let mut characters = source.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    source.len()
}

/// Returns the length of a character literal, or nothing when a lifetime starts here.
fn char_literal(source: &str) -> Option<usize> {
    let mut characters = source.chars().skip(1);
    let (first, second) = (characters.next()?, characters.next()?);
    if first == '\\' {
        Some(quoted(source, '\''))
    } else {
        (second == '\'').then(|| 2 + first.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, code: &str, comments: &str) {
        let scanned = scan(source);
        assert_eq!(scanned.code.split_whitespace().collect::<Vec<_>>().join(" "), code);
        assert_eq!(scanned.comments.split_whitespace().collect::<Vec<_>>().join(" "), comments);
        assert_eq!(scanned.code.len(), source.len());
        assert_eq!(scanned.comments.len(), source.len());
    }

    #[test]
    fn comments_leave_the_code() {
        check("a // b\nc", "a c", "// b");
        check("a /* b /* c */ d */ e", "a e", "/* b /* c */ d */");
        check("a /* never closed", "a", "/* never closed");
    }

    #[test]
    fn strings_leave_the_code() {
        check(r#"f("a // b", c)"#, "f( , c)", "");
        check(r#"f("say \"a\"", b)"#, "f( , b)", "");
        check("f(r#\"a \" b\"#, c)", "f( , c)", "");
        check("f(br\"a\\\", c)", "f( , c)", "");
        check("for x in \"never closed", "for x in", "");
    }

    #[test]
    fn lifetimes_are_no_characters() {
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)", "");
        check("('\"', '\\'', 'é', 'x')", "( , , , )", "");
    }

    #[test]
    fn positions_survive_wide_characters() {
        check("\"é→😀\" x // é→😀", "x", "// é→😀");
    }
}

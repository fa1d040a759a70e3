//! JSON text as values. Depth is limited, so that hostile text cannot exhaust the stack.

/// A value. Numbers stay text: what they are read as depends on the field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

const DEEPEST: usize = 100;

/// Reads a whole text. The error says where it is wrong.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("unexpected character: '{c}' at offset {}", self.at),
            None => "unexpected EOF".to_owned(),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        self.space();
        if self.peek() != Some(byte) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err("JSON content was too deeply nested".to_owned());
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
                    self.at += 1;
                }
                Ok(Json::Number(self.text[start..self.at].to_owned()))
            }
            _ => {
                for (word, value) in
                    [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
                {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.unexpected())
            }
        }
    }

    /// Whether another element follows, after the first.
    fn more(&mut self, close: u8, is_first: bool) -> Result<bool, String> {
        self.space();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        if !is_first {
            self.expect(b',')?;
        }
        Ok(true)
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.expect(b'{')?;
        let mut members = Vec::new();
        while self.more(b'}', members.is_empty())? {
            self.space();
            let key = self.string()?;
            self.expect(b':')?;
            members.push((key, self.value(depth + 1)?));
        }
        Ok(Json::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        while self.more(b']', items.is_empty())? {
            items.push(self.value(depth + 1)?);
        }
        Ok(Json::Array(items))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(['"', '\\']) else { return Err("unexpected EOF".to_owned()) };
            string.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Ok(string);
            }
            let escape = self.peek().ok_or_else(|| self.unexpected())?;
            string.push(match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.at += 1;
                    string.push(self.unicode()?);
                    continue;
                }
                _ => return Err(self.unexpected()),
            });
            self.at += 1;
        }
    }

    /// A character by its number, maybe in two halves.
    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.unexpected());
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(self.unexpected());
        }
        self.at += 2;
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.unexpected());
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10 | (second - 0xdc00));
        char::from_u32(code).ok_or_else(|| self.unexpected())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.unexpected())?;
        let number = u32::from_str_radix(digits, 16).map_err(|_| self.unexpected())?;
        self.at += 4;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let value = parse(r#" {"a": [1, -2.5e3, "x\n\u00e9\ud83d\ude00", null, true], "b": {}} "#);
        let items = vec![
            Json::Number("1".into()),
            Json::Number("-2.5e3".into()),
            Json::String("x\né😀".into()),
            Json::Null,
            Json::Bool(true),
        ];
        let members = vec![("a".into(), Json::Array(items)), ("b".into(), Json::Object(vec![]))];
        assert_eq!(value, Ok(Json::Object(members)));
        for broken in
            ["", "{", "[1", "[1 2]", "{\"a\"}", "tru", "\"", "\"\\x\"", "1 2", "\"\\ud800\""]
        {
            assert!(parse(broken).is_err(), "{broken}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}

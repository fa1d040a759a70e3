//! Patterns of file names.

/// Whether `pattern` has characters that stand for others.
pub fn is_pattern(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\'])
}

/// Whether the name of one file or directory matches one part of a pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    matches_from(&pattern, &name)
}

/// Matches by going back to the last star only: a later star can take whatever an earlier one
/// could, so the work is at most the product of both lengths.
fn matches_from(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut last_star = None;
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            last_star = Some((p, n));
            p += 1;
        } else if let Some(&actual) = name.get(n) {
            if let Some(next) = match_one(pattern, p, actual) {
                (p, n) = (next, n + 1);
            } else if let Some((star, taken)) = last_star {
                last_star = Some((star, taken + 1));
                (p, n) = (star + 1, taken + 1);
            } else {
                return false;
            }
        } else {
            return p == pattern.len();
        }
    }
}

/// Matches one character by the pattern at `p`; returns where the pattern goes on.
fn match_one(pattern: &[char], p: usize, actual: char) -> Option<usize> {
    match pattern.get(p)? {
        '?' => Some(p + 1),
        '[' => match_class(pattern, p + 1, actual),
        '\\' => (*pattern.get(p + 1)? == actual).then_some(p + 2),
        &literal => (literal == actual).then_some(p + 1),
    }
}

/// Matches one character by a class whose first character is at `p`.
fn match_class(pattern: &[char], p: usize, actual: char) -> Option<usize> {
    let negated = matches!(pattern.get(p), Some('!' | '^'));
    let first = p + usize::from(negated);
    let mut found = false;
    let mut at = first;
    loop {
        let low = *pattern.get(at)?;
        if low == ']' && at > first {
            return (found != negated).then_some(at + 1);
        }
        let range_end = match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(&high)) if high != ']' => Some(high),
            _ => None,
        };
        found |= (low..=range_end.unwrap_or(low)).contains(&actual);
        at += if range_end.is_some() { 3 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, want) in [
            ("abc", "abc", true),
            ("abc", "abd", false),
            ("a*", "a", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcdef", false),
            ("model-*.data", "model-1.data", true),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[!a-c]x", "dx", true),
            ("[]]x", "]x", true),
            ("[a", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}

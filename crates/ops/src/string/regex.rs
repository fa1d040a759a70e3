//! Regular expressions: matching and replacing, with a pattern that is constant or a tensor.

use bytes::Bytes;
use regex::bytes::Regex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::re2::{compile, compile_anchored};
use super::texts::{MIN_TEXTS, Made, map_texts};

const DIFFERS: &str = "Groups of a pattern nest at most 250 deep, and `.` finds no surrogates.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RegexFullMatch",
        inputs: &["input: string", "pattern: string"],
        outputs: &["output: bool"],
        kernels: &[cpu::<FullMatch>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "RegexReplace",
        inputs: &["input: string", "pattern: string", "rewrite: string"],
        outputs: &["output: string"],
        attrs: &["replace_global: bool = true"],
        kernels: &[cpu::<Replace>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "StaticRegexFullMatch",
        inputs: &["input: string"],
        outputs: &["output: bool"],
        attrs: &["pattern: string"],
        kernels: &[cpu::<FullMatch>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "StaticRegexReplace",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &["pattern: string", "rewrite: string", "replace_global: bool = true"],
        kernels: &[cpu::<Replace>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

fn scalar(tensor: &Tensor, what: &str) -> Result<Bytes> {
    match tensor.strings()? {
        [text] if tensor.shape().is_scalar() => Ok(text.clone()),
        _ => Err(invalid_argument!("{what} must be scalar, but received {}", tensor.shape())),
    }
}

#[derive(Debug)]
struct FullMatch {
    /// The pattern of the static op.
    pattern: Option<Regex>,
}

impl Kernel for FullMatch {
    fn new(attrs: &Attrs<'_>) -> Result<FullMatch> {
        let pattern = match attrs.get("pattern") {
            Some(_) => Some(compile_anchored(attrs.bytes("pattern")?)?),
            None => None,
        };
        Ok(FullMatch { pattern })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let given;
        let pattern = match &self.pattern {
            Some(pattern) => pattern,
            None => {
                given = compile_anchored(&scalar(ctx.input(1)?, "Pattern")?)?;
                &given
            }
        };
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let texts = input.strings()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [bool]| {
            par.for_each((out, texts), MIN_TEXTS, |_, (out, texts)| {
                for (out, text) in out.iter_mut().zip(texts) {
                    *out = pattern.is_match(text);
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct Replace {
    /// Pattern and rewrite of the static op.
    fixed: Option<(Regex, Bytes)>,
    everywhere: bool,
}

impl Kernel for Replace {
    fn new(attrs: &Attrs<'_>) -> Result<Replace> {
        let fixed = match attrs.get("pattern") {
            Some(_) => Some((compile(attrs.bytes("pattern")?)?, attrs.bytes("rewrite")?.clone())),
            None => None,
        };
        Ok(Replace { fixed, everywhere: attrs.bool("replace_global")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let given;
        let (pattern, rewrite) = match &self.fixed {
            Some(fixed) => fixed,
            None => {
                let pattern = compile(&scalar(ctx.input(1)?, "Pattern")?)?;
                given = (pattern, scalar(ctx.input(2)?, "Rewrite")?);
                &given
            }
        };
        // RE2 leaves a text alone when the rewrite asks for a group that the pattern lacks.
        if highest_group(rewrite) >= pattern.captures_len() {
            let input = ctx.take_input(0)?;
            ctx.set_output(0, input);
            return Ok(());
        }
        map_texts(ctx, |text, page| {
            let is_changed = match self.everywhere {
                true => replace_all(pattern, rewrite, text, page),
                false => replace_first(pattern, rewrite, text, page),
            };
            if is_changed { Made::Written } else { Made::Given(text.clone()) }
        })
    }
}

/// Writes the text with the first match replaced. A wrong rewrite leaves the text alone; returns
/// whether it did not.
fn replace_first(pattern: &Regex, rewrite: &[u8], text: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(groups) = pattern.captures(text) else { return false };
    let found = groups.get_match().range();
    out.extend_from_slice(&text[..found.start]);
    if !expand(rewrite, |group| Some(groups.get(group)?.as_bytes()), out) {
        return false;
    }
    out.extend_from_slice(&text[found.end..]);
    true
}

/// Writes the text with every match replaced; empty ones only between characters, and not right
/// behind another. A wrong rewrite counts up to where it is wrong. Returns whether there was a match.
fn replace_all(pattern: &Regex, rewrite: &[u8], text: &[u8], out: &mut Vec<u8>) -> bool {
    // Where groups lie is much harder to find than where the match does.
    let has_groups = highest_group(rewrite) > 0;
    let (mut at, mut last_end) = (0, None);
    while at <= text.len() {
        let Some(found) = pattern.find_at(text, at) else { break };
        out.extend_from_slice(&text[at..found.start()]);
        if found.is_empty() && last_end == Some(found.start()) {
            let next = found.start() + character_len(&text[found.start()..]);
            out.extend_from_slice(&text[found.start()..next.min(text.len())]);
            at = next;
            continue;
        }
        if has_groups && let Some(groups) = pattern.captures_at(text, at) {
            expand(rewrite, |group| Some(groups.get(group)?.as_bytes()), out);
        } else {
            expand(rewrite, |_| Some(found.as_bytes()), out);
        }
        at = found.end();
        last_end = Some(at);
    }
    if last_end.is_some() {
        out.extend_from_slice(text.get(at..).unwrap_or_default());
    }
    last_end.is_some()
}

/// The length of the character that bytes begin with; one if they begin with none.
fn character_len(bytes: &[u8]) -> usize {
    let head = &bytes[..bytes.len().min(4)];
    let first = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.map_or(1, char::len_utf8)
}

/// The highest group that a rewrite asks for.
fn highest_group(rewrite: &[u8]) -> usize {
    let mut highest = 0;
    let mut rest = rewrite.iter();
    while let Some(&byte) = rest.next() {
        if byte == b'\\'
            && let Some(digit @ b'0'..=b'9') = rest.next()
        {
            highest = highest.max(usize::from(digit - b'0'));
        }
    }
    highest
}

/// Puts groups in for `\0` to `\9`, as RE2 writes them; returns whether all of the rewrite made sense.
fn expand<'t>(
    rewrite: &[u8],
    group: impl Fn(usize) -> Option<&'t [u8]>,
    out: &mut Vec<u8>,
) -> bool {
    let mut rest = rewrite.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'9') => {
                if let Some(group) = group(usize::from(digit - b'0')) {
                    out.extend_from_slice(group);
                }
            }
            Some(b'\\') => out.push(b'\\'),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_ask_for_groups() {
        assert_eq!([br"\\9".as_slice(), br"a\3\1", b"", br"\"].map(highest_group), [0, 3, 0, 0]);
    }

    #[test]
    fn groups_are_put_in() {
        let pattern = compile(b"(a)(b)?").unwrap();
        let groups = pattern.captures(b"ab").unwrap();
        let mut out = Vec::new();
        let group = |group| Some(groups.get(group)?.as_bytes());
        assert!(expand(br"\2-\1\\\0", group, &mut out));
        assert_eq!(out, br"b-a\ab");
    }

    #[test]
    fn a_wrong_rewrite_counts_as_far_as_it_is_right() {
        let pattern = compile(b"a").unwrap();
        let mut out = Vec::new();
        assert!(replace_all(&pattern, br"-\y\0", b"xay", &mut out));
        assert_eq!(out, b"x-y");
        assert!(!replace_first(&pattern, br"-\y\0", b"xay", &mut out));
        assert!(!replace_all(&pattern, b"-", b"xy", &mut out));
    }

    #[test]
    fn empty_matches_lie_between_characters() {
        let all = |pattern: &[u8], text: &str| {
            let mut out = Vec::new();
            replace_all(&compile(pattern).unwrap(), b"-", text.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(all(b"x*", "é中"), "-é-中-");
        assert_eq!(all(b"a*", "baac"), "-b-c-");
    }

    #[test]
    fn a_match_takes_the_whole_text() {
        let pattern = compile_anchored(b"a|ab").unwrap();
        assert!(pattern.is_match(b"ab") && !pattern.is_match(b"abc"));
    }
}

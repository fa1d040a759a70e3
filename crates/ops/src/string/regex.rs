//! Regular expressions: matching and replacing, with a pattern that is constant or a tensor.

use bytes::Bytes;
use regex::bytes::Regex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RegexFullMatch",
        inputs: &["input: string", "pattern: string"],
        outputs: &["output: bool"],
        kernels: &[cpu::<FullMatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RegexReplace",
        inputs: &["input: string", "pattern: string", "rewrite: string"],
        outputs: &["output: string"],
        attrs: &["replace_global: bool = true"],
        kernels: &[cpu::<Replace>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StaticRegexFullMatch",
        inputs: &["input: string"],
        outputs: &["output: bool"],
        attrs: &["pattern: string"],
        kernels: &[cpu::<FullMatch>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StaticRegexReplace",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &["pattern: string", "rewrite: string", "replace_global: bool = true"],
        kernels: &[cpu::<Replace>()],
        ..Op::DEFAULT
    },
];

fn compile(pattern: &[u8]) -> Result<Regex> {
    let pattern = String::from_utf8_lossy(pattern);
    Regex::new(&pattern).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().to_owned();
        invalid_argument!("Invalid pattern: {pattern}, error: {reason}")
    })
}

/// A match must take the whole text.
fn compile_anchored(pattern: &[u8]) -> Result<Regex> {
    compile(pattern)?;
    compile(&[b"^(?:", pattern, b")$"].concat())
}

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
        let input = ctx.input(0)?;
        let texts = input.strings()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [bool]| {
            for (out, text) in out.iter_mut().zip(texts) {
                *out = pattern.is_match(text);
            }
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
        let input = ctx.input(0)?;
        let limit = if self.everywhere { 0 } else { 1 };
        let texts = input
            .strings()?
            .iter()
            .map(|text| {
                let replaced =
                    pattern.replacen(text, limit, |groups: &regex::bytes::Captures<'_>| {
                        expand(rewrite, groups)
                    });
                Bytes::from(replaced.into_owned())
            })
            .collect();
        let output = Tensor::from_strings(input.shape().clone(), texts)?;
        ctx.set_output(0, output);
        Ok(())
    }
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

/// Puts groups in for `\0` to `\9`, as RE2 writes them.
fn expand(rewrite: &[u8], groups: &regex::bytes::Captures<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(rewrite.len());
    let mut rest = rewrite.iter();
    while let Some(&byte) = rest.next() {
        match (byte, rest.as_slice().first()) {
            (b'\\', Some(digit @ b'0'..=b'9')) => {
                rest.next();
                if let Some(group) = groups.get(usize::from(digit - b'0')) {
                    out.extend_from_slice(group.as_bytes());
                }
            }
            (b'\\', Some(b'\\')) => {
                rest.next();
                out.push(b'\\');
            }
            _ => out.push(byte),
        }
    }
    out
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
        assert_eq!(expand(br"\2-\1\\\0", &groups), br"b-a\ab");
    }

    #[test]
    fn a_match_takes_the_whole_text() {
        let pattern = compile_anchored(b"a|ab").unwrap();
        assert!(pattern.is_match(b"ab") && !pattern.is_match(b"abc"));
        assert!(compile_anchored(b"(").is_err());
    }
}

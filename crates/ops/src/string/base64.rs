//! `EncodeBase64` and `DecodeBase64`, with the alphabet that is safe in web addresses.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::map_strings;
use super::texts::{Made, map_texts};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DecodeBase64",
        inputs: &["input: string"],
        outputs: &["output: string"],
        kernels: &[cpu::<DecodeBase64>()],
        ..Op::DEFAULT
    },
    Op {
        name: "EncodeBase64",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &["pad: bool = false"],
        kernels: &[cpu::<EncodeBase64>()],
        ..Op::DEFAULT
    },
];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Debug)]
struct EncodeBase64 {
    pad: bool,
}

impl Kernel for EncodeBase64 {
    fn new(attrs: &Attrs<'_>) -> Result<EncodeBase64> {
        Ok(EncodeBase64 { pad: attrs.bool("pad")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        map_texts(ctx, |bytes, page| {
            encode_to(bytes, self.pad, page);
            Made::Written
        })
    }
}

/// As the alphabet of mail has it, where the last two digits are not fit for file names.
pub(crate) fn encode_for_mail(bytes: &[u8]) -> String {
    let digit = |byte: u8| match byte {
        b'-' => '+',
        b'_' => '/',
        _ => char::from(byte),
    };
    encode(bytes, true).into_iter().map(digit).collect()
}

fn encode(bytes: &[u8], pad: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    encode_to(bytes, pad, &mut text);
    text
}

fn encode_to(bytes: &[u8], pad: bool, text: &mut Vec<u8>) {
    let (whole, rest) = bytes.as_chunks::<3>();
    let digit = |bits: usize, i: usize| ALPHABET[bits >> (18 - 6 * i) & 63];
    text.reserve(bytes.len().div_ceil(3) * 4);
    for &[a, b, c] in whole {
        let bits = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        text.extend_from_slice(&[0, 1, 2, 3].map(|i| digit(bits, i)));
    }
    for group in rest.chunks(3) {
        let mut bits = 0;
        for i in 0..3 {
            bits = bits << 8 | usize::from(group.get(i).copied().unwrap_or(0));
        }
        for i in 0..4 {
            if i <= group.len() {
                text.push(digit(bits, i));
            } else if pad {
                text.push(b'=');
            }
        }
    }
}

#[derive(Debug)]
struct DecodeBase64;

impl Kernel for DecodeBase64 {
    fn new(_: &Attrs<'_>) -> Result<DecodeBase64> {
        Ok(DecodeBase64)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        map_strings(ctx, |text| Ok(Bytes::from(decode(text)?)))
    }
}

/// Padding may be there or not, but only where it belongs.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>> {
    let text = match text {
        [rest @ .., b'=', b'='] | [rest @ .., b'='] if text.len().is_multiple_of(4) => rest,
        _ => text,
    };
    if text.len() % 4 == 1 {
        return Err(invalid_argument!("Base64 string length cannot be 1 modulo 4."));
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for i in 0..4 {
            let digit = match group.get(i) {
                None => 0,
                Some(c @ b'A'..=b'Z') => c - b'A',
                Some(c @ b'a'..=b'z') => c - b'a' + 26,
                Some(c @ b'0'..=b'9') => c - b'0' + 52,
                Some(b'-') => 62,
                Some(b'_') => 63,
                Some(_) => {
                    return Err(invalid_argument!("Invalid character found in base64."));
                }
            };
            bits = bits << 6 | u32::from(digit);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Ok(bytes)
}

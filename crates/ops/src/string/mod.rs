//! Strings.

mod as_string;
pub(crate) mod base64;
mod case;
mod code_pages;
pub(crate) mod farm_hash;
mod farm_hash128;
mod fingerprint;
mod hash_bucket;
mod join;
mod length;
mod ngrams;
pub(crate) mod number;
mod printf;
mod re2;
mod reduce_join;
mod regex;
mod script;
mod script_table;
mod segment_join;
mod split;
mod substr;
mod texts;
mod to_number;
mod unicode;
mod unicode_ops;

use bytes::Bytes;
use tensorfleet_framework::{KernelContext, Op};
use tensorfleet_tensor::{Result, Tensor};

pub(super) const OPS: &[&[Op]] = &[
    as_string::OPS,
    base64::OPS,
    case::OPS,
    fingerprint::OPS,
    hash_bucket::OPS,
    join::OPS,
    length::OPS,
    ngrams::OPS,
    reduce_join::OPS,
    regex::OPS,
    script::OPS,
    segment_join::OPS,
    split::OPS,
    substr::OPS,
    to_number::OPS,
    unicode_ops::OPS,
];

/// Turns every string of the first input into another.
fn map_strings(
    ctx: &mut KernelContext<'_>,
    change: impl FnMut(&Bytes) -> Result<Bytes>,
) -> Result<()> {
    let input = ctx.input(0)?;
    let changed = input.strings()?.iter().map(change).collect::<Result<Vec<_>>>()?;
    let output = Tensor::from_strings(input.shape().clone(), changed)?;
    ctx.set_output(0, output);
    Ok(())
}

/// Whether a byte continues a character of UTF-8.
fn is_trail(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

//! `StringLower`, `StringUpper` and `StringStrip`.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::map_strings;
use super::number::trim;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "StringLower",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &["encoding: string = ''"],
        kernels: &[cpu::<ChangeCase>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringStrip",
        inputs: &["input: string"],
        outputs: &["output: string"],
        kernels: &[cpu::<Strip>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringUpper",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &["encoding: string = ''"],
        kernels: &[cpu::<ChangeCase>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ChangeCase {
    upper: bool,
    /// Otherwise only the letters of ASCII change.
    unicode: bool,
}

impl Kernel for ChangeCase {
    fn new(attrs: &Attrs<'_>) -> Result<ChangeCase> {
        let encoding = attrs.string("encoding")?;
        let unicode = match encoding.as_ref() {
            "" => false,
            "utf-8" => true,
            other => {
                return Err(invalid_argument!(
                    "only utf-8 or '' (no encoding) is supported, received {other}"
                ));
            }
        };
        Ok(ChangeCase { upper: attrs.op() == "StringUpper", unicode })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        map_strings(ctx, |text| {
            Ok(match (self.unicode, self.upper) {
                (false, false) => text.to_ascii_lowercase().into(),
                (false, true) => text.to_ascii_uppercase().into(),
                (true, false) => String::from_utf8_lossy(text).to_lowercase().into(),
                (true, true) => String::from_utf8_lossy(text).to_uppercase().into(),
            })
        })
    }
}

#[derive(Debug)]
struct Strip;

impl Kernel for Strip {
    fn new(_: &Attrs<'_>) -> Result<Strip> {
        Ok(Strip)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        map_strings(ctx, |text: &Bytes| Ok(text.slice_ref(trim(text))))
    }
}

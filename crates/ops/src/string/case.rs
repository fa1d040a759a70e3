//! `StringLower`, `StringUpper` and `StringStrip`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::number::trim;
use super::texts::{Made, map_texts};

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
        map_texts(ctx, |text, page| {
            if self.unicode {
                let text = String::from_utf8_lossy(text);
                let changed = if self.upper { text.to_uppercase() } else { text.to_lowercase() };
                page.extend_from_slice(changed.as_bytes());
                return Made::Written;
            }
            let start = page.len();
            page.extend_from_slice(text);
            if self.upper {
                page[start..].make_ascii_uppercase();
            } else {
                page[start..].make_ascii_lowercase();
            }
            Made::Written
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
        map_texts(ctx, |text, _| Made::Given(text.slice_ref(trim(text))))
    }
}

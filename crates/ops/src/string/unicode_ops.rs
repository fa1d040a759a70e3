//! Text as code points, and from one encoding to another.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Error, Result, Shape, Tensor, invalid_argument};

use super::map_strings;
use super::ngrams::split_tensor;
use super::unicode::Encoding;

const DIFFERS: &str = "Of ICU's encodings those that web pages use and the code pages of DOS are known. \
    Broken text in an East Asian one may be taken for other characters.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "UnicodeDecode",
        inputs: &["input: string"],
        outputs: &["row_splits: Tsplits", "char_values: int32"],
        attrs: &[
            "input_encoding: string",
            "errors: {'strict', 'replace', 'ignore'} = 'replace'",
            "replacement_char: int = 65533",
            "replace_control_characters: bool = false",
            "Tsplits: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<Decode>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "UnicodeDecodeWithOffsets",
        inputs: &["input: string"],
        outputs: &["row_splits: Tsplits", "char_values: int32", "char_to_byte_starts: int64"],
        attrs: &[
            "input_encoding: string",
            "errors: {'strict', 'replace', 'ignore'} = 'replace'",
            "replacement_char: int = 65533",
            "replace_control_characters: bool = false",
            "Tsplits: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<Decode>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "UnicodeEncode",
        inputs: &["input_values: int32", "input_splits: Tsplits"],
        outputs: &["output: string"],
        attrs: &[
            "errors: {'ignore', 'replace', 'strict'} = 'replace'",
            "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
            "replacement_char: int = 65533",
            "Tsplits: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<Encode>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UnicodeTranscode",
        inputs: &["input: string"],
        outputs: &["output: string"],
        attrs: &[
            "input_encoding: string",
            "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}",
            "errors: {'strict', 'replace', 'ignore'} = 'replace'",
            "replacement_char: int = 65533",
            "replace_control_characters: bool = false",
        ],
        kernels: &[cpu::<Transcode>()],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnError {
    Fail,
    Replace,
    Drop,
}

/// What is done with what is no character.
#[derive(Clone, Copy, Debug)]
struct Policy {
    on_error: OnError,
    /// A code point, maybe one that is no character itself.
    replacement: u32,
    replace_control: bool,
}

impl Policy {
    fn new(attrs: &Attrs<'_>) -> Result<Policy> {
        let on_error = match attrs.string("errors")?.as_ref() {
            "strict" => OnError::Fail,
            "ignore" => OnError::Drop,
            _ => OnError::Replace,
        };
        let replacement = attrs.int("replacement_char")?;
        let replacement = u32::try_from(replacement)
            .ok()
            .filter(|&code| code <= 0x10_ffff)
            .ok_or_else(|| invalid_argument!("replacement_char out of unicode codepoint range"))?;
        let replace_control = match attrs.get("replace_control_characters") {
            Some(_) => attrs.bool("replace_control_characters")?,
            None => false,
        };
        Ok(Policy { on_error, replacement, replace_control })
    }

    /// Calls `each` with the offset and the code point of every character.
    fn decode(
        self,
        encoding: Encoding,
        bytes: &[u8],
        mut each: impl FnMut(usize, u32),
    ) -> Result<()> {
        let mut broken = false;
        encoding.decode(bytes, |offset, c| match c {
            Some('\0'..='\x1f') if self.replace_control => {
                if self.on_error != OnError::Drop {
                    each(offset, self.replacement);
                }
            }
            Some(c) => each(offset, c.into()),
            None => match self.on_error {
                OnError::Fail => broken = true,
                OnError::Replace => each(offset, self.replacement),
                OnError::Drop => {}
            },
        });
        if broken {
            return Err(invalid_argument!("Invalid formatting on input string"));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Decode {
    encoding: Encoding,
    policy: Policy,
    with_offsets: bool,
    splits: DType,
}

impl Kernel for Decode {
    fn new(attrs: &Attrs<'_>) -> Result<Decode> {
        Ok(Decode {
            encoding: Encoding::named(&attrs.string("input_encoding")?)?,
            policy: Policy::new(attrs)?,
            with_offsets: attrs.op() == "UnicodeDecodeWithOffsets",
            splits: attrs.dtype("Tsplits")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let texts = ctx.input(0)?.strings()?;
        let (mut codes, mut offsets, mut splits) = (Vec::new(), Vec::new(), vec![0i64]);
        for text in texts {
            self.policy.decode(self.encoding, text, |offset, code| {
                codes.push(code as i32);
                if self.with_offsets {
                    offsets.push(offset as i64);
                }
            })?;
            splits.push(codes.len() as i64);
        }
        ctx.set_output(0, split_tensor(self.splits, &splits)?);
        ctx.set_output(1, Tensor::vector(&codes)?);
        if self.with_offsets {
            ctx.set_output(2, Tensor::vector(&offsets)?);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Transcode {
    from: Encoding,
    to: Encoding,
    policy: Policy,
}

impl Kernel for Transcode {
    fn new(attrs: &Attrs<'_>) -> Result<Transcode> {
        Ok(Transcode {
            from: Encoding::named(&attrs.string("input_encoding")?)?,
            to: Encoding::named(&attrs.string("output_encoding")?)?,
            policy: Policy::new(attrs)?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        map_strings(ctx, |text| {
            let mut out = Vec::with_capacity(text.len());
            self.policy.decode(self.from, text, |_, code| {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.to.encode(c, &mut out);
            })?;
            Ok(out.into())
        })
    }
}

#[derive(Debug)]
struct Encode {
    encoding: Encoding,
    policy: Policy,
}

impl Kernel for Encode {
    fn new(attrs: &Attrs<'_>) -> Result<Encode> {
        Ok(Encode {
            encoding: Encoding::named(&attrs.string("output_encoding")?)?,
            policy: Policy::new(attrs)?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (codes, splits) = (ctx.input(0)?, ctx.input(1)?);
        if codes.rank() != 1 || splits.rank() != 1 {
            return Err(invalid_argument!(
                "Both the input_tensor and input_splits should be of rank 1. "
            ));
        }
        let (codes, splits) = (codes.values::<i32>()?, splits.to_i64_vec()?);
        check_splits(&splits, codes.len())?;
        let mut texts = Vec::with_capacity(splits.len() - 1);
        for row in splits.windows(2) {
            let mut text = Vec::new();
            for &code in &codes[row[0] as usize..row[1] as usize] {
                let c = u32::try_from(code).ok().and_then(char::from_u32);
                match (c, self.policy.on_error) {
                    (Some(c), _) => self.encoding.encode(c, &mut text),
                    (None, OnError::Fail) => {
                        return Err(invalid_argument!(
                            "Code point is out of range for Unicode, or is a surrogate."
                        ));
                    }
                    (None, OnError::Replace) => {
                        let c = char::from_u32(self.policy.replacement);
                        self.encoding.encode(c.unwrap_or(char::REPLACEMENT_CHARACTER), &mut text);
                    }
                    (None, OnError::Drop) => {}
                }
            }
            texts.push(text.into());
        }
        ctx.set_output(0, Tensor::from_strings(Shape::vector(texts.len()), texts)?);
        Ok(())
    }
}

fn check_splits(splits: &[i64], count: usize) -> Result<()> {
    let wrong = |what: &str| -> Result<(), Error> { Err(invalid_argument!("{what}")) };
    let (Some(&first), Some(&last)) = (splits.first(), splits.last()) else {
        return wrong(
            "Input_splits should contain elements, but given input_values has 0 elements",
        );
    };
    if first != 0 {
        return wrong("First value in input_splits must be zero.");
    }
    if last != count as i64 {
        return wrong("Last value in input_splits must be equal to length of input_tensor.");
    }
    if splits.windows(2).any(|pair| pair[0] > pair[1]) {
        return wrong("Values in input_splits must be equal or in ascending order.");
    }
    Ok(())
}

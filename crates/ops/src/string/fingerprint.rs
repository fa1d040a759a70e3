//! Fingerprints: eight bytes that stand for a row, sixteen that stand for the name of an example.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::farm_hash::fingerprint64;
use super::farm_hash128::fingerprint128;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Fingerprint",
        inputs: &["data: T", "method: string"],
        outputs: &["fingerprint: uint8"],
        attrs: &["T: type"],
        kernels: &[cpu::<Fingerprint>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SdcaFprint",
        inputs: &["input: string"],
        outputs: &["output: int64"],
        kernels: &[cpu::<ExampleName>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ExampleName;

impl Kernel for ExampleName {
    fn new(_: &Attrs<'_>) -> Result<ExampleName> {
        Ok(ExampleName)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if input.rank() != 1 {
            return Err(invalid_argument!("Input must be a vector, got shape {}", input.shape()));
        }
        let names = input.strings()?;
        let words = names.iter().map(|name| fingerprint128(name));
        // The first number is never 0 or 1, which tables use for places that are empty.
        let words =
            words.map(|(low, high)| [if low < 2 { low.wrapping_add(!1) } else { low }, high]);
        let numbers: Vec<i64> = words.flatten().map(|word| word as i64).collect();
        ctx.set_output(0, Tensor::from_slice(Shape::matrix(names.len(), 2), &numbers)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Fingerprint;

impl Kernel for Fingerprint {
    fn new(_: &Attrs<'_>) -> Result<Fingerprint> {
        Ok(Fingerprint)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (data, method) = (ctx.input(0)?, ctx.input(1)?);
        let name = match method.strings()? {
            [name] if method.rank() == 0 => name,
            _ => {
                return Err(invalid_argument!(
                    "`method` should be a scalar string: {}",
                    method.shape()
                ));
            }
        };
        if name.as_ref() != b"farmhash64" {
            return Err(invalid_argument!(
                "Unsupported fingerprint method: {}",
                String::from_utf8_lossy(name)
            ));
        }
        let Some(&rows) = data.dims().first() else {
            return Err(invalid_argument!(
                "`data` should have at least one dimension: {}",
                data.shape()
            ));
        };
        // A row of several strings is represented by the fingerprints of the strings.
        let of_strings: Vec<u8>;
        let bytes = match data.dtype() {
            DType::String => {
                let texts = data.strings()?;
                of_strings = texts.iter().flat_map(|t| fingerprint64(t).to_le_bytes()).collect();
                if texts.len() == rows {
                    ctx.set_output(0, Tensor::from_slice(Shape::matrix(rows, 8), &of_strings)?);
                    return Ok(());
                }
                &of_strings
            }
            dtype if dtype.is_plain() => data.raw(),
            dtype => return Err(invalid_argument!("{dtype} cannot be fingerprinted")),
        };
        let width = bytes.len().checked_div(rows).unwrap_or(0);
        let output = Tensor::build(Shape::matrix(rows, 8), |out: &mut [u8]| {
            for (row, out) in out.chunks_exact_mut(8).enumerate() {
                let hash = fingerprint64(&bytes[row * width..(row + 1) * width]);
                out.copy_from_slice(&hash.to_le_bytes());
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

//! `AudioSummary`: sounds of a batch as WAV.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::wire::{self, Content, Entry};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AudioSummary",
        inputs: &["tag: string", "tensor: float"],
        outputs: &["summary: string"],
        attrs: &["sample_rate: float", "max_outputs: int >= 1 = 3"],
        kernels: &[cpu::<AudioSummary>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AudioSummaryV2",
        inputs: &["tag: string", "tensor: float", "sample_rate: float"],
        outputs: &["summary: string"],
        attrs: &["max_outputs: int >= 1 = 3"],
        kernels: &[cpu::<AudioSummary>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct AudioSummary {
    max_outputs: usize,
    /// Given as an attribute to the first version of the op.
    sample_rate: Option<f32>,
}

impl Kernel for AudioSummary {
    fn new(attrs: &Attrs<'_>) -> Result<AudioSummary> {
        let sample_rate = match attrs.get("sample_rate") {
            Some(_) => Some(attrs.float("sample_rate")?),
            None => None,
        };
        let max_outputs = usize::try_from(attrs.int("max_outputs")?).unwrap_or(1);
        Ok(AudioSummary { max_outputs, sample_rate })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tag = ctx.input(0)?;
        let ([tag], true) = (tag.strings()?, tag.shape().is_scalar()) else {
            return Err(invalid_argument!("Tag must be a scalar"));
        };
        let sample_rate = match self.sample_rate {
            Some(rate) => rate,
            None => ctx.input(2)?.scalar_value()?,
        };
        let tag = String::from_utf8_lossy(tag);
        let entries = entries(&tag, ctx.input(1)?, sample_rate, self.max_outputs)?;
        let summary = wire::encode(entries)?;
        ctx.set_output(0, summary);
        Ok(())
    }
}

/// The sounds of a batch, at most so many.
pub(super) fn entries(
    tag: &str,
    sounds: &Tensor,
    sample_rate: f32,
    max_outputs: usize,
) -> Result<Vec<Entry>> {
    if sample_rate.is_nan() || sample_rate <= 0.0 {
        return Err(invalid_argument!("sample_rate must be > 0"));
    }
    let (batch, frames, channels) = match *sounds.dims() {
        [batch, frames] => (batch, frames, 1),
        [batch, frames, channels] => (batch, frames, channels),
        _ => {
            return Err(invalid_argument!("Tensor must be 3-D or 2-D, got: {}", sounds.shape()));
        }
    };
    let samples = sounds.values::<f32>()?;
    let count = batch.min(max_outputs);
    let mut entries = Vec::with_capacity(count);
    for index in 0..count {
        let size = frames * channels;
        let wav = wav(&samples[index * size..(index + 1) * size], channels, sample_rate)?;
        let tag = match max_outputs {
            1 => format!("{tag}/audio"),
            _ => format!("{tag}/audio/{index}"),
        };
        entries.push(Entry { tag, content: Content::Audio { sample_rate, channels, frames, wav } });
    }
    Ok(entries)
}

/// Samples as a WAV file of 16 bits.
fn wav(samples: &[f32], channels: usize, sample_rate: f32) -> Result<Vec<u8>> {
    const HEADER: usize = 36;
    const SAMPLE: usize = 2;
    let (Ok(block), Ok(data)) =
        (u16::try_from(channels * SAMPLE), u32::try_from(samples.len() * SAMPLE))
    else {
        return Err(invalid_argument!("{channels} channels are too many for a WAV file"));
    };
    let rate = sample_rate.round() as u32;
    let mut out = Vec::with_capacity(HEADER + 8 + samples.len() * SAMPLE);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&data.saturating_add(HEADER as u32).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&16u32.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&(channels as u16).to_le_bytes());
    out.extend_from_slice(&rate.to_le_bytes());
    out.extend_from_slice(&rate.wrapping_mul(block.into()).to_le_bytes());
    out.extend_from_slice(&block.to_le_bytes());
    out.extend_from_slice(&(8 * SAMPLE as u16).to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&data.to_le_bytes());
    for sample in samples {
        // Conversion saturates, and makes zero of what is not a number.
        out.extend_from_slice(&((sample * 32_768.0).round() as i16).to_le_bytes());
    }
    Ok(out)
}

//! `DecodeWav` and `EncodeWav`: sound of 16 bits a sample.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DecodeWav",
        inputs: &["contents: string"],
        outputs: &["audio: float", "sample_rate: int32"],
        attrs: &["desired_channels: int = -1", "desired_samples: int = -1"],
        kernels: &[cpu::<DecodeWav>()],
        ..Op::DEFAULT
    },
    Op {
        name: "EncodeWav",
        inputs: &["audio: float", "sample_rate: int32"],
        outputs: &["contents: string"],
        kernels: &[cpu::<EncodeWav>()],
        ..Op::DEFAULT
    },
];

/// A sample of full scale.
const FULL_SCALE: f32 = 32768.0;

/// Reads what a file is made of.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self
            .0
            .split_at_checked(len)
            .ok_or_else(|| invalid_argument!("Data too short when trying to read string"))?;
        self.0 = rest;
        Ok(head)
    }

    fn word(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn number(&mut self) -> Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn expect(&mut self, text: &[u8]) -> Result<()> {
        let found = self.take(text.len())?;
        if found != text {
            return Err(invalid_argument!(
                "Header mismatch: Expected {} but found {}",
                String::from_utf8_lossy(text),
                String::from_utf8_lossy(found)
            ));
        }
        Ok(())
    }
}

/// The sound in a file.
struct Sound<'a> {
    channels: usize,
    rate: u32,
    samples: &'a [u8],
}

fn read(contents: &[u8]) -> Result<Sound<'_>> {
    let mut reader = Reader(contents);
    reader.expect(b"RIFF")?;
    reader.number()?;
    reader.expect(b"WAVE")?;
    reader.expect(b"fmt ")?;
    let head = reader.number()?;
    if head != 16 && head != 18 {
        return Err(invalid_argument!(
            "Bad format chunk size for WAV: Expected 16 or 18, but got{head}"
        ));
    }
    let format = reader.word()?;
    if format != 1 {
        return Err(invalid_argument!(
            "Bad audio format for WAV: Expected 1 (PCM), but got{format}"
        ));
    }
    let channels = reader.word()?;
    if channels < 1 {
        return Err(invalid_argument!(
            "Bad number of channels for WAV: Expected at least 1, but got {channels}"
        ));
    }
    let rate = reader.number()?;
    let (per_second, per_frame, bits) = (reader.number()?, reader.word()?, reader.word()?);
    if bits != 16 {
        return Err(invalid_argument!("Can only read 16-bit WAV files, but received {bits}"));
    }
    let frame = u32::from(channels) * 2;
    if u32::from(per_frame) != frame {
        return Err(invalid_argument!(
            "Bad bytes per sample in WAV header: Expected {frame} but got {per_frame}"
        ));
    }
    if u64::from(per_second) != u64::from(frame) * u64::from(rate) {
        return Err(invalid_argument!(
            "Bad bytes per second in WAV header: Expected {} but got {per_second} \
             (sample_rate={rate}, bytes_per_sample={frame})",
            u64::from(frame) * u64::from(rate)
        ));
    }
    if head == 18 {
        reader.word()?;
    }
    while !reader.0.is_empty() {
        let name = reader.take(4)?;
        let len = reader.number()? as usize;
        let data = reader.take(len)?;
        if name == b"data" {
            let whole = len / frame as usize * frame as usize;
            return Ok(Sound { channels: channels.into(), rate, samples: &data[..whole] });
        }
    }
    Err(invalid_argument!("No data chunk found in WAV"))
}

#[derive(Debug)]
struct DecodeWav {
    channels: i64,
    samples: i64,
}

impl Kernel for DecodeWav {
    fn new(attrs: &Attrs<'_>) -> Result<DecodeWav> {
        Ok(DecodeWav {
            channels: attrs.int("desired_channels")?,
            samples: attrs.int("desired_samples")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let contents = ctx.input(0)?;
        let ([file], true) = (contents.strings()?, contents.shape().is_scalar()) else {
            return Err(invalid_argument!(
                "contents must be scalar, got shape {}",
                contents.shape()
            ));
        };
        let sound = read(file)?;
        let wanted = |wanted: i64, have: usize, name: &str| match wanted {
            -1 => Ok(have),
            _ => usize::try_from(wanted)
                .map_err(|_| invalid_argument!("{name} must be >= -1, got {wanted}")),
        };
        let have = sound.samples.len() / 2 / sound.channels;
        let frames = wanted(self.samples, have, "desired_samples")?;
        let channels = wanted(self.channels, sound.channels, "desired_channels")?;
        let sample = |frame: usize, channel: usize| {
            // Channels that the file lacks repeat its last; frames after the end are silent.
            let at = (frame * sound.channels + channel.min(sound.channels - 1)) * 2;
            let value = sound.samples.get(at..at + 2).map(|bytes| [bytes[0], bytes[1]]);
            value.map_or(0.0, |bytes| f32::from(i16::from_le_bytes(bytes)) / FULL_SCALE)
        };
        let audio = Tensor::build(Shape::new(&[frames, channels])?, |out: &mut [f32]| {
            for (frame, out) in out.chunks_exact_mut(channels.max(1)).enumerate() {
                out.iter_mut().enumerate().for_each(|(channel, out)| *out = sample(frame, channel));
            }
        })?;
        let rate = Tensor::scalar(sound.rate as i32);
        ctx.set_output(0, audio);
        ctx.set_output(1, rate);
        Ok(())
    }
}

#[derive(Debug)]
struct EncodeWav;

impl Kernel for EncodeWav {
    fn new(_: &Attrs<'_>) -> Result<EncodeWav> {
        Ok(EncodeWav)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (audio, rate) = (ctx.input(0)?, ctx.input(1)?);
        let &[frames, channels] = audio.dims() else {
            return Err(invalid_argument!("audio must be 2-dimensional{}", audio.shape()));
        };
        if !rate.shape().is_scalar() {
            return Err(invalid_argument!(
                "Input sample_rate should be a scalar tensor, got {} instead.",
                rate.shape()
            ));
        }
        let rate = rate.scalar_value::<i32>()?;
        let rate = u32::try_from(rate)
            .ok()
            .filter(|&rate| rate > 0)
            .ok_or_else(|| invalid_argument!("sample_rate must be in (0, 2^32), got: {rate}"))?;
        let channels =
            u16::try_from(channels).ok().filter(|&channels| channels > 0).ok_or_else(|| {
                invalid_argument!("num_channels must be in (0, 2^16), got: {channels}")
            })?;
        let frame = u32::from(channels) * 2;
        let too_large =
            || invalid_argument!("Provided channels and frames cannot be encoded as a WAV.");
        let data = u32::try_from(frames)
            .ok()
            .and_then(|frames| frames.checked_mul(frame))
            .filter(|data| data.checked_add(36).is_some())
            .ok_or_else(too_large)?;
        let mut file = Vec::with_capacity(44 + data as usize);
        file.extend_from_slice(b"RIFF");
        file.extend_from_slice(&(36 + data).to_le_bytes());
        file.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0");
        file.extend_from_slice(&channels.to_le_bytes());
        file.extend_from_slice(&rate.to_le_bytes());
        file.extend_from_slice(&rate.wrapping_mul(frame).to_le_bytes());
        file.extend_from_slice(&(frame as u16).to_le_bytes());
        file.extend_from_slice(b"\x10\0data");
        file.extend_from_slice(&data.to_le_bytes());
        for &sample in audio.values::<f32>()? {
            // The cast keeps what is out of range at its ends.
            file.extend_from_slice(&((sample * FULL_SCALE).round() as i16).to_le_bytes());
        }
        ctx.set_output(0, Tensor::string(Bytes::from(file)));
        Ok(())
    }
}

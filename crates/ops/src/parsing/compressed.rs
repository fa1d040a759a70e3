//! `DecodeCompressed`.

use std::io::Cursor;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, data_loss, invalid_argument, unimplemented_error};

use crate::record::{Compression, Stream};

pub(super) const OPS: &[Op] = &[Op {
    name: "DecodeCompressed",
    inputs: &["bytes: string"],
    outputs: &["output: string"],
    attrs: &["compression_type: string = ''"],
    kernels: &[cpu::<DecodeCompressed>()],
    ..Op::DEFAULT
}];

/// How every file in gzip's format begins.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug)]
struct DecodeCompressed {
    compression: Compression,
}

impl Kernel for DecodeCompressed {
    fn new(attrs: &Attrs<'_>) -> Result<DecodeCompressed> {
        let name = attrs.bytes("compression_type")?;
        if name.as_ref() == b"ZSTD" {
            return Err(unimplemented_error!("ZSTD is not supported by this server"));
        }
        let compression = Compression::parse(name).ok_or_else(|| {
            invalid_argument!("Only ZLIB, ZSTD, GZIP or NONE are supported compressions")
        })?;
        Ok(DecodeCompressed { compression })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        if self.compression == Compression::None {
            let input = ctx.take_input(0)?;
            ctx.set_output(0, input);
            return Ok(());
        }
        let input = ctx.input(0)?;
        let mut texts = Vec::with_capacity(input.num_elements());
        for bytes in input.strings()? {
            // A decoder that waits for the rest of a header does not see that it is none.
            if self.compression == Compression::Gzip
                && bytes.iter().zip(GZIP_MAGIC).any(|(have, want)| *have != want)
            {
                return Err(data_loss!("inflate() failed with error -3: incorrect header check"));
            }
            let mut stream = Stream::new(Cursor::new(bytes.clone()), self.compression, None);
            let mut text = Vec::new();
            stream.read(u64::MAX, &mut text)?;
            texts.push(text.into());
        }
        let output = Tensor::from_strings(input.shape().clone(), texts)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

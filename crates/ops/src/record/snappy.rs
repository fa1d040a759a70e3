//! Snappy as TensorFlow writes it: blocks, each behind its compressed length in four bytes,
//! big-endian.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use tensorfleet_tensor::{Result, data_loss, internal};

/// How many bytes become one block.
const BLOCK: usize = 256 << 10;

/// No block of the format expands by more than this factor.
const MOST_EXPANSION: usize = 64;

/// Compresses bytes without a frame.
pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let compressed = snap::raw::Encoder::new().compress_vec(bytes);
    compressed.map_err(|error| internal!("Failed to compress using snappy: {error}"))
}

/// Decompresses bytes without a frame.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let lost = |error| data_loss!("Failed to perform snappy decompression: {error}");
    // The length that a block claims is believed only as far as its size can account for it.
    let len = snap::raw::decompress_len(bytes).map_err(lost)?;
    if len > bytes.len().saturating_mul(MOST_EXPANSION) {
        return Err(data_loss!("Failed to perform snappy decompression: it claims {len} bytes"));
    }
    snap::raw::Decoder::new().decompress_vec(bytes).map_err(lost)
}

/// Decompresses a stream of blocks.
#[derive(Debug)]
pub(super) struct Decoder<R> {
    source: R,
    block: io::Cursor<Vec<u8>>,
}

impl<R: BufRead> Decoder<R> {
    pub(super) fn new(source: R) -> Decoder<R> {
        Decoder { source, block: io::Cursor::default() }
    }

    /// Reads the next block; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut length = [0; 4];
        self.source.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        let mut compressed = Vec::new();
        if (self.source.by_ref().take(length).read_to_end(&mut compressed)? as u64) < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.block = io::Cursor::new(decompress(&compressed).map_err(io::Error::other)?);
        Ok(true)
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.block.read(out)?;
            if count > 0 || out.is_empty() || !self.fill()? {
                return Ok(count);
            }
        }
    }
}

/// Compresses a stream into blocks.
#[derive(Debug)]
pub struct Encoder<W> {
    sink: W,
    block: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(sink: W) -> Encoder<W> {
        Encoder { sink, block: Vec::new() }
    }

    /// Where the compressed data goes.
    pub(super) fn sink(&self) -> &W {
        &self.sink
    }

    fn write_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let compressed = compress(&self.block).map_err(io::Error::other)?;
        self.block.clear();
        let length = u32::try_from(compressed.len()).map_err(io::Error::other)?;
        self.sink.write_all(&length.to_be_bytes())?;
        self.sink.write_all(&compressed)
    }

    /// Writes what is left and gives the sink back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write_block()?;
        Ok(self.sink)
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        if self.block.len() == BLOCK {
            self.write_block()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_block()?;
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 7).map(|i| (i / 5) as u8).collect();
        let mut encoder = Encoder::new(Vec::new());
        encoder.write_all(&bytes).unwrap();
        let stored = encoder.finish().unwrap();
        assert!(stored.len() < bytes.len());
        let mut back = Vec::new();
        Decoder::new(&stored[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, bytes);
    }

    #[test]
    fn damage_is_lost_data() {
        let mut decoder = Decoder::new(&[0, 0, 0, 2, 0xff, 0xff][..]);
        assert!(decoder.read_to_end(&mut Vec::new()).is_err());
        let mut decoder = Decoder::new(&[0, 0, 1, 0, 1][..]);
        let error = decoder.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(decompress(&[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }
}

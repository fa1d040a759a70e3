//! How a file is compressed: not at all, `GZIP`, `ZLIB` or, files of records only, `SNAPPY`.

use std::io::{self, BufRead, Read, Write};

use flate2::Compression as Level;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::snappy;

/// A form of compression, by TensorFlow's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zlib,
    Snappy,
}

impl Compression {
    /// Reads a name; the empty one means no compression.
    pub fn parse(name: &[u8]) -> Option<Compression> {
        match name {
            b"" => Some(Compression::None),
            b"GZIP" => Some(Compression::Gzip),
            b"ZLIB" => Some(Compression::Zlib),
            _ => None,
        }
    }

    /// Reads the name of a compression of files of records.
    pub(crate) fn parse_of_records(name: &[u8]) -> Option<Compression> {
        match name {
            b"SNAPPY" => Some(Compression::Snappy),
            name => Compression::parse(name),
        }
    }

    /// Decompresses what `source` holds. Files in gzip's format may have several members.
    pub(super) fn decoder<R: BufRead + Send + 'static>(self, source: R) -> Box<dyn Read + Send> {
        match self {
            Compression::None => Box::new(source),
            Compression::Gzip => Box::new(MultiGzDecoder::new(source)),
            Compression::Zlib => Box::new(ZlibDecoder::new(source)),
            Compression::Snappy => Box::new(snappy::Decoder::new(source)),
        }
    }

    /// Compresses what is written on its way to `sink`.
    pub fn encoder<W: Write>(self, sink: W) -> Encoder<W> {
        match self {
            Compression::None => Encoder::None(sink),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(sink, Level::default())),
            Compression::Zlib => Encoder::Zlib(ZlibEncoder::new(sink, Level::default())),
            Compression::Snappy => Encoder::Snappy(snappy::Encoder::new(sink)),
        }
    }
}

/// Writes compressed bytes.
#[derive(Debug)]
pub enum Encoder<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    Zlib(ZlibEncoder<W>),
    Snappy(snappy::Encoder<W>),
}

impl<W: Write> Encoder<W> {
    /// Where the compressed data goes.
    pub(crate) fn sink(&self) -> &W {
        match self {
            Encoder::None(sink) => sink,
            Encoder::Gzip(encoder) => encoder.get_ref(),
            Encoder::Zlib(encoder) => encoder.get_ref(),
            Encoder::Snappy(encoder) => encoder.sink(),
        }
    }

    /// Ends the compressed data and gives the sink back.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Encoder::None(sink) => Ok(sink),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zlib(encoder) => encoder.finish(),
            Encoder::Snappy(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::None(sink) => sink.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zlib(encoder) => encoder.write(bytes),
            Encoder::Snappy(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::None(sink) => sink.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zlib(encoder) => encoder.flush(),
            Encoder::Snappy(encoder) => encoder.flush(),
        }
    }
}

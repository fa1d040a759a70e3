//! The contents of a file, read from front to back.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use tensorfleet_checkpoint::{FileSystem, ReadFile};
use tensorfleet_tensor::{Error, Result, data_loss, unknown_error};

use super::Compression;

/// How much of a file is read at once when the caller does not say.
const BUFFER: usize = 256 << 10;

/// Callers name buffer sizes freely; more than this only wastes memory.
const MAX_BUFFER: usize = 16 << 20;

/// The bytes of a file, decompressed.
pub struct Stream {
    source: BufReader<Box<dyn Read + Send>>,
    compression: Compression,
    position: u64,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("compression", &self.compression)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// Opens a file. `buffer` is how many bytes to read from it at once.
    pub fn open(
        files: &dyn FileSystem,
        path: &str,
        compression: Compression,
        buffer: Option<usize>,
    ) -> Result<Stream> {
        let file = Contents { file: files.open(path)?, offset: 0 };
        Ok(Stream::new(file, compression, buffer))
    }

    /// Reads from any source.
    pub fn new(
        source: impl Read + Send + 'static,
        compression: Compression,
        buffer: Option<usize>,
    ) -> Stream {
        let buffer = buffer.unwrap_or(BUFFER).clamp(1, MAX_BUFFER);
        let source: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(source),
            _ => compression.decoder(BufReader::with_capacity(buffer, source)),
        };
        let source = BufReader::with_capacity(buffer, source);
        Stream { source, compression, position: 0 }
    }

    /// How many bytes were read so far, decompressed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What TensorFlow says when the file ends too early.
    pub fn end_text(&self) -> &'static str {
        match self.compression {
            Compression::None => "Read less bytes than requested",
            Compression::Gzip | Compression::Zlib | Compression::Snappy => "EOF reached",
        }
    }

    /// Appends the next `count` bytes to `out`, or fewer at the end of the file. Memory grows with
    /// what the file has, not with what `count` claims.
    pub fn read(&mut self, count: u64, out: &mut Vec<u8>) -> Result<u64> {
        let before = out.len();
        let outcome = self.source.by_ref().take(count).read_to_end(out);
        self.ended(outcome)?;
        let got = (out.len() - before) as u64;
        self.position += got;
        Ok(got)
    }

    /// Goes past the next `count` bytes; returns how many there were.
    pub fn skip(&mut self, count: u64) -> Result<u64> {
        let outcome = io::copy(&mut self.source.by_ref().take(count), &mut io::sink());
        let skipped = match outcome {
            Ok(skipped) => skipped,
            other => {
                self.ended(other)?;
                0
            }
        };
        self.position += skipped;
        Ok(skipped)
    }

    /// The next line without its end; `None` when there are no more. As in TensorFlow, carriage
    /// returns are dropped wherever they are.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let outcome = self.source.read_until(b'\n', &mut line);
        self.ended(outcome)?;
        self.position += line.len() as u64;
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        line.retain(|&byte| byte != b'\r');
        Ok(Some(line))
    }

    /// The next byte, without going past it; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<u8>> {
        if let [first, ..] = self.source.buffer() {
            return Ok(Some(*first));
        }
        match self.source.fill_buf().map(|bytes| bytes.first().copied()) {
            Ok(first) => Ok(first),
            other => self.ended(other).map(|()| None),
        }
    }

    /// Goes past a byte that was peeked at.
    pub fn advance(&mut self) {
        self.source.consume(1);
        self.position += 1;
    }

    /// Compressed data that stops in the middle simply ends; other failures are errors.
    fn ended<T>(&self, outcome: io::Result<T>) -> Result<()> {
        let Err(error) = outcome else { return Ok(()) };
        if error.kind() == ErrorKind::UnexpectedEof {
            return Ok(());
        }
        if let Some(known) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            return Err(known.clone());
        }
        Err(match (self.compression, self.position) {
            (Compression::None, _) => unknown_error!("{error}"),
            (_, 0) => data_loss!("inflate() failed with error -3: incorrect header check"),
            _ => data_loss!("inflate() failed with error -3: {error}"),
        })
    }
}

/// A file as the standard library reads.
struct Contents {
    file: Box<dyn ReadFile>,
    offset: u64,
}

impl Read for Contents {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.file.len().saturating_sub(self.offset);
        let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        if count > 0 {
            self.file.read_at(self.offset, &mut out[..count]).map_err(io::Error::other)?;
            self.offset += count as u64;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn compressed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut encoder = compression.encoder(Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn lines(bytes: Vec<u8>, compression: Compression) -> Result<Vec<String>> {
        let mut stream = Stream::new(io::Cursor::new(bytes), compression, Some(3));
        let mut lines = Vec::new();
        while let Some(line) = stream.line()? {
            lines.push(String::from_utf8(line).unwrap());
        }
        Ok(lines)
    }

    #[test]
    fn lines_lose_their_ends_and_carriage_returns() {
        let text = b"a\nb\r\n\n c\rd";
        for compression in [Compression::None, Compression::Gzip, Compression::Zlib] {
            let bytes = compressed(compression, text);
            assert_eq!(lines(bytes, compression).unwrap(), ["a", "b", "", " cd"]);
        }
    }

    #[test]
    fn a_gzip_file_may_have_members_but_a_zlib_file_has_one_stream() {
        let twice = |compression| [compressed(compression, b"x\n"), compressed(compression, b"y")];
        let gzip = lines(twice(Compression::Gzip).concat(), Compression::Gzip);
        assert_eq!(gzip.unwrap(), ["x", "y"]);
        let zlib = lines(twice(Compression::Zlib).concat(), Compression::Zlib);
        assert_eq!(zlib.unwrap(), ["x"]);
    }

    #[test]
    fn what_is_not_compressed_is_lost_data() {
        for compression in [Compression::Gzip, Compression::Zlib] {
            let error = lines(b"just some text".to_vec(), compression).unwrap_err();
            assert_eq!(
                error.to_string(),
                "DATA_LOSS: inflate() failed with error -3: incorrect header check"
            );
        }
    }
}

//! TensorFlow's record format.
//!
//! Each record is its length in eight bytes, a masked CRC-32C of those, the data, and a masked
//! CRC-32C of the data; numbers are little-endian.

use std::io::{self, Write};

use tensorfleet_tensor::{Result, data_loss};

use super::Stream;

const LENGTH: usize = 8;
const CHECKSUM: usize = 4;

/// Reads records one after the other.
#[derive(Debug)]
pub struct RecordReader {
    stream: Stream,
}

impl RecordReader {
    /// Starts at the beginning of a stream, which must be at the beginning of a record.
    pub fn new(stream: Stream) -> RecordReader {
        RecordReader { stream }
    }

    /// Where the next record starts, in decompressed bytes.
    pub fn offset(&self) -> u64 {
        self.stream.position()
    }

    /// Goes to where a record starts, which must lie ahead. False: the file ends before.
    pub fn seek(&mut self, offset: u64) -> Result<bool> {
        let count = offset.saturating_sub(self.offset());
        Ok(self.stream.skip(count)? == count)
    }

    /// The next record; `None` at the end. A file that ends within the length of a record just
    /// ends, as for TensorFlow; one that ends within the data has lost some.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let start = self.stream.position();
        let Some(length) = self.checked(start, LENGTH as u64)? else { return Ok(None) };
        let length = u64::from_le_bytes(length.try_into().map_err(|_| corrupted(start))?);
        match self.checked(start + (LENGTH + CHECKSUM) as u64, length)? {
            Some(data) => Ok(Some(data)),
            None => Err(data_loss!(
                "truncated record at {start}' failed with {}",
                self.stream.end_text()
            )),
        }
    }

    /// The next `count` bytes and their checksum, checked; `None` if the file ends before.
    fn checked(&mut self, offset: u64, count: u64) -> Result<Option<Vec<u8>>> {
        let mut data = Vec::new();
        let wanted = count.checked_add(CHECKSUM as u64).ok_or_else(|| corrupted(offset))?;
        if self.stream.read(wanted, &mut data)? < wanted {
            return Ok(None);
        }
        let Some((_, checksum)) = data.split_last_chunk::<CHECKSUM>() else { return Ok(None) };
        let checksum = u32::from_le_bytes(*checksum);
        data.truncate(data.len() - CHECKSUM);
        if masked_crc(&data) == checksum { Ok(Some(data)) } else { Err(corrupted(offset)) }
    }
}

/// Writes records one after the other.
#[derive(Debug)]
pub struct RecordWriter<W: Write> {
    sink: W,
}

impl<W: Write> RecordWriter<W> {
    /// Appends to `sink`.
    pub fn new(sink: W) -> RecordWriter<W> {
        RecordWriter { sink }
    }

    /// Appends a record.
    pub fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let length = (data.len() as u64).to_le_bytes();
        self.sink.write_all(&length)?;
        self.sink.write_all(&masked_crc(&length).to_le_bytes())?;
        self.sink.write_all(data)?;
        self.sink.write_all(&masked_crc(data).to_le_bytes())
    }

    /// Lets readers see what was written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Gives the sink back.
    pub fn into_inner(self) -> W {
        self.sink
    }
}

/// A checksum as it is stored: data that holds its own checksum would check badly otherwise.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn corrupted(offset: u64) -> tensorfleet_tensor::Error {
    let hint = if offset == 0 { " (Is this even a TFRecord file?)" } else { "" };
    data_loss!("corrupted record at {offset}{hint}")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::record::Compression;

    fn file() -> Vec<u8> {
        let mut writer = RecordWriter::new(Vec::new());
        for record in [&b"hello"[..], b"", b"world"] {
            writer.write(record).unwrap();
        }
        writer.into_inner()
    }

    fn check(bytes: &[u8], expect: Expect) {
        let stream = Stream::new(io::Cursor::new(bytes.to_vec()), Compression::None, None);
        let mut reader = RecordReader::new(stream);
        let mut text = String::new();
        loop {
            match reader.read() {
                Ok(None) => break text.push_str("end"),
                Ok(Some(record)) => text += &format!("{} ", String::from_utf8_lossy(&record)),
                Err(error) => break text.push_str(&error.to_string()),
            }
        }
        expect.assert_eq(&text);
    }

    #[test]
    fn records_are_those_of_tensorflow() {
        let hello: String = file()[..21].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hello, "0500000000000000eab2043e68656c6c6fbb1f1c19");
        check(&file(), expect!["hello  world end"]);
    }

    #[test]
    fn a_length_cut_off_ends_the_file_and_data_cut_off_are_lost() {
        check(&file()[..11], expect!["end"]);
        check(
            &file()[..12],
            expect!["DATA_LOSS: truncated record at 0' failed with Read less bytes than requested"],
        );
        check(&file()[..21], expect!["hello end"]);
    }

    #[test]
    fn changed_bytes_are_found() {
        let mut bytes = file();
        bytes[0] ^= 1;
        check(&bytes, expect!["DATA_LOSS: corrupted record at 0 (Is this even a TFRecord file?)"]);
        let mut bytes = file();
        bytes[14] ^= 1;
        check(&bytes, expect!["DATA_LOSS: corrupted record at 12"]);
    }

    #[test]
    fn a_huge_length_allocates_nothing() {
        let length = (u64::MAX - 2).to_le_bytes();
        let bytes = [&length[..], &masked_crc(&length).to_le_bytes(), b"short"].concat();
        check(&bytes, expect!["DATA_LOSS: corrupted record at 12"]);
    }
}

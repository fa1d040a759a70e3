//! Reads the files that frames stand in, and tells an end that a crash has cut from damage.

use tensorfleet_tensor::{Context, Result, data_loss};

use crate::disk::{Disk, DiskFile};
use crate::frame::{HEADER, Header, Kind, padded};
use crate::writer::{End, OLDEST, VERSION};

/// A file of frames, read one after the other.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) name: String,
    file: Box<dyn DiskFile>,
    /// How many bytes the file has.
    pub(crate) len: u64,
    /// Where the next frame begins.
    pub(crate) offset: u64,
    /// What the next frame must continue.
    pub(crate) end: End,
}

impl Frames {
    /// Opens a file of the log.
    pub(crate) fn of_segment(disk: &dyn Disk, name: &str) -> Result<Frames> {
        let mut frames = Frames::of_file(disk, name)?;
        let (header, _) = frames.header(0)?.ok_or_else(|| data_loss!("{name} is no log"))?;
        if header.kind != Kind::Segment {
            return Err(data_loss!("{name} is no file of a log"));
        }
        if !(OLDEST..=VERSION).contains(&header.payload) {
            let version = header.payload;
            return Err(data_loss!("{name} has version {version}, not {OLDEST} to {VERSION}"));
        }
        if header.len != frames.len {
            return Err(data_loss!(
                "{name} has been cut: it has {} of {} bytes",
                frames.len,
                header.len
            ));
        }
        frames.end = End { next: header.number, chain: header.previous };
        frames.offset = HEADER as u64;
        Ok(frames)
    }

    /// Opens a file of frames that are numbered from one.
    pub(crate) fn of_file(disk: &dyn Disk, name: &str) -> Result<Frames> {
        let unreadable = |error| data_loss!("cannot read {name}: {error}");
        let file = disk.open(name).map_err(unreadable)?;
        let len = file.size().map_err(unreadable)?;
        let end = End { next: 1, chain: 0 };
        Ok(Frames { name: name.to_owned(), file, len, offset: 0, end })
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        let read = self.file.read(offset, bytes);
        read.map_err(|error| data_loss!("cannot read {}: {error}", self.name))
    }

    fn header(&self, offset: u64) -> Result<Option<(Header, u32)>> {
        let mut bytes = [0; HEADER];
        let read = self.read(offset, &mut bytes)?;
        Ok(Header::decode(&bytes[..read]))
    }

    /// The next frame that continues the ones before; nothing where they end.
    pub(crate) fn next(&mut self) -> Result<Option<(Header, Vec<u8>)>> {
        let Some((header, chain)) = self.header(self.offset)? else { return Ok(None) };
        let continues = header.number == self.end.next && header.previous == self.end.chain;
        let begin = self.offset + HEADER as u64;
        let fits = padded(header.len) <= self.len.saturating_sub(begin);
        if !continues || !fits || matches!(header.kind, Kind::End | Kind::Segment) {
            return Ok(None);
        }
        let mut payload = vec![0; header.len as usize];
        let read = self.read(begin, &mut payload)?;
        if read != payload.len() || crc32c::crc32c(&payload) != header.payload {
            return Ok(None);
        }
        self.offset = begin + padded(header.len);
        self.end = End { next: header.number + 1, chain };
        Ok(Some((header, payload)))
    }

    /// An error unless the file ends here, and says so.
    pub(crate) fn check_last(&self) -> Result<()> {
        let end = self.header(self.offset)?.map(|(header, _)| header);
        let ends = end.is_some_and(|header| {
            header.kind == Kind::End
                && header.number == self.end.next
                && header.previous == self.end.chain
        });
        if ends && self.offset + HEADER as u64 == self.len {
            return Ok(());
        }
        Err(data_loss!("{} has been cut, or more than it was added to it", self.name))
    }

    /// An error if a frame that was on the disk for sure is not among those read.
    pub(crate) fn check_end(&self) -> Result<()> {
        const BLOCK: usize = 1 << 20;
        let (mut block, zeroes) = (vec![0; BLOCK], vec![0; BLOCK]);
        let mut offset = self.offset;
        while offset < self.len {
            let read = self.read(offset, &mut block)?;
            // What was never written is by far the most.
            let places = if block[..read] == zeroes[..read] { 0..0 } else { 0..read };
            for at in places.step_by(8) {
                let found = match Header::decode(&block[at..read]) {
                    None if at + HEADER > read => self.header(offset + at as u64)?,
                    found => found,
                };
                if let Some((header, _)) = found
                    && header.synced >= self.end.next
                {
                    return Err(data_loss!(
                        "{} is damaged: record {} was on the disk and cannot be read",
                        self.name,
                        self.end.next
                    ));
                }
            }
            offset += BLOCK as u64;
        }
        Ok(())
    }
}

/// The files of a log in their order.
pub(crate) fn segments(disk: &dyn Disk, names: &[String]) -> Result<Vec<Frames>> {
    let mut segments = names
        .iter()
        .filter(|name| numbered(name, "log-").is_some())
        .map(|name| Frames::of_segment(disk, name))
        .collect::<Result<Vec<_>>>()
        .context(|| "the log of the data directory")?;
    segments.sort_by_key(|segment| segment.end.next);
    Ok(segments)
}

/// The number in a name such as `log-0000000000000001`.
pub(crate) fn numbered(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

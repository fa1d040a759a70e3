//! A frame: a checked header, and a payload that it vouches for.
//!
//! Each header has the checksum of the one before it, so a frame that is missing, doubled or of another
//! log is noticed. It also says up to which number frames were surely on the disk when it was written:
//! a broken frame below that number was broken by the disk, one above it may have been cut by a crash.

/// The length of a header; payloads are filled up to a multiple of eight bytes.
pub(crate) const HEADER: usize = 48;
const MAGIC: u32 = 0x314a_4654;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Nothing: here the log ended when all of it was on the disk. The next frame takes its place.
    End = 1,
    /// An op that changes variables.
    Op = 2,
    /// A variable can be found.
    Created = 3,
    Changed = 4,
    Deleted = 5,
    /// A unit has ended.
    Ended = 6,
    /// In a snapshot: what it is a snapshot of.
    Snapshot = 7,
    /// In a snapshot: a variable and its value.
    Variable = 8,
    /// At the start of a file of the log: the length of the file, and the number and the header
    /// before its first frame.
    Segment = 9,
    /// A resource that is no variable can be found; in a snapshot: there is one.
    Described = 10,
    /// Something happened to such a resource; in a snapshot: what makes it what it is.
    Happened = 11,
    /// A unit begins that belongs to a call of a master.
    Begun = 30,
    /// What became of a call.
    Outcome = 31,
}

impl Kind {
    pub(crate) fn from_number(number: u8) -> Option<Kind> {
        use Kind::*;
        let first = [End, Op, Created, Changed, Deleted, Ended, Snapshot, Variable, Segment];
        let all = first.into_iter().chain([Described, Happened, Begun, Outcome]);
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The length of the payload.
    pub(crate) len: u64,
    pub(crate) number: u64,
    /// All frames up to this number were on the disk.
    pub(crate) synced: u64,
    /// The checksum of the header before.
    pub(crate) previous: u32,
    /// The checksum of the payload.
    pub(crate) payload: u32,
}

impl Header {
    /// The bytes of the header, and its checksum.
    pub(crate) fn encode(&self) -> ([u8; HEADER], u32) {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[8..16].copy_from_slice(&self.len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.synced.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.previous.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.payload.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..44]);
        bytes[44..].copy_from_slice(&sum.to_le_bytes());
        (bytes, sum)
    }

    /// Reads a header, and its checksum; nothing if these bytes are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Header, u32)> {
        let bytes: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let sum = crc32c::crc32c(&bytes[..44]);
        if word(0) != MAGIC || word(44) != sum {
            return None;
        }
        let header = Header {
            kind: Kind::from_number(bytes[4])?,
            len: long(8),
            number: long(16),
            synced: long(24),
            previous: word(32),
            payload: word(36),
        };
        Some((header, sum))
    }
}

/// How long a payload is on the disk.
pub(crate) fn padded(len: u64) -> u64 {
    len.saturating_add(7) & !7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_of_a_header_goes_unnoticed() {
        let header = Header {
            kind: Kind::Changed,
            len: 77,
            number: 1 << 40,
            synced: 12,
            previous: 3,
            payload: 4,
        };
        let (bytes, sum) = header.encode();
        assert_eq!(Header::decode(&bytes), Some((header, sum)));
        for bit in 0..8 * HEADER {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&flipped), None, "bit {bit}");
        }
        assert_eq!(Header::decode(&bytes[1..]), None);
    }
}

//! Varints and masked checksums, the atoms of every file here.

/// Appends `value`, seven bits a byte, low bits first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint off the front of `input`; `None` if it is cut off or too large.
pub(crate) fn take_varint(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            // The tenth byte has room for one bit only.
            return (shift < 63 || byte <= 1).then_some(value);
        }
    }
    None
}

/// Takes `len` bytes off the front of `input`.
pub(crate) fn take<'a>(input: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(len)?;
    *input = rest;
    Some(taken)
}

/// Takes a varint that is a length off the front of `input`.
pub(crate) fn take_varint_usize(input: &mut &[u8]) -> Option<usize> {
    take_varint(input).and_then(|value| usize::try_from(value).ok())
}

/// Takes a little-endian word off the front of `input`.
pub(crate) fn take_u32(input: &mut &[u8]) -> Option<u32> {
    let (bytes, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(u32::from_le_bytes(*bytes))
}

const MASK_DELTA: u32 = 0xa282_ead8;

/// A checksum as it is stored. Data that holds its own checksum would check badly otherwise.
pub(crate) fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// A checksum as it is computed.
pub(crate) fn unmask(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut input = &bytes[..];
            assert_eq!(take_varint(&mut input), Some(value));
            assert!(input.is_empty());
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn varints_that_overflow_are_refused() {
        assert_eq!(take_varint(&mut &[0xff; 10][..]), None);
        assert_eq!(take_varint(&mut &[0x80; 11][..]), None);
        let too_large = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(take_varint(&mut &too_large[..]), None);
    }

    #[test]
    fn masks_undo() {
        for crc in [0, 1, 0xdead_beef, u32::MAX] {
            assert_eq!(unmask(mask(crc)), crc);
        }
        // The trailer of every empty block that TensorFlow writes.
        assert_eq!(mask(crc32c::crc32c(&[0, 0, 0, 0, 1, 0, 0, 0, 0])), 0xb0a1_f2c0);
    }
}

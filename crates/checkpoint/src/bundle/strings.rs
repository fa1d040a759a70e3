//! How the elements of a string tensor are stored.
//!
//! All lengths come first as varints, then a checksum of the lengths, then all strings. The
//! checksums cover each length as the number it is (four bytes, or eight if it needs them), not as
//! the varint it is stored as.

use bytes::Bytes;
use tensorfleet_tensor::{Result, data_loss};

use crate::coding::{mask, put_varint, take_u32, take_varint_usize, unmask};

/// The lengths and their checksum as stored, and the checksum of all that so far.
pub(super) fn encode_lengths(strings: &[Bytes]) -> (Vec<u8>, u32) {
    let mut stored = Vec::with_capacity(strings.len() + 4);
    let mut crc = 0;
    for string in strings {
        put_varint(&mut stored, string.len() as u64);
        crc = add_length(crc, string.len());
    }
    let checksum = mask(crc).to_le_bytes();
    stored.extend_from_slice(&checksum);
    (stored, crc32c::crc32c_append(crc, &checksum))
}

/// Reads `count` strings from all that is stored of them; also returns the checksum of it.
pub(super) fn decode(stored: &Bytes, count: usize) -> Result<(Vec<Bytes>, u32)> {
    let short = || data_loss!("string lengths and strings are longer than their entry");
    let mut rest = &stored[..];
    // A length takes at least a byte; checked before there is room made for so many.
    if count > rest.len() {
        return Err(short());
    }
    let mut lengths = Vec::with_capacity(count);
    let mut crc = 0;
    for _ in 0..count {
        let length = take_varint_usize(&mut rest).ok_or_else(short)?;
        crc = add_length(crc, length);
        lengths.push(length);
    }
    let checksum = take_u32(&mut rest).ok_or_else(short)?;
    if unmask(checksum) != crc {
        return Err(data_loss!(
            "The length checksum does not match: expected {:08} but actual is {crc:08}",
            unmask(checksum)
        ));
    }
    crc = crc32c::crc32c_append(crc, &checksum.to_le_bytes());
    let mut contents = stored.slice(stored.len() - rest.len()..);
    crc = crc32c::crc32c_append(crc, &contents);
    let strings = lengths.into_iter().map(|length| {
        if length > contents.len() { Err(short()) } else { Ok(contents.split_to(length)) }
    });
    let strings = strings.collect::<Result<Vec<_>>>()?;
    if !contents.is_empty() {
        return Err(data_loss!("strings are shorter than their entry"));
    }
    Ok((strings, crc))
}

fn add_length(crc: u32, length: usize) -> u32 {
    match u32::try_from(length) {
        Ok(short) => crc32c::crc32c_append(crc, &short.to_le_bytes()),
        Err(_) => crc32c::crc32c_append(crc, &(length as u64).to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_round_trip(strings: Vec<Vec<u8>>) {
            let strings: Vec<Bytes> = strings.into_iter().map(Bytes::from).collect();
            let (mut stored, crc) = encode_lengths(&strings);
            stored.extend(strings.iter().flatten());
            let whole = crc32c::crc32c_append(crc, &strings.concat());
            let decoded = decode(&stored.into(), strings.len()).unwrap();
            prop_assert_eq!(decoded, (strings, whole));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(stored: Vec<u8>, count in 0usize..20) {
            decode(&stored.into(), count).ok();
        }
    }
}

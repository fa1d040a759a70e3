//! Byte strings whose order is the order of what they encode: the keys under which slices are
//! stored.

/// Appends an unsigned number: how many bytes it has, then these bytes, high ones first.
pub(crate) fn put_number(out: &mut Vec<u8>, value: u64) {
    let skipped = value.leading_zeros() as usize / 8;
    out.push((8 - skipped) as u8);
    out.extend_from_slice(&value.to_be_bytes()[skipped..]);
}

/// Appends a string and its terminator.
pub(crate) fn put_string(out: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        match byte {
            0 => out.extend_from_slice(&[0, 0xff]),
            0xff => out.extend_from_slice(&[0xff, 0]),
            byte => out.push(byte),
        }
    }
    out.extend_from_slice(&[0, 1]);
}

/// Appends a signed number.
///
/// A number of `n` bytes begins with `n` bits that are the opposite of its sign bit, and a bit that
/// ends them; the sign-extended number fills the rest.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    let magnitude = if value < 0 { !value } else { value };
    let bits = (64 - magnitude.leading_zeros()) as usize;
    // Each byte adds seven bits to the sign bit that the first one has; the tenth adds the rest.
    let len = (bits / 7 + 1).min(10);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&i128::from(value).to_be_bytes());
    let header = 0xffc0_u16 << (10 - len);
    let bytes = &mut bytes[16 - len..];
    for (byte, mask) in bytes.iter_mut().zip(header.to_be_bytes()) {
        *byte ^= mask;
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<T>(put: fn(&mut Vec<u8>, T), value: T) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, value);
        out
    }

    #[test]
    fn encodings() {
        assert_eq!(encoded(put_number, 0), [0]);
        assert_eq!(encoded(put_number, 0x1234), [2, 0x12, 0x34]);
        assert_eq!(encoded(put_number, u64::MAX), [8, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(encoded(put_string, b"a\0\xffb".as_slice()), b"a\0\xff\xff\0b\0\x01");
        assert_eq!(encoded(put_signed, 0), [0x80]);
        assert_eq!(encoded(put_signed, -1), [0x7f]);
        assert_eq!(encoded(put_signed, 0x42_4242), [0xf0, 0x42, 0x42, 0x42]);
        assert_eq!(encoded(put_signed, -0x800), [0x38, 0]);
    }

    #[test]
    fn the_order_of_encodings_is_the_order_of_numbers() {
        let mut numbers: Vec<i64> = (0..63).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
        numbers.extend(numbers.clone().iter().map(|number| !number));
        numbers.extend([i64::MIN, i64::MAX]);
        numbers.sort_unstable();
        numbers.dedup();
        let encodings: Vec<_> = numbers.iter().map(|&n| encoded(put_signed, n)).collect();
        assert!(encodings.is_sorted_by(|a, b| a < b));
    }
}

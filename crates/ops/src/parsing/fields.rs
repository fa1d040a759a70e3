//! The fields of an encoded protocol message, read in place: nothing is copied or allocated.

/// What a field holds, as far as the encoding tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(&'a [u8]),
}

/// The encoding is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Walks over the fields of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// The next field with its number; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Field<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = u32::try_from(varint(&mut self.rest)?).map_err(|_| Malformed)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(Malformed);
        }
        let field = match tag & 7 {
            0 => Field::Varint(varint(&mut self.rest)?),
            1 => Field::Fixed64(array(&mut self.rest)?),
            2 => Field::Bytes(bytes(&mut self.rest)?),
            3 => {
                // An old form of nested message, for which nobody here has a use.
                skip(&mut self.rest, number, 3)?;
                return self.next();
            }
            5 => Field::Fixed32(array(&mut self.rest)?),
            _ => return Err(Malformed),
        };
        Ok(Some((number, field)))
    }
}

/// How deep groups may nest.
const DEEPEST: usize = 100;

/// Takes what follows a tag, whatever it is: a group up to its end.
pub(crate) fn skip(rest: &mut &[u8], number: u32, wire: u8) -> Result<(), Malformed> {
    skip_nested(rest, number, wire, 0)
}

fn skip_nested(rest: &mut &[u8], number: u32, wire: u8, depth: usize) -> Result<(), Malformed> {
    match wire {
        0 => drop(varint(rest)?),
        1 => drop(array::<8>(rest)?),
        2 => drop(bytes(rest)?),
        3 if depth < DEEPEST => loop {
            let tag = u32::try_from(varint(rest)?).map_err(|_| Malformed)?;
            match tag & 7 {
                4 if tag >> 3 == number => break,
                wire => skip_nested(rest, tag >> 3, wire as u8, depth + 1)?,
            }
        },
        5 => drop(array::<4>(rest)?),
        _ => return Err(Malformed),
    }
    Ok(())
}

/// Takes so many bytes.
pub(crate) fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (head, tail) = rest.split_first_chunk().ok_or(Malformed)?;
    *rest = tail;
    Ok(*head)
}

/// Takes a number of variable length.
#[inline]
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    if let [byte @ 0..0x80, tail @ ..] = *rest {
        *rest = tail;
        return Ok(u64::from(*byte));
    }
    let mut value = 0;
    for (i, &byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    Err(Malformed)
}

/// Takes bytes with their length in front.
#[inline]
pub(crate) fn bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let len = usize::try_from(varint(rest)?).map_err(|_| Malformed)?;
    let (head, tail) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = tail;
    Ok(head)
}

/// Takes a nested message with its length in front. One that should be longer than what it is in ends
/// with that: TensorFlow's fast parser of examples does not mind.
#[inline]
pub(super) fn nested<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    // Higher bits of a length do not count either.
    let len = varint(rest)? as u32 as usize;
    let (head, tail) = rest.split_at(len.min(rest.len()));
    *rest = tail;
    Ok(head)
}

/// Appends a number of variable length.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_place() {
        let message = b"\x08\x96\x01\x12\x02hi\x1d\x00\x00\x80\x3f\x23\x08\x01\x24\x30\x07";
        let mut fields = Fields::new(message);
        assert_eq!(fields.next(), Ok(Some((1, Field::Varint(150)))));
        assert_eq!(fields.next(), Ok(Some((2, Field::Bytes(b"hi")))));
        assert_eq!(fields.next(), Ok(Some((3, Field::Fixed32(1f32.to_le_bytes())))));
        assert_eq!(fields.next(), Ok(Some((6, Field::Varint(7)))));
        assert_eq!(fields.next(), Ok(None));
        for broken in [&b"\x08"[..], b"\x12\x05hi", b"\x00\x01", b"\x0f", b"\x23\x08"] {
            assert_eq!(Fields::new(broken).next(), Err(Malformed), "{broken:?}");
        }
    }

    #[test]
    fn numbers_survive() {
        for value in [0, 1, 127, 128, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(varint(&mut &out[..]), Ok(value));
        }
    }
}

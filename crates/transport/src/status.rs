//! How a call ended, and how that is written into the last headers.

use bytes::Bytes;

use crate::http2::encode_header;

/// gRPC's number for an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    pub const DEADLINE_EXCEEDED: Code = Code(4);
    pub const PERMISSION_DENIED: Code = Code(7);
    pub const RESOURCE_EXHAUSTED: Code = Code(8);
    pub const UNIMPLEMENTED: Code = Code(12);
    pub const INTERNAL: Code = Code(13);
    pub const UNAVAILABLE: Code = Code(14);
    pub const UNAUTHENTICATED: Code = Code(16);
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
    /// What programs read, in `grpc-status-details-bin`.
    pub details: Bytes,
}

impl Status {
    /// A status without details.
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into(), details: Bytes::new() }
    }

    /// Appends the headers that say it to a block.
    pub(crate) fn encode(&self, block: &mut Vec<u8>) {
        encode_header(b"grpc-status", self.code.0.to_string().as_bytes(), block);
        if !self.message.is_empty() {
            encode_header(b"grpc-message", &percent(&self.message), block);
        }
        if !self.details.is_empty() {
            encode_header(b"grpc-status-details-bin", &base64(&self.details), block);
        }
    }
}

/// Text as a header can hold it: what is not plain, and the percent sign, is written as a number.
fn percent(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut written = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | ..b' ' | 0x7f.. => {
                let (high, low) = (byte >> 4, byte & 15);
                written.extend([b'%', DIGITS[usize::from(high)], DIGITS[usize::from(low)]]);
            }
            _ => written.push(byte),
        }
    }
    written
}

/// Bytes as a header can hold them, without padding.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut written = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(bits);
        for at in 0..=group.len() {
            let letter = bits >> (18 - 6 * at) & 63;
            written.push(LETTERS[letter as usize]);
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_as_grpc_reads_them() {
        assert_eq!(percent("a b~"), b"a b~");
        assert_eq!(percent("100%\n\u{fc}\x7f"), b"100%25%0A%C3%BC%7F");
    }

    #[test]
    fn details_are_written_as_the_standard_shows_it() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text.as_bytes());
        }
        assert_eq!(base64(&[0xfb, 0xff]), b"+/8");
    }
}

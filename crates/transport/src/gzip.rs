//! Messages that were compressed.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;

use crate::{Code, MAX_MESSAGE, Status};

/// From this size on it is work for another thread.
const LARGE: usize = 64 << 10;

/// What a message will be: its end says it, and more is not taken.
pub(crate) fn size(message: &[u8]) -> Result<usize, Status> {
    let size = message.last_chunk::<4>().ok_or_else(broken)?;
    let size = u32::from_le_bytes(*size) as usize;
    if size > MAX_MESSAGE {
        let words = format!("a message of {size} bytes is longer than the limit of {MAX_MESSAGE}");
        return Err(Status::new(Code::RESOURCE_EXHAUSTED, words));
    }
    Ok(size)
}

/// The message as it was.
pub(crate) async fn inflate(message: Bytes) -> Result<Bytes, Status> {
    if message.len().max(size(&message)?) < LARGE {
        return inflate_now(&message);
    }
    let inflating = tokio::task::spawn_blocking(move || inflate_now(&message));
    inflating.await.unwrap_or_else(|_| Err(broken()))
}

pub(crate) fn inflate_now(message: &[u8]) -> Result<Bytes, Status> {
    let size = size(message)?;
    let mut inflated = Vec::new();
    // Room is made as it is filled: the end of the message may say anything.
    let read = GzDecoder::new(message).take(size as u64 + 1).read_to_end(&mut inflated);
    if read.is_err() || inflated.len() != size {
        return Err(broken());
    }
    Ok(inflated.into())
}

fn broken() -> Status {
    Status::new(Code::INTERNAL, "a compressed message cannot be read")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn deflated(message: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(message).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn messages_are_inflated() {
        for len in [0, 10, 1 << 20] {
            let message = vec![7; len];
            assert_eq!(inflate(deflated(&message).into()).await.unwrap(), message);
        }
    }

    #[test]
    fn what_is_longer_than_it_says_is_refused() {
        let good = deflated(&[7; 100_000]);
        for says in [0u32, 99_999, 100_001, 2_000_000_000] {
            let mut bad = good.clone();
            let end = bad.len() - 4;
            bad[end..].copy_from_slice(&says.to_le_bytes());
            assert_eq!(inflate_now(&bad).unwrap_err().code, Code::INTERNAL, "{says}");
        }
        let mut long = good.clone();
        long.splice(good.len() - 4.., [0xff; 4]);
        assert_eq!(inflate_now(&long).unwrap_err().code, Code::RESOURCE_EXHAUSTED);
        for len in [0, 3, 10, good.len() - 1] {
            inflate_now(&good[..len]).unwrap_err();
        }
    }
}

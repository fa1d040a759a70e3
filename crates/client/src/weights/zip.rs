//! Archives of NumPy's `.npz` format: ZIP files. Ours are not compressed; those of others may be.

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use tensorfleet_tensor::{Result, data_loss, invalid_argument, unimplemented_error};

/// What stands before a file, before its entry in the directory, and before the end.
const FILE: u32 = 0x0403_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// How much the end takes without its comment.
const END_SIZE: usize = 22;
/// The version of the format that a reader must know, and the first of January 1980.
const VERSION: u16 = 20;
const DATE: u16 = 0x21;
/// Ways of compression.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Packs files.
pub(super) fn archive(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    let small = |size: usize| {
        u32::try_from(size).map_err(|_| {
            invalid_argument!("archives above 4 GB are not written; safetensors may be that large")
        })
    };
    for (name, content) in files {
        let (offset, size) = (small(archive.len())?, small(content.len())?);
        let name_size = u16::try_from(name.len())
            .map_err(|_| invalid_argument!("the name {name:?} is too long"))?;
        let mut crc = Crc::new();
        crc.update(content);
        // What an entry of the directory and the file itself say alike.
        let mut about = Vec::new();
        // Bit 11: names are UTF-8.
        for half in [VERSION, 1 << 11, STORED, 0, DATE] {
            about.extend(half.to_le_bytes());
        }
        for word in [crc.sum(), size, size] {
            about.extend(word.to_le_bytes());
        }
        about.extend(name_size.to_le_bytes());
        about.extend(0u16.to_le_bytes());
        archive.extend(FILE.to_le_bytes());
        archive.extend(&about);
        archive.extend(name.as_bytes());
        archive.extend(content);
        directory.extend(ENTRY.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&about);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size) = (small(archive.len())?, small(directory.len())?);
    let count = u16::try_from(files.len())
        .map_err(|_| invalid_argument!("{} tensors are too many for an archive", files.len()))?;
    archive.extend(directory);
    archive.extend(END.to_le_bytes());
    archive.extend([0; 4]);
    for _ in 0..2 {
        archive.extend(count.to_le_bytes());
    }
    for word in [size, start] {
        archive.extend(word.to_le_bytes());
    }
    archive.extend([0; 2]);
    Ok(archive)
}

fn half(bytes: &[u8], at: usize) -> Result<u16> {
    let found = bytes.get(at..at + 2).and_then(|found| found.try_into().ok());
    found.map(u16::from_le_bytes).ok_or_else(|| data_loss!("the archive ends too early"))
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let found = bytes.get(at..at + 4).and_then(|found| found.try_into().ok());
    found.map(u32::from_le_bytes).ok_or_else(|| data_loss!("the archive ends too early"))
}

/// A size or place; one of all ones stands for a larger one elsewhere.
fn size(bytes: &[u8], at: usize) -> Result<usize> {
    match word(bytes, at)? {
        u32::MAX => Err(unimplemented_error!("archives above 4 GB are not read")),
        size => Ok(size as usize),
    }
}

/// Unpacks files, in the order of the directory.
pub(super) fn files(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let broken = || data_loss!("it is no archive, or it is broken");
    let last = archive.len().checked_sub(END_SIZE).ok_or_else(broken)?;
    // A comment may follow the end.
    let end = (last.saturating_sub(usize::from(u16::MAX))..=last)
        .rev()
        .find(|&at| word(archive, at).is_ok_and(|word| word == END))
        .ok_or_else(broken)?;
    let count = half(archive, end + 10)?;
    let mut at = size(archive, end + 16)?;
    let mut files = Vec::new();
    for _ in 0..count {
        if word(archive, at)? != ENTRY {
            return Err(broken());
        }
        let way = half(archive, at + 10)?;
        let (crc, packed) = (word(archive, at + 16)?, size(archive, at + 20)?);
        let unpacked = size(archive, at + 24)?;
        let name_size = usize::from(half(archive, at + 28)?);
        let others = usize::from(half(archive, at + 30)?) + usize::from(half(archive, at + 32)?);
        let offset = size(archive, at + 42)?;
        let name = archive.get(at + 46..at + 46 + name_size).ok_or_else(broken)?;
        let name = String::from_utf8(name.to_vec()).map_err(|_| broken())?;
        at += 46 + name_size + others;

        if word(archive, offset)? != FILE {
            return Err(broken());
        }
        let start = offset
            + 30
            + usize::from(half(archive, offset + 26)?)
            + usize::from(half(archive, offset + 28)?);
        let content =
            archive.get(start..).and_then(|rest| rest.get(..packed)).ok_or_else(broken)?;
        let content = match way {
            STORED => content.to_vec(),
            DEFLATED => {
                let mut all = Vec::new();
                // No more than it says, whatever comes out.
                let mut reader = DeflateDecoder::new(content).take(unpacked as u64 + 1);
                reader.read_to_end(&mut all).map_err(|error| data_loss!("{name}: {error}"))?;
                all
            }
            way => {
                return Err(unimplemented_error!(
                    "{name} is compressed in a way ({way}) unknown here"
                ));
            }
        };
        let mut sum = Crc::new();
        sum.update(&content);
        if content.len() != unpacked || sum.sum() != crc {
            return Err(data_loss!("{name} is broken"));
        }
        files.push((name, content));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Vec<(String, Vec<u8>)> {
        vec![("a.npy".to_owned(), vec![1, 2, 3]), ("ö/b.npy".to_owned(), Vec::new())]
    }

    #[test]
    fn files_come_back() {
        assert_eq!(files(&archive(&two()).unwrap()).unwrap(), two());
        let mut commented = archive(&two()).unwrap();
        let length = commented.len();
        commented[length - 2] = 5;
        commented.extend(b"hello");
        assert_eq!(files(&commented).unwrap(), two());
        assert!(files(&archive(&[]).unwrap()).unwrap().is_empty());
    }

    #[test]
    fn what_is_broken_is_refused() {
        let good = archive(&two()).unwrap();
        for end in 0..good.len() {
            assert!(files(&good[..end]).is_err(), "{end}");
        }
        let mut changed = good;
        // An element of the first file, behind 30 bytes and its name.
        changed[36] ^= 1;
        assert!(files(&changed).unwrap_err().message().contains("a.npy is broken"));
    }
}

//! The incarnations of a task: the numbers by which others know that its devices are the same.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use tensorfleet_tensor::{Result, data_loss, failed_precondition};

use crate::disk::sync_directory;

const FILE: &str = "incarnations";
const HEAD: &str = "tensorfleet incarnations 1";

/// The numbers of a directory, which this process has for itself. What is not there yet is taken from
/// those that were drawn, and stays.
pub(crate) fn incarnations(directory: &Path, drawn: &[u64]) -> Result<Vec<u64>> {
    let mut known = match fs::read_to_string(directory.join(FILE)) {
        Ok(text) => read(&text)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed_precondition!("{FILE} cannot be read: {error}")),
    };
    if known.len() < drawn.len() {
        known.extend(&drawn[known.len()..]);
        let written = write(directory, &known);
        written.map_err(|error| failed_precondition!("{FILE} cannot be written: {error}"))?;
    }
    known.truncate(drawn.len());
    Ok(known)
}

fn write(directory: &Path, known: &[u64]) -> std::io::Result<()> {
    let numbers: Vec<String> = known.iter().map(|number| format!("{number:016x}")).collect();
    let text = format!("{HEAD}\n{}\n", numbers.join("\n"));
    let sum = crc32c::crc32c(text.as_bytes());
    let new = directory.join(format!("{FILE}.new"));
    let mut file = File::create(&new)?;
    file.write_all(format!("{text}{sum:08x}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(new, directory.join(FILE))?;
    sync_directory(directory)
}

fn read(text: &str) -> Result<Vec<u64>> {
    let damaged = || data_loss!("the file `{FILE}` is damaged or of another version");
    let end = text.trim_end_matches('\n').rfind('\n').ok_or_else(damaged)? + 1;
    let (lines, sum) = text.split_at(end);
    if sum != format!("{:08x}\n", crc32c::crc32c(lines.as_bytes())) {
        return Err(damaged());
    }
    let mut lines = lines.lines();
    if lines.next() != Some(HEAD) {
        return Err(damaged());
    }
    lines.map(|line| u64::from_str_radix(line, 16).map_err(|_| damaged())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(incarnations(path, &[7]).unwrap(), [7]);
        assert_eq!(incarnations(path, &[8, 9]).unwrap(), [7, 9], "a device more");
        assert_eq!(incarnations(path, &[1]).unwrap(), [7]);
        let whole = fs::read(path.join(FILE)).unwrap();
        for at in 0..whole.len() {
            let mut text = whole.clone();
            text[at] ^= 1;
            fs::write(path.join(FILE), text).unwrap();
            assert!(incarnations(path, &[1]).is_err(), "byte {at}");
        }
        fs::write(path.join(FILE), &whole[..whole.len() - 9]).unwrap();
        assert!(incarnations(path, &[1]).is_err());
    }
}

//! Files that say that somebody is at work.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tensorfleet_tensor::{Result, already_exists};

use super::local::failure;

/// A file that is locked, and deleted when the claim is dropped.
///
/// The lock is the operating system's: it ends with the process that held it, however that ended, so
/// a file that was left behind refuses nobody.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _file: File,
}

impl Claim {
    /// Locks a file and writes `text` into it. `ALREADY_EXISTS`, with the text of whoever holds it,
    /// if it is locked.
    pub(super) fn new(path: &str, text: &str) -> Result<Claim> {
        let failed = |error| failure(path, &error);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = loop {
            let mut file = options.open(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut theirs = String::new();
                    file.read_to_string(&mut theirs).map_err(failed)?;
                    return Err(already_exists!("{theirs}"));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The last holder may have deleted it between the two: then others lock another file.
            if is_at(&file, path).map_err(failed)? {
                break file;
            }
        };
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Claim { path: Path::new(path).to_owned(), _file: file })
    }
}

/// Whether an open file is the one at a path.
fn is_at(file: &File, path: &str) -> io::Result<bool> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(identity(there) == identity(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // There is nobody to tell, and a leftover harms nobody.
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tensorfleet_tensor::Code;

    use super::*;

    #[test]
    fn one_at_a_time_and_leftovers_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.lockfile").display().to_string();
        fs::write(&path, "left by one that was killed").unwrap();
        let claim = Claim::new(&path, "first").unwrap();
        let refused = Claim::new(&path, "second").unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::AlreadyExists, "first"));
        drop(claim);
        assert!(!Path::new(&path).exists());
        Claim::new(&path, "third").unwrap();
    }

    #[test]
    fn a_file_that_was_deleted_or_replaced_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.lockfile").display().to_string();
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
        File::create(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
    }

    #[test]
    fn claims_of_many_threads_exclude_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.lockfile").display().to_string();
        let holders = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(claim) = Claim::new(&path, "mine") {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(claim);
                        }
                    }
                });
            }
        });
    }
}

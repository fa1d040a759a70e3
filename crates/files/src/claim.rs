//! Files that say that somebody is at work.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tensorfleet_tensor::{Result, already_exists};

use super::local::failure;

/// A file that is locked, and deleted when the claim is dropped.
///
/// The lock is the operating system's: it ends with the process that held it, however that ended, so
/// a file that was left behind refuses nobody.
#[derive(Debug)]
pub struct Claim {
    place: Place,
    _file: File,
}

/// Where the file of a claim is: below the working directory, or in a directory that was opened.
#[derive(Debug)]
pub(super) struct Place {
    directory: Option<OwnedFd>,
    name: String,
}

impl Place {
    pub(super) fn at(path: &str) -> Place {
        Place { directory: None, name: path.to_owned() }
    }

    pub(super) fn within(directory: OwnedFd, name: String) -> Place {
        Place { directory: Some(directory), name }
    }

    fn base(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// A name inside of a directory is not followed elsewhere.
    fn open(&self) -> io::Result<File> {
        let mut flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        if self.directory.is_some() {
            flags |= OFlags::NOFOLLOW;
        }
        let mode = Mode::from_raw_mode(0o666);
        Ok(File::from(rustix::fs::openat(self.base(), &*self.name, flags, mode)?))
    }

    /// Whether an open file is the one that is there.
    fn holds(&self, file: &File) -> io::Result<bool> {
        let ours = file.metadata()?;
        match rustix::fs::statat(self.base(), &*self.name, AtFlags::empty()) {
            Ok(there) => Ok((there.st_dev, there.st_ino) == (ours.dev(), ours.ino())),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Claim {
    /// Locks a file and writes `text` into it. `ALREADY_EXISTS`, with the text of whoever holds it,
    /// if it is locked.
    pub(super) fn new(place: Place, path: &str, text: &str) -> Result<Claim> {
        let failed = |error| failure(path, &error);
        let mut file = loop {
            let mut file = place.open().map_err(failed)?;
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
            if place.holds(&file).map_err(failed)? {
                break file;
            }
        };
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Claim { place, _file: file })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // There is nobody to tell, and a leftover harms nobody.
        rustix::fs::unlinkat(self.place.base(), &*self.place.name, AtFlags::empty()).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tensorfleet_tensor::Code;

    use super::*;

    fn claim(path: &str, text: &str) -> Result<Claim> {
        Claim::new(Place::at(path), path, text)
    }

    #[test]
    fn one_at_a_time_and_leftovers_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.lockfile").display().to_string();
        fs::write(&path, "left by one that was killed").unwrap();
        let first = claim(&path, "first").unwrap();
        let refused = claim(&path, "second").unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::AlreadyExists, "first"));
        drop(first);
        assert!(!Path::new(&path).exists());
        claim(&path, "third").unwrap();
    }

    #[test]
    fn a_file_that_was_deleted_or_replaced_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.lockfile").display().to_string();
        let file = File::create(&path).unwrap();
        let place = Place::at(&path);
        assert!(place.holds(&file).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!place.holds(&file).unwrap());
        File::create(&path).unwrap();
        assert!(!place.holds(&file).unwrap());
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
                        if let Ok(mine) = claim(&path, "mine") {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(mine);
                        }
                    }
                });
            }
        });
    }
}

//! The few things that a journal asks of a disk, so that tests can put a worse one in its place.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A directory.
pub trait Disk: fmt::Debug + Send + Sync {
    /// The names of the files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes a file of some length, empty of content; one of that name is replaced.
    fn create(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file for reading.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, which it has for good when this returns.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A file.
pub trait DiskFile: fmt::Debug + Send {
    /// Writes all bytes at a place.
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Reads as many bytes as there are at a place, at most those that fit.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// How many bytes the file has.
    fn size(&self) -> io::Result<u64>;

    /// Returns when everything written is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// A directory of this machine.
#[derive(Debug)]
pub struct LocalDisk(PathBuf);

impl LocalDisk {
    /// The files in a directory.
    pub fn new(directory: impl Into<PathBuf>) -> LocalDisk {
        LocalDisk(directory.into())
    }
}

impl Disk for LocalDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name()));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn create(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskFile>> {
        let path = self.0.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        if len > 0 {
            reserve(&file, len)?;
        }
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(File::open(self.0.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))?;
        sync_directory(&self.0)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }
}

/// Takes the room of a file at once, so that the disk is full now and not in the middle of a step.
fn reserve(file: &File, len: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, len) {
        Ok(()) => Ok(()),
        // Some file systems cannot.
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(len),
        Err(error) => Err(error.into()),
    }
}

/// Makes names of files last.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl DiskFile for File {
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

//! Files in memory, so that tests can also damage them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tensorfleet_files::{FileSystem, ReadFile, WriteFile, glob};
use tensorfleet_tensor::{Result, not_found, out_of_range};

type Files = Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>;

/// A file system that forgets everything when it is dropped. It has no directories.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryFileSystem {
    files: Files,
}

impl MemoryFileSystem {
    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        self.files.lock().unwrap()[path].to_vec()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        self.files.lock().unwrap().insert(path.to_owned(), Arc::new(bytes.to_vec()));
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().cloned().collect()
    }
}

impl FileSystem for MemoryFileSystem {
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
        match self.files.lock().unwrap().get(path) {
            Some(bytes) => Ok(Box::new(MemoryReadFile(Arc::clone(bytes)))),
            None => Err(not_found!("{path}; No such file or directory")),
        }
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.write(path, &[]);
        let files = Arc::clone(&self.files);
        Ok(Box::new(MemoryWriteFile { files, path: path.to_owned(), bytes: Vec::new() }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.files.lock().unwrap();
        let bytes = files.remove(from).ok_or_else(|| not_found!("{from}"))?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        let mut files = self.files.lock().unwrap();
        let bytes = files.get(from).cloned().ok_or_else(|| not_found!("{from}"))?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn delete(&self, path: &str) -> Result<()> {
        let removed = self.files.lock().unwrap().remove(path);
        removed.map(drop).ok_or_else(|| not_found!("{path}"))
    }

    fn create_dir(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn delete_dir(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        let files = self.files.lock().unwrap();
        Ok(files.keys().filter(|path| glob::matches(pattern, path)).cloned().collect())
    }
}

#[derive(Debug)]
struct MemoryReadFile(Arc<Vec<u8>>);

impl ReadFile for MemoryReadFile {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let bytes = self.0.get(start..end).ok_or_else(|| out_of_range!("end of file"))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryWriteFile {
    files: Files,
    path: String,
    bytes: Vec<u8>,
}

impl WriteFile for MemoryWriteFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.files.lock().unwrap().insert(self.path, Arc::new(self.bytes));
        Ok(())
    }
}

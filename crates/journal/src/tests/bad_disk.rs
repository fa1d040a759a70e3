//! A disk in memory that keeps what was synced, and of the rest what a seed says.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::{Disk, DiskFile};

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// After so many writes and syncs, all fail.
    pub(super) end_after: Option<u64>,
    /// How they fail.
    pub(super) full: bool,
    /// A sync does nothing, and says otherwise.
    pub(super) lies: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BadDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, Arc<Mutex<Content>>>,
    faults: Faults,
    uses: u64,
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    /// What is on the disk for sure.
    synced: Vec<u8>,
    /// Writes since then.
    unsynced: Vec<(usize, Vec<u8>)>,
}

#[derive(Debug)]
struct BadFile {
    disk: BadDisk,
    content: Arc<Mutex<Content>>,
}

impl BadDisk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn break_with(&self, faults: Faults) {
        let mut state = self.lock();
        (state.faults, state.uses) = (faults, 0);
    }

    /// How often it was written to and synced.
    pub(super) fn uses(&self) -> u64 {
        self.lock().uses
    }

    fn used(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.uses += 1;
        match state.faults.end_after {
            Some(end) if state.uses > end && state.faults.full => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(end) if state.uses > end => Err(io::Error::other("the disk is gone")),
            _ => Ok(()),
        }
    }

    /// What is found after the power was cut: of the writes that were not synced some, some in part,
    /// some not at all.
    pub(super) fn after_power_cut(&self, random: &mut impl FnMut(usize) -> usize) -> BadDisk {
        let state = self.lock();
        let files = state.files.iter().map(|(name, content)| {
            let content = content.lock().unwrap();
            let mut bytes = content.synced.clone();
            bytes.resize(bytes.len().max(content.bytes.len()), 0);
            for (offset, written) in &content.unsynced {
                let kept = match random(3) {
                    0 => 0,
                    1 => random(written.len() + 1),
                    _ => written.len(),
                };
                bytes[*offset..offset + kept].copy_from_slice(&written[..kept]);
            }
            let content = Content { synced: bytes.clone(), bytes, unsynced: Vec::new() };
            (name.clone(), Arc::new(Mutex::new(content)))
        });
        let files = files.collect();
        BadDisk(Arc::new(Mutex::new(State { files, ..State::default() })))
    }

    /// What is found after the process was killed: all that was written.
    pub(super) fn after_kill(&self) -> BadDisk {
        self.after_power_cut(&mut |_| 2)
    }

    /// Changes the bytes of a file.
    pub(super) fn damage(&self, name: &str, damage: impl FnOnce(&mut Vec<u8>)) {
        let file = Arc::clone(&self.lock().files[name]);
        damage(&mut file.lock().unwrap().bytes);
    }

    pub(super) fn forget(&self, name: &str) {
        self.lock().files.remove(name);
    }
}

impl Disk for BadDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().files.keys().cloned().collect())
    }

    fn create(&self, name: &str, len: u64) -> io::Result<Box<dyn DiskFile>> {
        self.used()?;
        let bytes = vec![0; len as usize];
        let content = Content { synced: bytes.clone(), bytes, unsynced: Vec::new() };
        let content = Arc::new(Mutex::new(content));
        self.lock().files.insert(name.to_owned(), Arc::clone(&content));
        Ok(Box::new(BadFile { disk: self.clone(), content }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let content = self.lock().files.get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(BadFile { disk: self.clone(), content }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.used()?;
        let mut state = self.lock();
        let file = state.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.lock().files.remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }
}

impl DiskFile for BadFile {
    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.used()?;
        let mut content = self.content.lock().unwrap();
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        if content.bytes.len() < to {
            content.bytes.resize(to, 0);
        }
        content.bytes[from..to].copy_from_slice(bytes);
        content.unsynced.push((from, bytes.to_vec()));
        Ok(())
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let there = content.bytes.get(offset as usize..).unwrap_or_default();
        let len = there.len().min(bytes.len());
        bytes[..len].copy_from_slice(&there[..len]);
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().bytes.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.used()?;
        if self.disk.lock().faults.lies {
            return Ok(());
        }
        let mut content = self.content.lock().unwrap();
        content.synced = content.bytes.clone();
        content.unsynced.clear();
        Ok(())
    }
}

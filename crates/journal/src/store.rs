//! A place elsewhere that has what a data directory has: a directory of another disk, or object storage.
//!
//! `task` says whose it is and of which directory, `snapshot-N` is a snapshot as it is on the disk, and
//! `log-N-OFFSET` a piece of a file of the log from a place on. Nothing is ever changed there, only added
//! and, when a snapshot stands for it, removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_checkpoint::{FileSystem, SchemeFileSystem};
use tensorfleet_tensor::{Code, Context, Result, data_loss, failed_precondition};

use crate::disk::DiskFile;
use crate::segment::numbered;

/// How much is copied at once.
const BLOCK: usize = 1 << 20;
const TASK: &str = "task";

/// Where a journal is kept a second time.
#[derive(Clone, Debug)]
pub struct Store {
    files: Arc<dyn FileSystem>,
    url: String,
    /// How often what is new is shipped.
    pub every: Duration,
}

/// What a store has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) snapshots: Vec<u64>,
    /// By the first record of a file of the log, where pieces begin.
    pub(crate) pieces: BTreeMap<u64, Vec<u64>>,
    /// How often somebody began to ship to it.
    pub(crate) epoch: u64,
}

impl Store {
    /// A place, as `file:///mnt/backup/ps-0` or `s3://bucket/run/ps-0`.
    pub fn new(url: impl Into<String>) -> Store {
        Store::on(Arc::new(SchemeFileSystem::default()), url)
    }

    /// A place in a file system.
    pub fn on(files: Arc<dyn FileSystem>, url: impl Into<String>) -> Store {
        let url = url.into().trim_end_matches('/').to_owned();
        Store { files, url, every: Duration::from_secs(1) }
    }

    /// How people call it.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    pub(crate) fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        for path in self.files.glob(&self.path("*"))? {
            let name = path.rsplit('/').next().unwrap_or_default();
            if let Some(number) = numbered(name, "snapshot-") {
                listing.snapshots.push(number);
            } else if let Some(number) = numbered(name, "epoch-") {
                listing.epoch = listing.epoch.max(number);
            } else if let Some((first, offset)) = piece(name) {
                listing.pieces.entry(first).or_default().push(offset);
            }
        }
        listing.pieces.values_mut().for_each(|offsets| offsets.sort_unstable());
        listing.snapshots.sort_unstable();
        Ok(listing)
    }

    /// Which task's it is, and of which data directory; nothing if nobody has used it.
    pub(crate) fn owner(&self) -> Result<Option<(String, String)>> {
        let text = match self.files.open(&self.path(TASK)) {
            Ok(file) => {
                let mut text = vec![0; file.len().min(4096) as usize];
                file.read_at(0, &mut text)?;
                String::from_utf8_lossy(&text).into_owned()
            }
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut lines = text.lines();
        match (lines.next(), lines.next(), lines.next()) {
            (Some("tensorfleet backup 1"), Some(task), Some(lineage)) => {
                Ok(Some((task.to_owned(), lineage.to_owned())))
            }
            _ => Err(data_loss!("the file `{TASK}` is damaged or of another version")),
        }
    }

    pub(crate) fn set_owner(&self, task: &str, lineage: &str) -> Result<()> {
        // Directories that are missing are made; object storage has none.
        let path = self.url.strip_prefix("file://").unwrap_or(&self.url);
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            // What cannot be made shows when something is put into it.
            let _ = self.files.create_dir(&path[..end]).map_err(drop);
        }
        self.put(TASK, &mut |file| {
            file.append(format!("tensorfleet backup 1\n{task}\n{lineage}\n").as_bytes())
        })
    }

    /// Begins to ship: whoever began before is to stop. Returns how often somebody began.
    pub(crate) fn begin(&self) -> Result<u64> {
        let epoch = self.list()?.epoch + 1;
        // Some stores have no empty objects.
        self.put(&format!("epoch-{epoch:016x}"), &mut |file| file.append(b"tensorfleet\n"))?;
        self.remove(&format!("epoch-{:016x}", epoch - 1));
        Ok(epoch)
    }

    /// An error if somebody else ships meanwhile.
    pub(crate) fn check(&self, epoch: u64) -> Result<()> {
        if self.list()?.epoch > epoch {
            return Err(failed_precondition!(
                "{} is written by another process now, which has started from it",
                self.url
            ));
        }
        Ok(())
    }

    /// Copies a part of a file of the disk. It appears when it is whole.
    pub(crate) fn ship(&self, name: &str, from: &dyn DiskFile, begin: u64, end: u64) -> Result<()> {
        let mut block = vec![0; BLOCK];
        self.put(name, &mut |file| {
            let mut offset = begin;
            while offset < end {
                let len = (end - offset).min(BLOCK as u64) as usize;
                let read = from.read(offset, &mut block[..len]);
                match read.map_err(|error| data_loss!("cannot be read: {error}"))? {
                    0 => return Err(data_loss!("{name} is shorter than {end} bytes")),
                    read => {
                        file.append(&block[..read])?;
                        offset += read as u64;
                    }
                }
            }
            Ok(())
        })
    }

    fn put(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn tensorfleet_checkpoint::WriteFile) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(name);
        let appears_whole = self.files.appears_when_finished(&path);
        let written = if appears_whole { path.clone() } else { self.path(&format!("new.{name}")) };
        let mut file = self.files.create(&written)?;
        fill(&mut *file)?;
        file.finish()?;
        if appears_whole { Ok(()) } else { self.files.rename(&written, &path) }
    }

    /// Removes what is not needed any more; what cannot be removed does no harm.
    pub(crate) fn remove(&self, name: &str) {
        let _ = self.files.delete(&self.path(name)).map_err(drop);
    }

    /// How long a file is.
    pub(crate) fn len(&self, name: &str) -> Result<u64> {
        Ok(self.files.open(&self.path(name))?.len())
    }

    /// How long a file is, and its bytes, block by block.
    pub(crate) fn fetch(
        &self,
        name: &str,
        take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let file = self.files.open(&self.path(name)).context(|| self.path(name))?;
        let (len, mut offset) = (file.len(), 0);
        let mut block = vec![0; BLOCK];
        while offset < len {
            let count = (len - offset).min(BLOCK as u64) as usize;
            file.read_at(offset, &mut block[..count]).context(|| self.path(name))?;
            take(offset, &block[..count])?;
            offset += count as u64;
        }
        Ok(len)
    }
}

/// The name of a piece of a file of the log.
pub(crate) fn piece_name(first: u64, offset: u64) -> String {
    format!("log-{first:016x}-{offset:016x}")
}

fn piece(name: &str) -> Option<(u64, u64)> {
    let (first, offset) = name.strip_prefix("log-")?.split_once('-')?;
    Some((numbered(first, "")?, numbered(offset, "")?))
}

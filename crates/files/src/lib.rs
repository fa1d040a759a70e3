//! The few things that ops and checkpoints ask of a file system.
//!
//! Whatever a client's graph does with files goes through [`FileSystem`], so that they can live
//! elsewhere than on local disks ([`SchemeFileSystem`] goes by the scheme of each path), and so that a
//! server can keep its clients to some directories ([`ConfinedFileSystem`]). Paths are strings with `/`
//! between their parts, as in TensorFlow.

mod beneath;
mod claim;
mod confined;
pub mod glob;
mod local;
#[cfg(feature = "object_store")]
mod object;
mod scheme;

use std::fmt;
use std::sync::Arc;

use tensorfleet_tensor::{Result, unimplemented_error};

pub use claim::Claim;
pub use confined::ConfinedFileSystem;
pub use local::LocalFileSystem;
#[cfg(feature = "object_store")]
pub use object::ObjectFileSystem;
pub use scheme::{SchemeFileSystem, scheme};

/// A place with files.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Opens a file for reading; `NOT_FOUND` if there is none.
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>>;

    /// Creates a file, replacing one of the same name.
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>>;

    /// Opens a file to write at its end, creating it if need be.
    fn append(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        Err(unimplemented_error!("{path} cannot be appended to"))
    }

    /// Whether a created file appears under its name only when it is finished, as objects do.
    fn appears_when_finished(&self, _path: &str) -> bool {
        false
    }

    /// Moves a file, replacing one of the new name. Readers see the old or the new file, whole.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Gives a file a second name, replacing a file of that name; `UNIMPLEMENTED` where files cannot
    /// have two.
    fn link(&self, from: &str, to: &str) -> Result<()> {
        Err(unimplemented_error!("{from} cannot also be called {to}"))
    }

    /// Deletes a file.
    fn delete(&self, path: &str) -> Result<()>;

    /// Creates a directory whose parent exists. That it exists already is no error.
    fn create_dir(&self, path: &str) -> Result<()>;

    /// Creates a directory and those on the way to it.
    fn create_dirs(&self, path: &str) -> Result<()> {
        let start = scheme(path).map_or(0, |scheme| scheme.len() + "://".len());
        for (end, _) in path[start..].match_indices('/').filter(|(end, _)| *end > 0) {
            self.create_dir(&path[..start + end])?;
        }
        if path.ends_with('/') { Ok(()) } else { self.create_dir(path) }
    }

    /// Deletes an empty directory.
    fn delete_dir(&self, path: &str) -> Result<()>;

    /// Keeps others from claiming the same path until the claim is dropped; `ALREADY_EXISTS`, with
    /// the text of the claim that is there, if somebody else has it. Where nothing can be locked,
    /// nobody is refused.
    fn claim(&self, _path: &str, _text: &str) -> Result<Option<Claim>> {
        Ok(None)
    }

    /// The name by which other libraries may open the file themselves, where they may.
    fn plain_path<'a>(&self, _path: &'a str) -> Option<&'a str> {
        None
    }

    /// Lists, in order, the paths that match a pattern with `*`, `?` and `[a-z]` within its parts.
    fn glob(&self, pattern: &str) -> Result<Vec<String>>;
}

/// A file being read, perhaps by several threads.
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait ReadFile: fmt::Debug + Send + Sync {
    /// The size of the file in bytes.
    fn len(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on; `OUT_OF_RANGE` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

/// A file being written from its beginning to its end.
pub trait WriteFile: fmt::Debug + Send {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Lets readers see what was written so far, where they can before it is finished.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes what was written durable and closes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The files that all paths name, by their schemes. What one of them keeps open, as connections to
/// object storage, is shared by those who share the value.
pub fn all_files() -> Arc<dyn FileSystem> {
    Arc::new(SchemeFileSystem::default())
}

/// The directory part of a path, as TensorFlow splits it.
pub fn directory(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => "",
    }
}

//! A file that gets its name only when it is complete.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use tensorfleet_tensor::Result;

use tensorfleet_files::{FileSystem, WriteFile};

/// A file under a temporary name; it is deleted when dropped before it was renamed.
#[derive(Debug)]
pub(crate) struct Temporary {
    files: Arc<dyn FileSystem>,
    path: Option<String>,
}

impl Temporary {
    /// Creates a file that will be called `path`.
    pub(crate) fn create(
        files: &Arc<dyn FileSystem>,
        path: &str,
    ) -> Result<(Self, Box<dyn WriteFile>)> {
        // The standard library keys each `RandomState` anew, so that no two writers collide.
        let path = format!("{path}.tempstate{}", RandomState::new().hash_one(path));
        let file = files.create(&path)?;
        Ok((Self { files: Arc::clone(files), path: Some(path) }, file))
    }

    /// As [`Temporary::create`], but under its own name where no reader sees a file before it is
    /// finished: large files are not moved for nothing.
    pub(crate) fn create_hidden(
        files: &Arc<dyn FileSystem>,
        path: &str,
    ) -> Result<(Self, Box<dyn WriteFile>)> {
        if files.appears_when_finished(path) {
            return Ok((Self { files: Arc::clone(files), path: None }, files.create(path)?));
        }
        Self::create(files, path)
    }

    /// Gives the file its name. It must have been finished.
    pub(crate) fn rename(mut self, path: &str) -> Result<()> {
        if let Some(temporary) = &self.path {
            self.files.rename(temporary, path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // There is nobody to tell, and a leftover harms nobody.
            self.files.delete(path).ok();
        }
    }
}

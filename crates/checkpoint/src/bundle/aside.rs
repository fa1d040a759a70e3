//! How an old bundle makes room for a new one of the same prefix.
//!
//! A bundle is an index and data files, and no file system replaces several files at once. Were the
//! data replaced first, then a crash would leave the old index with the new data. So the old data
//! files get second names, those of a bundle of one more shard, and the old index is replaced by one
//! that says so. Now nothing that the new bundle replaces is in use until its index is, which gets
//! its name last; then the second names are deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use tensorfleet_tensor::Result;

use super::reader::Index;
use super::writer::write_index;
use super::{data_path, index_path};
use tensorfleet_files::FileSystem;

/// An old bundle of which no file has the name of one of the new bundle's, but the index.
#[derive(Debug)]
pub(super) struct Aside {
    data: Vec<String>,
}

impl Aside {
    /// Has the bundle at `prefix`, if there is one, make room for one of `shards` data files.
    ///
    /// Where files cannot have two names the old bundle stays as it is: better a short moment in
    /// which a crash does harm than no checkpoint.
    pub(super) fn step(files: &Arc<dyn FileSystem>, prefix: &str, shards: usize) -> Aside {
        let Ok(old) = Index::read(&**files, prefix) else { return Aside { data: Vec::new() } };
        let have = usize::try_from(old.header.num_shards).unwrap_or_default();
        if have != shards {
            return Aside { data: data_files(&old, prefix, have) };
        }
        let aside = Aside { data: data_files(&old, prefix, shards + 1) };
        if aside.rename(files, prefix, old, shards).is_err() {
            aside.delete(&**files);
            return Aside { data: Vec::new() };
        }
        aside
    }

    /// Gives a bundle's data files the names of one more shard.
    fn rename(
        &self,
        files: &Arc<dyn FileSystem>,
        prefix: &str,
        mut old: Index,
        shards: usize,
    ) -> Result<()> {
        for (from, to) in data_files(&old, prefix, shards).iter().zip(&self.data) {
            files.link(from, to)?;
        }
        old.header.num_shards += 1;
        write_index(files, prefix, &old.header, &old.entries)?.rename(&index_path(prefix))
    }

    /// Deletes what is left of the old bundle. Whatever cannot be deleted harms nobody.
    pub(super) fn delete(self, files: &dyn FileSystem) {
        for path in self.data {
            files.delete(&path).ok();
        }
    }
}

/// The data files that an index speaks of, were they `shards` in number.
fn data_files(index: &Index, prefix: &str, shards: usize) -> Vec<String> {
    let used: BTreeSet<i32> = index.entries.values().map(|entry| entry.shard_id).collect();
    let used = used.into_iter().filter_map(|shard| usize::try_from(shard).ok());
    used.map(|shard| data_path(prefix, shard, shards)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tensorfleet_tensor::{Tensor, aborted};

    use super::*;
    use crate::bundle::{MergeOptions, Reader, Writer, merge};
    use crate::memory_files::MemoryFileSystem;
    use tensorfleet_files::{ReadFile, WriteFile};

    /// Files that a process changes so often, and is killed then.
    #[derive(Debug)]
    struct Mortal {
        files: MemoryFileSystem,
        changes: AtomicUsize,
    }

    impl Mortal {
        fn change(&self) -> Result<()> {
            let left = self
                .changes
                .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map(drop).map_err(|_| aborted!("killed"))
        }
    }

    impl FileSystem for Mortal {
        fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
            self.files.open(path)
        }

        fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
            self.change()?;
            self.files.create(path)
        }

        fn rename(&self, from: &str, to: &str) -> Result<()> {
            self.change()?;
            self.files.rename(from, to)
        }

        fn link(&self, from: &str, to: &str) -> Result<()> {
            self.change()?;
            self.files.link(from, to)
        }

        fn delete(&self, path: &str) -> Result<()> {
            self.change()?;
            self.files.delete(path)
        }

        fn create_dir(&self, _: &str) -> Result<()> {
            Ok(())
        }

        fn delete_dir(&self, _: &str) -> Result<()> {
            Ok(())
        }

        fn glob(&self, pattern: &str) -> Result<Vec<String>> {
            self.files.glob(pattern)
        }
    }

    fn save(files: &Arc<dyn FileSystem>, prefix: &str, names: &[&str], value: f32) -> Result<()> {
        let mut writer = Writer::new(Arc::clone(files), prefix)?;
        for name in names {
            writer.add(name, &Tensor::vector(&[value; 3])?)?;
        }
        writer.finish()
    }

    fn save_in_shards(files: &Arc<dyn FileSystem>, value: f32) -> Result<()> {
        save(files, "parts/0", &["a"], value)?;
        save(files, "parts/1", &["b"], value)?;
        merge(files, &["parts/0", "parts/1"], "p", MergeOptions::default())
    }

    fn save_at_once(files: &Arc<dyn FileSystem>, value: f32) -> Result<()> {
        save(files, "p", &["a", "b"], value)
    }

    /// Saves 1 and then, again and again, 2, each time killed a little later.
    fn check(save: fn(&Arc<dyn FileSystem>, f32) -> Result<()>, files_at_the_end: &[&str]) {
        for changes in 0.. {
            let memory = MemoryFileSystem::default();
            let files: Arc<dyn FileSystem> = Arc::new(memory.clone());
            save(&files, 1.0).unwrap();
            let mortal = Mortal { files: memory.clone(), changes: changes.into() };
            let saved = save(&(Arc::new(mortal) as Arc<dyn FileSystem>), 2.0).is_ok();
            let reader = Reader::open(Arc::clone(&files), "p").unwrap();
            let a = reader.read("a").unwrap().values::<f32>().unwrap()[0];
            let b = reader.read("b").unwrap().values::<f32>().unwrap()[0];
            assert_eq!(a, b, "after {changes} changes");
            // However it ended, the next one succeeds and leaves nothing of the old behind.
            save(&files, 3.0).unwrap();
            let reader = Reader::open(Arc::clone(&files), "p").unwrap();
            assert_eq!(reader.read("b").unwrap().values::<f32>().unwrap()[0], 3.0);
            if saved {
                assert_eq!(a, 2.0);
                let left = memory.list();
                if left == files_at_the_end {
                    return;
                }
            }
            assert!(changes < 50, "files are left: {:?}", memory.list());
        }
    }

    #[test]
    fn a_kill_while_saving_leaves_the_old_or_the_new() {
        check(save_at_once, &["p.data-00000-of-00001", "p.index"]);
        check(save_in_shards, &["p.data-00000-of-00002", "p.data-00001-of-00002", "p.index"]);
    }
}

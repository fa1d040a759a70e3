//! Joining the bundles that several tasks wrote.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Code, Result, data_loss, internal, invalid_argument};

use super::aside::Aside;
use super::reader::Index;
use super::writer::write_index;
use super::{data_path, index_path};
use tensorfleet_files::{FileSystem, directory};

/// How [`merge`] treats what it merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// Whether bundles that do not exist are passed over, as long as one does.
    pub allow_missing_files: bool,
    /// Whether the directories of the merged bundles are deleted when that leaves them empty.
    pub delete_old_dirs: bool,
}

/// Joins bundles into one. The data files are renamed, not copied.
///
/// Everything is checked and written before the first file is touched, and the new index, without
/// which there is no new checkpoint, gets its name last.
pub fn merge(
    files: &Arc<dyn FileSystem>,
    prefixes: &[&str],
    merged_prefix: &str,
    options: MergeOptions,
) -> Result<()> {
    let mut merged = Merged::default();
    for prefix in prefixes {
        match Index::read(&**files, prefix) {
            Ok(index) => merged.add(prefix, index)?,
            Err(error) if error.code() != Code::NotFound => return Err(error),
            Err(_) if options.allow_missing_files => {}
            Err(_) => {
                return Err(invalid_argument!(
                    "allow_missing_files was set to false and {prefix} did not exist."
                ));
            }
        }
    }
    let Some(mut header) = merged.header else {
        return Err(invalid_argument!(
            "At least one prefix checkpoint file must exist, but none existed."
        ));
    };
    let merged_directory = directory(merged_prefix);
    if !merged_directory.is_empty() {
        files.create_dir(merged_directory)?;
    }
    let shards = merged.shards.len();
    header.num_shards = shards as i32;
    let index = write_index(files, merged_prefix, &header, &merged.entries)?;
    // A bundle that is merged into its own prefix is old and new at once.
    let old = match prefixes.contains(&merged_prefix) {
        true => None,
        false => Some(Aside::step(files, merged_prefix, shards)),
    };
    for (path, shard) in &merged.shards {
        files.rename(path, &data_path(merged_prefix, *shard, shards))?;
    }
    index.rename(&index_path(merged_prefix))?;
    if let Some(old) = old {
        old.delete(&**files);
    }
    clean_up(&**files, prefixes, merged_prefix, options);
    Ok(())
}

/// Removes what is left of the merged bundles. Whatever cannot be removed harms nobody.
fn clean_up(files: &dyn FileSystem, prefixes: &[&str], merged_prefix: &str, options: MergeOptions) {
    for prefix in prefixes {
        if *prefix != merged_prefix {
            files.delete(&index_path(prefix)).ok();
        }
    }
    let old = prefixes.iter().map(|prefix| directory(prefix));
    for old in old.filter(|old| options.delete_old_dirs && *old != directory(merged_prefix)) {
        // Of bundles that shared a directory only the first finds it.
        files.delete_dir(old).ok();
    }
}

/// The index being put together.
#[derive(Debug, Default)]
struct Merged {
    /// The header of the first bundle.
    header: Option<pb::BundleHeaderProto>,
    entries: BTreeMap<Vec<u8>, pb::BundleEntryProto>,
    /// Each data file and the shard that it becomes.
    shards: HashMap<String, usize>,
}

impl Merged {
    fn add(&mut self, prefix: &str, index: Index) -> Result<()> {
        let Index { header, entries } = index;
        let first = self.header.get_or_insert_with(|| header.clone());
        if first.endianness != header.endianness {
            return Err(invalid_argument!(
                "Merging bundles with conflicting endianness; inputs corrupted?"
            ));
        }
        if first.version != header.version {
            return Err(invalid_argument!(
                "Merging bundles with different format versions: merged {:?} vs. curr {:?}",
                first.version,
                header.version
            ));
        }
        let old_shards = usize::try_from(header.num_shards).unwrap_or_default();
        for (key, mut entry) in entries {
            if let Some(existing) = self.entries.get_mut(&key) {
                join_slices(&key, prefix, existing, entry)?;
                continue;
            }
            let Ok(shard) = usize::try_from(entry.shard_id) else {
                return Err(data_loss!("{}: shard {}", index_path(prefix), entry.shard_id));
            };
            let next = self.shards.len();
            let path = data_path(prefix, shard, old_shards);
            entry.shard_id = *self.shards.entry(path).or_insert(next) as i32;
            self.entries.insert(key, entry);
        }
        Ok(())
    }
}

/// Adds the slices of a tensor that an earlier bundle has other slices of.
fn join_slices(
    key: &[u8],
    prefix: &str,
    existing: &mut pb::BundleEntryProto,
    entry: pb::BundleEntryProto,
) -> Result<()> {
    let key = String::from_utf8_lossy(key);
    if existing.slices.is_empty() {
        return Err(invalid_argument!(
            "Duplicate tensor keyed by {key} encountered, when merging prefix: {prefix}"
        ));
    }
    if entry.slices.is_empty() {
        return Err(internal!(
            "Duplicate tensor keyed by {key}; attempting to merge in a non-slice bundle entry"
        ));
    }
    if existing.dtype != entry.dtype || existing.shape != entry.shape {
        return Err(invalid_argument!(
            "slices of {key} differ in their type or full shape, when merging prefix: {prefix}"
        ));
    }
    existing.slices.extend(entry.slices);
    Ok(())
}

//! Makes a data directory from what a store has.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tensorfleet_tensor::{Context, Result, data_loss, failed_precondition, not_found};

use crate::disk::{Disk, DiskFile, LocalDisk, sync_directory};
use crate::frame::{HEADER, Header, Kind};
use crate::segment::numbered;
use crate::snapshot;
use crate::store::{Listing, Store, piece_name};
use crate::writer::{failure, segment_name};

/// Is there while a directory is being filled: what it has then is not all.
const RESTORING: &str = "restoring";
const PART: &str = "restored.new";
/// How often a backup is read that changes meanwhile.
const TRIES: usize = 20;
/// The name of a data directory that stays when it is restored elsewhere.
const LINEAGE: &str = "lineage";

/// Fills a directory that has no log from a store. One that has a log is left as it is. Who calls has
/// the directory to itself.
pub(crate) fn restore(directory: &Path, store: Option<&Store>, task: &str) -> Result<()> {
    let disk = LocalDisk::new(directory);
    let listed = || disk.list().map_err(|error| data_loss!("cannot be listed: {error}"));
    let is_half = directory.join(RESTORING).exists();
    let Some(store) = store else {
        return match is_half {
            false => Ok(()),
            true => Err(failed_precondition!(
                "it was being filled from a backup and is not whole: start from the backup again"
            )),
        };
    };
    let is_state = |name: &&String| {
        [snapshot::PREFIX, "log-"].iter().any(|prefix| numbered(name, prefix).is_some())
    };
    if !is_half && listed()?.iter().any(|name| is_state(&name)) {
        tracing::info!("the data directory has a log: {} is not looked at", store.url());
        return Ok(());
    }
    let fetch = || {
        let Some((owner, lineage)) = store.owner()? else {
            return Err(not_found!("there is no backup"));
        };
        if owner != task {
            return Err(failed_precondition!("it is a backup of {owner}, not of {task}"));
        }
        // Somebody may ship to it meanwhile, and remove what a snapshot stands for.
        let mut listing = store.list()?;
        for _ in 0..TRIES {
            let half: Vec<String> = listed()?.into_iter().filter(|name| is_state(&name)).collect();
            let filled = fill(directory, &disk, store, &listing, &lineage, &half);
            let now = store.list()?;
            if filled.is_ok() || now == listing {
                return filled;
            }
            listing = now;
        }
        Err(failed_precondition!("it changes faster than it can be read"))
    };
    fetch().context(|| format!("starting from {}", store.url()))
}

fn fill(
    directory: &Path,
    disk: &LocalDisk,
    store: &Store,
    listing: &Listing,
    lineage: &str,
    half: &[String],
) -> Result<()> {
    let broken = |error: io::Error| failure(&error);
    File::create(directory.join(RESTORING)).map_err(broken)?;
    sync_directory(directory).map_err(broken)?;
    for name in half {
        disk.remove(name).map_err(broken)?;
    }
    let snapshot = listing.snapshots.last().copied();
    if let Some(number) = snapshot {
        let name = snapshot::name(number);
        let file = disk.create(PART, 0).map_err(broken)?;
        let len =
            store.fetch(&name, &mut |offset, bytes| file.write(offset, bytes).map_err(broken))?;
        finish(disk, &*file, &name)?;
        tracing::info!("{name} is here, {len} bytes");
    }
    let firsts: Vec<u64> = listing.pieces.keys().copied().collect();
    for (at, &first) in firsts.iter().enumerate() {
        // The snapshot has all of it if the next one begins with what the snapshot has not.
        let next = firsts.get(at + 1);
        if next.is_some_and(|&next| next <= snapshot.unwrap_or(0) + 1) {
            continue;
        }
        let file = fetch_log(disk, store, first, &listing.pieces[&first])?;
        finish(disk, &*file, &segment_name(first))?;
        tracing::info!("{} is here", segment_name(first));
    }
    fs::write(directory.join(LINEAGE), lineage).map_err(broken)?;
    fs::remove_file(directory.join(RESTORING)).map_err(broken)?;
    sync_directory(directory).map_err(broken)
}

fn finish(disk: &LocalDisk, file: &dyn DiskFile, name: &str) -> Result<()> {
    file.sync().and_then(|()| disk.rename(PART, name)).map_err(|error| failure(&error))
}

/// Puts the pieces of a file of the log together.
fn fetch_log(
    disk: &LocalDisk,
    store: &Store,
    first: u64,
    offsets: &[u64],
) -> Result<Box<dyn DiskFile>> {
    let missing = |at: u64| data_loss!("{} lacks the piece at {at}", segment_name(first));
    // The first piece says how long the file is.
    let mut head = Vec::new();
    let begins = offsets.first() == Some(&0);
    let mut take_head = |_, bytes: &[u8]| {
        head.extend_from_slice(&bytes[..bytes.len().min(HEADER - head.len().min(HEADER))]);
        Ok(())
    };
    if !begins {
        return Err(missing(0));
    }
    store.fetch(&piece_name(first, 0), &mut take_head)?;
    let header = Header::decode(&head).map(|(header, _)| header);
    let Some(header) = header.filter(|header| header.kind == Kind::Segment) else {
        return Err(data_loss!("{} is damaged", piece_name(first, 0)));
    };
    let file = disk.create(PART, header.len).map_err(|error| failure(&error))?;
    let mut end = 0;
    for &offset in offsets {
        if offset != end {
            return Err(missing(end));
        }
        let len = store.fetch(&piece_name(first, offset), &mut |at, bytes| {
            if offset + at + bytes.len() as u64 > header.len {
                return Err(data_loss!("{} is too long", segment_name(first)));
            }
            file.write(offset + at, bytes).map_err(|error| failure(&error))
        })?;
        end += len;
    }
    Ok(file)
}

/// The name of a data directory, which it gets when it is first asked for.
pub(crate) fn lineage(directory: &Path) -> Result<String> {
    use std::hash::{BuildHasher, Hasher, RandomState};

    let path = directory.join(LINEAGE);
    match fs::read_to_string(&path) {
        Ok(known) => Ok(known.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let random = || RandomState::new().build_hasher().finish();
            let name = format!("{:016x}{:016x}", random(), random());
            fs::write(&path, &name)
                .and_then(|()| sync_directory(directory))
                .map_err(|error| failed_precondition!("cannot be used: {error}"))?;
            Ok(name)
        }
        Err(error) => Err(failed_precondition!("cannot be used: {error}")),
    }
}

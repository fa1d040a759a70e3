//! Some directories, and nothing else: what a server lets its clients have of its files.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, OFlags};
use rustix::io::Errno;
use tensorfleet_tensor::{Context, Error, Result, invalid_argument, permission_denied};

use super::beneath::Directory;
use super::claim::Place;
use super::local::{failure, local, read, write};
use super::{Claim, FileSystem, ReadFile, SchemeFileSystem, WriteFile, glob, scheme};

/// The files below some directories of the machine, and the objects below some prefixes of object
/// storage. Neither `..` nor a link leads out, also not one that is made while a path is looked up.
#[derive(Debug)]
pub struct ConfinedFileSystem {
    directories: Vec<Root>,
    /// As `s3://bucket/prefix`, without a slash at the end.
    prefixes: Vec<String>,
    objects: SchemeFileSystem,
}

#[derive(Debug)]
struct Root {
    /// The parts of its path, as it was given or as it is without links.
    names: Vec<String>,
    directory: Directory,
}

/// Where a path leads.
enum Found<'a> {
    /// To a path below a directory, and how many of the parts of the path that directory is.
    Below {
        directory: &'a Directory,
        rest: String,
        covered: usize,
    },
    Object,
}

impl ConfinedFileSystem {
    /// Opens directories, which must be there, and remembers prefixes of object storage.
    pub fn new<'a>(roots: impl IntoIterator<Item = &'a str>) -> Result<ConfinedFileSystem> {
        let (mut directories, mut prefixes) = (Vec::new(), Vec::new());
        for given in roots {
            if !matches!(scheme(given), None | Some("file")) {
                prefixes.push(given.trim_end_matches('/').to_owned());
                continue;
            }
            let path = local(given);
            let absolute = |path: &str| {
                let absolute = std::path::absolute(path).and_then(std::fs::canonicalize);
                let absolute = absolute.map_err(|error| failure(given, &error))?;
                let text = absolute.to_str().map(str::to_owned);
                text.ok_or_else(|| invalid_argument!("{given} is no text"))
            };
            let real = absolute(path).context(|| "a directory for files of clients")?;
            for name in [&real, path] {
                let names: Vec<String> = parts(name).map(str::to_owned).collect();
                let is_usable = name.starts_with('/') && !names.iter().any(|name| name == "..");
                if is_usable && !directories.iter().any(|root: &Root| root.names == names) {
                    let directory = Directory::open(&real).map_err(|e| failure(given, &e))?;
                    directories.push(Root { names, directory });
                }
            }
        }
        // The innermost directory that holds a path is the one to look from.
        directories.sort_by_key(|root| std::cmp::Reverse(root.names.len()));
        Ok(ConfinedFileSystem { directories, prefixes, objects: SchemeFileSystem::default() })
    }

    fn find(&self, path: &str) -> Result<Found<'_>> {
        if !matches!(scheme(path), None | Some("file")) {
            let is_below = |prefix: &String| {
                path.strip_prefix(prefix.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let is_allowed = self.prefixes.iter().any(is_below) && !parts(path).any(|p| p == "..");
            return if is_allowed { Ok(Found::Object) } else { Err(outside(path)) };
        }
        let all = absolute_parts(local(path)).ok_or_else(|| outside(path))?;
        let root = self.directories.iter().find(|root| {
            all.len() >= root.names.len() && root.names.iter().zip(&all).all(|(a, b)| a == b)
        });
        let Some(root) = root else { return Err(outside(path)) };
        let mut rest = all[root.names.len()..].join("/");
        if path.ends_with('/') && !rest.is_empty() {
            rest.push('/');
        }
        Ok(Found::Below { directory: &root.directory, rest, covered: root.names.len() })
    }

    /// Opens a file below a directory, if that is where the path leads.
    fn file(&self, path: &str, flags: OFlags) -> Result<Option<io::Result<std::fs::File>>> {
        match self.find(path)? {
            Found::Object => Ok(None),
            Found::Below { directory, rest, .. } => match directory.file(&rest, flags) {
                Err(error) if leads_out(&error) => Err(outside(path)),
                opened => Ok(Some(opened)),
            },
        }
    }

    /// The open directory of what is at a path, and its name there.
    fn place(&self, path: &str) -> Result<Option<(std::os::fd::OwnedFd, String)>> {
        match self.find(path)? {
            Found::Object => Ok(None),
            Found::Below { directory, rest, .. } => match directory.parent(&rest) {
                Ok((parent, name)) => Ok(Some((parent, name.to_owned()))),
                Err(error) if leads_out(&error) => Err(outside(path)),
                Err(error) => Err(failure(path, &error)),
            },
        }
    }

    /// Whether a path is on the way to a directory that clients may use.
    fn is_on_the_way(&self, path: &str) -> bool {
        absolute_parts(local(path))
            .is_some_and(|all| self.directories.iter().any(|root| root.names.starts_with(&all)))
    }
}

impl FileSystem for ConfinedFileSystem {
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
        match self.file(path, OFlags::RDONLY)? {
            Some(opened) => read(path, opened),
            None => self.objects.open(path),
        }
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        match self.file(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)? {
            Some(opened) => write(path, opened),
            None => self.objects.create(path),
        }
    }

    fn append(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        match self.file(path, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)? {
            Some(opened) => write(path, opened),
            None => self.objects.append(path),
        }
    }

    fn appears_when_finished(&self, path: &str) -> bool {
        matches!(self.find(path), Ok(Found::Object)) && self.objects.appears_when_finished(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        match (self.place(from)?, self.place(to)?) {
            (Some((from_parent, from_name)), Some((to_parent, to_name))) => {
                rustix::fs::renameat(&from_parent, &*from_name, &to_parent, &*to_name)
                    .map_err(|error| failure(from, &error.into()))?;
                // The new name is durable only when its directory is; not every directory can be synced.
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let mode = rustix::fs::Mode::empty();
                if let Ok(parent) = rustix::fs::openat(&to_parent, ".", flags, mode) {
                    rustix::fs::fsync(parent).ok();
                }
                Ok(())
            }
            _ => self.objects.rename(from, to),
        }
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        match (self.place(from)?, self.place(to)?) {
            (Some((from_parent, from_name)), Some((to_parent, to_name))) => {
                rustix::fs::unlinkat(&to_parent, &*to_name, AtFlags::empty()).ok();
                // Without a flag that says otherwise a link itself gets the second name, not its target.
                let none = AtFlags::empty();
                rustix::fs::linkat(&from_parent, &*from_name, &to_parent, &*to_name, none)
                    .map_err(|error| failure(from, &error.into()))
            }
            _ => self.objects.link(from, to),
        }
    }

    fn delete(&self, path: &str) -> Result<()> {
        match self.place(path)? {
            Some((parent, name)) => rustix::fs::unlinkat(parent, &*name, AtFlags::empty())
                .map_err(|error| failure(path, &error.into())),
            None => self.objects.delete(path),
        }
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        // Whoever makes the directories on the way to a file starts above those that are open to it.
        if self.is_on_the_way(path) {
            return Ok(());
        }
        let exists = || match self.file(path, OFlags::PATH | OFlags::DIRECTORY)? {
            Some(Ok(_)) => Ok(true),
            Some(Err(_)) | None => Ok(false),
        };
        if parts(path).next_back() == Some("..") && exists()? {
            return Ok(());
        }
        let Some((parent, name)) = self.place(path)? else {
            return self.objects.create_dir(path);
        };
        match rustix::fs::mkdirat(parent, &*name, rustix::fs::Mode::from_raw_mode(0o777)) {
            Ok(()) => Ok(()),
            Err(_) if exists()? => Ok(()),
            Err(error) => Err(failure(path, &error.into())),
        }
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        match self.place(path)? {
            Some((parent, name)) => rustix::fs::unlinkat(parent, &*name, AtFlags::REMOVEDIR)
                .map_err(|error| failure(path, &error.into())),
            None => self.objects.delete_dir(path),
        }
    }

    fn claim(&self, path: &str, text: &str) -> Result<Option<Claim>> {
        match self.place(path)? {
            Some((parent, name)) => Claim::new(Place::within(parent, name), path, text).map(Some),
            None => self.objects.claim(path, text),
        }
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        let Found::Below { directory, covered, .. } = self.find(pattern)? else {
            return self.objects.glob(pattern);
        };
        // What is found is told as it was asked for: relative paths stay so.
        let asked = local(pattern);
        let (root, above) = match asked.strip_prefix('/') {
            Some(_) => ("/", Vec::new()),
            None => ("", absolute_parts("").unwrap_or_default()),
        };
        let own: Vec<&str> = parts(asked).collect();
        let own_covered = covered.saturating_sub(above.len());
        let below = above.get(covered..).unwrap_or_default().join("/");
        let mut found = vec![(format!("{root}{}", own[..own_covered].join("/")), below)];
        for part in &own[own_covered..] {
            found = found.iter().flat_map(|base| expand(directory, base, part)).collect();
        }
        found.retain(|(_, below)| directory.file(below, OFlags::PATH).is_ok());
        let mut found: Vec<String> = found.into_iter().map(|(told, _)| told).collect();
        found.retain(|told| !told.is_empty());
        found.sort();
        Ok(found)
    }
}

/// The paths below `base` that match one part of a pattern, as they are told and from the directory on.
fn expand(directory: &Directory, base: &(String, String), part: &str) -> Vec<(String, String)> {
    let (told, below) = base;
    let join = |base: &str, name: &str| match base {
        "" | "/" => format!("{base}{name}"),
        base => format!("{base}/{name}"),
    };
    let both = |name: &str| (join(told, name), join(below, name));
    if !glob::is_pattern(part) {
        return vec![both(part)];
    }
    let Ok(listed) = directory.file(below, OFlags::RDONLY | OFlags::DIRECTORY) else {
        return Vec::new();
    };
    let Ok(entries) = Dir::read_from(listed.as_fd()) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
        .filter(|name| name != "." && name != ".." && glob::matches(part, name))
        .map(|name| both(&name))
        .collect()
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// The parts of a path from the root on.
fn absolute_parts(path: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    if !path.starts_with('/') {
        let current = std::env::current_dir().ok()?;
        all.extend(parts(current.to_str()?).map(str::to_owned));
    }
    all.extend(parts(path).map(str::to_owned));
    Some(all)
}

fn leads_out(error: &io::Error) -> bool {
    [Errno::XDEV, Errno::LOOP].map(Errno::raw_os_error).map(Some).contains(&error.raw_os_error())
}

fn outside(path: &str) -> Error {
    permission_denied!(
        "{path}; Permission denied: it is not in a directory that the server lets its clients use, \
         or a link leads out of one (`serve --fs-root=DIRECTORY` names those directories)"
    )
}

#[cfg(test)]
mod tests;

//! Paths that are looked up below a directory and cannot lead out of it, whatever links there are and
//! however they change meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How often a lookup is repeated that a rename elsewhere has disturbed.
const TRIES: usize = 64;

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory {
    handle: OwnedFd,
    /// Whether the kernel itself keeps lookups below it. Otherwise no link is followed at all.
    by_kernel: bool,
}

impl Directory {
    pub(super) fn open(path: &str) -> io::Result<Directory> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        // Old kernels and some containers do not know the call.
        let by_kernel =
            rustix::fs::openat2(&handle, ".", flags, Mode::empty(), ResolveFlags::BENEATH).is_ok();
        Ok(Directory { handle, by_kernel })
    }

    /// The same directory as a kernel sees it that does not keep lookups below directories.
    #[cfg(test)]
    pub(super) fn without_kernel(self) -> Directory {
        Directory { by_kernel: false, ..self }
    }

    #[cfg(test)]
    pub(super) fn is_by_kernel(&self) -> bool {
        self.by_kernel
    }

    /// Opens what is at a path below. `EXDEV` or `ELOOP` if the path leads out.
    pub(super) fn file(&self, path: &str, flags: OFlags) -> io::Result<File> {
        let path = if path.is_empty() { "." } else { path };
        let mut flags = flags | OFlags::CLOEXEC;
        if !flags.contains(OFlags::PATH) {
            flags |= OFlags::NOCTTY;
        }
        let mode =
            if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        let found = if self.by_kernel {
            self.by_kernel(path, flags, mode)
        } else {
            self.step_by_step(path, flags, mode)
        };
        Ok(File::from(found?))
    }

    /// Opens the directory that holds what is at a path below; with the name of that in it.
    pub(super) fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let path = path.trim_end_matches('/');
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if matches!(name, "" | "." | "..") {
            return Err(Errno::INVAL.into());
        }
        let parent = self.file(parent, OFlags::PATH | OFlags::DIRECTORY)?;
        Ok((parent.into(), name))
    }

    fn by_kernel(&self, path: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match rustix::fs::openat2(&self.handle, path, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                found => return found,
            }
        }
        Err(Errno::AGAIN)
    }

    fn step_by_step(&self, path: &str, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let parts: Vec<&str> =
            path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(Errno::XDEV);
        }
        let Some((last, on_the_way)) = parts.split_last() else {
            return rustix::fs::openat(&self.handle, ".", flags, mode);
        };
        let mut directory: Option<OwnedFd> = None;
        for part in on_the_way {
            let base = directory.as_ref().map_or(self.handle.as_fd(), AsFd::as_fd);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(base, *part, flags, Mode::empty()) {
                Ok(found) => directory = Some(found),
                Err(Errno::NOTDIR) if is_link(base, part) => return Err(Errno::LOOP),
                Err(error) => return Err(error),
            }
        }
        let base = directory.as_ref().map_or(self.handle.as_fd(), AsFd::as_fd);
        if flags.contains(OFlags::PATH) && is_link(base, last) {
            return Err(Errno::LOOP);
        }
        rustix::fs::openat(base, *last, flags | OFlags::NOFOLLOW, mode)
    }
}

fn is_link(directory: impl AsFd, name: &str) -> bool {
    rustix::fs::readlinkat(directory, name, Vec::new()).is_ok()
}

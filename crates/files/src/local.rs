//! Files of the machine itself.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tensorfleet_tensor::{Code, Error, Result, out_of_range};

use super::claim::Place;
use super::{Claim, FileSystem, ReadFile, WriteFile, directory, glob};

/// What the operating system says when a directory is read as a file.
const EISDIR: i32 = 21;

/// Small tensors are gathered into writes of this size.
const WRITE_BUFFER: usize = 1 << 20;

/// The files of the machine; `file://` may stand in front of paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFileSystem;

impl FileSystem for LocalFileSystem {
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
        read(path, File::open(local(path)))
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        write(path, File::create(local(path)))
    }

    fn append(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        write(path, File::options().append(true).create(true).open(local(path)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        fs::rename(local(from), local(to)).map_err(|error| failure(from, &error))?;
        // The new name is durable only when its directory is; not every directory can be synced.
        let parent = match directory(local(to)) {
            "" => ".",
            parent => parent,
        };
        if let Ok(parent) = File::open(parent) {
            parent.sync_all().ok();
        }
        Ok(())
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        fs::remove_file(local(to)).ok();
        fs::hard_link(local(from), local(to)).map_err(|error| failure(from, &error))
    }

    fn delete(&self, path: &str) -> Result<()> {
        fs::remove_file(local(path)).map_err(|error| failure(path, &error))
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        match fs::create_dir(local(path)) {
            Err(error) if !Path::new(local(path)).is_dir() => Err(failure(path, &error)),
            _ => Ok(()),
        }
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        fs::remove_dir(local(path)).map_err(|error| failure(path, &error))
    }

    fn claim(&self, path: &str, text: &str) -> Result<Option<Claim>> {
        Claim::new(Place::at(local(path)), path, text).map(Some)
    }

    fn plain_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        Some(local(path))
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        let (root, rest) = match local(pattern).strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => ("", local(pattern)),
        };
        let mut found = vec![root.to_owned()];
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            found = found.iter().flat_map(|base| expand(base, part)).collect();
        }
        found.retain(|path| !path.is_empty() && Path::new(path).exists());
        found.sort();
        Ok(found)
    }
}

/// The paths below `base` that match one part of a pattern.
fn expand(base: &str, part: &str) -> Vec<String> {
    let join = |name: &str| match base {
        "" | "/" => format!("{base}{name}"),
        base => format!("{base}/{name}"),
    };
    if !glob::is_pattern(part) {
        return vec![join(part)];
    }
    let Ok(entries) = fs::read_dir(if base.is_empty() { "." } else { base }) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| glob::matches(part, name))
        .map(|name| join(&name))
        .collect()
}

/// A file that was opened to be read.
pub(super) fn read(path: &str, opened: io::Result<File>) -> Result<Box<dyn ReadFile>> {
    let checked = opened.and_then(|file| {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from_raw_os_error(EISDIR));
        }
        Ok((file, metadata.len()))
    });
    let (file, len) = checked.map_err(|error| failure(path, &error))?;
    Ok(Box::new(LocalReadFile { file, len, path: path.to_owned() }))
}

/// A file that was opened to be written.
pub(super) fn write(path: &str, opened: io::Result<File>) -> Result<Box<dyn WriteFile>> {
    let file = opened.map_err(|error| failure(path, &error))?;
    let writer = BufWriter::with_capacity(WRITE_BUFFER, file);
    Ok(Box::new(LocalWriteFile { writer, path: path.to_owned() }))
}

pub(super) fn local(path: &str) -> &str {
    path.strip_prefix("file://").unwrap_or(path)
}

/// Turns an error of the operating system into TensorFlow's code and words.
pub(super) fn failure(path: &str, error: &io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::AlreadyExists => Code::AlreadyExists,
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => Code::InvalidArgument,
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::DirectoryNotEmpty => {
            Code::FailedPrecondition
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => {
            Code::ResourceExhausted
        }
        _ => Code::Unknown,
    };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Error::new(code, format!("{path}; {text}"))
}

#[derive(Debug)]
struct LocalReadFile {
    file: File,
    len: u64,
    path: String,
}

impl ReadFile for LocalReadFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                out_of_range!("{}; Read less bytes than requested", self.path)
            }
            _ => failure(&self.path, &error),
        })
    }
}

#[derive(Debug)]
struct LocalWriteFile {
    writer: BufWriter<File>,
    path: String,
}

impl WriteFile for LocalWriteFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(|error| failure(&self.path, &error))
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| failure(&self.path, &error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { writer, path } = *self;
        writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| file.sync_all())
            .map_err(|error| failure(&path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn files_are_written_read_renamed_and_listed() {
        let directory = scratch();
        let path = |name: &str| format!("{}/{name}", directory.path().display());
        let files = LocalFileSystem;
        let mut file = files.create(&path("b.tmp")).unwrap();
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        file.finish().unwrap();
        files.rename(&path("b.tmp"), &path("b")).unwrap();
        files.create(&path("a")).unwrap().finish().unwrap();

        let file = files.open(&format!("file://{}", path("b"))).unwrap();
        let mut word = [0; 5];
        file.read_at(6, &mut word).unwrap();
        assert_eq!((file.len(), &word), (11, b"world"));
        assert_eq!(file.read_at(7, &mut word).unwrap_err().code(), Code::OutOfRange);

        assert_eq!(files.glob(&path("?")).unwrap(), [path("a"), path("b")]);
        assert_eq!(files.glob(&path("b")).unwrap(), [path("b")]);
        assert!(files.glob(&path("c*")).unwrap().is_empty());
        files.delete(&path("a")).unwrap();
        assert_eq!(files.open(&path("a")).unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn errors_have_tensorflows_words() {
        let directory = scratch();
        let missing = format!("{}/no/file", directory.path().display());
        let error = LocalFileSystem.create(&missing).unwrap_err();
        assert_eq!(error.to_string(), format!("NOT_FOUND: {missing}; No such file or directory"));
        let error = LocalFileSystem.open(directory.path().to_str().unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition);
    }

    #[test]
    fn directories() {
        let directory = scratch();
        let inner = format!("{}/inner", directory.path().display());
        LocalFileSystem.create_dir(&inner).unwrap();
        LocalFileSystem.create_dir(&inner).unwrap();
        assert!(LocalFileSystem.create_dir(&format!("{inner}/x/y")).is_err());
        LocalFileSystem.create(&format!("{inner}/f")).unwrap().finish().unwrap();
        assert!(LocalFileSystem.delete_dir(&inner).is_err());
    }
}

//! The file system that a path names by its scheme.

use tensorfleet_tensor::{Result, unimplemented_error};

use super::{Claim, FileSystem, LocalFileSystem, ReadFile, WriteFile};

/// All file systems: each path says by its scheme where it is.
///
/// Paths without a scheme and those of `file://` are the machine's. Those of `s3://`, `gs://` and
/// `az://` are object storage if that is compiled in, by the feature `object_store`.
#[derive(Debug, Default)]
pub struct SchemeFileSystem {
    local: LocalFileSystem,
    #[cfg(feature = "object_store")]
    objects: super::ObjectFileSystem,
}

/// The scheme of a path, if it has one: `s3` of `s3://bucket/key`.
pub fn scheme(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once("://")?;
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
    is_scheme.then_some(scheme)
}

impl SchemeFileSystem {
    fn of(&self, path: &str) -> Result<&dyn FileSystem> {
        let hint = match scheme(path) {
            None | Some("file") => return Ok(&self.local),
            #[cfg(feature = "object_store")]
            Some("s3" | "gs" | "az") => return Ok(&self.objects),
            #[cfg(not(feature = "object_store"))]
            Some("s3" | "gs" | "az") => {
                "; object storage needs a tensorfleet built with its cargo feature `object_store`"
            }
            Some(_) => "",
        };
        Err(unimplemented_error!(
            "File system scheme '{}' not implemented (file: '{path}'){hint}",
            scheme(path).unwrap_or_default()
        ))
    }
}

impl FileSystem for SchemeFileSystem {
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
        self.of(path)?.open(path)
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.of(path)?.create(path)
    }

    fn append(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.of(path)?.append(path)
    }

    fn appears_when_finished(&self, path: &str) -> bool {
        self.of(path).is_ok_and(|files| files.appears_when_finished(path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        if scheme(from) != scheme(to) {
            return Err(unimplemented_error!(
                "Renaming {from} to {to} not implemented: they are in different file systems"
            ));
        }
        self.of(from)?.rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.of(from)?.link(from, to)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.of(path)?.delete(path)
    }

    fn create_dir(&self, path: &str) -> Result<()> {
        self.of(path)?.create_dir(path)
    }

    fn delete_dir(&self, path: &str) -> Result<()> {
        self.of(path)?.delete_dir(path)
    }

    fn claim(&self, path: &str, text: &str) -> Result<Option<Claim>> {
        self.of(path)?.claim(path, text)
    }

    fn plain_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        self.of(path).ok()?.plain_path(path)
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        self.of(pattern)?.glob(pattern)
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::Code;

    use super::*;

    #[test]
    fn schemes_of_paths() {
        for (path, want) in [
            ("/a/b", None),
            ("a://b", Some("a")),
            ("s3://bucket/key", Some("s3")),
            ("/a://b", None),
            ("://b", None),
            ("file:///tmp/a", Some("file")),
        ] {
            assert_eq!(scheme(path), want, "{path}");
        }
    }

    #[test]
    fn a_scheme_that_nobody_knows_is_named() {
        let error = SchemeFileSystem::default().open("ftp://a/b").unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (Code::Unimplemented, "File system scheme 'ftp' not implemented (file: 'ftp://a/b')")
        );
    }

    #[cfg(not(feature = "object_store"))]
    #[test]
    fn object_storage_that_is_not_compiled_in_names_its_feature() {
        for path in ["s3://a/b", "gs://a/b", "az://a/b"] {
            let error = SchemeFileSystem::default().create(path).unwrap_err();
            assert_eq!(error.code(), Code::Unimplemented);
            assert!(error.message().contains("cargo feature `object_store`"), "{error}");
        }
    }
}

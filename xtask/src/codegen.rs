//! `cargo xtask codegen`: Rust code for the `.proto` files of `crates/proto`.
//!
//! Generated code is checked in, so that a build needs neither `protoc` nor a build script.
//! Everything is first generated into a scratch directory, then copied over the checked-in files
//! or, with `--check`, compared with them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use prost::Message;
use tonic_prost_build::{Config, FileDescriptorSet};

use crate::{Result, workspace};

/// The file, beside the generated code, that holds the serialized descriptors.
const DESCRIPTOR_SET: &str = "descriptors.bin";

/// Replaces the checked-in code.
pub(crate) fn write() -> Result {
    let directory = checked_in();
    let fresh = generate()?;
    let present = read_files(&directory)?;
    fs::create_dir_all(&directory)?;
    for name in differing(&fresh, &present) {
        match fresh.get(name) {
            Some(contents) => fs::write(directory.join(name), contents)?,
            None => fs::remove_file(directory.join(name))?,
        }
    }
    Ok(())
}

/// Fails if the checked-in code is not what the `.proto` files give.
pub(crate) fn check() -> Result {
    compare(&generate()?, &read_files(&checked_in())?)
}

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

fn checked_in() -> PathBuf {
    workspace::root().join("crates/proto/src/generated")
}

fn generate() -> Result<Files> {
    let descriptors = compile(&workspace::root().join("crates/proto/proto"))?;
    let scratch = scratch_directory()?;

    let mut config = Config::new();
    // Payloads of errors are keyed by type URL, which the `Name` trait provides.
    config.enable_type_names().type_name_domain(["."], "type.googleapis.com");
    // Calls are served without tonic (crates/rpc/src/grpc.rs).
    tonic_prost_build::configure()
        .build_server(false)
        .bytes(".")
        .btree_map(".")
        .compile_well_known_types(true)
        .out_dir(&scratch)
        .compile_fds_with_config(descriptors.clone(), config)?;

    fs::write(scratch.join(DESCRIPTOR_SET), without_comments(descriptors).encode_to_vec())?;
    Ok(read_files(&scratch)?)
}

/// Parses and links all `.proto` files below a directory.
fn compile(protos: &Path) -> Result<FileDescriptorSet> {
    let mut files = Vec::new();
    find_protos(protos, &mut files)?;
    files.sort();
    let mut compiler = protox::Compiler::new([protos])?;
    // Comments become documentation of the generated code.
    compiler.include_imports(true).include_source_info(true);
    // Only the debug form says where in which file.
    compiler.open_files(files).map_err(|error| format!("{error:?}"))?;
    Ok(compiler.file_descriptor_set())
}

fn find_protos(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            find_protos(&path, found)?;
        } else if path.extension() == Some(OsStr::new("proto")) {
            found.push(path);
        }
    }
    Ok(())
}

fn without_comments(mut descriptors: FileDescriptorSet) -> FileDescriptorSet {
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    descriptors
}

/// An empty directory below `target`.
fn scratch_directory() -> io::Result<PathBuf> {
    let scratch = workspace::target_dir().join("codegen");
    match fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&scratch)?,
    }
    Ok(scratch)
}

fn read_files(directory: &Path) -> io::Result<Files> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Files::new()),
        entries => entries?,
    };
    entries
        .map(|entry| {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok((name, fs::read(entry.path())?))
        })
        .collect()
}

fn compare(fresh: &Files, present: &Files) -> Result {
    let names = differing(fresh, present);
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    Err(format!("generated code is out of date, run `cargo xtask codegen`: {names}").into())
}

/// Names of files that are missing, superfluous or different.
fn differing<'a>(fresh: &'a Files, present: &'a Files) -> Vec<&'a str> {
    let superfluous = present.keys().filter(|name| !fresh.contains_key(*name));
    let changed = fresh.iter().filter(|(name, contents)| present.get(*name) != Some(contents));
    changed.map(|(name, _)| name).chain(superfluous).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn comparison_names_every_file_that_differs() {
        let fresh = files(&[("same", "1"), ("changed", "2"), ("new", "3")]);
        let present = files(&[("same", "1"), ("changed", "0"), ("stale", "4")]);
        let error = compare(&fresh, &present).unwrap_err().to_string();
        assert!(error.ends_with(": changed, new, stale"), "{error}");
        assert!(compare(&fresh, &fresh).is_ok());
    }
}

//! Makes the typed functions for all ops, and holds the checked-in ones to the registry.
//!
//! `UPDATE_EXPECT=1 cargo test -p tensorfleet-client --test it generated` writes them anew. What an op
//! does stands in `summaries/<family>.txt`, a line for each op; one without a line is described by
//! its signature.

mod function;
mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tensorfleet_framework::Registry;
use tensorfleet_graph::OpLookup as _;

const UPDATE: &str = "write them anew: \
     UPDATE_EXPECT=1 cargo test -p tensorfleet-client --test it generated";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The lines of a family: the name of an op, and what it does.
fn summaries(family: &str) -> BTreeMap<String, String> {
    let path = folder("tests/it/generated/summaries").join(format!("{family}.txt"));
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(|line| line.split_once(' ').expect("a name and a sentence"));
    lines.map(|(name, summary)| (name.to_owned(), summary.to_owned())).collect()
}

/// The text of a family's module.
fn module(family: &str, ops: &[&str], registry: &Registry) -> String {
    let mut summaries = summaries(family);
    let mut text = format!(
        "//! Ops of the family `{family}`, @generated from the registry by `tests/it/generated`.\n\n\
         use super::prelude::*;\n"
    );
    for op in ops {
        let def = registry.op_def(op).unwrap();
        text.push_str(&function::text(&def, summaries.remove(*op).as_deref()));
    }
    assert!(summaries.is_empty(), "summaries of ops that {family} does not have: {summaries:?}");
    text
}

/// All modules by the name of their file.
fn modules() -> BTreeMap<String, String> {
    let registry = tensorfleet_ops::registry().unwrap();
    let mut modules = BTreeMap::new();
    let mut list = String::from(include_str!("head.txt"));
    for (family, ops) in tensorfleet_ops::families() {
        let mut names: Vec<&str> =
            ops.map(|op| op.name).filter(|name| !name.starts_with('_')).collect();
        names.sort_unstable();
        if names.is_empty() {
            continue;
        }
        writeln!(list, "#[rustfmt::skip]\npub mod {family};").unwrap();
        modules.insert(format!("{family}.rs"), module(family, &names, &registry));
    }
    modules.insert("mod.rs".to_owned(), list);
    modules
}

#[test]
fn functions_are_those_of_the_registry() {
    let folder = folder("src/ops");
    let modules = modules();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        for (file, text) in &modules {
            fs::write(folder.join(file), text).unwrap();
        }
    }
    for (file, text) in &modules {
        let have = fs::read_to_string(folder.join(file)).unwrap_or_default();
        if let Some((have, want)) = have.lines().zip(text.lines()).find(|(have, want)| have != want)
        {
            panic!("{file} has `{have}` where it should have `{want}`; {UPDATE}");
        }
        assert_eq!(have.lines().count(), text.lines().count(), "{file} is out of date; {UPDATE}");
    }
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let stale: Vec<_> =
        files.filter(|name| !modules.contains_key(name.to_str().unwrap())).collect();
    assert!(stale.is_empty(), "modules of families that are gone: {stale:?}");
}

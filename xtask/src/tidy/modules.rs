//! Source files that no `mod` names: the compiler never sees them, so they rot.

use std::collections::HashSet;

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut reached: HashSet<String> = HashSet::new();
    let roots = tree.files.iter().filter(|file| file.is_rust() && is_root(&file.path));
    let mut open: Vec<&File> = roots.collect();
    while let Some(file) = open.pop() {
        if reached.insert(file.path.clone()) {
            let named = named_by(file);
            open.extend(tree.files.iter().filter(|file| named.contains(&file.path)));
        }
    }
    let lost = tree.files.iter().filter(|file| file.is_rust() && !reached.contains(&file.path));
    lost.map(|file| file.finding(1, "no `mod` names this file, so it is never compiled")).collect()
}

/// Tells whether cargo compiles a file of its own accord.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let inside = match parts[..] {
        ["crates", _, ref inside @ ..] | ["xtask", ref inside @ ..] => inside,
        _ => return false,
    };
    matches!(
        inside,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Returns the paths that a file's `mod` items and `include!` calls may mean.
fn named_by(file: &File) -> Vec<String> {
    let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let stem = name.trim_end_matches(".rs");
    let is_index = is_root(&file.path) || stem == "mod";
    let children = if is_index { directory.to_owned() } else { format!("{directory}/{stem}") };
    let code = &file.rust.code;
    let mut paths = Vec::new();
    for (start, _) in code.match_indices("mod ") {
        let before = code[..start].chars().next_back();
        let Some((module, _)) = code[start + 4..].split_once(';') else { continue };
        let module = module.trim().trim_start_matches("r#");
        let is_word = module.chars().all(|c| c.is_alphanumeric() || c == '_');
        if before.is_none_or(char::is_whitespace) && is_word {
            paths.push(format!("{children}/{module}.rs"));
            paths.push(format!("{children}/{module}/mod.rs"));
        }
    }
    for start in ["#[path", "include!("].iter().flat_map(|mark| code.match_indices(mark)) {
        let literal = file.text[start.0..].split('"').nth(1).unwrap_or_default();
        paths.push(format!("{directory}/{literal}"));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn a_file_that_nobody_names_is_found() {
        check_rule(
            check,
            &[
                ("crates/ops/src/lib.rs", "mod math;\npub(crate) mod array;\n// mod lost;"),
                ("crates/ops/src/math/mod.rs", "mod add;"),
                ("crates/ops/src/math/add.rs", "#[cfg(test)]\nmod tests;"),
                ("crates/ops/src/math/add/tests.rs", ""),
                ("crates/ops/src/array.rs", ""),
                ("crates/ops/src/lost.rs", "mod deeper;"),
                ("crates/ops/src/lost/deeper.rs", ""),
            ],
            &[
                "crates/ops/src/lost.rs:1: no `mod` names this file, so it is never compiled",
                "crates/ops/src/lost/deeper.rs:1: no `mod` names this file, so it is never compiled",
            ],
        );
    }

    #[test]
    fn cargo_finds_targets_itself() {
        check_rule(
            check,
            &[
                ("crates/cluster/tests/it/main.rs", "mod faults;"),
                ("crates/cluster/tests/it/faults.rs", ""),
                ("crates/cluster/examples/hello.rs", ""),
                ("xtask/src/main.rs", ""),
            ],
            &[],
        );
    }

    #[test]
    fn included_and_moved_files_are_named() {
        check_rule(
            check,
            &[
                (
                    "crates/proto/src/lib.rs",
                    "include!(\"generated/a.rs\");\n#[path = \"generated/b.rs\"]\nmod c;",
                ),
                ("crates/proto/src/generated/a.rs", ""),
                ("crates/proto/src/generated/b.rs", ""),
                ("crates/proto/src/generated/d.rs", ""),
            ],
            &[
                "crates/proto/src/generated/d.rs:1: no `mod` names this file, so it is never compiled",
            ],
        );
    }
}

//! Manifests: dependencies between our crates point down, and versions live in the root.

use super::Finding;
use super::tree::{File, Tree, numbered};

/// Each crate with the crates right below it. What those may use, it may use too.
const LAYERS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("kernels", &[]),
    ("transport", &[]),
    ("tensor", &["proto"]),
    ("graph", &["tensor"]),
    ("files", &["tensor"]),
    ("framework", &["graph", "files"]),
    ("checkpoint", &["files", "proto"]),
    ("ops", &["framework", "checkpoint", "kernels"]),
    ("planner", &["framework"]),
    ("runtime", &["framework", "kernels"]),
    ("journal", &["checkpoint", "runtime"]),
    ("spec", &["tensor", "proto"]),
    ("cluster", &["spec", "planner", "runtime"]),
    ("security", &["tensor", "transport"]),
    ("rpc", &["cluster", "journal", "proto", "security"]),
    ("server", &["rpc", "ops"]),
    ("client", &["server"]),
    ("strategy", &["client"]),
    ("tensorfleet", &["strategy", "server"]),
    ("simulation", &["cluster", "ops"]),
    ("python", &["tensorfleet", "server"]),
    ("testing", &["strategy", "server"]),
    ("fuzz", &["testing", "rpc", "ops"]),
    ("xtask", &[]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let parts: Vec<&str> = file.path.split('/').collect();
    let name = match parts[..] {
        ["crates", name, "Cargo.toml"] => name,
        ["xtask", "Cargo.toml"] => "xtask",
        _ => return Vec::new(),
    };
    let mut findings = Vec::new();
    if !LAYERS.iter().any(|(known, _)| *known == name) {
        let message = format!("crate `{name}` has no place among the layers of STYLE.md");
        findings.push(file.finding(1, message));
    }
    if !file.text.contains("[lints]\nworkspace = true") {
        findings
            .push(file.finding(1, "the workspace's lints are not on: `lints.workspace = true`"));
    }
    let mut section = "";
    for (line, text) in numbered(&file.text) {
        if let Some(header) = text.strip_prefix('[') {
            section = header.trim_end().trim_end_matches(']');
        } else if let Some((dependency, value)) = dependency(section, text) {
            if !dependency.ends_with(".workspace") && !value.contains("workspace = true") {
                findings.push(file.finding(line, "versions live in `[workspace.dependencies]`"));
            }
            let dependency = dependency.split('.').next().unwrap_or(dependency);
            let ours = dependency.strip_prefix("tensorfleet-").unwrap_or(dependency);
            // Tests may build on anything: cargo lets their arrows point up.
            let is_ours = dependency.starts_with("tensorfleet");
            if is_ours && section != "dev-dependencies" && !below(name).contains(&ours) {
                let message = format!("`{name}` may not depend on `{ours}`: arrows point down");
                findings.push(file.finding(line, message));
            }
        }
    }
    findings
}

/// Reads a line such as `name.workspace = true` in a section that lists dependencies.
fn dependency<'a>(section: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let lists = section == "dependencies" || section.ends_with("-dependencies");
    let lists = lists || (section.starts_with("target.") && section.ends_with("dependencies"));
    let (key, value) = line.split_once('=')?;
    (lists && !line.starts_with('#')).then(|| (key.trim(), value.trim()))
}

/// Returns every crate that a crate may use.
fn below(name: &str) -> Vec<&'static str> {
    let direct =
        LAYERS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, below)| below);
    direct.iter().flat_map(|next| below(next).into_iter().chain([*next])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    fn manifest(dependencies: &str) -> String {
        format!(
            "[package]\nname = \"x\"\n[lints]\nworkspace = true\n[dependencies]\n{dependencies}"
        )
    }

    #[test]
    fn arrows_point_down() {
        let text = manifest("tensorfleet-ops.workspace = true\ntensorfleet-graph.workspace = true");
        check_rule(
            check,
            &[("crates/runtime/Cargo.toml", &text)],
            &["crates/runtime/Cargo.toml:6: `runtime` may not depend on `ops`: arrows point down"],
        );
    }

    #[test]
    fn kernels_stand_alone() {
        let text = manifest("tensorfleet-tensor = { workspace = true }\nhalf.workspace = true");
        check_rule(
            check,
            &[("crates/kernels/Cargo.toml", &text)],
            &[
                "crates/kernels/Cargo.toml:6: `kernels` may not depend on `tensor`: arrows point down",
            ],
        );
    }

    #[test]
    fn tests_may_use_what_lies_above() {
        let text = manifest("") + "[dev-dependencies]\ntensorfleet-testing.workspace = true";
        check_rule(check, &[("crates/graph/Cargo.toml", &text)], &[]);
    }

    #[test]
    fn testing_is_for_tests() {
        let text = manifest("tensorfleet-testing.workspace = true");
        check_rule(
            check,
            &[("crates/rpc/Cargo.toml", &text)],
            &["crates/rpc/Cargo.toml:6: `rpc` may not depend on `testing`: arrows point down"],
        );
    }

    #[test]
    fn versions_live_in_the_root() {
        let text = manifest("bytes = \"1\"\nclap = { version = \"4\" }\nhalf.workspace = true");
        check_rule(
            check,
            &[("crates/tensorfleet/Cargo.toml", &text), ("Cargo.toml", &text)],
            &[
                "crates/tensorfleet/Cargo.toml:6: versions live in `[workspace.dependencies]`",
                "crates/tensorfleet/Cargo.toml:7: versions live in `[workspace.dependencies]`",
            ],
        );
    }

    #[test]
    fn every_crate_has_a_layer_and_lints() {
        check_rule(
            check,
            &[("crates/extra/Cargo.toml", "[package]\nname = \"tensorfleet-extra\"")],
            &[
                "crates/extra/Cargo.toml:1: crate `extra` has no place among the layers of STYLE.md",
                "crates/extra/Cargo.toml:1: the workspace's lints are not on: \
                 `lints.workspace = true`",
            ],
        );
    }
}

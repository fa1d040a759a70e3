//! `cargo xtask deny`: whether dependencies are as `deny.toml` wants them.
//!
//! Where they come from and what is banned is read from `Cargo.lock`, without a network. Licences and
//! advisories are cargo-deny's to check, where that is installed.

use std::process::Command;

use crate::{Result, workspace};

pub(crate) fn run() -> Result {
    let read = |name: &str| std::fs::read_to_string(workspace::root().join(name));
    let wrong = check(&read("Cargo.lock")?, &read("deny.toml")?);
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    let is_there = Command::new("cargo").args(["deny", "--version"]).output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        println!(
            "sources and bans are as deny.toml wants; licences and advisories are not checked:"
        );
        println!("cargo-deny is not installed (`cargo install cargo-deny`)");
        return Ok(());
    }
    let status =
        Command::new("cargo").args(["deny", "check"]).current_dir(workspace::root()).status()?;
    if status.success() { Ok(()) } else { Err("cargo-deny found something".into()) }
}

/// What of a lock file the policy forbids.
fn check(lock: &str, policy: &str) -> Vec<String> {
    let quoted = |text: &str| -> Vec<String> {
        text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let line_of = |key: &str| policy.lines().find(|line| line.trim_start().starts_with(key));
    let registries = quoted(line_of("allow-registry").unwrap_or_default());
    let banned: Vec<String> = policy
        .lines()
        .filter(|line| line.trim_start().starts_with("{ crate ="))
        .flat_map(quoted)
        .collect();
    let mut wrong = Vec::new();
    if registries.is_empty() {
        wrong.push("deny.toml allows no registry".to_owned());
    }
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim_start_matches([' ', '=']).trim_matches('"').to_owned())
        };
        let name = field("name").unwrap_or_default();
        if banned.contains(&name) {
            wrong.push(format!("{name} is banned by deny.toml"));
        }
        let Some(source) = field("source") else { continue };
        let registry = source.strip_prefix("registry+").map(str::to_owned);
        if !registry.is_some_and(|registry| registries.contains(&registry)) {
            wrong.push(format!("{name} comes from {source}, which deny.toml does not allow"));
        }
        if field("checksum").is_none() {
            wrong.push(format!("{name} has no checksum in Cargo.lock"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str =
        "deny = [\n    { crate = \"openssl\" },\n]\nallow-registry = [\"https://a\"]\n";

    #[test]
    fn what_the_policy_forbids_is_found() {
        let package = |name: &str, rest: &str| format!("[[package]]\nname = \"{name}\"\n{rest}\n");
        let good = "source = \"registry+https://a\"\nchecksum = \"1\"";
        for (lock, want) in [
            (package("ours", ""), ""),
            (package("fine", good), ""),
            (package("openssl", good), "banned"),
            (package("x", "source = \"git+https://b\"\nchecksum = \"1\""), "comes from"),
            (package("x", "source = \"registry+https://b\"\nchecksum = \"1\""), "comes from"),
            (package("x", "source = \"registry+https://a\""), "no checksum"),
        ] {
            let wrong = check(&lock, POLICY).join("\n");
            assert_eq!(wrong.is_empty(), want.is_empty(), "{lock}: {wrong}");
            assert!(wrong.contains(want), "{wrong}");
        }
        assert!(!check("", "").is_empty());
    }
}

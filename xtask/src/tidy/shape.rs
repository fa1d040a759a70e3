//! The shape of a source file: not too long, and opened by a header that says what it is.

use super::Finding;
use super::tree::{File, Tree};

const LIMIT: usize = 800;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree
        .files
        .iter()
        .filter(|file| (file.is_rust() || file.path.ends_with(".py")) && !file.is_generated());
    let mut findings: Vec<Finding> = sources.filter_map(too_long).collect();
    findings.extend(tree.rust().filter(|file| !has_header(file)).map(|file| {
        file.finding(1, "no `//!` header: say what the module is, and the idea that makes it work")
    }));
    findings
}

fn too_long(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    let message = format!("{lines} lines, and {LIMIT} are the limit: where is the seam?");
    (lines > LIMIT).then(|| file.finding(lines, message))
}

/// Tells whether a `//!` comment comes before the first item; attributes may come before it.
fn has_header(file: &File) -> bool {
    let starts_file = |line: &&str| !line.is_empty() && !line.starts_with("#!");
    file.text.lines().find(starts_file).is_some_and(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn long_files_are_found() {
        let long = "//! Header.\n".to_owned() + &"\n".repeat(LIMIT);
        let message = "801 lines, and 800 are the limit: where is the seam?";
        check_rule(
            check,
            &[
                ("crates/ops/src/long.rs", &long),
                ("crates/ops/src/generated/long.rs", &long),
                ("conformance/long.py", &long),
                ("Cargo.lock", &long),
            ],
            &[
                &format!("conformance/long.py:801: {message}"),
                &format!("crates/ops/src/long.rs:801: {message}"),
            ],
        );
    }

    #[test]
    fn files_without_header_are_found() {
        check_rule(
            check,
            &[
                ("crates/ops/src/a.rs", "//! `A`.\nuse b;"),
                ("crates/ops/src/b.rs", "#![expect(unsafe_code)]\n\n//! `B`."),
                ("crates/ops/src/c.rs", "use b;\n//! `C`."),
            ],
            &["crates/ops/src/c.rs:1: no `//!` header: say what the module is, and the idea that \
               makes it work"],
        );
    }
}

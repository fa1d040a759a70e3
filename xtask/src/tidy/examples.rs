//! What Rust programs use is shown in use: public items have an example, or name the item whose
//! example uses them.
//!
//! Methods of traits are shown by the trait, variants and fields by their type.

use super::Finding;
use super::tree::{File, Tree};

/// Where the items are that the crate `tensorfleet` hands on to programs.
const FOLDERS: &[&str] = &[
    "crates/client/src/",
    "crates/cluster/src/spec/",
    "crates/server/src/",
    "crates/strategy/src/",
];

/// Written from the registry: one example in front of all families.
const GENERATED: &str = "crates/client/src/ops/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_shown = |file: &&File| {
        FOLDERS.iter().any(|folder| file.path.starts_with(folder))
            && !file.path.starts_with(GENERATED)
    };
    tree.rust().filter(is_shown).flat_map(without_example).collect()
}

fn without_example(file: &File) -> Vec<Finding> {
    // Functions of these files translate messages, which programs do not see.
    let is_wire = file.path.ends_with("/wire.rs");
    let mut findings = Vec::new();
    let mut has_example = false;
    let mut is_attribute = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let text = line.trim_start();
        if text == "mod tests {" {
            break;
        }
        // An attribute may go on for some lines.
        is_attribute |= text.starts_with("#[");
        if is_attribute || text.starts_with("///") {
            has_example |= text.starts_with("/// ```") || text.contains("xample of [`");
            is_attribute &= !text.ends_with(']');
            continue;
        }
        let is_message = is_wire && line.starts_with("pub");
        if !has_example
            && !is_message
            && let Some(name) = item(text)
        {
            findings.push(file.finding(number, format!("`{name}` has no example")));
        }
        has_example = false;
    }
    findings
}

/// The name of the public item that a line begins.
fn item(line: &str) -> Option<&str> {
    const KINDS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];
    let words = line.strip_prefix("pub ")?;
    let mut words = words.split([' ', '(', '<', ':', ';', '{']);
    // Before `fn` may come `async` and `const`; a name is never `fn`.
    let kind = words.find(|word| !matches!(*word, "async" | "unsafe"))?;
    let name = words.next().filter(|_| KINDS.contains(&kind))?;
    if name == "fn" { words.next() } else { Some(name) }
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn public_items_without_example_are_found() {
        check_rule(
            check,
            &[
                (
                    "crates/client/src/a.rs",
                    "/// One.\n/// ```\n/// one();\n/// ```\n#[must_use]\n#[expect(\n    a,\n)]\n\
                     pub fn one() {}\n\
                     /// Two.\npub async fn two<T>() {}\n\
                     pub const THREE: i32 = 3;\npub const fn four() {}\n\
                     /// As in the example of [`one`].\npub struct Five;\n\
                     pub(crate) fn six() {}\npub use seven;\npub eight: i32,\n\
                     mod tests {\npub fn nine() {}\n",
                ),
                ("crates/client/src/ops/b.rs", "pub fn generated() {}\n"),
                (
                    "crates/cluster/src/spec/wire.rs",
                    "pub fn message() {}\n    pub fn method() {}\n",
                ),
                ("crates/ops/src/c.rs", "pub fn elsewhere() {}\n"),
            ],
            &[
                "crates/client/src/a.rs:11: `two` has no example",
                "crates/client/src/a.rs:12: `THREE` has no example",
                "crates/client/src/a.rs:13: `four` has no example",
                "crates/cluster/src/spec/wire.rs:2: `method` has no example",
            ],
        );
    }
}

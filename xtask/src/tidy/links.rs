//! Links between documents: each must lead to a file of the repository.

use super::Finding;
use super::tree::{Tree, numbered};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut in_code = false;
        for (line, text) in numbered(&file.text) {
            in_code ^= text.trim_start().starts_with("```");
            let targets = if in_code { Vec::new() } else { targets(text) };
            for target in targets.into_iter().filter(|target| !exists(tree, &file.path, target)) {
                findings.push(file.finding(line, format!("link to missing file `{target}`")));
            }
        }
    }
    findings
}

/// Returns where the links of a line lead, as in `[text](target)` and `[label]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (index, part) in line.split('`').enumerate() {
        // Every second part lies between backquotes and is code.
        if index % 2 == 0 {
            found.extend(part.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()));
        }
    }
    if let Some((label, target)) = line.split_once("]: ")
        && label.starts_with('[')
    {
        found.extend(target.split_whitespace().next());
    }
    found
}

fn exists(tree: &Tree, from: &str, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let directory = format!("{path}/");
    tree.contains(&path) || tree.files.iter().any(|file| file.path.starts_with(&directory))
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let text = "See [style](../STYLE.md#names), [gone](gone.md) and [web](https://example.com).\n\
                    [ops]: ops.md\n[lost]: lost.md \"title\"\n[here](#here) and [crates](../crates/)\n\
                    `[code](a.md)`\n```\n[code](b.md)\n```\n";
        check_rule(
            check,
            &[
                ("docs/guide.md", text),
                ("docs/ops.md", ""),
                ("STYLE.md", ""),
                ("crates/ops/src/lib.rs", ""),
            ],
            &[
                "docs/guide.md:1: link to missing file `gone.md`",
                "docs/guide.md:3: link to missing file `lost.md`",
            ],
        );
    }
}

//! What is left behind while working: unfinished code, switched-off tests, paths of one machine.

use super::Finding;
use super::tree::{File, Tree, has_phrase, numbered};

// The marks are put together here so that this file does not contain what it looks for.
const REMINDERS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const UNFINISHED: [&str; 2] = [concat!("todo", "!"), concat!("unimplemented", "!")];
const SWITCHED_OFF: [&str; 4] = [
    concat!("#[", "ignore"),
    concat!("pytest.mark.", "skip"),
    concat!("pytest.mark.", "xfail"),
    concat!("pytest.", "skip"),
];
const MACHINE_PATHS: [&str; 3] =
    [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "farm/")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(|file| check_source(file).into_iter().chain(paths(file))).collect()
}

fn check_source(file: &File) -> Vec<Finding> {
    let is_python = file.path.ends_with(".py");
    if file.is_generated() || !(file.is_rust() || is_python) {
        return Vec::new();
    }
    let (code, comments) =
        if is_python { (&file.text, &file.text) } else { (&file.rust.code, &file.rust.comments) };
    let mut findings = Vec::new();
    for (line, text) in numbered(code) {
        if UNFINISHED.iter().any(|mark| text.contains(mark)) && !is_python {
            findings.push(file.finding(line, "unfinished code: return an error instead"));
        }
        if SWITCHED_OFF.iter().any(|mark| text.contains(mark)) {
            let message = "a test is switched off: assert today's behaviour with a comment instead";
            findings.push(file.finding(line, message));
        }
    }
    for (line, text) in numbered(comments) {
        if let Some(mark) = REMINDERS.iter().find(|mark| has_phrase(text, mark))
            && !names_issue(text)
        {
            findings.push(file.finding(line, format!("{mark} without an issue number")));
        }
    }
    findings
}

fn paths(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in numbered(&file.text) {
        for path in MACHINE_PATHS.iter().filter(|path| names_path(text, path)) {
            findings.push(file.finding(line, format!("`{path}` is a path of one machine")));
        }
    }
    findings
}

/// Tells whether a line has an absolute path that starts so; `net/work/` does not count.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~".contains(c))
    })
}

/// Tells whether a line names an issue, as in `#12`.
fn names_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn unfinished_code_is_found() {
        let [todo, unimplemented] = UNFINISHED;
        let text = format!("fn f() {{ {todo}() }}\nfn g() {{ {unimplemented}() }}\n// {todo}");
        check_rule(
            check,
            &[("crates/ops/src/a.rs", &text)],
            &[
                "crates/ops/src/a.rs:1: unfinished code: return an error instead",
                "crates/ops/src/a.rs:2: unfinished code: return an error instead",
            ],
        );
    }

    #[test]
    fn reminders_need_an_issue() {
        let [todo, fixme, _] = REMINDERS;
        let rust = format!("// {todo}: later\n// {todo}(#12): later\nlet {todo} = \"{fixme}\";");
        let python = format!("x = 1  # {fixme} later");
        check_rule(
            check,
            &[("crates/ops/src/a.rs", &rust), ("conformance/a.py", &python)],
            &[
                &format!("conformance/a.py:1: {fixme} without an issue number"),
                &format!("crates/ops/src/a.rs:1: {todo} without an issue number"),
            ],
        );
    }

    #[test]
    fn switched_off_tests_are_found() {
        let [ignore, skip, ..] = SWITCHED_OFF;
        let why = "a test is switched off: assert today's behaviour with a comment instead";
        check_rule(
            check,
            &[
                ("crates/ops/src/a.rs", &format!("#[test]\n{ignore}]\nfn f() {{}}")),
                ("conformance/test_a.py", &format!("@{skip}")),
            ],
            &[&format!("conformance/test_a.py:1: {why}"), &format!("crates/ops/src/a.rs:2: {why}")],
        );
    }

    #[test]
    fn machine_paths_are_found_anywhere() {
        let [work, root, _] = MACHINE_PATHS;
        check_rule(
            check,
            &[
                ("README.md", &format!("Run {work}tensorfleet.")),
                (".ci/run", &format!("cd {root}src")),
                ("docs/a.md", "See net/work/a."),
            ],
            &[
                &format!(".ci/run:1: `{root}` is a path of one machine"),
                &format!("README.md:1: `{work}` is a path of one machine"),
            ],
        );
    }
}

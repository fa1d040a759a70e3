//! `cargo xtask tidy`: the rules of STYLE.md that a program can check.
//!
//! Each rule is a function from the tree of files to findings. It sees only that tree, so its
//! tests show on a few lines of text that it can fail.

mod examples;
mod layers;
mod leftovers;
mod links;
mod modules;
mod scan;
mod shape;
mod tree;
mod words;

use std::fmt;

use crate::{Result, workspace};
use tree::Tree;

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    examples::check,
    layers::check,
    leftovers::check,
    links::check,
    modules::check,
    shape::check,
    words::check,
];

pub(crate) fn run() -> Result {
    let tree = Tree::load(&workspace::root())?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{} files are tidy", tree.files.len());
            Ok(())
        }
        count => Err(format!("{count} places are not tidy; STYLE.md has the rules").into()),
    }
}

/// Compares what a rule finds in a tree, given as path and text, with the expected lines.
#[cfg(test)]
fn check_rule(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let mut findings = rule(&Tree::of(files));
    findings.sort();
    let found: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert_eq!(found, expected);
}

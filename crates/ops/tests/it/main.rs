//! All ops together: against recorded values, absurd input and finite differences.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod coverage;
mod differentiable;
mod golden;
mod gradient;
mod hostile;

use std::path::{Path, PathBuf};

/// The files of values recorded from TensorFlow: `golden/<family>.jsonl`.
fn recorded_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

//! Every op with absurd input: an answer or an error, never a panic, never the end of the process.
//!
//! `TENSORFLEET_FUZZ_ROUNDS=100` tries a hundred changes of each recorded case instead of one.

use std::path::{Path, PathBuf};

use tensorfleet_testing::check_hostile;

#[test]
fn absurd_input_is_survived() {
    let registry = tensorfleet_ops::registry().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let rounds = std::env::var("TENSORFLEET_FUZZ_ROUNDS");
    let rounds = rounds.ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    check_hostile(&registry, &files, rounds, "hostile::absurd_input_is_survived").unwrap();
}

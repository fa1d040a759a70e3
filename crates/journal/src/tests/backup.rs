//! A backup elsewhere, and tasks that start from it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_framework::Resources;
use tensorfleet_tensor::{Code, Result, Tensor};

use super::task::{Step, Task, registry};
use crate::{Durability, DurableJournal, Options, Store};

const TASK: &str = "/job:ps/replica:0/task:0";

/// A task in a directory, shipped to another one.
fn options(directory: &Path, backup: Option<&Path>, restore_from: Option<&Path>) -> Options {
    let store = |path: &Path| {
        let mut store = Store::new(format!("file://{}/deep/down", path.display()));
        store.every = Duration::from_millis(1);
        store
    };
    Options {
        segment_bytes: 8192,
        snapshot_after: 16384,
        backup: backup.map(store),
        restore_from: restore_from.map(store),
        ..Options::new(directory, Durability::Sync)
    }
}

fn start(options: &Options) -> Result<Task> {
    let resources = Arc::new(Resources::new("ps"));
    let devices = [Arc::clone(&resources)];
    let journal = DurableJournal::open(options, TASK, registry(), &devices)?.unwrap();
    Ok(Task { resources, journal })
}

fn train(step: &Step, turn: i64) -> Result<()> {
    if turn == 0 {
        step.assign("x", Tensor::scalar(0i64))?;
    }
    step.assign("y", Tensor::vector(&[turn; 100])?)?;
    step.add("x", 1)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory.join("deep/down")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until everything told so far is in the backup.
fn wait(task: &Task) {
    let told = task.journal.progress().told;
    while task.journal.progress().backed_up.is_none_or(|(number, _)| number < told) {
        std::thread::yield_now();
    }
}

#[test]
fn an_empty_machine_starts_from_what_was_shipped_at_any_time() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let (first, backup) = (path("first"), path("backup"));
    let task = start(&options(&first, Some(&backup), None)).unwrap();
    for turn in 0..60 {
        task.run(|step| train(step, turn)).unwrap();
        if turn % 7 == 0 {
            wait(&task);
            // Another machine, while the first goes on.
            let other = path(&format!("other-{turn}"));
            let found = start(&options(&other, None, Some(&backup))).unwrap();
            assert_eq!(found.state(), task.state(), "turn {turn}");
        }
    }
    wait(&task);
    let shipped = names(&backup);
    assert!(shipped.iter().any(|name| name.starts_with("snapshot-")), "{shipped:?}");
    assert!(!shipped.iter().any(|name| name.starts_with("log-0000000000000001")), "{shipped:?}");
    // What is told when a task is closed is shipped before it ends.
    task.run(|step| train(step, 99)).unwrap();
    let before = task.state();
    drop(task);
    let moved = start(&options(&path("moved"), Some(&backup), Some(&backup))).unwrap();
    assert_eq!(moved.state(), before);
    // It ships on from there, and a third one starts from what it shipped.
    moved.run(|step| train(step, 100)).unwrap();
    wait(&moved);
    let before = moved.state();
    drop(moved);
    let third = start(&options(&path("third"), Some(&backup), Some(&backup))).unwrap();
    assert_eq!(third.state(), before);
    // A directory that has a log does not look elsewhere.
    third.run(|step| train(step, 101)).unwrap();
    let before = third.state();
    drop(third);
    let again = start(&options(&path("third"), Some(&backup), Some(&backup))).unwrap();
    assert_eq!(again.state(), before);
}

#[test]
fn who_was_replaced_ships_no_more() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let backup = path("backup");
    let old = start(&options(&path("old"), Some(&backup), None)).unwrap();
    old.run(|step| train(step, 0)).unwrap();
    wait(&old);
    let new = start(&options(&path("new"), Some(&backup), Some(&backup))).unwrap();
    // It does not know, and goes on; but the backup is the new one's.
    old.run(|step| train(step, 1)).unwrap();
    while old.journal.progress().backup_error.is_none() {
        std::thread::yield_now();
    }
    let error = old.journal.progress().backup_error.unwrap();
    assert!(error.contains("written by another process"), "{error}");
    new.run(|step| train(step, 2)).unwrap();
    wait(&new);
    let found = start(&options(&path("third"), None, Some(&backup))).unwrap();
    assert_eq!(found.state(), new.state());
}

#[test]
fn a_backup_belongs_to_one_directory_and_lacks_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let backup = path("backup");
    let error = start(&options(&path("early"), None, Some(&backup))).unwrap_err();
    assert_eq!(error.code(), Code::NotFound, "{error}");
    let task = start(&options(&path("first"), Some(&backup), None)).unwrap();
    for turn in 0..3 {
        task.run(|step| train(step, turn)).unwrap();
        wait(&task);
    }
    drop(task);
    let error = start(&options(&path("stranger"), Some(&backup), None)).unwrap_err();
    assert!(error.to_string().contains("another data directory"), "{error}");
    let pieces: Vec<String> =
        names(&backup).into_iter().filter(|name| name.starts_with("log-")).collect();
    assert!(pieces.len() > 2, "{pieces:?}");
    let gone = backup.join("deep/down").join(&pieces[1]);
    let kept = std::fs::read(&gone).unwrap();
    std::fs::remove_file(&gone).unwrap();
    let half = path("half");
    let error = start(&options(&half, None, Some(&backup))).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss, "{error}");
    assert!(error.to_string().contains("lacks the piece"), "{error}");
    // What is half there is not taken for all.
    let error = start(&options(&half, None, None)).unwrap_err();
    assert!(error.to_string().contains("is not whole"), "{error}");
    for bit in [0, 400, 8 * 48 + 3, 8 * (kept.len() - 1)] {
        let mut flipped = kept.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&gone, flipped).unwrap();
        let found = start(&options(&path(&format!("bit-{bit}")), None, Some(&backup)));
        assert_eq!(found.unwrap_err().code(), Code::DataLoss, "bit {bit}");
    }
    std::fs::write(&gone, kept).unwrap();
    let found = start(&options(&half, None, Some(&backup))).unwrap();
    assert_eq!(found.counter("x"), 3);
}

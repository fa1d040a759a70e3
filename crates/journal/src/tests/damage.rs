//! Files that somebody has changed: an error, or exactly what was there; never something else.

use tensorfleet_tensor::Tensor;

use super::bad_disk::BadDisk;
use super::task::{SMALL, Task, options, random};
use crate::{Disk, Durability, Options};

/// A disk with a snapshot and a log of several files, and what is in it.
fn written() -> (BadDisk, Vec<(String, Vec<u8>)>) {
    let disk = BadDisk::default();
    let often = Options { snapshot_after: SMALL, ..options(Durability::Sync) };
    let task = Task::start_with(&disk, &often).unwrap();
    let has_snapshot =
        |disk: &BadDisk| disk.list().unwrap().iter().any(|name| name.starts_with("snapshot-"));
    let mut turns = 0;
    while turns < 60 || !has_snapshot(&disk) {
        turns += 1;
        task.run(|step| {
            step.assign("x", Tensor::scalar(0i64))?;
            step.add("x", turns)?;
            step.assign("y", Tensor::vector(&[turns; 30])?)
        })
        .unwrap();
    }
    task.journal.close();
    let state = task.state();
    // A second life in which no snapshot is taken, with several files.
    let disk = disk.after_kill();
    let task = Task::start(&disk).unwrap();
    assert_eq!(task.state(), state);
    for _ in 0..20 {
        task.add("x", 3).unwrap();
    }
    task.journal.close();
    (disk.after_kill(), task.state())
}

#[track_caller]
fn check(disk: &BadDisk, state: &[(String, Vec<u8>)], what: &str) -> bool {
    match Task::start(disk) {
        Ok(task) => {
            assert!(task.state() == state, "{what}");
            true
        }
        Err(error) => {
            assert_eq!(error.code(), tensorfleet_tensor::Code::DataLoss, "{what}: {error}");
            false
        }
    }
}

#[test]
fn flipped_bits_are_noticed_or_do_not_matter() {
    let (disk, state) = written();
    assert!(check(&disk.after_kill(), &state, "undamaged"));
    let mut random = random(5);
    let mut noticed = 0;
    for name in disk.list().unwrap() {
        let len = disk.open(&name).unwrap().size().unwrap() as usize;
        for _ in 0..150 {
            let (byte, bit) = (random(len), random(8));
            let damaged = disk.after_kill();
            damaged.damage(&name, |bytes| bytes[byte] ^= 1 << bit);
            let unharmed = check(&damaged, &state, &format!("bit {bit} of byte {byte} of {name}"));
            noticed += usize::from(!unharmed);
        }
    }
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn files_that_are_cut_or_missing_are_noticed() {
    let (disk, state) = written();
    let mut random = random(6);
    for name in disk.list().unwrap() {
        let len = disk.open(&name).unwrap().size().unwrap() as usize;
        for len in [0, 1, 47, 48, len - 48, len - 1].into_iter().chain((0..40).map(|_| random(len)))
        {
            let damaged = disk.after_kill();
            damaged.damage(&name, |bytes| bytes.truncate(len));
            assert!(!check(&damaged, &state, &name), "{len} bytes of {name}");
        }
    }
    let names = disk.list().unwrap();
    let logs: Vec<_> = names.iter().filter(|name| name.starts_with("log-")).collect();
    assert!(logs.len() > 2, "{names:?}");
    // The first ones may hold only what the snapshot has.
    let unharmed = logs[..logs.len() - 1].iter().filter(|name| {
        let damaged = disk.after_kill();
        damaged.forget(name);
        check(&damaged, &state, name)
    });
    assert!(unharmed.count() < logs.len() - 1);
}

#[test]
fn a_log_of_arbitrary_bytes_is_an_error() {
    let mut random = random(7);
    for _ in 0..200 {
        let disk = BadDisk::default();
        let len = random(300);
        let bytes: Vec<u8> = (0..len).map(|_| random(256) as u8).collect();
        let file = disk.create("log-0000000000000001", 0).unwrap();
        file.write(0, &bytes).unwrap();
        assert!(Task::start(&disk).is_err());
    }
}

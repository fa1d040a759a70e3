//! Crashes at every place, on disks that lose, tear and reorder what was not synced.

use std::time::Duration;

use tensorfleet_tensor::{Code, Tensor};

use super::bad_disk::{BadDisk, Faults};
use super::task::{SMALL, Task, options, random};
use crate::{Durability, Options};

/// Two counters that every step moves together, and how far steps were acknowledged and begun.
struct History {
    acknowledged: i64,
    begun: i64,
}

fn often() -> Options {
    Options { snapshot_after: SMALL / 2, ..options(Durability::Sync) }
}

/// Nothing is promised for the next hour.
fn lazily() -> Options {
    Options { durability: Durability::Interval(Duration::from_secs(3600)), ..often() }
}

/// Runs steps until the disk fails, or `steps` of them.
fn run(task: &Task, steps: i64) -> History {
    let mut history = History { acknowledged: task.counter("x"), begun: task.counter("x") };
    for step in 0..steps {
        if task.value("x").is_none() {
            let made = task.run(|running| {
                running.assign("x", Tensor::scalar(0i64))?;
                running.assign("y", Tensor::vector(&[0i64; 40])?)
            });
            if made.is_err() {
                break;
            }
        }
        let ended = task.run(|running| {
            history.begun += 1;
            running.add("x", 1)?;
            if step % 3 == 0 {
                // Somebody else's step comes between.
                task.begin().add("x", 0)?;
            }
            running.assign("y", Tensor::vector(&[history.begun; 40])?)
        });
        match ended {
            Ok(()) => history.acknowledged = history.begun,
            Err(_) => break,
        }
    }
    history
}

/// What is wrong with what was found, if anything is.
fn check(history: &History, found: &Task) -> Option<String> {
    let (x, y) = (found.counter("x"), found.value("y"));
    let y = y.map_or(0, |y| y.values::<i64>().unwrap()[39]);
    if x != y {
        return Some(format!("half a step: x is {x}, y is {y}"));
    }
    if x < history.acknowledged || x > history.begun {
        return Some(format!("{x} of {} to {}", history.acknowledged, history.begun));
    }
    None
}

/// Cuts the power after a number of uses of the disk, twice, and looks at what is found.
fn cut_power(seed: u64, options: &Options, lies: bool) -> Option<String> {
    let mut random = random(seed);
    let mut disk = BadDisk::default();
    for _ in 0..2 {
        let task = Task::start_with(&disk, options).unwrap();
        disk.break_with(Faults { end_after: Some(random(60) as u64), lies, ..Faults::default() });
        let mut history = run(&task, 40);
        if options.durability != Durability::Sync {
            history.acknowledged = 0;
        }
        let found = disk.after_power_cut(&mut random);
        let looked = match Task::start_with(&found.after_kill(), options) {
            Ok(task) => check(&history, &task),
            Err(error) => Some(error.to_string()),
        };
        if looked.is_some() {
            return looked.map(|what| format!("seed {seed}: {what}"));
        }
        disk = found;
    }
    None
}

#[test]
fn what_was_acknowledged_is_found_after_the_power_was_cut_at_any_time() {
    for seed in 0..300 {
        assert_eq!(cut_power(seed, &often(), false), None);
    }
}

#[test]
fn what_is_found_without_a_promise_is_whole_steps_all_the_same() {
    for seed in 0..150 {
        assert_eq!(cut_power(seed, &lazily(), false), None);
    }
}

#[test]
fn an_interval_ends_on_the_disk_without_another_step() {
    let disk = BadDisk::default();
    let soon = options(Durability::Interval(Duration::from_millis(2)));
    let task = Task::start_with(&disk, &soon).unwrap();
    run(&task, 3);
    while Task::start(&disk.after_power_cut(&mut |_| 0)).unwrap().counter("x") < 3 {
        std::thread::yield_now();
    }
}

#[test]
fn a_disk_that_lies_about_syncs_is_found_out_by_the_same_check() {
    assert!((0..100).any(|seed| cut_power(seed, &often(), true).is_some()));
}

#[test]
fn what_was_acknowledged_is_found_after_a_kill_at_any_time() {
    let whole = {
        let disk = BadDisk::default();
        run(&Task::start_with(&disk, &often()).unwrap(), 12);
        disk.uses()
    };
    for end in 0..whole {
        let disk = BadDisk::default();
        let task = Task::start_with(&disk, &often()).unwrap();
        disk.break_with(Faults { end_after: Some(end), ..Faults::default() });
        let history = run(&task, 12);
        let found = Task::start_with(&disk.after_kill(), &often()).unwrap();
        assert_eq!(check(&history, &found), None, "after {end} of {whole} uses of the disk");
    }
}

#[test]
fn a_full_disk_stops_changes_and_says_so_until_there_is_room() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    run(&task, 3);
    disk.break_with(Faults { end_after: Some(0), full: true, ..Faults::default() });
    let error = task.add("x", 1).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted);
    assert!(error.message().contains("data directory is full"), "{error}");
    let before = task.counter("x");
    // Nothing changes from now on, not even in memory; what is there can be read.
    assert_eq!(task.add("x", 1).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(task.counter("x"), before);
    disk.break_with(Faults::default());
    assert_eq!(task.add("x", 1).unwrap_err().code(), Code::ResourceExhausted);
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(found.counter("x"), 3);
    found.add("x", 1).unwrap();
}

#[test]
fn a_disk_that_fails_is_told_as_lost_data() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    run(&task, 1);
    disk.break_with(Faults { end_after: Some(1), ..Faults::default() });
    let error = task.add("x", 1).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(error.message().contains("the disk is gone"), "{error}");
}

//! Calls of masters that are made again after a crash.

use tensorfleet_framework::{CallId, Parcel, Recalled, Sent, StepId};
use tensorfleet_tensor::{DType, Shape, Tensor};

use super::bad_disk::BadDisk;
use super::task::{SMALL, Step, Task, options};
use crate::{Disk, Durability, Options};

fn call(step: i64) -> CallId {
    CallId { session: 7, step, device: 0 }
}

fn begin(task: &Task, step: i64) -> Step {
    task.begin_with(Some(task.resources.journal().unwrap().begin_call(call(step))))
}

fn recall(task: &Task, step: i64) -> Option<Recalled> {
    task.resources.journal().unwrap().recall(call(step))
}

fn recall_sent(task: &Task, step: i64, key: &str) -> Option<Sent> {
    task.resources.journal().unwrap().recall_sent(StepId(step), 0, key)
}

fn counter() -> (BadDisk, Task) {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(0i64))).unwrap();
    (disk, task)
}

#[test]
fn a_call_is_recalled_if_and_only_if_its_changes_stand() {
    let (disk, task) = counter();
    let done = begin(&task, 1);
    done.add("x", 1).unwrap();
    done.end().unwrap();
    let under_way = begin(&task, 2);
    under_way.add("x", 10).unwrap();
    let failed = begin(&task, 3);
    failed.add("x", 100).unwrap();
    drop(failed);
    let reader = begin(&task, 4);
    reader.end().unwrap();
    task.add("x", 1000).unwrap();
    assert_eq!(recall(&task, 1), None, "that is for others who come back");
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(found.counter("x"), 1101);
    let recalled = [1, 2, 3, 4].map(|step| recall(&found, step));
    assert_eq!(recalled, [Some(Recalled::Done), None, Some(Recalled::Cut), None]);
    let other = CallId { session: 8, ..call(1) };
    assert_eq!(found.resources.journal().unwrap().recall(other), None);
    found.resources.journal().unwrap().forget_calls(StepId(1));
    assert_eq!(recall(&found, 1), None);
}

#[test]
fn a_call_that_others_are_built_on_is_recalled_as_cut() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    let first = begin(&task, 1);
    first.assign("x", Tensor::scalar(40i64)).unwrap();
    task.add("x", 2).unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(found.counter("x"), 42);
    assert_eq!(recall(&found, 1), Some(Recalled::Cut));
}

#[test]
fn what_a_call_has_sent_is_kept_if_it_is_small() {
    let (disk, task) = counter();
    let step = begin(&task, 1);
    let send = |key: &str, floats: usize| {
        let tensor = Tensor::zeros(DType::Float, Shape::vector(floats)).unwrap();
        step.send(key, &Parcel { tensor, is_dead: false });
    };
    send("read", 10);
    send("large read", 1000);
    step.add("x", 1).unwrap();
    send("learnt", 1000);
    send("large", 100_000);
    step.send("dead", &Parcel::dead());
    step.end().unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    let len = |key: &str| match recall_sent(&found, 1, key) {
        Some(Sent::Kept(parcel)) => Some((parcel.tensor.shape().num_elements(), parcel.is_dead)),
        Some(Sent::Lost(Recalled::Done)) => None,
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(len("read"), Some((10, false)));
    assert_eq!(len("learnt"), Some((1000, false)));
    assert_eq!(len("dead"), Some((0, true)));
    assert_eq!((len("large read"), len("large"), len("never")), (None, None, None));
    assert!(recall_sent(&found, 2, "read").is_none());
}

#[test]
fn calls_outlive_snapshots() {
    let disk = BadDisk::default();
    let often = Options { snapshot_after: 2 * SMALL, ..options(Durability::Sync) };
    let task = Task::start_with(&disk, &often).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(0i64))).unwrap();
    let done = begin(&task, 1);
    done.add("x", 1).unwrap();
    done.end().unwrap();
    while disk.list().unwrap().contains(&"log-0000000000000001".to_owned()) {
        task.add("x", 1).unwrap();
        std::thread::yield_now();
    }
    task.journal.close();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(recall(&found, 1), Some(Recalled::Done));
    found.journal.close();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(recall(&found, 1), Some(Recalled::Done));
}

//! What survives, and what does not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tensorfleet_framework::{Resources, Value};
use tensorfleet_graph::AttrValue;
use tensorfleet_tensor::{Code, DType, Shape, Tensor};

use super::bad_disk::BadDisk;
use super::task::{SMALL, Step, Task, options, registry};
use crate::{Disk, Durability, DurableJournal, Options};

const FLOAT: AttrValue = AttrValue::Type(DType::Float);

fn floats(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn tensor(value: f32) -> Value {
    Value::Tensor(Tensor::scalar(value))
}

/// Changes of every kind.
fn train(step: &Step, turn: f32) {
    for name in ["w", "m", "v"] {
        if turn == 0.0 {
            step.assign(name, floats(&[0.5; 3000])).unwrap();
        }
    }
    let mut adam: Vec<Value> = ["w", "m", "v"].map(|name| step.handle(name)).into();
    adam.extend([0.9, 0.99, 0.1, 0.9, 0.99, 1e-7].map(tensor));
    let gradient: Vec<f32> = (0..3000).map(|i| turn + i as f32 * 0.37).collect();
    adam.push(Value::Tensor(floats(&gradient)));
    step.op("ResourceApplyAdam", &[("T", FLOAT)], adam).unwrap();

    let table = step.reference("table", DType::Float);
    let zeros = Tensor::zeros(DType::Float, Shape::matrix(8, 3)).unwrap();
    if turn == 0.0 {
        let inputs = vec![table.clone(), Value::Tensor(zeros)];
        step.op("Assign", &[("T", FLOAT)], inputs).unwrap();
    }
    let rows = Value::Tensor(Tensor::vector(&[1i64, 7, 1]).unwrap());
    let updates = Tensor::from_slice(Shape::matrix(3, 3), &[turn + 0.1; 9]).unwrap();
    let types = [("T", FLOAT), ("Tindices", AttrValue::Type(DType::Int64))];
    step.op("ScatterAdd", &types, vec![table, rows, Value::Tensor(updates)]).unwrap();

    let words = ["", "a", "long \u{e9}"].map(|word| Bytes::from(word.as_bytes().to_vec()));
    let words = Tensor::from_strings(Shape::vector(3), words.to_vec()).unwrap();
    step.assign("words", words).unwrap();

    if turn == 0.0 {
        step.assign("generator", Tensor::vector(&[0i64, 0, 7]).unwrap()).unwrap();
    }
    let draw = vec![
        step.handle("generator"),
        Value::Tensor(Tensor::scalar(1i64)),
        Value::Tensor(Tensor::vector(&[5i64]).unwrap()),
    ];
    step.op("StatefulStandardNormalV2", &[("dtype", FLOAT)], draw).unwrap();

    step.assign("gone", floats(&[turn])).unwrap();
    step.op("DestroyResourceOp", &[], vec![step.handle("gone")]).unwrap();
}

#[test]
fn every_kind_of_change_survives_bit_for_bit() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    for turn in 0..5 {
        task.run(|step| {
            train(step, turn as f32);
            Ok(())
        })
        .unwrap();
    }
    let before = task.state();
    assert_eq!(before.len(), 6, "{:?}", before.iter().map(|(name, _)| name).collect::<Vec<_>>());
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(found.state(), before);
    // And from there on again.
    found
        .run(|step| {
            train(step, 9.0);
            Ok(())
        })
        .unwrap();
    task.run(|step| {
        train(step, 9.0);
        Ok(())
    })
    .unwrap();
    assert_eq!(found.state(), task.state());
}

#[test]
fn a_step_that_did_not_end_leaves_nothing_and_takes_nothing_with_it() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(0i64))).unwrap();
    let unfinished = task.begin();
    unfinished.add("x", 100).unwrap();
    task.add("x", 1).unwrap();
    unfinished.op("DestroyResourceOp", &[], vec![unfinished.handle("x")]).unwrap();
    task.run(|step| step.assign("y", Tensor::scalar(5i64))).unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!((found.counter("x"), found.counter("y")), (1, 5));
    // A step that fails has made what it has made, and so it stays.
    drop(unfinished);
    task.add("y", 1).unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert!(found.value("x").is_none());
    assert_eq!(found.counter("y"), 6);
}

#[test]
fn what_an_answered_step_is_built_on_stays_with_it() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    let unfinished = task.begin();
    unfinished.assign("x", Tensor::scalar(40i64)).unwrap();
    let other = task.begin();
    other.assign("y", Tensor::scalar(1i64)).unwrap();
    task.add("x", 2).unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert_eq!(found.counter("x"), 42);
    assert!(found.value("y").is_none());
}

#[test]
fn a_container_that_is_reset_stays_empty() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(3i64))).unwrap();
    let unit = task.resources.begin_unit();
    task.resources.cleanup("ps", unit.as_deref()).unwrap();
    drop(unit);
    task.run(|step| step.assign("y", Tensor::scalar(4i64))).unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert!(found.value("x").is_none());
    assert_eq!(found.counter("y"), 4);
}

#[test]
fn an_op_that_fails_half_way_is_made_again_half_way() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(0i64))).unwrap();
    let error = task.run(|step| {
        step.add("x", 1)?;
        step.assign("x", floats(&[1.0]))
    });
    assert_eq!(error.unwrap_err().code(), Code::InvalidArgument);
    task.add("x", 1).unwrap();
    assert_eq!(Task::start(&disk.after_kill()).unwrap().counter("x"), task.counter("x"));
}

#[test]
fn snapshots_replace_the_log_while_steps_go_on() {
    let disk = BadDisk::default();
    let often = Options { snapshot_after: 2 * SMALL, ..options(Durability::Sync) };
    let task = Task::start_with(&disk, &often).unwrap();
    let unfinished = task.begin();
    unfinished.assign("z", Tensor::scalar(1i64)).unwrap();
    for turn in 0..40 {
        task.run(|step| {
            train(step, turn as f32);
            Ok(())
        })
        .unwrap();
    }
    // As long as a step that was under way has not ended, the snapshot with its changes is none.
    assert!(disk.list().unwrap().iter().all(|name| !name.starts_with("snapshot-")));
    let found = Task::start(&disk.after_kill()).unwrap();
    assert!(found.value("z").is_none());
    unfinished.end().unwrap();
    let mut turns = 40;
    while disk.list().unwrap().iter().all(|name| !name.starts_with("snapshot-")) {
        turns += 1;
        task.run(|step| {
            train(step, turns as f32);
            Ok(())
        })
        .unwrap();
        std::thread::yield_now();
    }
    let last_life = disk.after_kill();
    assert_eq!(Task::start(&last_life).unwrap().state(), task.state());
    task.journal.close();
    let first = "log-0000000000000001".to_owned();
    assert!(!disk.list().unwrap().contains(&first), "the log before the snapshot is gone");
    assert_eq!(Task::start(&disk.after_kill()).unwrap().state(), task.state());
}

#[test]
fn a_closed_journal_has_everything_and_takes_no_more() {
    let disk = BadDisk::default();
    let lazy = options(Durability::Interval(Duration::from_secs(3600)));
    let task = Task::start_with(&disk, &lazy).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(0i64))).unwrap();
    task.add("x", 7).unwrap();
    task.journal.close();
    assert_eq!(task.add("x", 1).unwrap_err().code(), Code::Unavailable);
    let found = Task::start(&disk.after_power_cut(&mut |_| 0)).unwrap();
    assert_eq!(found.counter("x"), 7);
}

#[test]
fn a_directory_belongs_to_one_task_and_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(directory.path().join("ps-0"), Durability::Sync);
    let open = |options: &Options, task: &str| {
        let devices = [Arc::new(Resources::new("ps"))];
        DurableJournal::open(options, task, registry(), &devices)
    };
    let journal = open(&options, "/job:ps/task:0").unwrap().unwrap();
    let error = open(&options, "/job:ps/task:0").unwrap_err();
    assert!(error.to_string().contains("another process is using it"), "{error}");
    drop(journal);
    let error = open(&options, "/job:ps/task:1").unwrap_err();
    assert!(error.to_string().contains("belongs to /job:ps/task:0"), "{error}");
    let none = Options { durability: Durability::None, ..options.clone() };
    assert_eq!(open(&none, "/job:ps/task:0").unwrap_err().code(), Code::FailedPrecondition);
    assert!(open(&options, "/job:ps/task:0").unwrap().is_some());
}

#[test]
fn the_log_of_a_sparse_update_is_little_more_than_its_gradient() {
    let disk = BadDisk::default();
    let large = Options { segment_bytes: 1 << 20, ..options(Durability::Sync) };
    let task = Task::start_with(&disk, &large).unwrap();
    let table = || Tensor::zeros(DType::Float, Shape::matrix(1000, 64));
    let rows: Vec<i64> = (0..200).map(|row| 5 * row).collect();
    let gradient = Tensor::from_slice(Shape::matrix(200, 64), &vec![0.5f32; 200 * 64]).unwrap();
    let rows = Tensor::vector(&rows).unwrap();
    let bytes = (gradient.byte_len() + rows.byte_len()) as u64;
    task.run(|step| {
        step.assign("table", table()?)?;
        step.assign("sums", table()?)
    })
    .unwrap();
    let update = || {
        task.run(|step| {
            let types = [("T", FLOAT), ("Tindices", AttrValue::Type(DType::Int64))];
            let inputs = vec![
                step.handle("table"),
                step.handle("sums"),
                tensor(0.1),
                Value::Tensor(gradient.clone()),
                Value::Tensor(rows.clone()),
            ];
            step.op("ResourceSparseApplyAdagrad", &types, inputs).map(drop)
        })
        .unwrap();
    };
    // The first one tells the op too.
    update();
    let before = task.journal.logged_bytes();
    (0..10).for_each(|_| update());
    let logged = task.journal.logged_bytes() - before;
    assert!(logged <= 10 * bytes * 11 / 10, "{logged} bytes for ten gradients of {bytes}");
}

#[test]
fn a_snapshot_is_taken_when_it_is_asked_for() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| step.assign("x", Tensor::scalar(3i64))).unwrap();
    let number = task.journal.snapshot().unwrap();
    let name = format!("snapshot-{number:016x}");
    assert!(disk.list().unwrap().contains(&name));
    assert_eq!(task.journal.snapshot().unwrap(), number);
    task.add("x", 1).unwrap();
    assert!(task.journal.snapshot().unwrap() > number);
    assert!(!disk.list().unwrap().contains(&name));
    assert_eq!(Task::start(&disk.after_kill()).unwrap().counter("x"), 4);
    task.journal.close();
    assert_eq!(task.journal.snapshot().unwrap_err().code(), Code::Unavailable);
}

//! Tables, queues, accumulators and barriers survive as variables do.

use bytes::Bytes;
use tensorfleet_framework::{Event, Value};
use tensorfleet_graph::{AttrList, AttrValue};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor};

use super::bad_disk::{BadDisk, Faults};
use super::task::{SMALL, Step, Task, options, random, registry};
use crate::{Disk, Durability, Options, hostile};

const INT64: AttrValue = AttrValue::Type(DType::Int64);
const FLOAT: AttrValue = AttrValue::Type(DType::Float);

fn text(text: &str) -> AttrValue {
    AttrValue::String(Bytes::copy_from_slice(text.as_bytes()))
}

fn ints(values: &[i64]) -> Value {
    Value::Tensor(Tensor::vector(values).unwrap())
}

fn floats(rows: usize, values: &[f32]) -> Value {
    let shape = Shape::matrix(rows, values.len() / rows);
    Value::Tensor(Tensor::from_slice(shape, values).unwrap())
}

fn scalar(value: i64) -> Value {
    Value::Tensor(Tensor::scalar(value))
}

fn words(values: &[&str]) -> Value {
    let words = values.iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
    Value::Tensor(Tensor::from_strings(Shape::vector(values.len()), words).unwrap())
}

fn shapes(shapes: &[Shape]) -> AttrValue {
    AttrValue::List(AttrList::Shapes(shapes.iter().map(PartialShape::from).collect()))
}

/// Makes or finds a resource.
fn make(step: &Step, op: &str, name: &str, attrs: &[(&str, AttrValue)], keys: &[Value]) -> Value {
    let attrs = [attrs, &[("shared_name", text(name))]].concat();
    step.op(op, &attrs, keys.to_vec()).unwrap().remove(0)
}

fn rows_table(step: &Step) -> Value {
    let shape = AttrValue::Shape(PartialShape::from(&Shape::vector(2)));
    let attrs = [("key_dtype", INT64), ("value_dtype", FLOAT), ("value_shape", shape)];
    make(step, "MutableHashTableOfTensorsV2", "rows", &attrs, &[])
}

fn dense_table(step: &Step) -> Value {
    let buckets = AttrValue::Int(4);
    let attrs = [("key_dtype", INT64), ("value_dtype", INT64), ("initial_num_buckets", buckets)];
    make(step, "MutableDenseHashTableV2", "dense", &attrs, &[scalar(-1), scalar(-2)])
}

fn vocabulary(step: &Step) -> Value {
    let attrs = [("key_dtype", AttrValue::Type(DType::String)), ("value_dtype", INT64)];
    make(step, "HashTableV2", "vocabulary", &attrs, &[])
}

fn queue(step: &Step, op: &str, name: &str) -> Value {
    let types = AttrValue::List(AttrList::Types(vec![DType::Int64]));
    let attrs = [("component_types", types), ("shapes", shapes(&[Shape::SCALAR]))];
    make(step, op, name, &attrs, &[])
}

fn accumulator(step: &Step, op: &str, name: &str) -> Value {
    let shape = AttrValue::Shape(PartialShape::UNKNOWN);
    make(step, op, name, &[("dtype", FLOAT), ("shape", shape)], &[])
}

fn barrier(step: &Step) -> Value {
    let types = AttrValue::List(AttrList::Types(vec![DType::Int64, DType::Float]));
    let attrs = [("component_types", types), ("shapes", shapes(&[Shape::SCALAR, Shape::SCALAR]))];
    make(step, "Barrier", "barrier", &attrs, &[])
}

fn put(step: &Step, queue: &Value, value: i64) -> Result<()> {
    let types = [("Tcomponents", AttrValue::List(AttrList::Types(vec![DType::Int64])))];
    step.op("QueueEnqueueV2", &types, vec![queue.clone(), scalar(value)]).map(drop)
}

fn take(step: &Step, queue: &Value) -> Result<i64> {
    let types = [("component_types", AttrValue::List(AttrList::Types(vec![DType::Int64])))];
    match &step.op("QueueDequeueV2", &types, vec![queue.clone()])?[..] {
        [Value::Tensor(tensor)] => tensor.scalar_value(),
        other => panic!("{other:?}"),
    }
}

fn length(step: &Step, queue: &Value) -> i32 {
    match &step.op("QueueSizeV2", &[], vec![queue.clone()]).unwrap()[..] {
        [Value::Tensor(tensor)] => tensor.scalar_value().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Changes of every kind. What comes of the first turn is not what comes of the others.
fn change(step: &Step, turn: i64) -> Result<()> {
    let types = [("Tin", INT64), ("Tout", FLOAT)];
    let rows = rows_table(step);
    let values = floats(3, &[turn as f32, 0.5, 1.5, 2.5, 3.5, 4.5]);
    step.op("LookupTableInsertV2", &types, vec![rows.clone(), ints(&[turn, 1, 70]), values])?;
    step.op("LookupTableRemoveV2", &[("Tin", INT64)], vec![rows, ints(&[turn - 2, 99])])?;

    let (dense, types) = (dense_table(step), [("Tin", INT64), ("Tout", INT64)]);
    let keys = [3 * turn, 3 * turn + 1, 5];
    step.op("LookupTableInsertV2", &types, vec![dense.clone(), ints(&keys), ints(&keys)])?;
    // The second key stands for none, so only the first is put.
    let bad = vec![dense.clone(), ints(&[1000 + turn, -1]), ints(&[7, 7])];
    assert!(step.op("LookupTableInsertV2", &types, bad).is_err());
    step.op("LookupTableRemoveV2", &[("Tin", INT64)], vec![dense, ints(&[3 * turn - 3])])?;

    let types = [("Tkey", AttrValue::Type(DType::String)), ("Tval", INT64)];
    let filled = vec![vocabulary(step), words(&["a", "b"]), ints(&[1, 2])];
    step.op("InitializeTableV2", &types, filled)?;

    for (op, name) in [("FIFOQueueV2", "fifo"), ("PriorityQueueV2", "priority")] {
        let types = AttrValue::List(AttrList::Empty);
        let queue = match name {
            "fifo" => queue(step, op, name),
            _ => make(step, op, name, &[("component_types", types), ("shapes", shapes(&[]))], &[]),
        };
        for value in [turn, 9 - turn, turn] {
            put(step, &queue, value)?;
        }
        take(step, &queue)?;
    }
    let shuffled = queue(step, "RandomShuffleQueueV2", "shuffled");
    put(step, &shuffled, turn)?;

    let gradient = Value::Tensor(Tensor::vector(&[0.1f32 * turn as f32, 0.7]).unwrap());
    let dense = accumulator(step, "ResourceConditionalAccumulator", "dense");
    let inputs = vec![dense.clone(), scalar(turn), gradient];
    step.op("ResourceAccumulatorApplyGradient", &[("dtype", FLOAT)], inputs)?;
    if turn % 3 == 2 {
        let required = Value::Tensor(Tensor::scalar(1i32));
        let take = vec![dense, required];
        step.op("ResourceAccumulatorTakeGradient", &[("dtype", FLOAT)], take)?;
    }
    let sparse = accumulator(step, "SparseConditionalAccumulator", "sparse");
    let values = floats(2, &[0.1, 0.2, 0.3, turn as f32]);
    let inputs = vec![sparse, scalar(turn), ints(&[turn, 8]), values, ints(&[])];
    let attrs = [("dtype", FLOAT), ("has_known_shape", AttrValue::Bool(false))];
    step.op("SparseAccumulatorApplyGradient", &attrs, inputs)?;

    let barrier = barrier(step);
    let insert = |index: i64, dtype: DType, keys: Value, values: Value| {
        let attrs = [("T", AttrValue::Type(dtype)), ("component_index", AttrValue::Int(index))];
        step.op("BarrierInsertMany", &attrs, vec![barrier.clone(), keys, values])
    };
    let (one, two) = (format!("one {turn}"), format!("two {turn}"));
    insert(0, DType::Int64, words(&[&one, &two]), ints(&[1, 2]))?;
    let half = Value::Tensor(Tensor::vector(&[0.5f32]).unwrap());
    insert(1, DType::Float, words(&[&one]), half)?;
    if turn % 2 == 1 {
        let types = AttrValue::List(AttrList::Types(vec![DType::Int64, DType::Float]));
        let count = Value::Tensor(Tensor::scalar(1i32));
        step.op("BarrierTakeMany", &[("component_types", types)], vec![barrier.clone(), count])?;
    }
    Ok(())
}

/// What all resources hold, in words that do not depend on the order of entries of a hash table.
fn held(task: &Task) -> Vec<String> {
    let mut held = Vec::new();
    task.resources.for_each_durable(|resource, container, name, _| {
        for Event { kind, tensors } in resource.events().unwrap() {
            let rows = match (name, &tensors[..]) {
                ("rows" | "vocabulary", [keys, values]) => {
                    let mut pairs: Vec<String> = (0..keys.dims()[0])
                        .map(|at| {
                            format!("{:?} {:?}", keys.rows(at..at + 1), values.rows(at..at + 1))
                        })
                        .collect();
                    pairs.sort();
                    pairs.join(", ")
                }
                _ => format!("{tensors:?}"),
            };
            held.push(format!("{container}/{name} {kind}: {rows}"));
        }
    });
    held.sort();
    held
}

#[test]
fn everything_that_happened_to_resources_happens_again() {
    let often = Options { snapshot_after: 4 * SMALL, ..options(Durability::Sync) };
    for (options, turns) in [(options(Durability::Sync), 7), (often, 40)] {
        let disk = BadDisk::default();
        let task = Task::start_with(&disk, &options).unwrap();
        for turn in 0..turns {
            task.run(|step| change(step, turn)).unwrap();
        }
        let takes_snapshots = options.snapshot_after != u64::MAX;
        while takes_snapshots && !disk.list().unwrap().iter().any(|name| name.starts_with("snap")) {
            std::thread::yield_now();
        }
        let before = held(&task);
        for name in ["rows", "vocabulary", "fifo", "priority", "shuffled", "sparse", "barrier"] {
            assert!(before.iter().any(|line| line.contains(&format!("/{name} "))), "{name}");
        }
        let found = Task::start_with(&disk.after_kill(), &options).unwrap();
        assert_eq!(held(&found), before);
        // And from there on again.
        task.run(|step| change(step, turns)).unwrap();
        found.run(|step| change(step, turns)).unwrap();
        assert_eq!(held(&found), held(&task));
    }
}

#[test]
fn what_an_unfinished_step_took_is_in_its_place_again_and_what_it_put_is_not_there() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| {
        (1..=4).try_for_each(|value| put(step, &queue(step, "FIFOQueueV2", "q"), value))
    })
    .unwrap();
    let unfinished = task.begin();
    let handle = queue(&unfinished, "FIFOQueueV2", "q");
    assert_eq!(take(&unfinished, &handle).unwrap(), 1);
    put(&unfinished, &handle, 100).unwrap();
    task.run(|step| {
        assert_eq!(take(step, &handle)?, 2);
        put(step, &handle, 5)
    })
    .unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    let step = found.begin();
    let handle = queue(&step, "FIFOQueueV2", "q");
    let left: Vec<i64> = (0..4).map(|_| take(&step, &handle).unwrap()).collect();
    assert_eq!(left, [1, 3, 4, 5]);
    assert_eq!(length(&step, &handle), 0);
}

#[test]
fn closed_queues_stay_closed_and_deleted_tables_stay_away() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| {
        let handle = queue(step, "FIFOQueueV2", "q");
        put(step, &handle, 1)?;
        step.op("QueueCloseV2", &[], vec![handle])?;
        change(step, 0)?;
        step.op("DestroyResourceOp", &[], vec![rows_table(step)]).map(drop)
    })
    .unwrap();
    let found = Task::start(&disk.after_kill()).unwrap();
    assert!(!held(&found).iter().any(|line| line.contains("/rows ")));
    let step = found.begin();
    let handle = queue(&step, "FIFOQueueV2", "q");
    assert!(put(&step, &handle, 2).is_err());
    assert_eq!(take(&step, &handle).unwrap(), 1);
}

#[test]
fn what_belongs_to_a_node_alone_is_not_kept() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    task.run(|step| {
        queue(step, "FIFOQueueV2", "");
        Ok(())
    })
    .unwrap();
    assert_eq!(task.journal.progress().told, 0);
    assert_eq!(held(&Task::start(&disk.after_kill()).unwrap()), [""; 0]);
}

/// Counters of what was put and taken, which steps move together with a queue.
fn puts_and_takes(task: &Task, steps: i64) {
    for step in 0..steps {
        let ended = task.run(|running| {
            if task.value("put").is_none() {
                running.assign("put", Tensor::scalar(0i64))?;
                running.assign("taken", Tensor::scalar(0i64))?;
            }
            let handle = queue(running, "FIFOQueueV2", "q");
            if step % 3 == 2 && length(running, &handle) > 0 {
                take(running, &handle)?;
                return running.add("taken", 1);
            }
            put(running, &handle, step)?;
            running.add("put", 1)
        });
        if ended.is_err() {
            return;
        }
    }
}

#[test]
fn a_step_changes_a_queue_and_a_variable_or_neither_whenever_the_power_is_cut() {
    let often = Options { snapshot_after: SMALL / 2, ..options(Durability::Sync) };
    for seed in 0..100 {
        let mut random = random(seed);
        let disk = BadDisk::default();
        let task = Task::start_with(&disk, &often).unwrap();
        let end_after = Some(random(80) as u64);
        disk.break_with(Faults { end_after, ..Faults::default() });
        puts_and_takes(&task, 40);
        let found = Task::start_with(&disk.after_power_cut(&mut random), &often).unwrap();
        let step = found.begin();
        let left = length(&step, &queue(&step, "FIFOQueueV2", "q"));
        let counted = found.counter("put") - found.counter("taken");
        assert_eq!(i64::from(left), counted, "seed {seed}");
    }
}

#[test]
fn no_flipped_bit_of_a_log_of_resources_gives_another_state() {
    let disk = BadDisk::default();
    let large = Options { segment_bytes: 64 << 10, ..options(Durability::Sync) };
    let task = Task::start_with(&disk, &large).unwrap();
    (0..3).for_each(|turn| task.run(|step| change(step, turn)).unwrap());
    let before = held(&task);
    let mut random = random(7);
    for _ in 0..60 {
        let found = disk.after_kill();
        let bit = random(8 * 20_000);
        found.damage("log-0000000000000001", |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        if let Ok(task) = Task::start_with(&found, &large) {
            assert_eq!(held(&task), before, "bit {bit}");
        }
    }
}

#[test]
fn records_that_nobody_wrote_are_refused_or_harmless() {
    let disk = BadDisk::default();
    let task = Task::start(&disk).unwrap();
    (0..2).for_each(|turn| task.run(|step| change(step, turn)).unwrap());
    let records = hostile::records(&disk).unwrap();
    hostile::replay_bytes(&records, registry()).unwrap();
    let mut random = random(3);
    for _ in 0..1500 {
        let mut bad = records.clone();
        for _ in 0..1 + random(3) {
            let at = random(bad.len());
            match random(3) {
                0 => bad[at] = random(256) as u8,
                1 => bad.truncate(at.max(1)),
                _ => bad[at] ^= 1 << random(8),
            }
        }
        // Whatever comes of it: it ends, and nothing panics.
        let _ = hostile::replay_bytes(&bad, registry());
    }
}

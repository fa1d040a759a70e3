//! Checkpoints written by TensorFlow, read here and written again byte for byte.

#![expect(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_checkpoint::{Checkpoint, FileSystem, LocalFileSystem, ShapeAndSlice, bundle, v1};
use tensorfleet_tensor::{DType, Element, Shape, Tensor};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn local() -> Arc<dyn FileSystem> {
    Arc::new(LocalFileSystem)
}

fn fixture(name: &str) -> String {
    format!("{FIXTURES}/{name}")
}

fn number<T: Element>(convert: impl Fn(u8) -> T) -> Tensor {
    let values = [1, 2, 3, 4, 5, 100].map(convert);
    Tensor::from_slice(Shape::from([2, 3]), &values).unwrap()
}

/// The tensors of `make.py`, in its order; the first format lacks some types.
fn tensors(first_format: bool) -> Vec<(&'static str, Tensor)> {
    let mut tensors = vec![
        ("float16", number(|v| f16::from_f32(v.into()))),
        ("bfloat16", number(|v| bf16::from_f32(v.into()))),
        ("float32", number(f32::from)),
        ("float64", number(f64::from)),
        ("int8", number(|v| v as i8)),
        ("uint8", number(|v| v)),
        ("int16", number(i16::from)),
        ("uint16", number(u16::from)),
        ("int32", number(i32::from)),
        ("uint32", number(u32::from)),
        ("int64", number(i64::from)),
        ("uint64", number(u64::from)),
        ("complex64", number(|v| Complex::new(f32::from(v), 0.0))),
        ("complex128", number(|v| Complex::new(f64::from(v), 0.0))),
    ];
    let strings = [Bytes::new(), Bytes::from("abc"), Bytes::from([0, 255].repeat(70))];
    tensors.push(("string", Tensor::from_strings(Shape::from([3]), strings.to_vec()).unwrap()));
    tensors.push(("bool", Tensor::vector(&[true, false, true]).unwrap()));
    if first_format {
        tensors.retain(|(name, _)| !["bfloat16", "uint32", "uint64"].contains(name));
        tensors.push(("scalar", Tensor::scalar(-7i64)));
    } else {
        tensors.push(("scalar", Tensor::scalar(7i64)));
        tensors.push(("empty", Tensor::zeros(DType::Float, Shape::from([0, 3])).unwrap()));
    }
    tensors
}

fn assert_same(name: &str, got: &Tensor, want: &Tensor) {
    assert_eq!((got.dtype(), got.shape()), (want.dtype(), want.shape()), "{name}");
    match want.dtype() {
        DType::String => assert_eq!(got.strings().unwrap(), want.strings().unwrap(), "{name}"),
        _ => assert_eq!(got.raw(), want.raw(), "{name}"),
    }
}

fn check_reading(path: &str, tensors: &[(&str, Tensor)]) {
    let checkpoint = Checkpoint::open(local(), &fixture(path)).unwrap();
    assert_eq!(checkpoint.tensors().unwrap().len(), tensors.len());
    for (name, want) in tensors {
        assert_same(name, &checkpoint.restore(name, "", want.dtype()).unwrap(), want);
    }
}

fn check_same_bytes(written: &str, golden: &str) {
    let golden = fs::read(fixture(golden)).unwrap();
    assert!(fs::read(written).unwrap() == golden, "{written}");
}

#[test]
fn every_type_is_read() {
    check_reading("types", &tensors(false));
    check_reading("v1", &tensors(true));
}

#[test]
fn every_type_is_written_as_tensorflow_writes_it() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = format!("{}/types", directory.path().display());
    let mut writer = bundle::Writer::new(local(), &prefix).unwrap();
    for (name, tensor) in tensors(false) {
        writer.add(name, &tensor).unwrap();
    }
    writer.finish().unwrap();
    check_same_bytes(&bundle::index_path(&prefix), "types.index");
    check_same_bytes(&bundle::data_path(&prefix, 0, 1), "types.data-00000-of-00001");
}

/// An index of several blocks is too large to check in, but its checksum is not.
#[test]
fn large_indices_are_written_as_tensorflow_writes_them() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = format!("{}/many", directory.path().display());
    let mut writer = bundle::Writer::new(local(), &prefix).unwrap();
    for i in 0..9000 {
        writer.add(format!("variable_{i:05}/with/long/name"), &Tensor::scalar(i as f32)).unwrap();
    }
    writer.finish().unwrap();
    let index = fs::read(bundle::index_path(&prefix)).unwrap();
    assert_eq!((index.len(), crc32c::crc32c(&index)), (312_587, 0xd459_0559));
}

#[test]
fn the_first_format_is_written_as_tensorflow_writes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = format!("{}/v1", directory.path().display());
    let mut writer = v1::Writer::new(local(), &path);
    for (name, tensor) in tensors(true) {
        writer.add(name, &tensor).unwrap();
    }
    writer.finish().unwrap();
    check_same_bytes(&path, "v1");
}

/// The partitioned matrix of `make.py`: elements are their own numbers.
fn matrix(rows: std::ops::Range<u8>) -> Tensor {
    let values: Vec<f32> = (rows.start * 3..rows.end * 3).map(f32::from).collect();
    Tensor::from_slice(Shape::from([rows.len(), 3]), &values).unwrap()
}

#[test]
fn slices_are_joined_and_cut() {
    for path in ["merged", "v1-sliced-*"] {
        let checkpoint = Checkpoint::open(local(), &fixture(path)).unwrap();
        let read = |spec| checkpoint.restore("matrix", spec, DType::Float).unwrap();
        assert_same(path, &read(""), &matrix(0..4));
        assert_same(path, &read("4 3 2,2:-"), &matrix(2..4));
        assert_eq!(read("4 3 2,2:1,1").values::<f32>().unwrap(), [7.0, 10.0]);
    }
}

#[test]
fn bundles_are_merged_as_tensorflow_merges_them() {
    let directory = tempfile::tempdir().unwrap();
    let prefix = |name: &str| format!("{}/{name}", directory.path().display());
    for (part, spec, rows) in [("t/part0", "4 3 0,3:0,3", 0..3), ("t/part1", "4 3 3,1:0,3", 3..4)] {
        let spec = ShapeAndSlice::parse(spec).unwrap();
        let mut writer = bundle::Writer::new(local(), &prefix(part)).unwrap();
        writer.add_slice("matrix", &spec.shape, &spec.slice, &matrix(rows)).unwrap();
        writer.finish().unwrap();
    }
    let mut writer = bundle::Writer::new(local(), &prefix("t/part2")).unwrap();
    writer.add("step", &Tensor::scalar(5i64)).unwrap();
    writer.finish().unwrap();

    let parts = ["t/part0", "t/part1", "t/part2"].map(prefix);
    let parts = parts.each_ref().map(String::as_str);
    let options = bundle::MergeOptions { delete_old_dirs: true, ..Default::default() };
    bundle::merge(&local(), &parts, &prefix("merged"), options).unwrap();
    let mut written: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    written.sort();
    let data = |shard| bundle::data_path("merged", shard, 3);
    assert_eq!(written, [data(0), data(1), data(2), "merged.index".to_owned()]);
    for name in written {
        check_same_bytes(&prefix(&name), &name);
    }
}

//! Bundles written and read back, whole, sliced, merged and damaged.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tensorfleet_tensor::{Code, DType, ResourceHandle, Result, Shape, Tensor};

use super::*;
use crate::memory_files::MemoryFileSystem;
use crate::{Checkpoint, ShapeAndSlice, TensorSlice};
use tensorfleet_files::FileSystem;

fn files() -> (MemoryFileSystem, Arc<dyn FileSystem>) {
    let memory = MemoryFileSystem::default();
    (memory.clone(), Arc::new(memory))
}

fn save(files: &Arc<dyn FileSystem>, prefix: &str, tensors: &[(&str, &Tensor)]) {
    let mut writer = Writer::new(Arc::clone(files), prefix).unwrap();
    for (name, tensor) in tensors {
        writer.add(name, tensor).unwrap();
    }
    writer.finish().unwrap();
}

fn save_slice(files: &Arc<dyn FileSystem>, prefix: &str, name: &str, spec: &str, values: &[f32]) {
    let spec = ShapeAndSlice::parse(spec).unwrap();
    let tensor = Tensor::from_slice(spec.slice_shape, values).unwrap();
    let mut writer = Writer::new(Arc::clone(files), prefix).unwrap();
    writer.add_slice(name, &spec.shape, &spec.slice, &tensor).unwrap();
    writer.finish().unwrap();
}

/// Replaces the index of the bundle `p`.
fn write_index(
    files: &Arc<dyn FileSystem>,
    entries: &std::collections::BTreeMap<Vec<u8>, pb::BundleEntryProto>,
) {
    let index = writer::write_index(files, "p", &header(1), entries).unwrap();
    index.rename(&index_path("p")).unwrap();
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn strings(values: &[&'static str]) -> Tensor {
    let values: Vec<Bytes> = values.iter().map(|value| Bytes::from(*value)).collect();
    Tensor::from_strings(Shape::vector(values.len()), values).unwrap()
}

#[test]
fn tensors_come_back() {
    let (memory, files) = files();
    let weights = floats(&[1.0, 2.0]);
    let names = strings(&["a", "", "bcd"]);
    let empty = Tensor::zeros(DType::Int64, Shape::from([0, 3])).unwrap();
    save(&files, "dir/p", &[("w", &weights), ("names", &names), ("empty", &empty)]);
    assert_eq!(memory.list(), ["dir/p.data-00000-of-00001", "dir/p.index"]);

    let reader = Reader::open(files, "dir/p").unwrap();
    assert_eq!(reader.names(), [b"empty".as_slice(), b"names", b"w"]);
    assert_eq!(reader.read("w").unwrap().values::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(reader.read("names").unwrap().strings().unwrap(), names.strings().unwrap());
    assert_eq!(reader.read("empty").unwrap().shape(), &Shape::from([0, 3]));
    assert_eq!(reader.dtype_and_shape("w").unwrap(), (DType::Float, Shape::from([2])));
    assert!(reader.contains("w") && !reader.contains("v"));
    let error = reader.read("v").unwrap_err();
    assert_eq!(error.to_string(), "NOT_FOUND: Key v not found in checkpoint");
}

#[test]
fn alignment_pads_between_tensors() {
    let (_, files) = files();
    let mut writer = Writer::new(Arc::clone(&files), "p").unwrap().with_alignment(64);
    writer.add("a", &Tensor::scalar(true)).unwrap();
    writer.add("b", &floats(&[1.5])).unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(Arc::clone(&files), "p").unwrap();
    assert_eq!(reader.read("b").unwrap().values::<f32>().unwrap(), [1.5]);
    assert_eq!(files.open("p.data-00000-of-00001").unwrap().len(), 68);
}

#[test]
fn what_cannot_be_saved_is_refused() {
    let (memory, files) = files();
    let mut writer = Writer::new(files, "p").unwrap();
    writer.add("x", &floats(&[1.0])).unwrap();
    let error = writer.add("x", &floats(&[1.0])).unwrap_err();
    assert_eq!(error.to_string(), "INVALID_ARGUMENT: Adding duplicate key: x");
    let handle = Tensor::resource(ResourceHandle::default());
    assert_eq!(writer.add("r", &handle).unwrap_err().code(), Code::Unimplemented);
    assert!(writer.add("", &floats(&[1.0])).is_err());
    let slice = TensorSlice::parse("0,2").unwrap();
    assert!(writer.add_slice("y", &Shape::from([4]), &slice, &floats(&[1.0])).is_err());
    drop(writer);
    assert!(memory.list().is_empty(), "an unfinished writer leaves nothing behind");
}

#[test]
fn slices_are_joined_by_merging() {
    let (memory, files) = files();
    save_slice(&files, "t/p0", "m", "4 2 0,1:0,2", &[0.0, 1.0]);
    save_slice(&files, "t/p1", "m", "4 2 1,3:0,2", &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    save(&files, "t/p2", &[("step", &Tensor::scalar(9i64))]);
    merge(&files, &["t/p0", "t/p1", "t/p2"], "m", MergeOptions::default()).unwrap();
    let shard = |shard| data_path("m", shard, 3);
    assert_eq!(memory.list(), [shard(0), shard(1), shard(2), "m.index".to_owned()]);

    let checkpoint = Checkpoint::open(files, "m").unwrap();
    let tensors = checkpoint.tensors().unwrap();
    let summary: Vec<_> = tensors.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(summary, ["m", "step"]);
    let read = |spec| checkpoint.restore("m", spec, DType::Float).unwrap();
    assert_eq!(read("").values::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(read("4 2 0,2:1,1").values::<f32>().unwrap(), [1.0, 3.0]);
    assert_eq!(read("4 2 0,1:0,2").values::<f32>().unwrap(), [0.0, 1.0]);
}

#[test]
fn missing_slices_are_noticed() {
    let (_, files) = files();
    save_slice(&files, "p", "m", "4 2 0,1:0,2", &[0.0, 1.0]);
    let checkpoint = Checkpoint::open(files, "p").unwrap();
    let error = checkpoint.restore("m", "", DType::Float).unwrap_err();
    assert_eq!(
        error.to_string(),
        "INVALID_ARGUMENT: Does not have sufficient slices for partitioned tensor m to restore in \
         slice_spec: -:-"
    );
}

#[test]
fn requests_that_do_not_fit_are_refused_in_tensorflows_words() {
    let (_, files) = files();
    save(&files, "p", &[("x", &floats(&[1.0, 2.0]))]);
    let checkpoint = Checkpoint::open(Arc::clone(&files), "p").unwrap();
    for (spec, dtype, want) in [
        (
            "",
            DType::Int32,
            "tensor_name = x; expected dtype int32 does not equal original dtype float",
        ),
        (
            "3 0,1",
            DType::Float,
            "tensor_name = x; shape in shape_and_slice spec [3] does not match the shape stored in \
             checkpoint: [2]",
        ),
    ] {
        let error = checkpoint.restore("x", spec, dtype).unwrap_err();
        assert_eq!(error.to_string(), format!("INVALID_ARGUMENT: {want}"));
    }
    let error = Checkpoint::open(files, "none").unwrap_err();
    assert_eq!(
        error.to_string(),
        "NOT_FOUND: Unsuccessful TensorSliceReader constructor: Failed to find any matching files \
         for none"
    );
}

#[test]
fn merging_refuses_duplicates_and_missing_bundles() {
    let (memory, files) = files();
    let one = floats(&[1.0]);
    save(&files, "a", &[("x", &one)]);
    save(&files, "b", &[("x", &one)]);
    let before = memory.list();
    let merge = |prefixes: &[&str], allow_missing_files| {
        let options = MergeOptions { allow_missing_files, delete_old_dirs: false };
        super::merge(&files, prefixes, "m", options).map_err(|error| error.to_string())
    };
    assert_eq!(
        merge(&["a", "b"], false).unwrap_err(),
        "INVALID_ARGUMENT: Duplicate tensor keyed by x encountered, when merging prefix: b"
    );
    assert!(merge(&["a", "none"], false).unwrap_err().contains("none did not exist"));
    assert!(merge(&["none"], true).unwrap_err().contains("none existed"));
    assert_eq!(memory.list(), before, "nothing is touched");
    merge(&["a", "none"], true).unwrap();
    assert!(memory.list().contains(&"m.index".to_owned()));
}

/// Reads everything in a damaged checkpoint.
fn read_all(files: &Arc<dyn FileSystem>) -> Result<()> {
    let reader = Reader::open(Arc::clone(files), "p")?;
    reader.names().into_iter().try_for_each(|name| reader.read(name).map(drop))
}

#[test]
fn damage_is_data_loss_that_names_the_file() {
    let (memory, files) = files();
    save(&files, "p", &[("s", &strings(&["ab", "c"])), ("x", &floats(&[1.0, 2.0]))]);
    for (path, other_name) in [("p.data-00000-of-00001", "TensorBundle at p "), ("p.index", "?")] {
        let whole = memory.read(path);
        let damaged = (0..whole.len()).flat_map(|position| {
            let mut flipped = whole.clone();
            flipped[position] ^= 1;
            [flipped, whole[..position].to_vec()]
        });
        let mut failures = 0;
        for bytes in damaged {
            memory.write(path, &bytes);
            // Of the index some bytes are not read: the meta block and padding.
            let Err(error) = read_all(&files) else { continue };
            failures += 1;
            assert_eq!(error.code(), Code::DataLoss, "{error}");
            assert!(
                error.message().contains(path) || error.message().contains(other_name),
                "{error}"
            );
        }
        assert!(failures > whole.len());
        memory.write(path, &whole);
    }
    memory.delete("p.data-00000-of-00001").unwrap();
    assert_eq!(read_all(&files).unwrap_err().code(), Code::NotFound);
}

#[test]
fn entries_that_claim_too_much_allocate_nothing() {
    let (_, files) = files();
    let claims = pb::BundleEntryProto {
        dtype: DType::Float as i32,
        shape: Some(tensorfleet_tensor::wire::shape_proto(&Shape::from([1 << 45]))),
        size: 1 << 47,
        ..Default::default()
    };
    save(&files, "p", &[("x", &floats(&[1.0]))]);
    let entries = [(b"x".to_vec(), claims)].into_iter().collect();
    write_index(&files, &entries);
    assert_eq!(read_all(&files).unwrap_err().code(), Code::DataLoss);
}

proptest! {
    #[test]
    fn arbitrary_entries_do_not_panic(
        dtype in 0i32..40,
        dims in proptest::collection::vec(-2i64..5, 0..4),
        place in (any::<i32>(), any::<i64>(), any::<i64>()),
        slices in proptest::collection::vec(proptest::collection::vec((-1i64..5, -1i64..5), 0..3), 0..3),
    ) {
        use pb::tensor_slice_proto::{Extent, extent::HasLengthHack::Length};
        let (_, files) = files();
        save(&files, "p", &[("x", &floats(&[1.0, 2.0, 3.0]))]);
        let dim = |size| pb::tensor_shape_proto::Dim { size, name: String::new() };
        let extent = |(start, len)| Extent { start, has_length_hack: Some(Length(len)) };
        let slice = |extents: Vec<_>| pb::TensorSliceProto {
            extent: extents.into_iter().map(extent).collect(),
        };
        let entry = pb::BundleEntryProto {
            dtype,
            shape: Some(pb::TensorShapeProto {
                dim: dims.into_iter().map(dim).collect(),
                unknown_rank: false,
            }),
            shard_id: place.0 % 2,
            offset: place.1 % 16,
            size: place.2 % 16,
            crc32c: 0,
            slices: slices.into_iter().map(slice).collect(),
        };
        let entries = [(b"x".to_vec(), entry)].into_iter().collect();
        write_index(&files, &entries);
        read_all(&files).ok();
    }
}

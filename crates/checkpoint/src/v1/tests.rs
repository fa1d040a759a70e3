//! Files of the first format written and read back, whole, sliced and damaged.

use std::sync::Arc;

use proptest::prelude::*;
use tensorfleet_tensor::{Code, DType, Shape, Tensor};

use super::*;
use crate::memory_files::MemoryFileSystem;
use crate::{Checkpoint, ShapeAndSlice};
use tensorfleet_files::FileSystem;

fn files() -> (MemoryFileSystem, Arc<dyn FileSystem>) {
    let memory = MemoryFileSystem::default();
    (memory.clone(), Arc::new(memory))
}

fn save(files: &Arc<dyn FileSystem>, path: &str, tensors: &[(&str, &Tensor)]) {
    let mut writer = Writer::new(Arc::clone(files), path);
    for (name, tensor) in tensors {
        writer.add(name, tensor).unwrap();
    }
    writer.finish().unwrap();
}

fn save_slice(files: &Arc<dyn FileSystem>, path: &str, spec: &str, values: &[i32]) {
    let spec = ShapeAndSlice::parse(spec).unwrap();
    let tensor = Tensor::from_slice(spec.slice_shape, values).unwrap();
    let mut writer = Writer::new(Arc::clone(files), path);
    writer.add_slice("m", &spec.shape, &spec.slice, &tensor).unwrap();
    writer.finish().unwrap();
}

#[test]
fn several_files_are_one_checkpoint() {
    let (_, files) = files();
    save_slice(&files, "c-0", "3 2 0,1:-", &[0, 1]);
    save_slice(&files, "c-1", "3 2 1,2:-", &[2, 3, 4, 5]);
    let checkpoint = Checkpoint::open(Arc::clone(&files), "c-?").unwrap();
    let read = |spec| checkpoint.restore("m", spec, DType::Int32).unwrap();
    assert_eq!(read("").values::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(read("3 2 0,2:1,1").values::<i32>().unwrap(), [1, 3]);

    let half = Checkpoint::open(files, "c-1").unwrap();
    let error = half.restore("m", "", DType::Int32).unwrap_err();
    assert_eq!(error.to_string(), "INVALID_ARGUMENT: Error copying slice data");
}

#[test]
fn requests_that_do_not_fit_are_refused_in_tensorflows_words() {
    let (_, files) = files();
    save(&files, "c", &[("x", &Tensor::scalar(1f32))]);
    let checkpoint = Checkpoint::open(files, "c").unwrap();
    let message =
        |name, spec, dtype| checkpoint.restore(name, spec, dtype).unwrap_err().to_string();
    assert_eq!(
        message("q", "", DType::Float),
        "NOT_FOUND: Tensor name \"q\" not found in checkpoint files c"
    );
    assert_eq!(
        message("x", "", DType::Int32),
        "INVALID_ARGUMENT: Expected to restore a tensor of type int32, got a tensor of type float \
         instead: tensor_name = x"
    );
    assert_eq!(
        message("x", "5 -", DType::Float),
        "INVALID_ARGUMENT: Shape in shape_and_slice spec does not match the shape in the save \
         file: [5], save file shape: []"
    );
}

#[test]
fn what_cannot_be_saved_is_refused() {
    let (_, files) = files();
    let mut writer = Writer::new(files, "c");
    writer.add("x", &Tensor::scalar(1f32)).unwrap();
    let other_shape = Tensor::vector(&[1f32]).unwrap();
    assert_eq!(writer.add("x", &other_shape).unwrap_err().code(), Code::Internal);
    assert_eq!(writer.add("x", &Tensor::scalar(1i32)).unwrap_err().code(), Code::Internal);
    assert_eq!(writer.add("u", &Tensor::scalar(1u64)).unwrap_err().code(), Code::Unimplemented);
}

#[test]
fn damage_is_data_loss_that_names_the_file() {
    let (memory, files) = files();
    let matrix = Tensor::from_slice(Shape::from([2, 2]), &[1i64, 2, 3, 4]).unwrap();
    save(&files, "c", &[("m", &matrix), ("s", &Tensor::string("abc"))]);
    let whole = memory.read("c");
    for position in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[position] ^= 1;
        for bytes in [&flipped[..], &whole[..position]] {
            memory.write("c", bytes);
            let read = || {
                let reader = Reader::open(&*files, "c")?;
                reader.read("m")?;
                reader.read("s")
            };
            let Err(error) = read() else { continue };
            assert_eq!(error.code(), Code::DataLoss, "{error}");
            assert!(error.message().contains('c'), "{error}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_elements_do_not_panic(number in 1i32..33, dims in proptest::collection::vec(0usize..4, 0..3), bytes: Vec<u8>) {
        use prost::Message;
        let dtype = DType::from_number(number).unwrap();
        let message = tensorfleet_proto::tensorflow::TensorProto::decode(bytes.as_slice());
        elements::decode(dtype, Shape::new(&dims).unwrap(), message.unwrap_or_default()).ok();
    }
}

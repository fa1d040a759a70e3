//! Checkpoints in object storage, where a file appears when it is finished.

use std::sync::Arc;

use tensorfleet_files::{FileSystem, ObjectFileSystem};
use tensorfleet_tensor::{DType, Tensor};

use super::{MergeOptions, Writer, merge};
use crate::Checkpoint;

#[test]
fn checkpoints_are_saved_merged_and_restored() {
    let files: Arc<dyn FileSystem> = Arc::new(ObjectFileSystem::in_memory("s3://bucket"));
    let large: Vec<f32> = (0..3_000_000).map(|i| i as f32).collect();
    for (shard, name) in ["large", "small"].iter().enumerate() {
        let prefix = format!("s3://bucket/model_temp/part-{shard:05}-of-00002");
        let mut writer = Writer::new(Arc::clone(&files), &prefix).unwrap();
        let values = if *name == "large" { &large[..] } else { &large[..3] };
        writer.add(name, &Tensor::vector(values).unwrap()).unwrap();
        writer.finish().unwrap();
    }
    let parts = [
        "s3://bucket/model_temp/part-00000-of-00002",
        "s3://bucket/model_temp/part-00001-of-00002",
    ];
    let options = MergeOptions { delete_old_dirs: true, ..Default::default() };
    merge(&files, &parts, "s3://bucket/model-1", options).unwrap();
    assert_eq!(
        files.glob("s3://bucket/*").unwrap(),
        [
            "s3://bucket/model-1.data-00000-of-00002",
            "s3://bucket/model-1.data-00001-of-00002",
            "s3://bucket/model-1.index"
        ]
    );
    assert!(files.glob("s3://bucket/model_temp/*").unwrap().is_empty());
    let checkpoint = Checkpoint::open(files, "s3://bucket/model-1").unwrap();
    let restored = checkpoint.restore("large", "", DType::Float).unwrap();
    assert_eq!(restored.values::<f32>().unwrap(), large);
    let restored = checkpoint.restore("small", "", DType::Float).unwrap();
    assert_eq!(restored.values::<f32>().unwrap(), [0.0, 1.0, 2.0]);
}

//! Every op against values recorded from TensorFlow: `golden/<family>.jsonl`.

use std::path::Path;

use tensorfleet_testing::check_golden;

#[test]
fn recorded_values_are_reproduced() {
    let registry = tensorfleet_ops::registry().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let failures: Vec<_> =
        files.iter().filter_map(|file| check_golden(&registry, file).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

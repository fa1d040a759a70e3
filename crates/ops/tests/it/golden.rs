//! Every op against values recorded from TensorFlow: `golden/<family>.jsonl`.

use tensorfleet_testing::check_golden;

use crate::recorded_files;

#[test]
fn recorded_values_are_reproduced() {
    let registry = tensorfleet_ops::registry().unwrap();
    let failures: Vec<_> =
        recorded_files().iter().filter_map(|file| check_golden(&registry, file).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

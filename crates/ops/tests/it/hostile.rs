//! Every op with absurd input: an answer or an error, never a panic, never the end of the process.
//!
//! `TENSORFLEET_FUZZ_ROUNDS=100` tries a hundred changes of each recorded case instead of one.

use tensorfleet_testing::check_hostile;

use crate::recorded_files;

#[test]
fn absurd_input_is_survived() {
    let registry = tensorfleet_ops::registry().unwrap();
    let rounds = std::env::var("TENSORFLEET_FUZZ_ROUNDS");
    let rounds = rounds.ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    check_hostile(&registry, &recorded_files(), rounds, "hostile::absurd_input_is_survived")
        .unwrap();
}

//! Many seeds, each run twice.

use tensorfleet_simulation::simulate_twice;

#[test]
fn nothing_goes_wrong_in_five_hundred_simulations() {
    for seed in 0..500 {
        let report = simulate_twice(seed);
        assert!(report.wrong.is_empty(), "seed {seed}: {:#?}", report.wrong);
    }
}

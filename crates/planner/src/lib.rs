//! Prune, place, optimise and partition: pure functions over graphs.

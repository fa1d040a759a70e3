//! What a task changes, kept in a directory: a log of changes, snapshots, and how to come back from them.
//!
//! A record of the log is an op with its inputs, told under the lock of the variables that it changes.
//! Recovery reads the newest snapshot and lets the same kernels make the changes after it again, those
//! of steps that ended. Why ops and not the values after them: two steps may change one variable in
//! turns, and a crash must undo one of them alone. A value has both in it; an op has not. Tables, queues,
//! accumulators and barriers tell what happened to them instead, which can be left out alone just so.

mod backup;
mod capture;
mod directory;
mod disk;
mod durability;
mod frame;
pub mod hostile;
mod identity;
mod offline;
mod outcome;
mod payload;
mod queue;
mod record;
mod recover;
mod replay;
mod resource;
mod restore;
mod segment;
mod snapshot;
mod store;
mod unit;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

pub use directory::{DurableJournal, Options, Progress};
pub use disk::{Disk, DiskFile, LocalDisk};
pub use durability::Durability;
pub use offline::{Contents, KeptResource, KeptVariable, fill};
pub use store::Store;

//! The threads on which steps compute: one pool for all servers of a process.

use std::ops::Deref;

use tensorfleet_kernels::Threads;

/// A fixed set of threads. Steps' nodes and tasks are its jobs; kernels share their work on it.
#[derive(Debug)]
pub struct ComputePool(Threads);

impl ComputePool {
    /// Starts a pool of `threads` threads.
    pub fn new(threads: usize) -> std::io::Result<ComputePool> {
        Ok(ComputePool(Threads::new(threads)?))
    }
}

impl Deref for ComputePool {
    type Target = Threads;

    fn deref(&self) -> &Threads {
        &self.0
    }
}

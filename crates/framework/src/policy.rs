//! Which ops a task computes for its clients.

use std::fmt;
use std::sync::Arc;

use tensorfleet_files::FileSystem;
use tensorfleet_graph::Node;

/// Says which nodes get no kernel. Asked whenever one is about to be made, however its node came.
pub trait OpPolicy: fmt::Debug + Send + Sync {
    /// Why a node is refused, if it is. `touches_files` says that its kernel does, whatever the op.
    fn refuse(&self, node: &Node, touches_files: bool) -> Option<String>;

    /// Why an op may not touch files, for those that do so only with some inputs.
    fn refuse_files(&self, op: &str) -> Option<String>;

    /// Whether lines that ops print are marked, so that nobody takes them for the server's own.
    fn marks_prints(&self) -> bool {
        false
    }

    /// The files that ops see, where these are not all.
    fn files(&self) -> Option<Arc<dyn FileSystem>> {
        None
    }
}

/// The files that ops see under a policy.
pub(crate) fn files_under(policy: Option<&Arc<dyn OpPolicy>>) -> Arc<dyn FileSystem> {
    policy.and_then(|policy| policy.files()).unwrap_or_else(tensorfleet_files::all_files)
}

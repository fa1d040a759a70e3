//! Collectives between tasks: who belongs to a group, and the buffers that members exchange.
//!
//! One task leads: the others ask it for the members of a group and for the source of a broadcast,
//! as TensorFlow's tasks do, so tasks of both kinds can be members of one group. Buffers go from
//! member to member, each fetched by the one who needs it.

mod buffers;
mod graph_key;
mod groups;
mod peer;
mod sequence;
mod step;

use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{DeviceName, StepId};

use self::buffers::Buffers;
use self::groups::{Groups, Instances};
use self::sequence::Sequences;
use crate::client::Peers;
use crate::session::lock;

pub use graph_key::graph_key;
pub use peer::{CollectivePeer, CompleteGroup, CompleteInstance, RecvBuf};
pub(crate) use step::{SharedStep, StepCollectives};

/// What a task knows of collectives.
#[derive(Debug, Default)]
pub struct CollectiveTable {
    /// The task that leads, as the task's configuration says.
    leader: Option<DeviceName>,
    /// The cluster that the task booted with.
    peers: OnceLock<Arc<dyn Peers>>,
    groups: Groups,
    instances: Instances,
    /// What the leader said of broadcasts: the ranks of their sources.
    known_sources: Mutex<FxHashMap<(i32, i32), Option<usize>>>,
    buffers: Buffers,
    sequences: Sequences,
}

impl CollectiveTable {
    /// A table for a task whose configuration may name a leader.
    pub fn led_by(leader: Option<DeviceName>) -> CollectiveTable {
        CollectiveTable { leader, ..CollectiveTable::default() }
    }

    pub(crate) fn know_peers(&self, peers: &Arc<dyn Peers>) {
        self.peers.get_or_init(|| Arc::clone(peers));
    }

    /// Gives up the buffers of a step that has ended.
    pub(crate) fn end_step(&self, step: StepId) {
        self.buffers.end_step(step);
    }

    fn known_source(&self, group: i32, instance: i32) -> Option<Option<usize>> {
        lock(&self.known_sources).get(&(group, instance)).copied()
    }

    fn learn_source(&self, group: i32, instance: i32, source: Option<usize>) {
        lock(&self.known_sources).insert((group, instance), source);
    }
}

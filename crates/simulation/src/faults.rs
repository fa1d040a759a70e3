//! What goes wrong in a simulation, and when.

use std::time::Duration;

use crate::cluster::Cluster;
use crate::executor::NodeId;
use crate::history::History;

/// Disturbs a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) cluster: Cluster,
    pub(crate) history: History,
    /// Clients and tasks.
    pub(crate) nodes: usize,
}

/// No fault lasts longer.
const LONGEST: u64 = 25_000;

impl Faults {
    fn draw(&self, bound: u64) -> u64 {
        self.cluster.handle.draw(|random| random.below(bound))
    }

    /// Lets one thing after the other go wrong; each is mended in the end.
    pub(crate) async fn happen(self, count: u64) {
        let handle = &self.cluster.handle;
        for _ in 0..count {
            handle.sleep(Duration::from_millis(self.draw(4_000))).await;
            let lasts = match self.draw(3) {
                0 => self.draw(LONGEST),
                _ => self.draw(LONGEST / 20),
            };
            let lasts = Duration::from_millis(lasts + 1);
            let task = self.draw(self.cluster.names.len() as u64) as NodeId;
            let until = handle.elapsed() + lasts;
            match self.draw(3) {
                0 => {
                    self.history.fault(task, handle.elapsed(), until);
                    self.cluster.kill(task);
                    handle.sleep(lasts).await;
                    self.cluster.boot(task);
                }
                1 => {
                    self.history.fault(task, handle.elapsed(), until);
                    handle.note(|| format!("task {task} freezes for {lasts:?}"));
                    handle.freeze(task, true);
                    handle.sleep(lasts).await;
                    handle.note(|| format!("task {task} goes on"));
                    handle.freeze(task, false);
                }
                _ => self.partition(task, lasts).await,
            }
        }
    }

    async fn partition(&self, task: NodeId, lasts: Duration) {
        let handle = &self.cluster.handle;
        let until = handle.elapsed() + lasts;
        let other = self.draw(self.nodes as u64) as NodeId;
        if other == task {
            return;
        }
        let (there, back) = match self.draw(3) {
            0 => (true, true),
            1 => (true, false),
            _ => (false, true),
        };
        for node in [task, other] {
            self.history.fault(node, handle.elapsed(), until);
        }
        handle.note(|| format!("{task} and {other} are cut off, {there} {back}, for {lasts:?}"));
        let network = &self.cluster.network;
        let cut = |is_cut| {
            if there {
                network.cut(task, other, is_cut);
            }
            if back {
                network.cut(other, task, is_cut);
            }
        };
        cut(true);
        handle.sleep(lasts).await;
        cut(false);
    }
}

//! Clusters on virtual time and a virtual network: everything that can go wrong between masters,
//! workers and clients, chosen by a seed and repeated exactly.
//!
//! One thread polls all futures of all tasks in an order that the seed chooses (`executor`); calls
//! between nodes are late, lost or cut off (`network`); tasks freeze, die wherever they await
//! something, and boot again (`faults`), some of them with what they had (`durable`). Clients run steps of all kinds and judge what comes back
//! (`client`); in the end nothing may be left of steps and sessions, and variables hold what
//! was acknowledged, once (`history`).
//!
//! ```
//! let report = tensorfleet_simulation::simulate(1, false);
//! assert_eq!(report.wrong, Vec::<String>::new());
//! ```

mod client;
mod cluster;
mod durable;
mod executor;
mod faults;
mod history;
mod model;
mod network;
mod peers;
mod random;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_framework::Registry;

use crate::client::Client;
use crate::cluster::{Cluster, variable_value};
use crate::durable::SimDisk;
use crate::executor::{Handle, NodeId, Stop};
use crate::faults::Faults;
use crate::history::History;
use crate::network::Network;
use crate::random::Random;

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub seed: u64,
    /// What must not be.
    pub wrong: Vec<String>,
    /// Two runs of a seed have the same digest, or they did not do the same.
    pub digest: u64,
    /// How steps ended, and how many so.
    pub outcomes: BTreeMap<String, usize>,
    /// What happened, if asked for.
    pub log: Vec<String>,
}

/// After so much virtual time all clients have ended, or wait for ever.
const LATEST: Duration = Duration::from_secs(7_200);

/// So long after the last fault and the last client everything has been told that is to be.
const SETTLED: Duration = Duration::from_secs(1_500);

/// Runs the simulation of a seed.
pub fn simulate(seed: u64, with_log: bool) -> Report {
    simulate_with(seed, with_log, None, &tensorfleet_ops::library())
}

/// The same with tasks of which most keep what they have. If they are forgetful, they do not recognise
/// the calls that they have answered in a former life.
pub fn simulate_durable(seed: u64, with_log: bool, forgetful: bool) -> Report {
    simulate_with(seed, with_log, Some(forgetful), &tensorfleet_ops::library())
}

fn simulate_with(
    seed: u64,
    with_log: bool,
    forgetful: Option<bool>,
    registry: &Arc<Registry>,
) -> Report {
    let mut shape = Random::new(seed ^ 0x5eed);
    let tasks = 2 + shape.below(3) as usize;
    let clients = 1 + shape.below(4) as usize;
    let latency = [100, 1_000, 20_000][shape.below(3) as usize];
    // Where nothing goes wrong, nothing may fail.
    let faults = if shape.percent(25) { 0 } else { 1 + shape.below(12) };
    let (sessions, steps) = (1 + shape.below(3), 1 + shape.below(12));

    let handle = Handle::new(seed, with_log);
    let network = Network::new(&handle, latency);
    let lasting = if forgetful.is_some() { 75 } else { 0 };
    let disk = |task: u64| SimDisk::new((seed << 8) | (task + 1), forgetful == Some(true));
    let disks = (0..tasks as u64).map(|task| shape.percent(lasting).then(|| disk(task)));
    let cluster = Cluster::new(&network, disks.collect(), registry);
    let history = History::new(&handle);
    (0..tasks).for_each(|task| cluster.boot(task));
    let client = |node: NodeId| {
        let life = handle.boot(node);
        network.join(life, &format!("client {node}"));
        Client { life, cluster: cluster.clone(), history: history.clone() }
    };
    for node in tasks..tasks + clients {
        let client = client(node);
        handle.spawn(client.life, Box::pin(client.live(sessions, steps)));
    }
    let disturber =
        Faults { cluster: cluster.clone(), history: history.clone(), nodes: tasks + clients };
    let last = client(tasks + clients);
    let judge = Judge { cluster, history: history.clone(), clients };
    let nature = last.life;
    handle.spawn(nature, Box::pin(judge.watch(disturber, faults, last)));
    if executor::run(&handle) == Stop::TooLong {
        history.wrong("something goes on and on".to_owned());
    }
    Report {
        seed,
        wrong: history.all_wrong(),
        digest: handle.digest(),
        outcomes: history.outcomes(),
        log: handle.log(),
    }
}

/// Runs a seed twice; a difference between the two is wrong as well.
pub fn simulate_twice(seed: u64) -> Report {
    let (mut first, second) = (simulate(seed, false), simulate(seed, false));
    if first != second {
        first.wrong.push("two runs of the seed differ".to_owned());
    }
    first
}

/// Sees to the end of a simulation.
struct Judge {
    cluster: Cluster,
    history: History,
    clients: usize,
}

impl Judge {
    async fn watch(self, faults: Faults, count: u64, last: Client) {
        let handle = &self.cluster.handle;
        faults.happen(count).await;
        while self.history.clients_ended() < self.clients {
            handle.sleep(Duration::from_secs(1)).await;
            if !self.history.any_fault() && self.history.is_calm() {
                self.check_no_step_is_left();
            }
            if handle.elapsed() > LATEST {
                self.history.wrong("a client waits for ever".to_owned());
                break;
            }
        }
        // Sessions of clients that vanished are closed, lost words are said again, and masters that
        // live again let the workers forget what they had of the former life.
        handle.sleep(SETTLED).await;
        for task in 0..self.cluster.names.len() {
            last.visit(task).await;
        }
        handle.sleep(SETTLED).await;
        self.check_nothing_is_left();
        for task in 0..self.cluster.names.len() {
            self.cluster.kill(task);
        }
    }

    /// A step is forgotten when it has ended, not only when its session has.
    fn check_no_step_is_left(&self) {
        for server in self.cluster.servers.all() {
            let steps = server.task.steps.len();
            if steps > 0 {
                let node = server.life.node;
                self.history.wrong(format!("task {node} still has {steps} steps that are over"));
            }
        }
    }

    fn check_nothing_is_left(&self) {
        for server in self.cluster.servers.all() {
            let node = server.life.node;
            let (sessions, graphs) = server.worker.held();
            let steps = server.task.steps.len();
            let opened = server.master.session_count();
            if (sessions, graphs, steps, opened) != (0, 0, 0, 0) {
                self.history.wrong(format!(
                    "task {node} still has {sessions} sessions with {graphs} graphs, {steps} steps, and \
                     {opened} sessions of its own clients"
                ));
            }
            match variable_value(&server) {
                Ok(value) => {
                    let life = self.cluster.life_of_variable(node);
                    let certain = self.history.certain(node, life);
                    self.history.check(node, life, value, &certain);
                }
                Err(error) => self.history.wrong(format!("task {node} has no variable: {error}")),
            }
        }
    }
}

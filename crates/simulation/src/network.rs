//! The network between nodes: calls that are late, overtake each other, get lost or meet the dead.
//!
//! A call is what it is in gRPC: it happens at most once, the caller learns its outcome or, when
//! the other end is gone or was silent for too long, that it cannot know; dropping it cancels it over
//! there. Any two calls may overtake each other.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::{Either, select};
use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Result, unavailable};
use tokio::sync::{oneshot, watch};

use crate::executor::{Handle, Life, NodeId};

/// After so much silence the other end is taken for lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// How often an end asks whether the other is still there.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// How soon something lost is sent again.
const RESEND: Duration = Duration::from_millis(200);

/// The network of a simulation.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) handle: Handle,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Pairs, from and to, between which nothing gets through.
    cut: BTreeMap<(NodeId, NodeId), usize>,
    /// How slow the network is, in microseconds.
    latency: u64,
    /// Who lives, and under which name.
    up: BTreeMap<NodeId, Life>,
    names: BTreeMap<NodeId, String>,
}

impl Network {
    pub(crate) fn new(handle: &Handle, latency: u64) -> Network {
        let shared = Shared { latency, ..Shared::default() };
        Network { handle: handle.clone(), shared: Arc::new(Mutex::new(shared)) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn join(&self, life: Life, name: &str) {
        let mut shared = self.lock();
        shared.up.insert(life.node, life);
        shared.names.insert(life.node, name.to_owned());
    }

    pub(crate) fn leave(&self, node: NodeId) {
        self.lock().up.remove(&node);
    }

    /// Cuts or mends one direction. Cuts add up.
    pub(crate) fn cut(&self, from: NodeId, to: NodeId, is_cut: bool) {
        let mut shared = self.lock();
        let count = shared.cut.entry((from, to)).or_default();
        *count = if is_cut { *count + 1 } else { count.saturating_sub(1) };
    }

    fn gets_through(&self, from: NodeId, to: NodeId) -> bool {
        self.lock().cut.get(&(from, to)).is_none_or(|count| *count == 0)
    }

    /// How long a message takes.
    fn delay(&self) -> Duration {
        let latency = self.lock().latency;
        self.handle.draw(|random| match random.below(50) {
            0 => Duration::from_micros(latency * 5 + random.below(latency * 50 + 1)),
            _ => Duration::from_micros(latency / 2 + random.below(latency + 1)),
        })
    }

    /// Whether somebody would answer.
    fn answers(&self, from: NodeId, to: Life) -> bool {
        self.gets_through(from, to.node)
            && self.gets_through(to.node, from)
            && !self.handle.is_frozen(to.node)
    }

    /// Calls a node. `serve` makes, over there and in that life, what answers the call.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        from: Life,
        to: NodeId,
        serve: impl FnOnce(Life) -> BoxFuture<Result<T>> + Send + 'static,
    ) -> BoxFuture<Result<T>> {
        let network = self.clone();
        Box::pin(async move {
            let name = network.lock().names.get(&to).cloned().unwrap_or_default();
            network.handle.sleep(network.delay()).await;
            let way = Box::pin(network.way(from.node, to));
            if let Either::Right(_) = select(way, network.handle.sleep(SILENCE)).await {
                return Err(unavailable!("{name} cannot be reached: no answer").unreached(true));
            }
            let up = network.lock().up.get(&to).copied();
            let Some(life) = up else {
                network.handle.sleep(network.delay()).await;
                let refused = unavailable!("{name} cannot be reached: connection refused");
                return Err(refused.unreached(true));
            };
            let (mut sender, receiver) = oneshot::channel();
            let (hang_up, hung_up) = watch::channel(false);
            let served = network.clone();
            network.handle.spawn(
                life,
                Box::pin(async move {
                    let outcome =
                        select(serve(life), Box::pin(served.left(from, life, hung_up))).await;
                    if let Either::Left((outcome, _)) = outcome {
                        served.handle.sleep(served.delay()).await;
                        let gone = Box::pin(async {
                            sender.closed().await;
                        });
                        let way = Box::pin(served.way(life.node, from.node));
                        let is_there = matches!(select(way, gone).await, Either::Left(_));
                        if is_there {
                            // Whom the other end could not reach is its own affair.
                            let outcome = outcome.map_err(|error| error.unreached(false));
                            // The caller may have gone meanwhile.
                            let _ = sender.send(outcome);
                        }
                    }
                }),
            );
            let _calling = HangUp(hang_up);
            match select(receiver, Box::pin(network.silence(from.node, life))).await {
                Either::Left((Ok(outcome), _)) => outcome,
                Either::Left((Err(_), _)) => {
                    network.handle.sleep(network.delay()).await;
                    Err(unavailable!("{name} is gone: connection reset").unreached(true))
                }
                Either::Right(_) => {
                    let silent = unavailable!("{name} did not answer for {SILENCE:?}");
                    Err(silent.unreached(true))
                }
            }
        })
    }

    /// Ends when a message gets through: what is lost on the way is sent again.
    fn way(&self, from: NodeId, to: NodeId) -> impl Future<Output = ()> + Send + 'static {
        let network = self.clone();
        async move {
            while !network.gets_through(from, to) {
                network.handle.sleep(RESEND).await;
            }
        }
    }

    /// Ends when a node has been silent for too long, or says that it knows of no such connection.
    fn silence(&self, from: NodeId, to: Life) -> impl Future<Output = ()> + Send + 'static {
        let network = self.clone();
        async move {
            let mut silent = Duration::ZERO;
            while silent < SILENCE {
                network.handle.sleep(KEEPALIVE).await;
                // Connections end with their process, whatever that has left lying about.
                if !network.handle.lives(to) && network.gets_through(to.node, from) {
                    return;
                }
                silent =
                    if network.answers(from, to) { Duration::ZERO } else { silent + KEEPALIVE };
            }
        }
    }

    /// Ends, on the side of the one who serves, when the caller has hung up or is lost.
    fn left(
        &self,
        caller: Life,
        server: Life,
        mut hung_up: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let network = self.clone();
        async move {
            let lost = Box::pin(network.silence(server.node, caller));
            // The caller's end is dropped with the caller, too.
            let hung = Box::pin(async move {
                let _ = hung_up.wait_for(|is_over| *is_over).await;
            });
            if let Either::Left((_, lost)) = select(hung, lost).await {
                network.handle.sleep(network.delay()).await;
                // If the word of it does not get through, silence tells in the end.
                let way = Box::pin(network.way(caller.node, server.node));
                select(lost, way).await;
            }
        }
    }
}

/// Tells the other end when the caller has its answer or has given up.
struct HangUp(watch::Sender<bool>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

//! Durable tasks that are away. They come back as the same ones, so whoever needs them waits.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tensorfleet_framework::DeviceName;
use tensorfleet_tensor::{Error, Result, aborted, unavailable};

use crate::client::Peers;
use crate::events::EventKind;
use crate::session::lock;
use crate::task::Task;

/// How long to wait before asking a task again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The tasks that are waited for.
#[derive(Debug, Default)]
pub struct Absences(Mutex<BTreeMap<String, Absence>>);

/// A task that is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Absence {
    pub since: Instant,
    /// How many calls wait for it.
    pub waiting: usize,
}

impl Absences {
    /// The tasks that are waited for, by name.
    pub fn look(&self) -> BTreeMap<String, Absence> {
        lock(&self.0).clone()
    }
}

/// Somebody who waits for a task.
struct Waiting<'a> {
    own: &'a Task,
    name: String,
}

impl<'a> Waiting<'a> {
    fn begin(own: &'a Task, name: &DeviceName, why: &Error) -> Waiting<'a> {
        let (name, now) = (name.to_string(), own.world.now());
        let is_first = {
            let mut table = lock(&own.absences.0);
            let absence = table.entry(name.clone()).or_insert(Absence { since: now, waiting: 0 });
            absence.waiting += 1;
            absence.waiting == 1
        };
        if is_first {
            let (limit, why) = (own.task_timeout, why.message().lines().next().unwrap_or_default());
            let text =
                format!("holds what needs {name}, which is durable, for up to {limit:?}: {why}");
            tracing::warn!("{text}");
            own.events.keep(now, EventKind::PeerLost, text);
        }
        Waiting { own, name }
    }

    /// The task is back.
    fn is_over(&self) {
        let (name, now) = (&self.name, self.own.world.now());
        // The first who notices tells of it.
        let since = {
            let mut table = lock(&self.own.absences.0);
            table.get_mut(name).map(|absence| std::mem::replace(&mut absence.since, now))
        };
        let away = since.map(|since| now.saturating_duration_since(since)).unwrap_or_default();
        if away > FIRST_PAUSE {
            let text = format!("{name} is back after {away:.1?}, and what was held goes on");
            self.own.tell(EventKind::PeerFound, text);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.own.absences.0);
        if let Some(absence) = table.get_mut(&self.name) {
            absence.waiting -= 1;
            if absence.waiting == 0 {
                table.remove(&self.name);
            }
        }
    }
}

/// Waits until a durable task answers again. `lost` tells how its absence was noticed; `incarnation` is
/// the number that it must come back with, where that is known.
pub(crate) async fn wait_for_return(
    own: &Task,
    name: &DeviceName,
    peers: &dyn Peers,
    incarnation: Option<u64>,
    lost: &Error,
) -> Result<()> {
    let waiting = Waiting::begin(own, name, lost);
    let deadline = own.world.now() + own.task_timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        match own.world.until(deadline, peers.worker(name)?.get_status()).await {
            Some(Ok(devices)) => {
                let found = devices.first().map(|device| device.incarnation);
                if incarnation.is_some() && found != incarnation {
                    return Err(aborted!(
                        "{name} has come back without what it had: it was started with another data \
                         directory, or without one"
                    )
                    .worker_restarted());
                }
                waiting.is_over();
                return Ok(());
            }
            Some(Err(error)) if !error.is_unreached() => return Err(error),
            Some(Err(_)) | None => {}
        }
        if own.world.now() + pause >= deadline {
            let limit = own.task_timeout;
            return Err(unavailable!(
                "{}\n{name} keeps its state but did not come back within {limit:?} (--task-timeout)",
                lost.message()
            ));
        }
        own.world.sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

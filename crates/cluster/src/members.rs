//! Who takes part in a session: its tasks are found and asked for their devices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tensorfleet_framework::DeviceName;
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Code, Error, Result, invalid_argument};

use crate::client::{Peers, WorkerClient};
use crate::events::EventKind;
use crate::held::HeldWorker;
use crate::local::LocalWorker;
use crate::session::SessionOptions;
use crate::task::{Task, renamed};
use crate::worker::Worker;

/// How long a session waits for tasks that are not up yet.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before asking a task again.
const RETRY: Duration = Duration::from_millis(200);

/// The tasks of a session, the master's own first.
#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) devices: Vec<Device>,
    pub(crate) workers: Vec<(DeviceName, Arc<dyn WorkerClient>)>,
    /// Where the others are found.
    peers: Arc<dyn Peers>,
}

impl Members {
    /// Asks all tasks that a session's filters let through, at once.
    pub(crate) async fn find(
        worker: &Arc<Worker>,
        booted_with: &Arc<dyn Peers>,
        options: &SessionOptions,
    ) -> Result<Members> {
        let filters: Vec<DeviceName> = options
            .device_filters
            .iter()
            .map(|filter| DeviceName::parse(filter).map(|name| name.task_name()))
            .collect::<Result<_>>()?;
        let own_task = &**worker.task();
        let deadline = own_task.world.now() + patience(options.timeout);
        let (own, peers) = match &options.cluster {
            None => (worker.task_name().clone(), Arc::clone(booted_with)),
            Some(cluster) => {
                let peers = booted_with.with_cluster(cluster)?;
                (name_in(&*peers, &options.target, worker.task_name())?, peers)
            }
        };
        let local: Arc<dyn WorkerClient> = Arc::new(LocalWorker::new(worker, &own));
        let mut members = Members {
            devices: worker.devices().iter().map(|device| renamed(device, &own)).collect(),
            workers: vec![(own.clone(), local)],
            peers: Arc::clone(&peers),
        };
        let others: Vec<_> = peers
            .tasks()
            .into_iter()
            .filter(|(task, _)| {
                *task != own
                    && (filters.is_empty() || filters.iter().any(|filter| filter.matches(task)))
            })
            .collect();
        let peers = &peers;
        let answers = others.iter().map(|(task, address)| async move {
            let client = peers.worker(task)?;
            let status = wait_for(own_task, &*client, task, address, deadline).await;
            let devices = match (status, &options.cluster) {
                (Ok(devices), None) => as_expected(devices, task, address),
                (Ok(devices), Some(_)) => Ok(devices.iter().map(|d| renamed(d, task)).collect()),
                (Err(error), _) => Err(error),
            };
            Ok::<_, Error>((task.clone(), address.clone(), client, devices))
        });
        let mut missing = Vec::new();
        for (task, address, client, devices) in futures_util::future::try_join_all(answers).await? {
            match devices {
                Ok(found) => {
                    members.devices.extend(found);
                    members.workers.push((task, client));
                }
                Err(error) => missing.push((task, address, error)),
            }
        }
        if missing.is_empty() { Ok(members) } else { Err(missing_tasks(&missing)) }
    }
}

impl Members {
    /// The devices, the workers, and which of these are waited for when they are away.
    #[allow(clippy::type_complexity, reason = "it is taken apart at once")]
    pub(crate) fn held(
        self,
        own: &Arc<Task>,
    ) -> (Vec<Device>, Vec<(DeviceName, Arc<dyn WorkerClient>)>, Vec<DeviceName>) {
        let Members { devices, mut workers, peers } = self;
        let mut durable = Vec::new();
        if own.task_timeout.is_zero() {
            return (devices, workers, durable);
        }
        // The master's own task comes first, and dies with it.
        for (name, client) in workers.iter_mut().skip(1) {
            let found = devices.iter().find(|device| name.matches(&device.name));
            if let Some(device) = found.filter(|device| device.durable) {
                durable.push(name.clone());
                let known_by = Some(device.incarnation);
                *client = Arc::new(HeldWorker::new(own, name, known_by, &peers));
            }
        }
        (devices, workers, durable)
    }
}

/// The name of the master's task in a cluster that a client brings: the one at the address where the
/// client has opened its session.
fn name_in(peers: &dyn Peers, target: &str, booted_as: &DeviceName) -> Result<DeviceName> {
    let address = target.split_once("://").map_or(target, |(_, address)| address);
    let tasks = peers.tasks();
    let mut names = tasks.iter().filter(|(_, at)| at == address).map(|(name, _)| name);
    let Some(name) = names.next() else {
        let list: Vec<String> = tasks.iter().map(|(name, at)| format!("{name} at {at}")).collect();
        return Err(invalid_argument!(
            "The ClusterSpec does not name the server of this session, '{target}', in the same words. It \
             has: {}",
            list.join(", ")
        ));
    };
    if names.next().is_some() {
        return Err(invalid_argument!(
            "Found multiple matching tasks that correspond to the master. Master target: '{target}'"
        ));
    }
    if name == booted_as {
        return Err(invalid_argument!(
            "The ClusterSpec names the job and task index to be the same names that were provided when \
             the server booted. This is currently not allowed. Job: {}, task index: {}",
            name.job.as_deref().unwrap_or_default(),
            name.task.unwrap_or_default()
        ));
    }
    Ok(name.clone())
}

/// How long to wait for tasks. The answer that names the missing ones must reach the client before
/// its own patience ends.
fn patience(timeout: Option<Duration>) -> Duration {
    const WAY_BACK: Duration = Duration::from_millis(500);
    timeout.map_or(DEFAULT_WAIT, |timeout| timeout - (timeout / 10).min(WAY_BACK))
}

/// Asks a task for its devices until it answers or the deadline has passed.
async fn wait_for(
    own_task: &Task,
    client: &dyn WorkerClient,
    task: &DeviceName,
    address: &str,
    deadline: Instant,
) -> Result<Vec<Device>> {
    let world = &*own_task.world;
    let mut is_announced = false;
    loop {
        let error = match world.until(deadline, client.get_status()).await {
            Some(Ok(devices)) => {
                if is_announced {
                    own_task.tell(EventKind::PeerFound, format!("found {task} at {address}"));
                }
                return Ok(devices);
            }
            Some(Err(error)) if error.code() == Code::Unavailable => error,
            Some(Err(error)) => return Err(error),
            None => return Err(tensorfleet_tensor::unavailable!("no answer")),
        };
        if !is_announced {
            let text = format!("waiting for {task} at {address}: {}", error.message());
            tracing::warn!("{text}");
            own_task.events.keep(world.now(), EventKind::PeerLost, text);
            is_announced = true;
        }
        if world.now() + RETRY >= deadline {
            return Err(error);
        }
        world.sleep(RETRY).await;
    }
}

/// The devices of a task, if it is the one that the cluster says it is.
fn as_expected(devices: Vec<Device>, task: &DeviceName, address: &str) -> Result<Vec<Device>> {
    match devices.iter().find(|device| !task.matches(&device.name)) {
        None => Ok(devices),
        Some(other) => Err(invalid_argument!(
            "{address} should be {task} but says that it is {}: the tasks disagree about the cluster",
            other.name.task_name()
        )),
    }
}

fn missing_tasks(missing: &[(DeviceName, String, Error)]) -> Error {
    let list: Vec<String> = missing
        .iter()
        .map(|(task, address, error)| format!("{task} at {address}: {}", error.message()))
        .collect();
    // Another try helps against an absence, but not against a disagreement.
    let mut codes = missing.iter().map(|(_, _, error)| error.code());
    let code = codes.find(|&code| code != Code::Unavailable).unwrap_or(Code::Unavailable);
    Error::new(
        code,
        format!(
            "{} of the cluster's tasks did not answer:\n  {}\nStart them, correct their addresses, or \
             leave them out with device_filters.",
            missing.len(),
            list.join("\n  ")
        ),
    )
}

//! The master of a task: opens sessions for clients and closes them.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_framework::DeviceName;
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Code, Error, Result, aborted};
use tokio::time::Instant;

use crate::client::{CreateWorkerSession, Peers, WorkerClient};
use crate::random::random_handle;
use crate::session::{Session, SessionOptions};
use crate::task::Task;
use crate::worker::{LocalWorker, Worker};

/// How long a session waits for tasks that are not up yet.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before asking a task again.
const RETRY: Duration = Duration::from_millis(200);

/// Opens, finds and closes the sessions of a task.
#[derive(Debug)]
pub struct Master {
    task: Arc<Task>,
    worker: Arc<Worker>,
    peers: Arc<dyn Peers>,
    sessions: Mutex<FxHashMap<String, Arc<Session>>>,
}

impl Master {
    /// Makes the master of a task.
    pub fn new(task: Arc<Task>, worker: Arc<Worker>, peers: Arc<dyn Peers>) -> Master {
        Master { task, worker, peers, sessions: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Opens a session on every task that its filters let through.
    pub async fn create_session(
        &self,
        nodes: Vec<NodeDef>,
        library: FunctionLibrary,
        options: SessionOptions,
    ) -> Result<Arc<Session>> {
        let handle = random_handle();
        let (devices, workers) = self.find_workers(&options).await?;
        let session = Session::new(handle, options, Arc::clone(&self.task), devices, workers);
        // A graph that is not valid must not leave sessions behind on the workers.
        session.extend(nodes, library, None)?;
        let opening = Opening(Some(Arc::new(session)));
        let session = opening.0.as_ref().expect("it is opened once");
        self.open_on_workers(session).await?;
        let session = opening.finish();
        self.lock().insert(session.handle.clone(), Arc::clone(&session));
        Ok(session)
    }

    async fn open_on_workers(&self, session: &Session) -> Result<()> {
        let incarnation = self.task.devices[0].device.incarnation;
        let requests = session.workers.iter().map(|(task_name, client)| {
            client.create_session(CreateWorkerSession {
                handle: session.handle.clone(),
                task_name: task_name.clone(),
                cluster: session.options.cluster.clone(),
                isolate_session_state: session.options.isolate_session_state,
                master_task: self.task.name.to_string(),
                master_incarnation: incarnation,
                threads: session.options.threads,
            })
        });
        futures_util::future::try_join_all(requests).await.map(|_| ())
    }

    /// The devices and clients of all tasks of a session, this task first.
    async fn find_workers(&self, options: &SessionOptions) -> Result<Found> {
        let filters: Vec<DeviceName> = options
            .device_filters
            .iter()
            .map(|filter| DeviceName::parse(filter).map(|name| name.task_name()))
            .collect::<Result<_>>()?;
        let deadline = Instant::now() + patience(options.timeout);
        let local: Arc<dyn WorkerClient> = Arc::new(LocalWorker(Arc::clone(&self.worker)));
        let mut devices = self.worker.devices();
        let mut workers = vec![(self.task.name.clone(), local)];
        let others: Vec<_> = self
            .peers
            .tasks()
            .into_iter()
            .filter(|(task, _)| {
                *task != self.task.name
                    && (filters.is_empty() || filters.iter().any(|filter| filter.matches(task)))
            })
            .collect();
        let answers = others.iter().map(|(task, address)| async move {
            let client = self.peers.worker(task)?;
            let status = wait_for(&*client, task, address, deadline).await;
            Ok::<_, Error>((task.clone(), address.clone(), client, status))
        });
        let mut missing = Vec::new();
        for (task, address, client, status) in futures_util::future::try_join_all(answers).await? {
            match status {
                Ok(found) => {
                    devices.extend(found);
                    workers.push((task, client));
                }
                Err(error) => missing.push((task, address, error)),
            }
        }
        if missing.is_empty() { Ok((devices, workers)) } else { Err(missing_tasks(&missing)) }
    }

    /// Finds a session.
    pub fn session(&self, handle: &str) -> Result<Arc<Session>> {
        let session = self.lock().get(handle).cloned();
        let session = session.ok_or_else(|| aborted!("Session {handle} is not found."))?;
        session.touch();
        Ok(session)
    }

    /// Closes the sessions that nobody has used for so long and that nobody uses now: a client that
    /// was killed does not close its own. Returns how many there were.
    ///
    /// A lost connection does not mean that a client is gone: gRPC also closes one that is not used.
    pub async fn close_idle_sessions(&self, idle: Duration) -> usize {
        let closed: Vec<Arc<Session>> = {
            let mut sessions = self.lock();
            // A call that is under way holds its session.
            let is_idle =
                |session: &Arc<Session>| Arc::strong_count(session) == 1 && session.idle() >= idle;
            sessions.extract_if(|_, session| is_idle(session)).map(|(_, session)| session).collect()
        };
        for session in &closed {
            tracing::info!("closing session {}, not used for {idle:?}", session.handle);
            session.cancel_all();
            close_on_workers(session).await;
        }
        closed.len()
    }

    /// Closes a session: its steps are cancelled, its state on the workers is released.
    pub async fn close_session(&self, handle: &str) -> Result<()> {
        let removed = self.lock().remove(handle);
        let Some(session) = removed else {
            return Err(aborted!(
                "Session {handle} is not found. Possibly, this master has restarted."
            ));
        };
        session.cancel_all();
        close_on_workers(&session).await;
        Ok(())
    }

    /// The devices of a session; without a session those of this task, then all others that answer.
    pub async fn list_devices(&self, handle: &str) -> Result<(Vec<Device>, Vec<Device>)> {
        if !handle.is_empty() {
            let session = self.lock().get(handle).cloned().ok_or_else(|| {
                tensorfleet_tensor::invalid_argument!(
                    "Session {handle} is not found. Possibly, this master has restarted."
                )
            })?;
            return Ok((session.devices.clone(), Vec::new()));
        }
        let (mut devices, _) = self.find_workers(&SessionOptions::default()).await?;
        let remote = devices.split_off(self.worker.devices().len());
        Ok((devices, remote))
    }

    /// Closes all sessions and forgets the resources in containers, on every task.
    pub async fn reset(&self, containers: Vec<String>, device_filters: Vec<String>) -> Result<()> {
        let sessions: Vec<Arc<Session>> = self.lock().drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.cancel_all();
            close_on_workers(session).await;
        }
        let options = SessionOptions { device_filters, ..SessionOptions::default() };
        let (_, workers) = self.find_workers(&options).await?;
        let cleaned = workers.iter().map(|(_, client)| client.cleanup_all(containers.clone()));
        futures_util::future::try_join_all(cleaned).await?;
        Ok(())
    }
}

async fn close_on_workers(session: &Session) {
    let requests =
        session.workers.iter().map(|(_, client)| client.delete_session(session.handle.clone()));
    // A worker that is gone has no session left to delete.
    futures_util::future::join_all(requests).await;
}

/// A session while it is opened on the workers. If that fails, or the client goes away, those that
/// have it already forget it.
struct Opening(Option<Arc<Session>>);

impl Opening {
    fn finish(mut self) -> Arc<Session> {
        self.0.take().expect("it is opened once")
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let (Some(session), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move { close_on_workers(&session).await });
        }
    }
}

type Found = (Vec<Device>, Vec<(DeviceName, Arc<dyn WorkerClient>)>);

/// How long to wait for tasks. The answer that names the missing ones must reach the client before
/// its own patience ends.
fn patience(timeout: Option<Duration>) -> Duration {
    const WAY_BACK: Duration = Duration::from_millis(500);
    timeout.map_or(DEFAULT_WAIT, |timeout| timeout - (timeout / 10).min(WAY_BACK))
}

/// Asks a task for its devices until it answers or the deadline has passed.
async fn wait_for(
    client: &dyn WorkerClient,
    task: &DeviceName,
    address: &str,
    deadline: Instant,
) -> Result<Vec<Device>> {
    let mut is_announced = false;
    loop {
        let error = match tokio::time::timeout_at(deadline, client.get_status()).await {
            Ok(Ok(devices)) => return Ok(devices),
            Ok(Err(error)) if error.code() == Code::Unavailable => error,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(tensorfleet_tensor::unavailable!("no answer")),
        };
        if !is_announced {
            tracing::warn!("waiting for {task} at {address}: {}", error.message());
            is_announced = true;
        }
        if Instant::now() + RETRY >= deadline {
            return Err(error);
        }
        tokio::time::sleep(RETRY).await;
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

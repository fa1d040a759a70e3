//! The master of a task: opens sessions for clients and closes them.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_planner::Device;
use tensorfleet_tensor::{Result, aborted, not_found, permission_denied};
use tokio::sync::oneshot;

use crate::client::{CreateWorkerSession, Peers};
use crate::events::EventKind;
use crate::members::Members;
use crate::owner::Owner;
use crate::release::{SESSION_TRIES, release};
use crate::session::{Session, SessionOptions, SessionSummary};
use crate::task::Task;
use crate::worker::{Worker, in_room};
use crate::world::World;

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

    /// The world of the task.
    pub fn world(&self) -> &Arc<dyn World> {
        &self.task.world
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
        let has = {
            let sessions = self.lock();
            let is_own = |session: &&Arc<Session>| session.options.owner.name == options.owner.name;
            sessions.values().filter(is_own).count()
        };
        self.task.ledger.open_session(&options.owner, has, self.task.world.now())?;
        let handle = self.task.world.random_handle();
        let members = Members::find(&self.worker, &self.peers, &options).await?;
        let session = Arc::new(Session::new(handle, options, Arc::clone(&self.task), members));
        // A graph that is not valid must not leave sessions behind on the workers.
        let new = Arc::clone(&session);
        let (size, functions) = (nodes.len(), library.iter().count());
        let extended = move || new.extend(nodes, library, None);
        self.task.world.aside_if_large(size, extended).await?;
        let opening = Opening { session: Some(session) };
        let session = opening.session.as_ref().expect("it is opened once");
        self.open_on_workers(session).await?;
        let session = opening.finish();
        self.lock().insert(session.handle.clone(), Arc::clone(&session));
        let (handle, tasks) = (&session.handle, session.workers.len());
        let owner = &session.options.owner.name;
        self.task.tell(
            EventKind::SessionOpened,
            format!(
                "opened session {handle} of {owner}: {size} nodes, {functions} functions, {tasks} tasks"
            ),
        );
        Ok(session)
    }

    async fn open_on_workers(&self, session: &Session) -> Result<()> {
        let incarnation = self.task.life;
        let master_task = session.master_name();
        let requests = session.workers.iter().map(|(task_name, client)| {
            client.create_session(CreateWorkerSession {
                handle: session.handle.clone(),
                task_name: task_name.clone(),
                cluster: session.options.cluster.clone(),
                isolate_session_state: session.options.isolate_session_state,
                master_task: master_task.clone(),
                master_incarnation: incarnation,
                threads: session.options.threads,
                owner: session.options.owner.clone(),
                durable: session.durable.clone(),
            })
        });
        futures_util::future::try_join_all(requests).await.map(|_| ())
    }

    /// Ends all steps at once, because the task stops.
    pub fn stop(&self) {
        self.task.is_stopping.store(true, Ordering::Release);
        self.lock().values().for_each(|session| session.cancel_all());
    }

    /// How many sessions are open.
    pub fn session_count(&self) -> usize {
        self.lock().len()
    }

    /// The sessions that are open, the oldest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let sessions: Vec<Arc<Session>> = self.lock().values().cloned().collect();
        let mut summaries: Vec<_> = sessions.iter().map(|session| session.summary()).collect();
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.age));
        summaries
    }

    /// Finds a session for somebody. One of others is not there.
    pub fn session_for(&self, caller: &Owner, handle: &str) -> Result<Arc<Session>> {
        let found = self.lock().get(handle).cloned();
        if found.is_some_and(|session| !caller.reaches(&session.options.owner)) {
            return Err(not_found!("Session {handle} is not found."));
        }
        self.session(handle)
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
            close(session).await;
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
        close(&session).await;
        Ok(())
    }

    /// Closes a session for somebody. One of others is not there.
    pub async fn close_session_for(&self, caller: &Owner, handle: &str) -> Result<()> {
        let found = self.lock().get(handle).cloned();
        if found.is_some_and(|session| !caller.reaches(&session.options.owner)) {
            return Err(not_found!("Session {handle} is not found."));
        }
        self.close_session(handle).await
    }

    /// The devices of a session; without a session those of this task, then all others that answer.
    pub async fn list_devices(
        &self,
        caller: &Owner,
        handle: &str,
    ) -> Result<(Vec<Device>, Vec<Device>)> {
        if !handle.is_empty() {
            let session = self.lock().get(handle).cloned();
            let session = session.filter(|session| caller.reaches(&session.options.owner));
            let session = session.ok_or_else(|| {
                tensorfleet_tensor::invalid_argument!(
                    "Session {handle} is not found. Possibly, this master has restarted."
                )
            })?;
            return Ok((session.devices.clone(), Vec::new()));
        }
        let options = SessionOptions::default();
        let mut devices = Members::find(&self.worker, &self.peers, &options).await?.devices;
        let remote = devices.split_off(self.worker.devices().len());
        Ok((devices, remote))
    }

    /// Closes the sessions that a caller reaches and forgets the resources in containers, on every task.
    /// Somebody who reaches only what is its own needs a room, and forgets what is in there.
    pub async fn reset(
        &self,
        caller: &Owner,
        containers: Vec<String>,
        device_filters: Vec<String>,
    ) -> Result<()> {
        let containers = self.within_reach(caller, containers)?;
        let sessions: Vec<Arc<Session>> = {
            let mut sessions = self.lock();
            let is_reached =
                |_: &String, session: &mut Arc<Session>| caller.reaches(&session.options.owner);
            sessions.extract_if(is_reached).map(|(_, session)| session).collect()
        };
        let (count, who) = (sessions.len(), &caller.name);
        let text =
            format!("Reset by {who}: closes {count} sessions, forgets containers {containers:?}");
        self.task.tell(EventKind::Reset, text);
        futures_util::future::join_all(sessions.iter().map(close)).await;
        let options = SessionOptions { device_filters, ..SessionOptions::default() };
        let members = Members::find(&self.worker, &self.peers, &options).await?;
        let cleaned =
            members.workers.iter().map(|(_, client)| client.cleanup_all(containers.clone()));
        futures_util::future::try_join_all(cleaned).await?;
        Ok(())
    }
}

impl Master {
    /// The containers that a caller means, as workers know them.
    fn within_reach(&self, caller: &Owner, containers: Vec<String>) -> Result<Vec<String>> {
        if caller.reaches_all {
            return Ok(containers);
        }
        let Some(room) = self.task.separation.room_of(caller) else {
            return Err(permission_denied!(
                "Reset would drop what others have made: {} needs a container of its own \
                 (serve --containers) or the role admin",
                caller.name
            ));
        };
        let named = |container: &String| in_room(room, container);
        let default = containers.is_empty().then(|| in_room(room, ""));
        Ok(containers.iter().map(named).chain(default).collect())
    }
}

/// Ends a session that the master knows no more. It goes on if nobody awaits it: whoever asked for
/// it may be gone.
fn close(session: &Arc<Session>) -> impl Future<Output = ()> + Send + use<> {
    session.cancel_all();
    let SessionSummary { handle, age, steps, .. } = session.summary();
    let text = format!("closed session {handle} after {age:.1?} and {steps} steps");
    session.task.tell(EventKind::SessionClosed, text);
    let (session, (sender, receiver)) = (Arc::clone(session), oneshot::channel::<()>());
    let world = Arc::clone(&session.task.world);
    world.spawn(Box::pin(async move {
        close_on_workers(&session).await;
        drop(sender);
    }));
    async move {
        // Nothing is ever sent: the end of the sender is the end of the session.
        let _ = receiver.await;
    }
}

async fn close_on_workers(session: &Session) {
    let requests = session.workers.iter().map(|(_, client)| async move {
        let outcome = client.delete_session(session.handle.clone()).await;
        // Nobody waits for a worker that does not answer, but it may be back with the session.
        if let Err(error) = outcome {
            let (client, handle) = (Arc::clone(client), session.handle.clone());
            let first = Box::pin(async { Err(error) });
            release(&session.task, first, SESSION_TRIES, move || {
                client.delete_session(handle.clone())
            });
        }
    });
    futures_util::future::join_all(requests).await;
}

/// A session while it is opened on the workers. If that fails, or the client goes away, those that
/// have it already forget it.
struct Opening {
    session: Option<Arc<Session>>,
}

impl Opening {
    fn finish(mut self) -> Arc<Session> {
        self.session.take().expect("it is opened once")
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let world = Arc::clone(&session.task.world);
            world.spawn(Box::pin(async move { close_on_workers(&session).await }));
        }
    }
}

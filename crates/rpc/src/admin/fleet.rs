//! The whole cluster as one of its tasks sees it, for as long as somebody watches.
//!
//! Each task is asked by a loop of its own, so that one that stands still holds up nobody, and all
//! watchers share what the loops learn: a hundred open pages cost the cluster as much as one.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tensorfleet_security::{Caller, Credentials};
use tensorfleet_spec::ServerSpec;
use tensorfleet_tensor::{Code, Error, Result, internal, not_found};
use tensorfleet_transport::Guard;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{AdminClient, View};

/// How often a task is asked, and the picture is drawn anew.
const PERIOD: Duration = Duration::from_secs(1);

/// How long the first picture waits for tasks to answer.
const FIRST: Duration = Duration::from_millis(300);

/// A task that has not answered for so long is called silent.
const SILENCE: Duration = Duration::from_millis(2500);

/// What a task tells is not read beyond this.
const LARGEST: usize = 4 << 20;

/// Looks at all tasks of the cluster from one of them.
#[derive(Debug)]
pub struct Fleet {
    pub(super) own: View,
    pub(super) tasks: Vec<Member>,
    runtime: Handle,
    pub(super) credentials: Option<Arc<Credentials>>,
    gathering: Mutex<Weak<Gathering>>,
}

/// A task and where it is.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) task: String,
    pub(super) address: String,
    pub(super) is_own: bool,
}

/// The loops that ask. They end with the last watcher.
#[derive(Debug)]
struct Gathering {
    latest: watch::Receiver<Arc<str>>,
    _loops: JoinSet<()>,
}

/// Somebody who watches.
#[derive(Debug)]
pub struct Watching {
    latest: watch::Receiver<Arc<str>>,
    /// Its loops run for as long as anybody has it.
    _gathering: Arc<Gathering>,
}

impl Watching {
    /// The next picture of the cluster, as JSON; the first one comes as soon as there is one.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        let drawn = self.latest.wait_for(|picture| !picture.is_empty()).await.ok()?;
        let picture = Arc::clone(&drawn);
        drop(drawn);
        Some(picture)
    }

    /// Waits for a picture that has not been seen.
    pub async fn changed(&mut self) -> Option<Arc<str>> {
        self.latest.changed().await.ok()?;
        self.next().await
    }
}

impl Fleet {
    /// All tasks of the cluster that a server was started with, `address` being where it listens itself.
    pub(crate) fn new(
        own: View,
        spec: &ServerSpec,
        address: SocketAddr,
        runtime: Handle,
        credentials: Option<Arc<Credentials>>,
    ) -> Fleet {
        let mut tasks = Vec::new();
        for (task, at) in spec.cluster().tasks() {
            let is_own = task == *spec.task();
            // The port of its own may be one that the system chose.
            let host = at.rsplit_once(':').map_or(at, |(host, _)| host);
            let at = if is_own { format!("{host}:{}", address.port()) } else { at.to_owned() };
            tasks.push(Member { task: task.to_string(), address: at, is_own });
        }
        Fleet { own, tasks, runtime, credentials, gathering: Mutex::default() }
    }

    /// Begins to look, or joins those who do.
    pub fn watch(&self) -> Watching {
        let mut shared = self.gathering.lock().unwrap_or_else(PoisonError::into_inner);
        let gathering = shared.upgrade().unwrap_or_else(|| {
            let gathering = Arc::new(self.gather());
            *shared = Arc::downgrade(&gathering);
            gathering
        });
        Watching { latest: gathering.latest.clone(), _gathering: gathering }
    }

    /// The last lines of a task's log from a number on, as JSON.
    pub async fn logs(&self, task: &str, since: u64) -> Result<String> {
        let Some(member) = self.tasks.iter().find(|member| member.task == task) else {
            return Err(not_found!("{task:?} is not a task of the cluster"));
        };
        if member.is_own {
            return Ok(self.own.logs.since(since));
        }
        self.client(member)?.logs(since).await
    }

    /// Whether a caller's metadata let it call a method of a service, by the roles that there are.
    pub fn admit(&self, path: &str, metadata: &http::HeaderMap) -> Result<()> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        let caller = Caller::by_token(Arc::clone(credentials));
        match caller.admit(path, metadata) {
            Ok(_) => Ok(()),
            Err(status) => Err(Error::new(Code::from_number(status.code.0), status.message)),
        }
    }

    pub(super) fn client(&self, member: &Member) -> Result<AdminClient> {
        AdminClient::of_task(&member.address, self.credentials.clone(), &self.runtime)
    }

    fn gather(&self) -> Gathering {
        let mut loops = JoinSet::new();
        let seen: Vec<Arc<Mutex<Seen>>> = self.tasks.iter().map(|_| Arc::default()).collect();
        for (member, seen) in self.tasks.iter().zip(&seen).filter(|(member, _)| !member.is_own) {
            let asked = self.client(member);
            loops.spawn_on(ask(asked, Arc::clone(seen)), &self.runtime);
        }
        let (sender, latest) = watch::channel(Arc::from(""));
        let (own, tasks) = (self.own.clone(), self.tasks.clone());
        let drawing = async move {
            if tasks.len() > 1 {
                tokio::time::sleep(FIRST).await;
            }
            while sender.send(Arc::from(picture(&own, &tasks, &seen).to_string())).is_ok() {
                tokio::time::sleep(PERIOD).await;
            }
        };
        loops.spawn_on(drawing, &self.runtime);
        Gathering { latest, _loops: loops }
    }
}

/// What is known of a task.
#[derive(Debug, Default)]
struct Seen {
    status: Value,
    /// Why the last question has no answer.
    error: Option<Error>,
    /// Since when an answer is waited for.
    asked: Option<Instant>,
    /// Since when nothing has been heard, neither an answer nor a refusal.
    silent: Option<Instant>,
    round_trip: Duration,
}

async fn ask(client: Result<AdminClient>, seen: Arc<Mutex<Seen>>) {
    loop {
        let begun = Instant::now();
        lock(&seen).asked = Some(begun);
        let answer = match &client {
            Ok(client) => client.status().await.and_then(|text| read(&text)),
            Err(error) => Err(error.clone()),
        };
        {
            let mut seen = lock(&seen);
            seen.asked = None;
            seen.round_trip = begun.elapsed();
            match answer {
                Ok(status) => (seen.status, seen.error, seen.silent) = (status, None, None),
                Err(error) => {
                    let is_silent = begun.elapsed() >= SILENCE;
                    seen.silent = is_silent.then(|| seen.silent.unwrap_or(begun));
                    seen.error = Some(error);
                }
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// What another process says is read before it is passed on.
pub(super) fn read(text: &str) -> Result<Value> {
    if text.len() > LARGEST {
        return Err(internal!("its status has {} bytes, and {LARGEST} are read", text.len()));
    }
    serde_json::from_str(text).map_err(|error| internal!("its status cannot be read: {error}"))
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn picture(own: &View, tasks: &[Member], seen: &[Arc<Mutex<Seen>>]) -> Value {
    let drawn = tasks.iter().zip(seen).map(|(member, seen)| {
        if member.is_own {
            let status = read(&own.json()).unwrap_or_default();
            let state = status["state"].clone();
            return json!({
                "task": member.task, "address": member.address, "state": state, "status": status,
                "round_trip_seconds": 0.0,
            });
        }
        told(member, &lock(seen))
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "seen_from": own.task.name.to_string(),
        "at_seconds": now.as_secs_f64(),
        "tasks": drawn.collect::<Vec<_>>(),
    })
}

/// What is told of another task: what it said last, and whether it still speaks.
fn told(member: &Member, seen: &Seen) -> Value {
    let waited = seen.silent.or(seen.asked).map(|since| since.elapsed()).unwrap_or_default();
    let error = seen.error.as_ref();
    let state = match error.map(Error::code) {
        // TensorFlow's servers know no such service.
        Some(Code::Unimplemented) => json!("foreign"),
        _ if seen.silent.is_some() => json!("silent"),
        Some(_) => json!("unreachable"),
        None if waited >= SILENCE => json!("silent"),
        None if seen.status.is_null() => json!("asked"),
        None => seen.status["state"].clone(),
    };
    json!({
        "task": member.task,
        "address": member.address,
        "state": state,
        "error": error.map(|error| format!("{}: {}", error.code().name(), error.message())),
        "silent_seconds": waited.as_secs_f64(),
        "round_trip_seconds": seen.round_trip.as_secs_f64(),
        "status": seen.status,
    })
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::{unavailable, unimplemented_error};

    use super::*;

    #[test]
    fn the_state_of_a_task_is_what_it_says_unless_it_says_nothing() {
        let member = Member { task: "t".into(), address: "a:1".into(), is_own: false };
        let check = |seen: Seen, state: &str| assert_eq!(told(&member, &seen)["state"], state);
        let says = || json!({"state": "draining"});
        check(Seen::default(), "asked");
        check(Seen { status: says(), ..Seen::default() }, "draining");
        let lost = || Some(unavailable!("a:1 is gone"));
        check(Seen { status: says(), error: lost(), ..Seen::default() }, "unreachable");
        let long_ago = Instant::now().checked_sub(2 * SILENCE);
        check(Seen { status: says(), asked: long_ago, ..Seen::default() }, "silent");
        // A question that is given up is no refusal.
        let given_up = Seen { error: lost(), silent: long_ago, ..Seen::default() };
        check(given_up, "silent");
        let foreign = Some(unimplemented_error!("unknown service"));
        check(Seen { error: foreign, ..Seen::default() }, "foreign");
    }

    #[test]
    fn what_is_no_json_is_not_passed_on() {
        assert!(read("{\"a\": 1}, \"injected\": 2").is_err());
        assert!(read(&" ".repeat(LARGEST + 1)).is_err());
        assert_eq!(read("{}").unwrap(), json!({}));
    }
}

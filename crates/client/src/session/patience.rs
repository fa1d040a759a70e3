//! How long opening a session may take, and what the user hears meanwhile.
//!
//! A server that waits for others says nothing until it gives up. So while an answer is late, a
//! second session is asked for that has little time: its failure names everybody who is missing.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tensorfleet_cluster as cluster;
use tensorfleet_cluster::client::MasterClient;
use tensorfleet_graph::FunctionLibrary;
use tensorfleet_tensor::{Error, Result, deadline_exceeded};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::notice;

/// How long servers that are not up yet are waited for, unless the program says otherwise.
pub(super) const DEFAULT: Duration = Duration::from_secs(60);

/// How much later than a server's own limit an answer may come.
pub(super) const WAY_BACK: Duration = Duration::from_secs(2);

/// After how long the user hears who is waited for.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// How long the missing tasks have to answer when they are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Who hears of a wait. Clones of options share one: several sessions that wait for the same tasks
/// tell it once.
#[derive(Clone)]
pub(super) struct Listener {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    heard: Arc<Mutex<BTreeSet<String>>>,
}

impl Listener {
    pub(super) fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Listener {
        Listener { tell: Arc::new(tell), heard: Arc::default() }
    }

    /// Tells the lines that were not heard yet.
    fn tell(&self, text: &str) {
        let news: Vec<&str> = {
            let mut heard = self.heard.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let lines = text.lines().filter(|line| !is_for_machines(line));
            lines.filter(|line| heard.insert((*line).to_owned())).collect()
        };
        news.iter().for_each(|line| (self.tell)(line));
    }

    /// The wait has ended; the next is worth the same words again.
    pub(super) fn forget(&self) {
        self.heard.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }
}

impl Default for Listener {
    fn default() -> Listener {
        Listener::new(notice)
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Whether a line is there for TensorFlow's clients, which look for it, and repeats the one before.
fn is_for_machines(line: &str) -> bool {
    line.starts_with("Additional GRPC error information") || line.starts_with(":UNKNOWN:")
}

/// Waits for a session to be opened, but not for ever, and not in silence.
pub(super) async fn within<T>(
    limit: Duration,
    opening: impl Future<Output = Result<T>>,
    search: Search,
) -> Result<T> {
    let deadline = Instant::now().checked_add(limit);
    let waiting = async {
        let mut cause = None;
        let end = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = end => {}
            () = search.watch(&mut cause) => {}
        }
        cause
    };
    tokio::select! {
        biased;
        outcome = opening => outcome,
        cause = waiting => {
            let cause: String = cause.map(|error: Error| format!(": {}", error.message())).unwrap_or_default();
            let place = &search.place;
            Err(deadline_exceeded!("no session could be opened ({place}) within {limit:?}{cause}"))
        }
    }
}

/// Finds out who is missing.
pub(super) struct Search {
    pub(super) master: Arc<dyn MasterClient>,
    pub(super) place: String,
    pub(super) options: cluster::SessionOptions,
    pub(super) listener: Listener,
    pub(super) handle: Handle,
}

impl Search {
    /// Looks again and again, and tells what is new. Never ends.
    async fn watch(&self, cause: &mut Option<Error>) {
        tokio::time::sleep(QUIET).await;
        self.listener.tell(&format!("waiting for a session ({})", self.place));
        loop {
            if let Err(error) = self.look().await {
                self.listener.tell(error.message());
                *cause = Some(error);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Opens and closes a session that has little time. It is a task of its own, so that it is
    /// closed even if the session that all this is for comes first.
    async fn look(&self) -> Result<()> {
        let options = cluster::SessionOptions { timeout: Some(LOOK), ..self.options.clone() };
        let opened = self.master.create_session(Vec::new(), FunctionLibrary::default(), options);
        let task = self.handle.spawn(async move { opened.await?.close().await });
        // A task that could not end has found nothing out.
        task.await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_sessions_say_is_told_once_for_each_wait() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&told);
        let listener = Listener::new(move |line| list.lock().unwrap().push(line.to_owned()));
        let take = || std::mem::take(&mut *told.lock().unwrap());
        listener.tell("waiting\n  ps 0\n:UNKNOWN:ps 0\n  ps 1");
        listener.clone().tell("waiting\n  ps 1\n  ps 2");
        assert_eq!(take(), ["waiting", "  ps 0", "  ps 1", "  ps 2"]);
        listener.forget();
        listener.tell("waiting");
        assert_eq!(take(), ["waiting"]);
    }
}

//! What SIGHUP does: the configuration is read again, and what can change does.

use std::sync::{Arc, Weak};

use tensorfleet_security::Credentials;
use tensorfleet_server::Server;
use tokio::sync::{mpsc, watch};

use super::Live;
use super::supervisor::Supervisor;
use crate::cli::{self, Command, Refusal, Serve};
use crate::log::Levels;

/// Settings that change while the task serves.
const CHANGE: [&str; 4] = ["log", "slow_step", "grace", "exit_when_idle"];

/// How the configuration was read, to do so again.
#[derive(Debug)]
pub(crate) struct Reload {
    pub(crate) arguments: Vec<String>,
    pub(crate) levels: Levels,
}

/// What runs, and how it was told to.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) server: Weak<Server>,
    pub(super) credentials: Option<Arc<Credentials>>,
    pub(super) live: watch::Sender<Live>,
    pub(super) serve: Serve,
}

/// Reads the configuration again whenever that is asked for.
pub(super) async fn follow(
    reload: Reload,
    mut task: Task,
    mut hangups: mpsc::Receiver<()>,
    supervisor: Arc<Supervisor>,
) {
    while hangups.recv().await.is_some() {
        supervisor.reloading();
        task.read_again(&reload);
        supervisor.reloaded();
    }
}

impl Task {
    fn read_again(&mut self, reload: &Reload) {
        let (new, log) = match cli::parse(reload.arguments.clone()) {
            Ok((Command::Serve(new), log)) => (*new, log),
            Ok(_) => return,
            Err(Refusal::Usage(error) | Refusal::Configuration(error)) => {
                tracing::error!("the configuration stays as it was: {}", error.message());
                return;
            }
        };
        if let Some(credentials) = &self.credentials
            && let Err(error) = credentials.reload()
        {
            tracing::error!("certificates and tokens stay as they were: {}", error.message());
        }
        reload.levels.set(&log);
        self.live.send_replace(Live::of(&new));
        if let Some(server) = self.server.upgrade() {
            server.tell_of_steps_above(new.slow_step);
        }
        let mut told = Vec::new();
        for (key, value) in new.settings.changed_from(&self.serve.settings) {
            let value = value.unwrap_or("not set");
            if CHANGE.contains(&key) {
                told.push(format!("{key} is {value}"));
            } else {
                tracing::warn!("{key} is {value} now, which takes a restart");
            }
        }
        let told = if told.is_empty() { "nothing changed".to_owned() } else { told.join(", ") };
        tracing::info!("read the configuration again: {told}");
        // What takes a restart is told of every time, because it has not been done.
        for (own, new) in self.serve.settings.0.iter_mut().zip(new.settings.0) {
            if CHANGE.contains(&&*own.key) {
                *own = new;
            }
        }
    }
}

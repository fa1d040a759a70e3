//! `tensorfleet serve`: a task from its start to its end.

mod endings;
mod reload;
mod supervisor;

use std::os::unix::process::parent_id;
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_security::Credentials;
use tensorfleet_server::{Config, Server};
use tensorfleet_tensor::Result;
use tokio::sync::watch;

use crate::cli::{Serve, report};
use crate::command::{end, output_failed};
use crate::signals::Signals;
use endings::{chief_gone, idle, orphaned};
pub(crate) use reload::Reload;
use reload::Task;
use supervisor::Supervisor;

/// What may change while a task serves and is asked for when it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    grace: Duration,
    exit_when_idle: Option<Duration>,
}

impl Live {
    fn of(serve: &Serve) -> Live {
        Live { grace: serve.grace, exit_when_idle: serve.exit_when_idle }
    }
}

/// Runs a task until it is told to end.
pub(crate) fn serve(serve: Serve, config: Config, reload: Reload) -> Result<()> {
    // Asked before anybody is told that it serves: a parent that knows may end at once.
    let parent = serve.exit_with_parent.then(parent_id);
    let supervisor = Arc::new(Supervisor::from_environment());
    let credentials = serve.credentials.clone().map(Credentials::load).transpose()?;
    let config = configure(&serve, config, credentials.as_ref())?;
    let signals = Signals::new(&config)?;
    let hangups = Signals::hangups(&config)?;
    let server = Arc::new(Server::bind(serve.spec.clone(), &serve.bind, &config)?);
    server.start()?;
    if credentials.is_none() && !server.address().ip().is_loopback() {
        tracing::warn!("--insecure: everybody who reaches {} may run code here", server.address());
    }
    if let Some(address) = &serve.http {
        let address = server.serve_http(address)?;
        tracing::info!("dashboard, metrics and status at http://{address}");
    }
    tracing::info!("Started server with target: {}", server.target());
    report::serving(&server.target()).map_err(|error| output_failed(&error))?;
    supervisor.ready(&format!("{} at {}", serve.spec.task(), server.target()));

    let live = watch::Sender::new(Live::of(&serve));
    let (changing, at_the_end) = (live.subscribe(), live.subscribe());
    let stopped = server.stopped();
    let chief = serve.exit_with_chief.clone();
    let runtime = config.host()?;
    let runtime = runtime.handle();
    runtime.spawn(supervisor::watchdog(Arc::clone(&supervisor), Arc::downgrade(&server)));
    let task = Task { server: Arc::downgrade(&server), credentials, live, serve };
    runtime.spawn(reload::follow(reload, task, hangups, Arc::clone(&supervisor)));
    let used = Arc::downgrade(&server);
    signals.first(async move {
        tokio::select! {
            () = orphaned(parent) => {}
            () = stopped => {}
            () = idle(used, changing) => {}
            () = chief_gone(chief) => {}
        }
    })?;
    supervisor.stopping();
    let grace = at_the_end.borrow().grace;
    end(&[&server], grace, &signals)
}

fn configure(
    serve: &Serve,
    config: Config,
    credentials: Option<&Arc<Credentials>>,
) -> Result<Config> {
    let mut config = config
        .close_sessions_after(serve.session_timeout)
        .wait_for_tasks(serve.task_timeout)
        .notice_failures_after(serve.failure_timeout)
        .allow_ops(serve.allow_ops.iter().cloned())
        .deny_ops(serve.deny_ops.iter().cloned());
    config = serve.guards.clone().apply(config)?;
    config = match credentials {
        Some(credentials) => config.credentials(Arc::clone(credentials)),
        // Whether that is wanted was asked when the arguments were read.
        None => config.insecure(),
    };
    if serve.separation.isolate {
        config = config.isolate_sessions();
    }
    for (who, container) in &serve.separation.rooms {
        config = config.container(who, container);
    }
    if let Some((directory, durability)) = &serve.data {
        config = config.data_directory(directory, *durability);
    }
    if let Some(url) = &serve.backup {
        config = config.backup(url);
    }
    if let Some(url) = &serve.restore_from {
        config = config.restore_from(url);
    }
    if serve.grpc_only {
        config = config.grpc_only();
    }
    if let Some(slow) = serve.slow_step {
        config = config.tell_of_steps_above(slow);
    }
    Ok(config)
}

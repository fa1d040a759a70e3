//! Carries out what the command line says. The binary calls it, and so does the Python package, whose
//! command is the same program.

use std::io::IsTerminal;
use std::os::unix::process::parent_id;
use std::time::Duration;

use tensorfleet_server::{Config, Server, create_local_cluster};
use tensorfleet_tensor::{Error, Result, unavailable};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{self, Command, Local, Serve, report};
use crate::demo::{self, Demo};
use crate::launch;

/// Runs a command line, the program's name first, and returns the exit code. `own` is the command that
/// starts this program once more.
pub fn run(arguments: impl IntoIterator<Item = String>, own: &[String]) -> u8 {
    let command = cli::parse(arguments);
    // Servers tell of their start in the log, which would tear a demo's display apart.
    log_to_stderr(if matches!(command, Ok(Command::Demo(_))) { "error" } else { "info" });
    let outcome = match command {
        Err(refusal) => return report::refused(&refusal),
        Ok(Command::Show(text)) => report::show(&text).map_err(|error| output_failed(&error)),
        Ok(Command::Ops { proto }) => list_ops(proto),
        Ok(Command::Man { directory }) => cli::write_manual(&directory)
            .map_err(|error| unavailable!("{} cannot be written: {error}", directory.display())),
        Ok(Command::Demo(demo)) => show_demo(&demo),
        Ok(Command::Local(local)) => serve_local_cluster(&local),
        Ok(Command::Launch(cluster)) => match launch::run(&cluster, own) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Ok(Command::Serve(task)) => serve(task),
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => report::failed(&error),
    }
}

fn list_ops(proto: bool) -> Result<()> {
    let registry = tensorfleet_ops::registry()?;
    let listed = if proto {
        tensorfleet_graph::wire::op_list(registry.iter().map(|(_, def)| &**def))?
    } else {
        registry.iter().map(|(_, def)| format!("{def}\n")).collect::<String>().into_bytes()
    };
    report::show(listed).map_err(|error| output_failed(&error))
}

fn output_failed(error: &std::io::Error) -> Error {
    unavailable!("standard output cannot be written: {error}")
}

/// Logs are for people and go to standard error; `TENSORFLEET_LOG=debug` says more.
fn log_to_stderr(level: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TENSORFLEET_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(filter)
        .init();
}

fn serve(serve: Serve) -> Result<()> {
    // Asked before anybody is told that it serves: a parent that knows may end at once.
    let parent = serve.exit_with_parent.then(parent_id);
    let mut config = Config::default()
        .close_sessions_after(serve.session_timeout)
        .notice_failures_after(serve.failure_timeout);
    if serve.grpc_only {
        config = config.grpc_only();
    }
    let signals = Signals::new(&config)?;
    let server = Server::bind(serve.spec, &serve.bind, &config)?;
    server.start()?;
    tracing::info!("Started server with target: {}", server.target());
    report::serving(&server.target()).map_err(|error| output_failed(&error))?;
    signals.wait(&config, parent)?;
    server.stop()
}

fn serve_local_cluster(local: &Local) -> Result<()> {
    let config = Config::default();
    let signals = Signals::new(&config)?;
    let cluster = create_local_cluster(local.workers, local.ps, "grpc", &config, &config)?;
    for server in cluster.servers() {
        let line = format!("{} {}\n", server.server_def().task(), server.target());
        report::show(line).map_err(|error| output_failed(&error))?;
    }
    tracing::info!("serving until interrupted");
    signals.wait(&config, None)?;
    cluster.servers().try_for_each(Server::stop)
}

fn show_demo(demo: &Demo) -> Result<()> {
    let config = Config::default();
    let cluster = demo::run(demo, &config)?;
    if demo.serve {
        Signals::new(&config)?.wait(&config, None)?;
    }
    cluster.servers().try_for_each(Server::stop)
}

/// The signals by which somebody wants the process to end. Made before anybody is told that it
/// serves, so that none is missed.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new(config: &Config) -> Result<Signals> {
        let signals: std::io::Result<Signals> = config.host()?.wait(async {
            Ok(Signals {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        })?;
        signals.map_err(|error| unavailable!("signals cannot be waited for: {error}"))
    }

    fn wait(mut self, config: &Config, parent: Option<u32>) -> Result<()> {
        config.host()?.wait(async move {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                () = orphaned(parent) => {}
            }
        })?;
        tracing::info!("stopping");
        Ok(())
    }
}

/// Ends when this process has another parent than the given one, which then has ended. The system
/// could send a signal, but does so when the *thread* ends that made this process, which may be long
/// before.
async fn orphaned(parent: Option<u32>) {
    const LOOKS: Duration = Duration::from_millis(200);
    while parent.is_none_or(|parent| parent == parent_id()) {
        tokio::time::sleep(LOOKS).await;
    }
}

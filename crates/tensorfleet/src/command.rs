//! Carries out what the command line says. The binary calls it, and so does the Python package, whose
//! command is the same program.

use std::os::unix::process::parent_id;
use std::time::Duration;

use tensorfleet_security::Credentials;
use tensorfleet_server::{Config, Server, create_local_cluster};
use tensorfleet_tensor::{Error, Result, unavailable};

use crate::certs;
use crate::cli::{self, Command, Local, Proxy, Serve, report};
use crate::demo::{self, Demo};
use crate::proxy::Listening;
use crate::signals::Signals;
use crate::{launch, log, status};

/// How long the steps of a cluster in this process have to end.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command line, the program's name first, and returns the exit code. `own` is the command that
/// starts this program once more.
pub fn run(arguments: impl IntoIterator<Item = String>, own: &[String]) -> u8 {
    let (command, format) = match cli::parse(arguments) {
        Ok(parsed) => parsed,
        Err(refusal) => return report::refused(&refusal),
    };
    // Servers tell of their start in the log, which would tear a demo's display apart.
    log::to_stderr(format, if matches!(command, Command::Demo(_)) { "error" } else { "info" });
    let outcome = match command {
        Command::Show(text) => report::show(&text).map_err(|error| output_failed(&error)),
        Command::Ops { proto } => list_ops(proto),
        Command::Man { directory } => cli::write_manual(&directory)
            .map_err(|error| unavailable!("{} cannot be written: {error}", directory.display())),
        Command::Certs(command) => certs::certs(command).and_then(print),
        Command::Tokens(command) => certs::tokens(command).and_then(print),
        Command::Proxy(proxy) => run_proxy(proxy),
        Command::Demo(demo) => show_demo(&demo),
        Command::Local(local) => serve_local_cluster(&local),
        Command::Launch(cluster) => match launch::run(&cluster, own) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Status(what) => match status::run(&what) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Drain { target } => status::drain(&target),
        Command::Stop { target, grace } => status::stop(&target, grace),
        Command::Serve(task) => serve(*task),
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

fn print(text: String) -> Result<()> {
    report::show(text).map_err(|error| output_failed(&error))
}

fn run_proxy(proxy: Proxy) -> Result<()> {
    let config = Config::default();
    let signals = Signals::new(&config)?;
    let host = config.host()?;
    let listening = host.wait(Listening::bind(proxy))??;
    report::serving(&listening.target()).map_err(|error| output_failed(&error))?;
    let serving = host.handle().spawn(listening.serve());
    signals.first(std::future::pending())?;
    serving.abort();
    Ok(())
}

fn output_failed(error: &std::io::Error) -> Error {
    unavailable!("standard output cannot be written: {error}")
}

fn serve(serve: Serve) -> Result<()> {
    // Asked before anybody is told that it serves: a parent that knows may end at once.
    let parent = serve.exit_with_parent.then(parent_id);
    let mut config = Config::default()
        .close_sessions_after(serve.session_timeout)
        .notice_failures_after(serve.failure_timeout);
    let is_open = serve.credentials.is_none();
    if let Some(files) = serve.credentials {
        config = config.credentials(Credentials::load(files)?);
    }
    if let Some((directory, durability)) = serve.data {
        config = config.data_directory(directory, durability);
    }
    if serve.grpc_only {
        config = config.grpc_only();
    }
    if let Some(slow) = serve.slow_step {
        config = config.tell_of_steps_above(slow);
    }
    let signals = Signals::new(&config)?;
    let server = Server::bind(serve.spec, &serve.bind, &config)?;
    server.start()?;
    if is_open && !server.address().ip().is_loopback() {
        tracing::warn!("--insecure: everybody who reaches {} may run code here", server.address());
    }
    if let Some(address) = &serve.http {
        let address = server.serve_http(address)?;
        tracing::info!("metrics and status at http://{address}");
    }
    tracing::info!("Started server with target: {}", server.target());
    report::serving(&server.target()).map_err(|error| output_failed(&error))?;
    let stopped = server.stopped();
    signals.first(async move {
        tokio::select! {
            () = orphaned(parent) => {}
            () = stopped => {}
        }
    })?;
    end(&[&server], serve.grace, &signals)
}

/// Ends servers: new steps are refused, those under way have the time of grace, unless a second
/// signal comes.
fn end(servers: &[&Server], grace: Duration, signals: &Signals) -> Result<()> {
    tracing::info!("stopping");
    // All refuse before the first is waited for: a step of one may be at work on another.
    let nothing = Duration::ZERO;
    servers.iter().try_for_each(|server| server.drain(nothing, signals.second()).map(|_| ()))?;
    for server in servers {
        if !server.drain(grace, signals.second())? {
            tracing::warn!("steps of {} are cancelled", server.server_def().task());
        }
    }
    servers.iter().try_for_each(|server| server.stop())
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
    signals.first(std::future::pending())?;
    end(&cluster.servers().collect::<Vec<_>>(), GRACE, &signals)
}

fn show_demo(demo: &Demo) -> Result<()> {
    let config = Config::default();
    let cluster = demo::run(demo, &config)?;
    let signals = Signals::new(&config)?;
    if demo.serve {
        signals.first(std::future::pending())?;
    }
    end(&cluster.servers().collect::<Vec<_>>(), GRACE, &signals)
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

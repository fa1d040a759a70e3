//! Carries out what the command line says. The binary calls it, and so does the Python package, whose
//! command is the same program.

use std::path::Path;
use std::time::Duration;

use tensorfleet_security::audit;
use tensorfleet_server::{Config, Server, create_local_cluster};
use tensorfleet_tensor::{Error, Result, unavailable};

use crate::certs;
use crate::cli::{self, AuditCommand, Command, Local, Proxy, report};
use crate::demo::{self, Demo};
use crate::proxy::Listening;
use crate::serving::{self, Reload};
use crate::signals::Signals;
use crate::{
    check, checkpoints, graph_view, launch, log, op_report, profile, snapshots, status, top, trace,
};

/// How long the steps of a cluster in this process have to end.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a command line, the program's name first, and returns the exit code. `own` is the command that
/// starts this program once more.
pub fn run(arguments: impl IntoIterator<Item = String>, own: &[String]) -> u8 {
    let arguments: Vec<String> = arguments.into_iter().collect();
    let (command, wanted) = match cli::parse(arguments.clone()) {
        Ok(parsed) => parsed,
        Err(refusal) => return report::refused(&refusal),
    };
    // Servers tell of their start in the log, which would tear a demo's display apart.
    let level = if matches!(command, Command::Demo(_)) { "error" } else { "info" };
    let log = log::to_stderr(&wanted, level);
    let config = Config::default().logs(log.tail);
    let outcome = match command {
        Command::Show(text) => report::show(&text).map_err(|error| output_failed(&error)),
        Command::Ops(command) => match op_report::run(&command).and_then(shown) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Checkpoint(command) => match checkpoints::run(&command).and_then(shown) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Snapshot(command) => snapshots::run(&command).and_then(print),
        Command::Man { directory } => cli::write_manual(&directory)
            .map_err(|error| unavailable!("{} cannot be written: {error}", directory.display())),
        Command::Certs(command) => certs::certs(command).and_then(print),
        Command::Audit(AuditCommand::Verify { path }) => verify_audit(&path).and_then(print),
        Command::Tokens(command) => certs::tokens(command).and_then(print),
        Command::Proxy(proxy) => run_proxy(proxy),
        Command::Demo(demo) => show_demo(&demo, &config),
        Command::Local(local) => serve_local_cluster(&local, &config),
        Command::Launch(cluster) => match launch::run(&cluster, own) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Status(what) => match status::run(&what) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Top(what) => match top::run(&what) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Check(what) => match check::run(&what).and_then(shown) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Trace(what) => trace::run(&what).and_then(print),
        Command::Profile(what) => profile::run(&what).and_then(print),
        Command::Graph(what) => graph_view::run(&what).and_then(print),
        Command::Drain { target, all } => status::end(&target, all, status::End::Drain),
        Command::Stop { target, all, grace } => status::end(&target, all, status::End::Stop(grace)),
        Command::Serve(task) => {
            serving::serve(*task, config, Reload { arguments, levels: log.levels })
        }
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => report::failed(&error),
    }
}

/// Shows what a command found, and passes its exit code on.
fn shown((text, code): (impl AsRef<[u8]>, u8)) -> Result<u8> {
    report::show(text).map_err(|error| output_failed(&error))?;
    Ok(code)
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

fn verify_audit(path: &Path) -> Result<String> {
    let found = audit::verify(path)?;
    Ok(format!("{} lines, whole; the last hash is {}\n", found.lines, found.last))
}

pub(crate) fn output_failed(error: &std::io::Error) -> Error {
    unavailable!("standard output cannot be written: {error}")
}

/// Ends servers: new steps are refused, those under way have the time of grace, unless a second
/// signal comes.
pub(crate) fn end(servers: &[&Server], grace: Duration, signals: &Signals) -> Result<()> {
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

fn serve_local_cluster(local: &Local, config: &Config) -> Result<()> {
    let signals = Signals::new(config)?;
    let cluster = create_local_cluster(local.workers, local.ps, "grpc", config, config)?;
    if let (Some(address), Some(server)) = (&local.http, cluster.workers.first()) {
        let address = server.serve_http(address)?;
        tracing::info!("dashboard, metrics and status at http://{address}");
    }
    for server in cluster.servers() {
        let line = format!("{} {}\n", server.server_def().task(), server.target());
        report::show(line).map_err(|error| output_failed(&error))?;
    }
    tracing::info!("serving until interrupted");
    signals.first(std::future::pending())?;
    end(&cluster.servers().collect::<Vec<_>>(), GRACE, &signals)
}

fn show_demo(demo: &Demo, config: &Config) -> Result<()> {
    let cluster = demo::run(demo, config)?;
    let signals = Signals::new(config)?;
    if demo.serve {
        signals.first(std::future::pending())?;
    }
    end(&cluster.servers().collect::<Vec<_>>(), GRACE, &signals)
}

//! The command line of the `tensorfleet` binary.
//!
//! [`parse`] turns arguments and environment into a [`Command`] and does nothing else, so that all
//! of it can be tested; `command` carries it out. [`report`] is what a server says to the
//! program that started it.

mod arguments;
mod guards;
mod inspect;
mod operate;
pub mod report;
mod security;
mod serve;
mod settings;
mod version;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tensorfleet_cluster::Separation;
use tensorfleet_security::Files;
use tensorfleet_server::Durability;
use tensorfleet_spec::{Address, ClusterSpec, ServerSpec, TfConfig};
use tensorfleet_strategy::Mode;
use tensorfleet_tensor::{Error, invalid_argument};

use crate::demo::Demo;
use crate::launch::Launch;
pub use guards::{AuditCommand, Guards};
pub use inspect::{CheckpointCommand, Ops, Output, SnapshotCommand};
pub use security::{Certs, Direction, Listen, Proxy, Tokens};
pub(crate) use serve::cluster_from_text;
use settings::Environment;
pub use settings::Settings;

pub use arguments::LogArguments;
use arguments::{
    Arguments, DemoArguments, LaunchArguments, LocalArguments, ManArguments, Subcommand,
};
use operate::{
    CheckArguments, DrainArguments, GraphArguments, ProfileArguments, StatusArguments,
    StopArguments, TopArguments, TraceArguments,
};
pub use operate::{GraphFormat, OutputFormat};

/// What the user wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Train on a cluster in this process and tell about it.
    Demo(Demo),
    /// Run one task of a cluster until told to stop.
    Serve(Box<Serve>),
    /// Run a whole cluster in this process until told to stop.
    Local(Local),
    /// Run a program on a cluster of processes.
    Launch(Launch),
    /// Make, renew, show or check certificates.
    Certs(Certs),
    /// Make, show or take back tokens.
    Tokens(Tokens),
    /// Look after audit logs.
    Audit(AuditCommand),
    /// Carry clients to a server that wants TLS, or tasks to one that cannot.
    Proxy(Proxy),
    /// Show ops, or what a graph lacks.
    Ops(Ops),
    /// Look into checkpoints.
    Checkpoint(CheckpointCommand),
    /// Look into data directories.
    Snapshot(SnapshotCommand),
    /// Write the pages of the manual into a directory.
    Man { directory: PathBuf },
    /// Show what the tasks of a cluster do.
    Status(Status),
    /// Show what a cluster does, live.
    Top(Top),
    /// Find out what would keep a cluster from training.
    Check(Check),
    /// Record steps.
    Trace(Trace),
    /// Find out where time goes.
    Profile(Profile),
    /// Draw a session's graph.
    Graph(Graph),
    /// Let a task, or all of its cluster, refuse new steps.
    Drain { target: String, all: bool },
    /// Let a task, or all of its cluster, end.
    Stop { target: String, all: bool, grace: Duration },
    /// Show text, such as help, and end well.
    Show(String),
}

/// How to run a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    pub spec: ServerSpec,
    /// Where to listen: what the cluster says of this task, unless told otherwise.
    pub bind: Address,
    /// Whether other tasks are spoken to over gRPC only.
    pub grpc_only: bool,
    /// Sessions that nobody has used for so long are closed; zero means never.
    pub session_timeout: Duration,
    /// How long tasks are waited for that keep their variables and are away.
    pub task_timeout: Duration,
    /// Whether to end when the process that started this one has.
    pub exit_with_parent: bool,
    /// Who has not answered for so long is lost.
    pub failure_timeout: Duration,
    /// Nobody has used the task for so long: it ends.
    pub exit_when_idle: Option<Duration>,
    /// The chief's address, and how long it is gone when the task ends.
    pub exit_with_chief: Option<(Address, Duration)>,
    /// How long steps have to end when it is told to stop.
    pub grace: Duration,
    /// Where to answer over HTTP what runs here.
    pub http: Option<Address>,
    /// Steps that take so long are told of in the log.
    pub slow_step: Option<Duration>,
    /// What is shown to others and asked of them; without it everybody is let in, in plaintext.
    pub credentials: Option<Files>,
    /// How clients are kept apart.
    pub separation: Separation,
    /// Ops that may reach files, and ops that are refused.
    pub allow_ops: Vec<String>,
    pub deny_ops: Vec<String>,
    /// What clients may take of the task and of its machine.
    pub guards: Guards,
    /// Where the task keeps its variables, and what that is worth.
    pub data: Option<(PathBuf, Durability)>,
    /// All that was said, and where.
    pub settings: Settings,
    /// Where that is shipped to, and where an empty directory is filled from.
    pub backup: Option<String>,
    pub restore_from: Option<String>,
}

/// Which tasks to look at, and how to show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub whose: Whose,
    pub output: OutputFormat,
    pub watch: Option<Duration>,
}

/// A cluster to look at again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    pub whose: Whose,
    pub interval: Duration,
    pub once: bool,
}

/// A cluster to look at before training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub whose: Whose,
    /// Directories that should be shared.
    pub paths: Vec<String>,
    pub output: Output,
}

/// A cluster whose steps are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub whose: Whose,
    pub steps: usize,
    pub timeout: Duration,
    pub output: PathBuf,
}

/// A cluster whose time is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub whose: Whose,
    /// How long to look.
    pub time: Duration,
    pub output: PathBuf,
}

/// A session whose graph is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its master.
    pub target: String,
    /// Its handle, or the beginning of it, or nothing.
    pub session: String,
    /// Which kind of step; without it they are listed.
    pub plan: Option<usize>,
    pub output: GraphFormat,
    /// How many boxes there may be.
    pub limit: usize,
    pub file: Option<PathBuf>,
}

/// How a cluster is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One of its tasks tells.
    Target(String),
    Cluster(ClusterSpec),
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// An object for each line
    Json,
}

/// A cluster in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    pub workers: u32,
    pub ps: u32,
    /// Where to answer over HTTP what runs here.
    pub http: Option<Address>,
}

/// What keeps a command from being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The command line cannot be read.
    Usage(Error),
    /// It can, but what it says does not fit together.
    Configuration(Error),
}

/// Reads arguments, the program's name first, and the process's environment.
pub fn parse(
    arguments: impl IntoIterator<Item = String>,
) -> Result<(Command, LogArguments), Refusal> {
    let variables = std::env::vars_os();
    let text = |(name, text): (OsString, OsString)| {
        Some((name.into_string().ok()?, text.into_string().ok()?))
    };
    parse_from(arguments, &variables.filter_map(text).collect())
}

/// Reads arguments, the program's name first, and an environment.
fn parse_from(
    arguments: impl IntoIterator<Item = String>,
    environment: &Environment,
) -> Result<(Command, LogArguments), Refusal> {
    match arguments::read(arguments, environment)? {
        Arguments::Show(text) => Ok((Command::Show(text), LogArguments::default())),
        Arguments::Run(subcommand, log, settings) => {
            Ok((command(subcommand, environment, settings)?, log))
        }
    }
}

fn command(
    subcommand: Subcommand,
    environment: &Environment,
    settings: Settings,
) -> Result<Command, Refusal> {
    let tf_config = || environment.get("TF_CONFIG").filter(|text| !text.trim().is_empty());
    match subcommand {
        Subcommand::Serve(arguments) => {
            let serve = serve::resolve(&arguments, tf_config().map(String::as_str), settings)
                .map_err(Refusal::Configuration)?;
            Ok(match arguments.print_config {
                true => Command::Show(settings::text(&serve)),
                false => Command::Serve(Box::new(serve)),
            })
        }
        Subcommand::Demo(arguments) => {
            demo(arguments).map(Command::Demo).map_err(Refusal::Configuration)
        }
        Subcommand::Local(LocalArguments { workers, ps, http }) => {
            let http = serve::http(http.as_deref()).map_err(Refusal::Configuration)?;
            Ok(Command::Local(Local { workers, ps, http }))
        }
        Subcommand::Launch(arguments) => {
            launch(arguments).map(Command::Launch).map_err(Refusal::Configuration)
        }
        Subcommand::Certs { command } => Ok(Command::Certs(command)),
        Subcommand::Audit { command } => Ok(Command::Audit(command)),
        Subcommand::Tokens { command } => Ok(Command::Tokens(command)),
        Subcommand::Proxy(arguments) => {
            security::proxy(&arguments).map(Command::Proxy).map_err(Refusal::Configuration)
        }
        Subcommand::Ops(arguments) => {
            inspect::ops(arguments).map(Command::Ops).map_err(Refusal::Usage)
        }
        Subcommand::Checkpoint { command } => Ok(Command::Checkpoint(command)),
        Subcommand::Snapshot { command } => Ok(Command::Snapshot(command)),
        Subcommand::Completions(arguments) => {
            let (mut script, mut command) = (Vec::new(), arguments::command());
            clap_complete::generate(arguments.shell, &mut command, "tensorfleet", &mut script);
            Ok(Command::Show(String::from_utf8_lossy(&script).into_owned()))
        }
        Subcommand::Man(ManArguments { directory }) => Ok(Command::Man { directory }),
        Subcommand::Status(arguments) => status(arguments, tf_config().map(String::as_str))
            .map(Command::Status)
            .map_err(Refusal::Configuration),
        Subcommand::Top(TopArguments { target, cluster, interval, once }) => {
            let whose = whose(target, cluster, tf_config().map(String::as_str));
            let whose = whose.map_err(Refusal::Configuration)?;
            let interval = Duration::try_from_secs_f64(interval.max(0.1))
                .map_err(|error| Refusal::Usage(invalid_argument!("--interval: {error}")))?;
            Ok(Command::Top(Top { whose, interval, once }))
        }
        Subcommand::Check(CheckArguments { target, cluster, path, output }) => {
            let whose = whose(target, cluster, tf_config().map(String::as_str));
            let whose = whose.map_err(Refusal::Configuration)?;
            Ok(Command::Check(Check { whose, paths: path, output }))
        }
        Subcommand::Trace(TraceArguments { target, cluster, steps, timeout, output }) => {
            let whose = whose(target, cluster, tf_config().map(String::as_str));
            let whose = whose.map_err(Refusal::Configuration)?;
            let timeout = Duration::from_secs(timeout);
            Ok(Command::Trace(Trace { whose, steps: steps as usize, timeout, output }))
        }
        Subcommand::Profile(ProfileArguments { target, cluster, seconds, output }) => {
            let whose = whose(target, cluster, tf_config().map(String::as_str));
            let whose = whose.map_err(Refusal::Configuration)?;
            Ok(Command::Profile(Profile { whose, time: Duration::from_secs(seconds), output }))
        }
        Subcommand::Graph(arguments) => {
            let GraphArguments { target, session, step, output, limit, file } = arguments;
            Ok(Command::Graph(Graph { target, session, plan: step, output, limit, file }))
        }
        Subcommand::Drain(DrainArguments { target, all }) => Ok(Command::Drain { target, all }),
        Subcommand::Stop(StopArguments { target, all, grace }) => {
            Ok(Command::Stop { target, all, grace: Duration::from_secs(grace) })
        }
    }
}

fn status(arguments: StatusArguments, tf_config: Option<&str>) -> Result<Status, Error> {
    let StatusArguments { target, cluster, output, watch } = arguments;
    let whose = whose(target, cluster, tf_config)?;
    Ok(Status { whose, output, watch: watch.map(Duration::from_secs) })
}

/// Which cluster is meant.
fn whose(
    target: Option<String>,
    cluster: Option<String>,
    tf_config: Option<&str>,
) -> Result<Whose, Error> {
    match (target, cluster, tf_config) {
        (Some(target), ..) => Ok(Whose::Target(target)),
        (None, Some(text), _) => Ok(Whose::Cluster(serve::cluster_from_text(&text)?)),
        (None, None, Some(text)) => Ok(Whose::Cluster(TfConfig::parse(text)?.cluster)),
        (None, None, None) => Err(invalid_argument!(
            "no cluster given: name one of its tasks as HOST:PORT, use --cluster, or set the \
             environment variable TF_CONFIG"
        )),
    }
}

/// Writes a page of the manual for the program and for each of its commands.
pub fn write_manual(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(arguments::command(), directory)
}

fn demo(arguments: DemoArguments) -> Result<Demo, Error> {
    let DemoArguments { workers, ps, steps, sync, staleness, kill_worker, svg, serve, open, http } =
        arguments;
    let http = serve::http(Some(&http))?;
    if kill_worker && workers < 2 {
        return Err(invalid_argument!("--kill_worker needs another worker that goes on"));
    }
    let mode = match staleness {
        Some(lead) => Mode::Bounded(lead),
        None if sync => Mode::Sync,
        None => Mode::Async,
    };
    Ok(Demo { workers, ps, steps, mode, kill_worker, svg, serve, open, http })
}

fn launch(arguments: LaunchArguments) -> Result<Launch, Error> {
    let LaunchArguments {
        workers,
        ps,
        chief,
        evaluator,
        client,
        flags,
        max_restarts,
        grace,
        program,
    } = arguments;
    if workers == 0 && !chief && !client {
        return Err(invalid_argument!("a cluster without workers and chief runs no program"));
    }
    let grace = Duration::from_secs(grace);
    Ok(Launch { workers, ps, chief, evaluator, client, flags, max_restarts, grace, program })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Command, Refusal> {
        let arguments = arguments.split_whitespace().map(str::to_owned);
        let arguments = ["tensorfleet".to_owned()].into_iter().chain(arguments);
        parse_from(arguments, &Environment::new()).map(|(command, _)| command)
    }

    #[test]
    fn help_is_shown_on_request() {
        for (arguments, word) in [
            ("--help", "serve"),
            ("demo --help", "--staleness"),
            ("local --help", "--workers"),
            ("serve --help", "--ps_hosts"),
            ("--version", "TensorFlow 2.21"),
            ("-V", "tensorfleet "),
            ("", "Commands:"),
            ("completions bash", "--job_name"),
            ("completions fish", "task_index"),
        ] {
            let Ok(Command::Show(text)) = parse(arguments) else { panic!("{arguments}") };
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn flags_of_the_demo_say_how_workers_go_together() {
        for (arguments, mode) in [
            ("demo", Mode::Async),
            ("demo --sync", Mode::Sync),
            ("demo --staleness=3 --kill-worker", Mode::Bounded(3)),
        ] {
            let Ok(Command::Demo(demo)) = parse(arguments) else { panic!("{arguments}") };
            assert_eq!((demo.mode, demo.workers, demo.ps), (mode, 2, 2));
        }
        let refused = parse("demo --workers=1 --kill-worker").unwrap_err();
        assert!(matches!(refused, Refusal::Configuration(_)), "{refused:?}");
        assert!(matches!(parse("demo --sync --staleness=1"), Err(Refusal::Usage(_))));
    }

    #[test]
    fn a_launched_program_keeps_its_arguments() {
        let Ok(Command::Launch(launch)) =
            parse("launch --workers=3 --max-restarts=2 -- python model.py --learning-rate=0.1")
        else {
            panic!("a launch");
        };
        assert_eq!((launch.workers, launch.ps, launch.max_restarts), (3, 1, 2));
        assert_eq!(launch.program, ["python", "model.py", "--learning-rate=0.1"]);
        assert!(matches!(parse("launch --workers=2"), Err(Refusal::Usage(_))));
        let nothing = parse("launch --workers=0 -- true");
        assert!(matches!(nothing, Err(Refusal::Configuration(_))), "{nothing:?}");
    }

    #[test]
    fn what_cannot_be_read_is_a_usage_error() {
        for (arguments, words) in [
            ("sevre", "unrecognized subcommand 'sevre'; a similar subcommand exists: 'serve'"),
            ("serve --wrker=a:1", "'--wrker' found; a similar argument exists: '--worker'"),
            ("serve --task_index=first", "invalid value 'first'"),
            ("serve --job_name", "a value is required"),
        ] {
            let Err(Refusal::Usage(error)) = parse(arguments) else { panic!("{arguments}") };
            assert!(error.message().contains(words), "{error}");
            assert!(!error.message().contains('\n'), "{error}");
        }
    }
}

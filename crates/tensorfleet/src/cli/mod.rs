//! The command line of the `tensorfleet` binary.
//!
//! [`parse`] turns arguments and environment into a [`Command`] and does nothing else, so that all
//! of it can be tested; `command` carries it out. [`report`] is what a server says to the
//! program that started it.

mod arguments;
mod operate;
pub mod report;
mod security;
mod serve;
mod version;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tensorfleet_cluster::spec::{Address, ClusterSpec, ServerSpec, TfConfig};
use tensorfleet_security::Files;
use tensorfleet_server::Durability;
use tensorfleet_strategy::Mode;
use tensorfleet_tensor::{Error, invalid_argument};

use crate::demo::Demo;
use crate::launch::Launch;
pub use security::{Certs, Direction, Listen, Proxy, Tokens};
pub(crate) use serve::cluster_from_text;

use arguments::{
    Arguments, DemoArguments, LaunchArguments, LocalArguments, ManArguments, Subcommand,
};
pub use operate::OutputFormat;
use operate::{DrainArguments, StatusArguments, StopArguments};

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
    /// Carry clients to a server that wants TLS, or tasks to one that cannot.
    Proxy(Proxy),
    /// List the ops, as text or as a serialized `OpList`.
    Ops { proto: bool },
    /// Write the pages of the manual into a directory.
    Man { directory: PathBuf },
    /// Show what the tasks of a cluster do.
    Status(Status),
    /// Let a task refuse new steps.
    Drain { target: String },
    /// Let a task end.
    Stop { target: String, grace: Duration },
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
    /// Whether to end when the process that started this one has.
    pub exit_with_parent: bool,
    /// Who has not answered for so long is lost.
    pub failure_timeout: Duration,
    /// How long steps have to end when it is told to stop.
    pub grace: Duration,
    /// Where to answer over HTTP what runs here.
    pub http: Option<Address>,
    /// Steps that take so long are told of in the log.
    pub slow_step: Option<Duration>,
    /// What is shown to others and asked of them; without it everybody is let in, in plaintext.
    pub credentials: Option<Files>,
    /// Where the task keeps its variables, and what that is worth.
    pub data: Option<(PathBuf, Durability)>,
}

/// Which tasks to look at, and how to show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub whose: Whose,
    pub output: OutputFormat,
    pub watch: Option<Duration>,
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
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<(Command, LogFormat), Refusal> {
    parse_from(arguments, |name| std::env::var(name).ok())
}

/// Reads arguments, the program's name first, and the environment that a function gives.
fn parse_from(
    arguments: impl IntoIterator<Item = String>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<(Command, LogFormat), Refusal> {
    match arguments::read(arguments)? {
        Arguments::Show(text) => Ok((Command::Show(text), LogFormat::default())),
        Arguments::Run(subcommand, format) => Ok((command(subcommand, environment)?, format)),
    }
}

fn command(
    subcommand: Subcommand,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Command, Refusal> {
    let tf_config = || environment("TF_CONFIG").filter(|text| !text.trim().is_empty());
    match subcommand {
        Subcommand::Serve(arguments) => {
            let config = tf_config();
            let mut serve = serve::resolve(&arguments, config.as_deref());
            if let Ok(serve) = &mut serve {
                serve.grpc_only |= environment("TENSORFLEET_GRPC_ONLY").as_deref() == Some("1");
            }
            serve.map(Box::new).map(Command::Serve).map_err(Refusal::Configuration)
        }
        Subcommand::Demo(arguments) => {
            demo(arguments).map(Command::Demo).map_err(Refusal::Configuration)
        }
        Subcommand::Local(LocalArguments { workers, ps }) => {
            Ok(Command::Local(Local { workers, ps }))
        }
        Subcommand::Launch(arguments) => {
            launch(arguments).map(Command::Launch).map_err(Refusal::Configuration)
        }
        Subcommand::Certs { command } => Ok(Command::Certs(command)),
        Subcommand::Tokens { command } => Ok(Command::Tokens(command)),
        Subcommand::Proxy(arguments) => {
            security::proxy(&arguments).map(Command::Proxy).map_err(Refusal::Configuration)
        }
        Subcommand::Ops(arguments) => Ok(Command::Ops { proto: arguments.proto }),
        Subcommand::Completions(arguments) => {
            let (mut script, mut command) = (Vec::new(), arguments::command());
            clap_complete::generate(arguments.shell, &mut command, "tensorfleet", &mut script);
            Ok(Command::Show(String::from_utf8_lossy(&script).into_owned()))
        }
        Subcommand::Man(ManArguments { directory }) => Ok(Command::Man { directory }),
        Subcommand::Status(arguments) => status(arguments, tf_config().as_deref())
            .map(Command::Status)
            .map_err(Refusal::Configuration),
        Subcommand::Drain(DrainArguments { target }) => Ok(Command::Drain { target }),
        Subcommand::Stop(StopArguments { target, grace }) => {
            Ok(Command::Stop { target, grace: Duration::from_secs(grace) })
        }
    }
}

fn status(arguments: StatusArguments, tf_config: Option<&str>) -> Result<Status, Error> {
    let StatusArguments { target, cluster, output, watch } = arguments;
    let whose = match (target, cluster, tf_config) {
        (Some(target), ..) => Whose::Target(target),
        (None, Some(text), _) => Whose::Cluster(serve::cluster_from_text(&text)?),
        (None, None, Some(text)) => Whose::Cluster(TfConfig::parse(text)?.cluster),
        (None, None, None) => {
            return Err(invalid_argument!(
                "no cluster given: name one of its tasks as HOST:PORT, use --cluster, or set the \
                 environment variable TF_CONFIG"
            ));
        }
    };
    Ok(Status { whose, output, watch: watch.map(Duration::from_secs) })
}

/// Writes a page of the manual for the program and for each of its commands.
pub fn write_manual(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(arguments::command(), directory)
}

fn demo(arguments: DemoArguments) -> Result<Demo, Error> {
    let DemoArguments { workers, ps, steps, sync, staleness, kill_worker, svg, serve } = arguments;
    if kill_worker && workers < 2 {
        return Err(invalid_argument!("--kill_worker needs another worker that goes on"));
    }
    let mode = match staleness {
        Some(lead) => Mode::Bounded(lead),
        None if sync => Mode::Sync,
        None => Mode::Async,
    };
    Ok(Demo { workers, ps, steps, mode, kill_worker, svg, serve })
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
        parse_from(arguments, |_| None).map(|(command, _)| command)
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

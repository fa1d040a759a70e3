//! The arguments as they are written, and their help.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use tensorfleet_server::Durability;
use tensorfleet_tensor::invalid_argument;
use tracing_subscriber::EnvFilter;

use super::guards::{AuditCommand, GuardArguments};
use super::inspect::{CheckpointCommand, OPS_ABOUT, OpsArguments, SnapshotCommand};
use super::operate::{
    CheckArguments, DrainArguments, GraphArguments, ProfileArguments, StatusArguments,
    StopArguments, TopArguments, TraceArguments,
};
use super::security::{Certs, PROXY_ABOUT, ProxyArguments, TlsArguments, Tokens};
use super::settings::{Environment, Settings, gather};
use super::{LogFormat, Refusal, version};

/// What was read: a command with its arguments, or a request for text.
#[derive(Debug)]
pub(super) enum Arguments {
    /// The settings are those of `serve`.
    Run(Subcommand, LogArguments, Settings),
    Show(String),
}

/// TensorFlow clusters in Rust: servers that TensorFlow's own clients and servers work with.
#[derive(Debug, Parser)]
#[command(name = "tensorfleet", version)]
struct Line {
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    subcommand: Subcommand,
}

/// What is said of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct LogArguments {
    /// How much the log tells: error, warn, info or debug, also by module, as
    /// `info,tensorfleet_rpc=debug`; without it TENSORFLEET_LOG says so, or TF_CPP_MIN_LOG_LEVEL
    #[arg(long, value_name = "LEVELS", global = true, value_parser = levels)]
    pub log: Option<String>,
    /// How the log on standard error is written
    #[arg(long = "log_format", value_name = "FORMAT", global = true, default_value = "text")]
    pub log_format: LogFormat,
}

fn levels(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Subcommand {
    /// Train a classifier of handwritten digits on a cluster in this process
    #[command(long_about = DEMO_ABOUT)]
    Demo(DemoArguments),
    /// Run one task of a cluster
    #[command(long_about = SERVE_ABOUT)]
    Serve(Box<ServeArguments>),
    /// Run a program on a cluster of processes of this machine
    #[command(long_about = LAUNCH_ABOUT)]
    Launch(LaunchArguments),
    /// Run a whole cluster in this process, on free ports
    #[command(long_about = LOCAL_ABOUT)]
    Local(LocalArguments),
    /// Make an authority and certificates for a cluster, and look at them
    Certs {
        #[command(subcommand)]
        command: Certs,
    },
    /// Check audit logs
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Make tokens for clients, and take them back
    Tokens {
        #[command(subcommand)]
        command: Tokens,
    },
    /// Give clients without TLS a way to a server that wants it
    #[command(long_about = PROXY_ABOUT)]
    Proxy(Box<ProxyArguments>),
    /// Show the ops that this server knows, or what a graph lacks
    #[command(long_about = OPS_ABOUT)]
    Ops(OpsArguments),
    /// Look into checkpoints: list, show, compare, verify
    Checkpoint {
        #[command(subcommand)]
        command: CheckpointCommand,
    },
    /// Look into the data directory of a task; make a checkpoint of it, or one of a checkpoint
    Snapshot {
        #[command(subcommand)]
        command: SnapshotCommand,
    },
    /// Show what the tasks of a cluster do
    #[command(long_about = super::operate::STATUS_ABOUT)]
    Status(StatusArguments),
    /// Show what a cluster does, live
    #[command(long_about = super::operate::TOP_ABOUT)]
    Top(TopArguments),
    /// Find out what would keep a cluster from training
    #[command(long_about = super::operate::CHECK_ABOUT)]
    Check(CheckArguments),
    /// Record steps of all tasks on one clock, for Perfetto
    #[command(long_about = super::operate::TRACE_ABOUT)]
    Trace(TraceArguments),
    /// Find out where the time of steps goes
    #[command(long_about = super::operate::PROFILE_ABOUT)]
    Profile(ProfileArguments),
    /// Show where the nodes of a session's graph run
    #[command(long_about = super::operate::GRAPH_ABOUT)]
    Graph(GraphArguments),
    /// Let a task refuse new steps and finish those under way
    Drain(DrainArguments),
    /// Let a task finish its steps and end
    Stop(StopArguments),
    /// Write what a shell needs to complete this command
    #[command(long_about = COMPLETIONS_ABOUT)]
    Completions(CompletionsArguments),
    /// Write the pages of the manual into a directory
    Man(ManArguments),
}

const COMPLETIONS_ABOUT: &str = "\
Write what a shell needs to complete this command.

Examples:
  tensorfleet completions bash > ~/.local/share/bash-completion/completions/tensorfleet
  tensorfleet completions zsh > ~/.zfunc/_tensorfleet
  tensorfleet completions fish > ~/.config/fish/completions/tensorfleet.fish";

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// The directory, as /usr/local/share/man/man1
    pub(super) directory: PathBuf,
}

const DEMO_ABOUT: &str = "\
Train a classifier of handwritten digits on a cluster in this process.

Starts workers and parameter servers on free ports of this machine. Each worker trains the variables
on the parameter servers through a session of its own. Shows the loss while it falls, tries the
result on images that were held out, and writes the curve of the loss as a picture.";

#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// Tasks of the job `worker`
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) workers: u32,
    /// Tasks of the job `ps`
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) ps: u32,
    /// Batches that all workers together train with
    #[arg(long, default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) steps: u64,
    /// Train in rounds: all workers' gradients are averaged for each step
    #[arg(long, conflicts_with = "staleness")]
    pub(super) sync: bool,
    /// Let no worker start a step more than K steps ahead of the slowest
    #[arg(long, value_name = "K")]
    pub(super) staleness: Option<u64>,
    /// Stop a worker's server on the way; training goes on with the others
    #[arg(long = "kill_worker", conflicts_with = "serve")]
    pub(super) kill_worker: bool,
    /// File for the picture of the loss
    #[arg(long, value_name = "PATH", default_value = "tensorfleet-demo.svg")]
    pub(super) svg: PathBuf,
    /// Keep serving afterwards, until interrupted
    #[arg(long)]
    pub(super) serve: bool,
    /// Show the dashboard in a browser at once
    #[arg(long)]
    pub(super) open: bool,
    /// Where to show the dashboard, at PORT of this machine only or at HOST:PORT; 0 takes a free port
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub(super) http: String,
}

const LAUNCH_ABOUT: &str = "\
Run a program on a cluster of processes of this machine.

Parameter servers are tensorfleet's; each worker, the chief and the evaluator are the program, which
finds its place in the cluster in the environment variable TF_CONFIG. With --client the workers are
tensorfleet's too, and one program, the chief, drives them: it finds a target for its sessions in
TENSORFLEET_TARGET. Output is labelled by task. What fails is restarted up to --max_restarts times;
then the cluster ends with the exit code of what failed first. Signals are passed on.

Examples:
  tensorfleet launch --workers=2 --ps=2 -- python model.py
  tensorfleet launch --workers=2 --ps=1 --flags -- python replica.py --steps=1000
  tensorfleet launch --workers=2 --ps=1 --client -- python coordinator.py";

#[derive(Debug, Args)]
pub(super) struct LaunchArguments {
    /// Tasks of the job `worker`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(super) workers: u32,
    /// Tasks of the job `ps`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(super) ps: u32,
    /// Run a chief
    #[arg(long)]
    pub(super) chief: bool,
    /// Run an evaluator, which is no part of the cluster
    #[arg(long)]
    pub(super) evaluator: bool,
    /// Serve the workers too, and run one program, the chief
    #[arg(long, conflicts_with = "chief")]
    pub(super) client: bool,
    /// Give the program --job_name, --task_index and the lists of hosts, as tutorials' programs take them
    #[arg(long)]
    pub(super) flags: bool,
    /// How often processes that fail are started again, all together
    #[arg(long = "max_restarts", value_name = "N", default_value_t = 0)]
    pub(super) max_restarts: u32,
    /// How long processes have to end, in seconds, before they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(super) grace: u64,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(super) program: Vec<String>,
}

const LOCAL_ABOUT: &str = "\
Run a whole cluster in this process, on free ports of this machine.

Prints one line for each task, as `/job:worker/task:0 grpc://localhost:41234`, and serves until
interrupted. A session may be opened on any of the targets, and sees the devices of all tasks.";

#[derive(Debug, Args)]
pub(super) struct LocalArguments {
    /// Tasks of the job `worker`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) workers: u32,
    /// Tasks of the job `ps`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(super) ps: u32,
    /// Show the dashboard and answer /metrics over HTTP, at PORT of this machine only or at HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub(super) http: Option<String>,
}

const SERVE_ABOUT: &str = "\
Run one task of a cluster.

The cluster comes from one of: a ServerDef file, --cluster, lists of hosts, or the environment
variable TF_CONFIG. Once it serves, the task prints one line, `grpc://host:port`, which is the
target of sessions. If it cannot, it prints `ERROR <code> <message>` and ends with a code from 1 to
127 where only a change helps, and from 128 on where another try may. Flags may be written with
hyphens instead of underscores.

Examples:
  tensorfleet serve --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 --job_name=worker --task_index=1
  tensorfleet serve --cluster='{\"ps\": [\"a:2222\"], \"worker\": [\"b:2222\"]}' --job_name=ps
  TF_CONFIG='{\"cluster\": ..., \"task\": ...}' tensorfleet serve
  tensorfleet serve --server_def=task.pb
  tensorfleet serve --config=task.toml --print_config

Each flag may also be given as an environment variable, --slow_step as TENSORFLEET_SLOW_STEP, or as a
key of the file of --config, slow_step = 1. Flags count before variables, those before the file, and
that before TF_CONFIG. SIGHUP reads file, certificates and tokens again; log, slow_step, grace and
exit_when_idle change at once, and what takes a restart is named in the log.

Without TLS only this machine is served, unless --insecure is given. Certificates take two commands:
  tensorfleet certs init
  tensorfleet certs issue --job ps --task 0 --host a";

#[derive(Debug, Default, Args)]
pub(super) struct ServeArguments {
    /// File with settings, in TOML: a key for each flag, without the hyphens before it
    #[arg(long, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,
    /// Show all settings and where each comes from, as a file for --config, and end
    #[arg(long = "print_config")]
    pub(super) print_config: bool,
    /// File with a ServerDef, binary or in text format; says everything about the task
    #[arg(long = "server_def", value_name = "PATH", help_heading = CLUSTER)]
    pub(super) server_def: Option<String>,
    /// The same as --server_def
    #[arg(value_name = "SERVER_DEF", conflicts_with = "server_def", help_heading = CLUSTER)]
    pub(super) server_def_path: Option<String>,
    /// Cluster as JSON, {"job": ["host:port", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", help_heading = CLUSTER)]
    pub(super) cluster: Option<String>,
    /// Parameter servers, separated by commas
    #[arg(long, alias = "ps_hosts", value_name = "HOST:PORT,...", value_delimiter = ',',
          help_heading = CLUSTER)]
    pub(super) ps: Vec<String>,
    /// Workers
    #[arg(long, alias = "worker_hosts", value_name = "HOST:PORT,...", value_delimiter = ',',
          help_heading = CLUSTER)]
    pub(super) worker: Vec<String>,
    /// The chief
    #[arg(long, alias = "chief_hosts", value_name = "HOST:PORT", value_delimiter = ',',
          help_heading = CLUSTER)]
    pub(super) chief: Vec<String>,
    /// The chief by its older name
    #[arg(long, alias = "master_hosts", value_name = "HOST:PORT", value_delimiter = ',',
          help_heading = CLUSTER)]
    pub(super) master: Vec<String>,
    /// Job of this task; may be left out if the cluster has one task
    #[arg(long = "job_name", value_name = "JOB", help_heading = TASK)]
    pub(super) job_name: Option<String>,
    /// Number of this task in its job; may be left out if the job has one task
    #[arg(long = "task_index", value_name = "N", help_heading = TASK)]
    pub(super) task_index: Option<u32>,
    /// Protocol between tasks: grpc
    #[arg(long, value_name = "NAME", help_heading = TASK)]
    pub(super) protocol: Option<String>,
    /// Where to listen, as HOST, HOST:PORT or :PORT, instead of the task's address in the cluster
    #[arg(long, value_name = "ADDRESS", help_heading = TASK)]
    pub(super) bind: Option<String>,
    /// Speak to other tasks over gRPC only, even where they know faster ways
    #[arg(long = "grpc_only", help_heading = TASK)]
    pub(super) grpc_only: bool,
    /// Close sessions that nobody has used for so long, in seconds; 0 means never
    #[arg(long = "session_timeout", value_name = "SECONDS", default_value_t = 24 * 60 * 60,
          help_heading = TASK)]
    pub(super) session_timeout: u64,
    /// Hold steps that need a task with a --data-dir of its own that is away, for so long, in seconds; 0
    /// means that they fail at once
    #[arg(long = "task-timeout", alias = "task_timeout", value_name = "SECONDS", default_value_t = 60,
          help_heading = TASK)]
    pub(super) task_timeout: u64,
    /// End when the process that started this one has ended
    #[arg(long = "exit_with_parent", help_heading = TASK)]
    pub(super) exit_with_parent: bool,
    /// End when nobody has used the task for so long, in seconds: no step ran, no session was opened
    #[arg(long = "exit_when_idle", value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..), help_heading = TASK)]
    pub(super) exit_when_idle: Option<u64>,
    /// End when the chief, or the first worker of a cluster without one, was there and nobody has
    /// answered at its address for so long, in seconds
    #[arg(long = "exit_with_chief", value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "30", help_heading = TASK)]
    pub(super) exit_with_chief: Option<u64>,
    /// Take another task, or a client that waits, for lost when it has not answered for so long, in
    /// seconds
    #[arg(long = "failure_timeout", value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..), help_heading = TASK)]
    pub(super) failure_timeout: u64,
    /// How long steps under way have to end when the server is told to stop, in seconds; a second
    /// signal ends it at once
    #[arg(long, value_name = "SECONDS", default_value_t = 5, help_heading = TASK)]
    pub(super) grace: u64,
    /// Show a dashboard and answer /metrics, /healthz, /readyz and /statusz over HTTP, at PORT of this
    /// machine only or at HOST:PORT
    #[arg(long, value_name = "ADDRESS", help_heading = TASK)]
    pub(super) http: Option<String>,
    /// Tell of steps in the log that take so long or longer, in seconds
    #[arg(long = "slow_step", value_name = "SECONDS", help_heading = TASK)]
    pub(super) slow_step: Option<f64>,
    #[command(flatten)]
    pub(super) tls: TlsArguments,
    /// File of the tokens that clients may have; see `tensorfleet tokens`
    #[arg(long, value_name = "PATH", help_heading = "Security")]
    pub(super) tokens: Option<PathBuf>,
    /// Let everybody who reaches the port run code: serve other machines without TLS
    #[arg(long, conflicts_with_all = ["tls_ca", "tokens"], help_heading = "Security")]
    pub(super) insecure: bool,
    /// Give every session and eager context variables of its own, whatever its client asks for
    #[arg(long = "isolate_sessions", help_heading = "Security")]
    pub(super) isolate_sessions: bool,
    /// Containers of identities, as alice=vision,bob=speech: all that such a one keeps on this task is in
    /// its container, and nobody else sees it; the same for all tasks of a cluster
    #[arg(
        long,
        value_name = "NAME=CONTAINER,...",
        value_delimiter = ',',
        requires = "tls_ca",
        help_heading = "Security"
    )]
    pub(super) containers: Vec<String>,
    /// Ops that may reach the files of this machine, by name, or all as `files`; with TLS none may
    /// otherwise
    #[arg(
        long = "allow_ops",
        value_name = "OP,...",
        value_delimiter = ',',
        help_heading = "Security"
    )]
    pub(super) allow_ops: Vec<String>,
    /// Ops that are not computed, by name, or all that reach files as `files`
    #[arg(
        long = "deny_ops",
        value_name = "OP,...",
        value_delimiter = ',',
        help_heading = "Security"
    )]
    pub(super) deny_ops: Vec<String>,
    #[command(flatten)]
    pub(super) guards: GuardArguments,
    /// Keep the variables of this task in a directory of its own below this one, as ps-0, and start with
    /// those that are there
    #[arg(long = "data-dir", alias = "data_dir", value_name = "DIRECTORY", help_heading = TASK)]
    pub(super) data_dir: Option<PathBuf>,
    /// What an answered step is worth: `sync`, its changes are on the disk; `interval:100ms`, they are
    /// so after that time; `none`, nothing is kept, and a directory with variables is refused [default: sync]
    #[arg(long = "durability", value_name = "WHEN", requires = "data_dir", help_heading = TASK)]
    pub(super) durability: Option<Durability>,
    /// Ship what is kept to a place below this one, as ps-0: a directory as file:///mnt/backup, or object
    /// storage as s3://bucket/run; about a second after it is on the disk
    #[arg(long = "backup", value_name = "URL", requires = "data_dir", help_heading = TASK)]
    pub(super) backup: Option<String>,
    /// Start with what was shipped there if the data directory is empty
    #[arg(
        long = "restore-from",
        alias = "restore_from",
        value_name = "URL",
        requires = "data_dir",
        help_heading = TASK
    )]
    pub(super) restore_from: Option<String>,
}

const CLUSTER: &str = "Cluster";
const TASK: &str = "This task";

/// Reads arguments, the program's name first, and what the environment says of `serve`.
pub(super) fn read(
    arguments: impl IntoIterator<Item = String>,
    environment: &Environment,
) -> Result<Arguments, Refusal> {
    // What stands behind `--` is another program's.
    let mut is_ours = true;
    let spelled = arguments.into_iter().map(|argument| {
        is_ours &= argument != "--";
        if is_ours { with_underscores(argument) } else { argument }
    });
    let mut command = command();
    let gathered = gather(&command, spelled.collect(), environment);
    let gathered = gathered.map_err(Refusal::Configuration)?;
    let matched = command.try_get_matches_from_mut(&gathered.line);
    match matched.and_then(|matches| Ok((Line::from_arg_matches(&matches)?, matches))) {
        Ok((line, matches)) => {
            Ok(Arguments::Run(line.subcommand, line.log, gathered.settings(&matches)))
        }
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Ok(Arguments::Show(error.render().to_string()))
            }
            _ => {
                let message = gathered.blame(in_one_line(&error));
                Err(Refusal::Usage(invalid_argument!("{message}")))
            }
        },
    }
}

/// The whole command line.
pub(super) fn command() -> clap::Command {
    Line::command().long_version(version::details())
}

/// Spells a flag's name with underscores; its value stays.
fn with_underscores(argument: String) -> String {
    let Some(flag) = argument.strip_prefix("--") else { return argument };
    match flag.split_once('=') {
        Some((name, value)) => format!("--{}={value}", name.replace('-', "_")),
        None => format!("--{}", flag.replace('-', "_")),
    }
}

/// Returns the message of an error and what clap proposes instead, without the usage below it.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error:");
    let tips = paragraphs.filter(|paragraph| paragraph.trim_start().starts_with("tip:"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips = tips.map(|tip| format!("; {}", words(tip.trim_start().trim_start_matches("tip:"))));
    words(message) + &tips.collect::<String>()
}

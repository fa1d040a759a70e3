//! The arguments of the commands that look at tasks and end them.

use clap::Args;

pub(super) const STATUS_ABOUT: &str = "\
Show what the tasks of a cluster do.

Asks one task for its cluster, and then all tasks of it. Without a target the cluster comes from
--cluster or from the environment variable TF_CONFIG. Ends with code 1 if a task does not answer.

Examples:
  tensorfleet status localhost:2222
  tensorfleet status --watch=2 grpc://localhost:2222
  tensorfleet status -o json --cluster=cluster.json";

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// A task, as host:port or grpc://host:port
    pub(super) target: Option<String>,
    /// Cluster as JSON, {\"job\": [\"host:port\", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", conflicts_with = "target")]
    pub(super) cluster: Option<String>,
    /// How to show it
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    pub(super) output: OutputFormat,
    /// Show it again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) watch: Option<u64>,
}

pub(super) const TOP_ABOUT: &str = "\
Show what a cluster does, again and again, on a terminal.

Tasks with steps a second and bytes, who waits for whom and why, and the variables that change most.
`q` ends it. What is no terminal gets one picture, of two looks with the interval between them.

Examples:
  tensorfleet top localhost:2222
  tensorfleet top --once --cluster=cluster.json";

#[derive(Debug, Args)]
pub(super) struct TopArguments {
    /// A task, as host:port or grpc://host:port
    pub(super) target: Option<String>,
    /// Cluster as JSON, {\"job\": [\"host:port\", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", conflicts_with = "target")]
    pub(super) cluster: Option<String>,
    /// How often tasks are asked, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(super) interval: f64,
    /// Show one picture
    #[arg(long)]
    pub(super) once: bool,
}

pub(super) const CHECK_ABOUT: &str = "\
Find out what would keep a cluster from training.

Every task is asked what it sees: whether names resolve and ports answer, from here and from task to
task, whether all were started with one cluster, whose clock goes wrong, which versions there are, whose
certificate ends, which proxies are set, and with --path whether directories are shared. Each finding
tells its cause and what to do. Ends with code 1 if there is an error.

Examples:
  tensorfleet check localhost:2222
  tensorfleet check --cluster=cluster.json --path=/mnt/checkpoints
  tensorfleet check grpcs://trainer.example:2222 -o json";

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// A task, as host:port, grpc://host:port or grpcs://host:port
    pub(super) target: Option<String>,
    /// Cluster as JSON, {\"job\": [\"host:port\", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", conflicts_with = "target")]
    pub(super) cluster: Option<String>,
    /// Directory that all tasks should share, as that of checkpoints; may be given several times
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) path: Vec<String>,
    /// How to show it
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(super) output: super::Output,
}

pub(super) const TRACE_ABOUT: &str = "\
Record the next steps of a cluster, node by node, and write them into a file.

All tasks record, whoever's the steps are; clocks are compared and made one. The file is for
ui.perfetto.dev and chrome://tracing: a task is a process, arrows lead from where a tensor was sent to
where it was received. Steps take longer while they are recorded.

Examples:
  tensorfleet trace localhost:2222 --steps=20 -o trace.json";

#[derive(Debug, Args)]
pub(super) struct TraceArguments {
    /// A task, as host:port, grpc://host:port or grpcs://host:port
    pub(super) target: Option<String>,
    /// Cluster as JSON, {\"job\": [\"host:port\", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", conflicts_with = "target")]
    pub(super) cluster: Option<String>,
    /// How many steps
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) steps: u32,
    /// How long to wait for them, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..=500))]
    pub(super) timeout: u64,
    /// The file
    #[arg(long, short, value_name = "PATH", default_value = "trace.json")]
    pub(super) output: std::path::PathBuf,
}

pub(super) const PROFILE_ABOUT: &str = "\
Find out where the time of a cluster's steps goes.

All tasks record for some seconds what their steps do, node by node. Shows the ops that take most, and
writes a flame graph by task, scope and op, in which waiting is apart from computing. Steps take longer
while they are recorded.

Examples:
  tensorfleet profile localhost:2222
  tensorfleet profile --seconds=10 -o profile.svg localhost:2222";

#[derive(Debug, Args)]
pub(super) struct ProfileArguments {
    /// A task, as host:port, grpc://host:port or grpcs://host:port
    pub(super) target: Option<String>,
    /// Cluster as JSON, {\"job\": [\"host:port\", ...]}, or the path of a file with it
    #[arg(long, value_name = "JSON", conflicts_with = "target")]
    pub(super) cluster: Option<String>,
    /// How long to look
    #[arg(long, value_name = "SECONDS", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=500))]
    pub(super) seconds: u64,
    /// File for the flame graph
    #[arg(long, short, value_name = "PATH", default_value = "profile.svg")]
    pub(super) output: std::path::PathBuf,
}

pub(super) const GRAPH_ABOUT: &str = "\
Show where the nodes of a session's graph run, and what goes from device to device.

Without --step it lists the kinds of steps that the session has run. The task is the master of the
session, the one that its client has connected to. Large graphs are drawn by scopes.

Examples:
  tensorfleet graph localhost:2222
  tensorfleet graph localhost:2222 --step=0 -o svg --file=step.svg
  tensorfleet graph localhost:2222 --step=0 | dot -Tpdf > step.pdf";

#[derive(Debug, Args)]
pub(super) struct GraphArguments {
    /// The task, as host:port or grpc://host:port
    pub(super) target: String,
    /// The session, or the beginning of its handle; may be left out if there is one
    #[arg(long, value_name = "HANDLE", default_value = "")]
    pub(super) session: String,
    /// Which kind of step
    #[arg(long, value_name = "N")]
    pub(super) step: Option<usize>,
    /// How to draw it
    #[arg(long, short, value_name = "FORMAT", default_value = "dot")]
    pub(super) output: GraphFormat,
    /// Draw no more than about so many boxes
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(super) limit: usize,
    /// File to write to, instead of standard output
    #[arg(long, value_name = "PATH")]
    pub(super) file: Option<std::path::PathBuf>,
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GraphFormat {
    /// Graphviz's language
    Dot,
    /// A picture
    Svg,
    /// For programs
    Json,
}

/// How a status is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// A line for each task
    Table,
    /// A line for each task with more columns, and its sessions
    Wide,
    Json,
    Yaml,
}

#[derive(Debug, Args)]
pub(super) struct DrainArguments {
    /// The task, as host:port or grpc://host:port
    pub(super) target: String,
    /// All tasks of its cluster, in the order of their names
    #[arg(long)]
    pub(super) all: bool,
}

#[derive(Debug, Args)]
pub(super) struct StopArguments {
    /// The task, as host:port or grpc://host:port
    pub(super) target: String,
    /// All tasks of its cluster, in the order of their names
    #[arg(long)]
    pub(super) all: bool,
    /// How long its steps have to end, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(super) grace: u64,
}

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
}

#[derive(Debug, Args)]
pub(super) struct StopArguments {
    /// The task, as host:port or grpc://host:port
    pub(super) target: String,
    /// How long its steps have to end, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(super) grace: u64,
}

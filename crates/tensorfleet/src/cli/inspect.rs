//! The arguments of the commands that look into files and at ops.

use std::path::PathBuf;

use clap::Args;
use tensorfleet_tensor::{Error, invalid_argument};

/// How findings are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// What is wanted of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum CheckpointCommand {
    /// List the tensors of a checkpoint with their types and shapes
    Ls {
        /// The checkpoint, as model.ckpt-100 or model.ckpt-100.index
        prefix: String,
        /// How to show it
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Show the values of a tensor
    Cat {
        /// The checkpoint, as model.ckpt-100 or model.ckpt-100.index
        prefix: String,
        /// The tensor
        name: String,
        /// How many values are shown
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// How to show it
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Compare two checkpoints; ends with code 1 if they differ
    Diff {
        /// A checkpoint
        one: String,
        /// Another
        other: String,
        /// How to show it
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Read all tensors and compare their checksums; ends with code 1 if one is damaged
    Verify {
        /// The checkpoint, as model.ckpt-100 or model.ckpt-100.index
        prefix: String,
        /// How to show it
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
}

/// What is wanted of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum SnapshotCommand {
    /// Have a running task take a snapshot now
    Save {
        /// The task, as ps0.example.com:2222
        target: String,
    },
    /// List what a task keeps
    Ls {
        /// The directory of a task that does not run, as /var/lib/tensorfleet/ps-0
        directory: PathBuf,
        /// How to show it
        #[arg(long, short, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Read everything as a task does that starts; fails if something is damaged
    Verify {
        /// The directory of a task that does not run, as /var/lib/tensorfleet/ps-0
        directory: PathBuf,
    },
    /// Write variables and tables as a checkpoint of TensorFlow
    Export {
        /// The directory of a task that does not run, as /var/lib/tensorfleet/ps-0
        directory: PathBuf,
        /// The checkpoint, as model.ckpt-100
        prefix: String,
        /// Only what is in this container
        #[arg(long)]
        container: Option<String>,
    },
    /// Make a data directory whose variables have the values of a checkpoint
    Import {
        /// The checkpoint, as model.ckpt-100 or model.ckpt-100.index
        prefix: String,
        /// The directory of the task that is to start with it, as /var/lib/tensorfleet/ps-0
        directory: PathBuf,
        /// The task's job
        #[arg(long = "job_name", value_name = "JOB", default_value = "ps")]
        job: String,
        /// The task's number
        #[arg(long = "task_index", value_name = "N", default_value_t = 0)]
        task: u32,
        /// Make variables of TensorFlow 1, which are handed on by reference
        #[arg(long)]
        by_reference: bool,
        /// The variables; all if none is named
        names: Vec<String>,
    },
}

/// What is wanted of the ops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ops {
    /// All of them, as text or as a serialized `OpList`.
    List { proto: bool },
    /// One of them.
    Show { name: String, output: Output },
    /// What a graph needs that is not there.
    Check { path: PathBuf, output: Output },
}

pub(super) const OPS_ABOUT: &str = "\
Show the ops that this server knows, all or one of them, or find out what a graph lacks.

`ops check` takes a GraphDef, a saved_model.pb or the directory of a saved model, looks at all nodes and
functions, and ends with code 1 if an op is missing. Whether kernels take a node's types is not looked at.

Examples:
  tensorfleet ops
  tensorfleet ops MatMul
  tensorfleet ops check saved_model/
  tensorfleet ops check graph.pb -o json";

#[derive(Debug, Args)]
pub(super) struct OpsArguments {
    /// Nothing, for all ops; the name of an op; or `check` and a path
    #[arg(value_name = "NAME | check PATH", num_args = 0..=2)]
    words: Vec<String>,
    /// Write a serialized tensorflow.OpList instead of text
    #[arg(long, conflicts_with = "words")]
    proto: bool,
    /// How to show it
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

/// Puts the arguments of `ops` together.
pub(super) fn ops(arguments: OpsArguments) -> Result<Ops, Error> {
    let OpsArguments { words, proto, output } = arguments;
    match &words[..] {
        [] => Ok(Ops::List { proto }),
        [check, path] if check == "check" => Ok(Ops::Check { path: path.into(), output }),
        [name] if name != "check" => Ok(Ops::Show { name: name.clone(), output }),
        _ => Err(invalid_argument!(
            "`ops` takes no word, the name of an op, or `check` and the path of a graph"
        )),
    }
}

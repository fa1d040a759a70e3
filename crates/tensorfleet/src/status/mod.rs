//! `tensorfleet status`: asks the tasks of a cluster and shows what they tell.

mod table;
mod yaml;

pub(crate) use table::short;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Code, Error, Result, internal, unavailable};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::cli::{OutputFormat, Status, Whose, report};

/// A task, where it is, and what it tells of itself.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) task: String,
    pub(crate) address: String,
    pub(crate) status: Result<Value>,
}

/// The tasks of a cluster, and how they are spoken to.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) tasks: Vec<(String, String)>,
    is_tls: bool,
}

impl Known {
    /// The target of a task.
    pub(crate) fn target(&self, address: &str) -> String {
        if self.is_tls { format!("grpcs://{address}") } else { address.to_owned() }
    }
}

/// Finds the tasks of a cluster.
pub(crate) async fn known(whose: &Whose) -> Result<Known> {
    match whose {
        Whose::Cluster(cluster) => {
            let tasks = cluster.tasks().map(|(task, at)| (task.to_string(), at.to_owned()));
            Ok(Known { tasks: tasks.collect(), is_tls: false })
        }
        Whose::Target(target) => {
            let (scheme, address) = target.split_once("://").unwrap_or(("grpc", target));
            let known = Known { tasks: Vec::new(), is_tls: scheme == "grpcs" };
            let status = ask_one(&known.target(address)).await;
            let status = status.map_err(|error| of_another_kind(error, target))?;
            Ok(Known { tasks: tasks_of(&status, address), ..known })
        }
    }
}

/// Shows the status of a cluster, once or until interrupted, and returns the exit code: 0 if all
/// tasks answered when they were last asked.
pub(crate) fn run(status: &Status) -> Result<u8> {
    let runtime = runtime()?;
    loop {
        let answers = runtime.block_on(ask(&status.whose))?;
        let text = match status.output {
            OutputFormat::Table => table::narrow(&answers),
            OutputFormat::Wide => table::wide(&answers),
            OutputFormat::Json => format!("{:#}\n", document(&answers)),
            OutputFormat::Yaml => yaml::write(&document(&answers)),
        };
        // A terminal is cleared, so that the picture stands still.
        let clear = status.watch.is_some() && report::is_terminal();
        let text = if clear { format!("\x1b[2J\x1b[H{text}") } else { text };
        report::show(text).map_err(|error| unavailable!("nobody reads the status: {error}"))?;
        let Some(pause) = status.watch else {
            return Ok(u8::from(answers.iter().any(|answer| answer.status.is_err())));
        };
        std::thread::sleep(pause);
    }
}

/// How a task is to end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It refuses new steps, and stays.
    Drain,
    /// It ends when its steps have, or the time is over.
    Stop(Duration),
}

/// Lets a task, or all tasks of its cluster, drain or end. All are tried; the first error is told.
pub(crate) fn end(target: &str, all: bool, how: End) -> Result<()> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let targets = match all {
            false => vec![target.to_owned()],
            true => {
                let known = known(&Whose::Target(target.to_owned())).await?;
                known.tasks.iter().map(|(_, address)| known.target(address)).collect()
            }
        };
        let mut outcome = Ok(());
        for target in targets {
            let ended = end_one(&target, how).await;
            outcome = outcome.and(ended.map_err(|error| of_another_kind(error, &target)));
        }
        outcome
    })
}

/// Has a task take a snapshot; the last record in it.
pub(crate) fn save_snapshot(target: &str) -> Result<u64> {
    runtime()?.block_on(async {
        let saved = AdminClient::new(target, &Handle::current())?.snapshot().await;
        saved.map_err(|error| of_another_kind(error, target))
    })
}

async fn end_one(target: &str, how: End) -> Result<()> {
    let client = AdminClient::new(target, &Handle::current())?;
    match how {
        End::Drain => client.drain().await,
        End::Stop(grace) => client.stop(grace).await,
    }
}

pub(crate) fn runtime() -> Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| unavailable!("threads cannot be started: {error}"))
}

/// TensorFlow's servers have no such service.
fn of_another_kind(error: Error, target: &str) -> Error {
    match error.code() {
        Code::Unimplemented => {
            Error::new(Code::Unimplemented, format!("{target} answers, but is not tensorfleet's"))
        }
        _ => error,
    }
}

async fn ask(whose: &Whose) -> Result<Vec<Answer>> {
    let known = known(whose).await?;
    let answers = known.tasks.iter().map(|(task, address)| {
        let target = known.target(address);
        async move {
            let status = ask_one(&target).await.map_err(|error| of_another_kind(error, address));
            Answer { task: task.clone(), address: address.clone(), status }
        }
    });
    Ok(join_all(answers).await)
}

async fn ask_one(target: &str) -> Result<Value> {
    let client = AdminClient::new(target, &Handle::current())?;
    read(&client.status().await?, target)
}

/// Asks a task that is connected already.
pub(crate) async fn ask_at(client: &AdminClient, address: &str) -> Result<Value> {
    let status = client.status().await.map_err(|error| of_another_kind(error, address))?;
    read(&status, address)
}

fn read(status: &str, whose: &str) -> Result<Value> {
    serde_json::from_str(status)
        .map_err(|error| internal!("{whose} tells what cannot be read: {error}"))
}

/// The tasks that a task knows. Its own address is the one by which it was reached, since it may have
/// taken any free port.
fn tasks_of(status: &Value, reached: &str) -> Vec<(String, String)> {
    let own = status["task"].as_str().unwrap_or_default();
    let jobs = status["cluster"].as_object().into_iter().flatten();
    let tasks = jobs.flat_map(|(job, tasks)| {
        tasks.as_object().into_iter().flatten().map(move |(index, address)| {
            (format!("/job:{job}/replica:0/task:{index}"), address.as_str().unwrap_or_default())
        })
    });
    let mut tasks: Vec<(String, String)> = tasks
        .map(|(task, address)| {
            let address = if task == own { reached } else { address };
            (task, address.to_owned())
        })
        .collect();
    // JSON orders the tenth task before the second.
    tasks.sort_by_key(|(task, _)| (task.rfind(':').map(|at| task[..at].to_owned()), task.len()));
    tasks
}

/// All answers as one document.
fn document(answers: &[Answer]) -> Value {
    let answers = answers.iter().map(|Answer { task, address, status }| match status {
        Ok(status) => {
            let mut status = status.clone();
            status["address"] = json!(address);
            status
        }
        Err(error) => json!({
            "task": task,
            "address": address,
            "state": "unreachable",
            "error": format!("{}: {}", error.code().name(), error.message()),
        }),
    });
    Value::Array(answers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_tells_of_the_others_in_their_order() {
        let status = json!({
            "task": "/job:worker/replica:0/task:1",
            "cluster": {
                "worker": {"10": "c:1", "2": "b:1", "1": "localhost:0"},
                "ps": {"0": "p:1"},
            },
        });
        let tasks = tasks_of(&status, "localhost:77");
        let lines: Vec<String> = tasks.iter().map(|(task, at)| format!("{task} {at}")).collect();
        assert_eq!(
            lines,
            [
                "/job:ps/replica:0/task:0 p:1",
                "/job:worker/replica:0/task:1 localhost:77",
                "/job:worker/replica:0/task:2 b:1",
                "/job:worker/replica:0/task:10 c:1",
            ]
        );
    }
}

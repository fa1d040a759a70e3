//! `tensorfleet status`: asks the tasks of a cluster and shows what they tell.

mod table;
mod yaml;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Code, Error, Result, internal, unavailable};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::cli::{OutputFormat, Status, Whose, report};

/// A task, where it is, and what it tells of itself.
#[derive(Debug)]
struct Answer {
    task: String,
    address: String,
    status: Result<Value>,
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

/// Lets a task refuse new steps.
pub(crate) fn drain(target: &str) -> Result<()> {
    let runtime = runtime()?;
    let client = AdminClient::new(target, runtime.handle())?;
    runtime.block_on(client.drain()).map_err(|error| of_another_kind(error, target))
}

/// Lets a task end.
pub(crate) fn stop(target: &str, grace: Duration) -> Result<()> {
    let runtime = runtime()?;
    let client = AdminClient::new(target, runtime.handle())?;
    runtime.block_on(client.stop(grace)).map_err(|error| of_another_kind(error, target))
}

fn runtime() -> Result<Runtime> {
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
    let tasks = match whose {
        Whose::Cluster(cluster) => {
            cluster.tasks().map(|(task, at)| (task.to_string(), at.to_owned())).collect()
        }
        Whose::Target(target) => {
            let address = target.strip_prefix("grpc://").unwrap_or(target);
            let status = ask_one(address).await.map_err(|error| of_another_kind(error, target))?;
            tasks_of(&status, address)
        }
    };
    let answers = tasks.into_iter().map(|(task, address)| async move {
        let status = ask_one(&address).await.map_err(|error| of_another_kind(error, &address));
        Answer { task, address, status }
    });
    Ok(join_all(answers).await)
}

async fn ask_one(address: &str) -> Result<Value> {
    let client = AdminClient::new(address, &Handle::current())?;
    let status = client.status().await?;
    serde_json::from_str(&status)
        .map_err(|error| internal!("{address} tells what cannot be read: {error}"))
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

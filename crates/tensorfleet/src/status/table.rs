//! A cluster as a table.

use serde_json::Value;

use super::Answer;
use crate::table::aligned;

const NARROW: [&str; 9] =
    ["TASK", "STATE", "UP", "SESSIONS", "RUNNING", "DONE", "FAILED", "MEMORY", "ADDRESS"];
const MORE: [&str; 5] = ["CONTEXTS", "GRAPHS", "OPEN STEPS", "PROCESS", "VERSION"];

/// A line for each task.
pub(super) fn narrow(answers: &[Answer]) -> String {
    let mut rows = vec![NARROW.map(str::to_owned).to_vec()];
    rows.extend(answers.iter().map(columns));
    aligned(&rows) + &remarks(answers)
}

/// A line for each task with more columns, and below it the sessions.
pub(super) fn wide(answers: &[Answer]) -> String {
    let mut rows = vec![NARROW.iter().chain(&MORE).map(|&name| name.to_owned()).collect()];
    rows.extend(answers.iter().map(|answer| {
        let mut columns = columns(answer);
        if let Ok(status) = &answer.status {
            columns.extend([
                count(&status["contexts"]),
                text(&status["graphs"]),
                text(&status["open_steps"]),
                text(&status["process"]),
                text(&status["version"]),
            ]);
        }
        columns
    }));
    let mut sessions = vec![
        ["SESSION", "MASTER", "AGE", "IDLE", "STEPS", "NODES", "PLANS"].map(str::to_owned).to_vec(),
    ];
    for answer in answers {
        let Ok(status) = &answer.status else { continue };
        for session in status["sessions"].as_array().into_iter().flatten() {
            sessions.push(vec![
                text(&session["handle"]),
                short(&answer.task),
                duration(&session["age_seconds"]),
                duration(&session["idle_seconds"]),
                text(&session["steps"]),
                text(&session["nodes"]),
                text(&session["plans"]),
            ]);
        }
    }
    let sessions =
        if sessions.len() > 1 { format!("\n{}", aligned(&sessions)) } else { String::new() };
    aligned(&rows) + &sessions + &remarks(answers)
}

fn columns(answer: &Answer) -> Vec<String> {
    let task = short(&answer.task);
    let Ok(status) = &answer.status else {
        let unknown = || "-".to_owned();
        let mut row = vec![task, "unreachable".to_owned()];
        row.extend((0..6).map(|_| unknown()));
        row.push(answer.address.clone());
        return row;
    };
    let sum = |what: &str| {
        let kinds = status["work"].as_object().into_iter().flatten();
        kinds.map(|(_, work)| work[what].as_u64().unwrap_or(0)).sum::<u64>().to_string()
    };
    vec![
        task,
        text(&status["state"]),
        duration(&status["uptime_seconds"]),
        count(&status["sessions"]),
        sum("running"),
        sum("done"),
        sum("failed"),
        format!("{} MB", status["memory_bytes"].as_u64().unwrap_or(0) >> 20),
        answer.address.clone(),
    ]
}

/// Why tasks do not answer, a line for each.
fn remarks(answers: &[Answer]) -> String {
    let failed = answers.iter().filter_map(|answer| Some((answer, answer.status.as_ref().err()?)));
    let lines =
        failed.map(|(answer, error)| format!("{}: {}\n", short(&answer.task), error.message()));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// `worker/1` for `/job:worker/replica:0/task:1`.
pub(crate) fn short(task: &str) -> String {
    task.trim_start_matches("/job:").replace("/replica:0", "").replace("/task:", "/")
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn count(list: &Value) -> String {
    list.as_array().map_or_else(|| "-".to_owned(), |list| list.len().to_string())
}

fn duration(seconds: &Value) -> String {
    let seconds = seconds.as_f64().unwrap_or(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tensorfleet_tensor::unavailable;

    use super::*;

    fn answers() -> [Answer; 2] {
        let status = json!({
            "state": "serving", "uptime_seconds": 3725.5, "memory_bytes": 52_428_800,
            "sessions": [{"handle": "abc", "age_seconds": 61, "idle_seconds": 0.2, "steps": 5,
                          "nodes": 12, "plans": 2}],
            "contexts": [], "graphs": 3, "open_steps": 0, "process": 42, "version": "0.1.0",
            "work": {"step": {"running": 1, "done": 4, "failed": 1},
                     "part": {"running": 0, "done": 2, "failed": 0}},
        });
        [
            Answer {
                task: "/job:worker/replica:0/task:0".to_owned(),
                address: "a:1".to_owned(),
                status: Ok(status),
            },
            Answer {
                task: "/job:ps/replica:0/task:0".to_owned(),
                address: "b:1".to_owned(),
                status: Err(unavailable!("b:1: cannot be reached")),
            },
        ]
    }

    #[test]
    fn tasks_are_lines() {
        let table = "\
TASK      STATE        UP     SESSIONS  RUNNING  DONE  FAILED  MEMORY  ADDRESS
worker/0  serving      1h02m  1         1        6     1       50 MB   a:1
ps/0      unreachable  -      -         -        -     -       -       b:1

ps/0: b:1: cannot be reached
";
        assert_eq!(narrow(&answers()), table);
        let wide = wide(&answers());
        assert!(wide.contains("abc      worker/0  1m01s  0s    5      12     2"), "{wide}");
    }
}

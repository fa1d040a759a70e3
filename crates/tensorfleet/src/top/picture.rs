//! What tasks tell, as lines: the cluster, its tasks, who waits for whom, and the hottest variables.

use std::time::Instant;

use serde_json::Value;

use super::waits;
use crate::status::{Answer, short};
use crate::table::aligned;

/// What all tasks told at one time.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) answers: Vec<Answer>,
}

impl Sample {
    pub(super) fn exit_code(&self) -> u8 {
        u8::from(self.answers.iter().any(|answer| answer.status.is_err()))
    }
}

/// A line, and how it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Heading,
    Warn,
    Bad,
}

/// How much can be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    pub(super) const UNBOUNDED: Size = Size { columns: usize::MAX, rows: usize::MAX };
}

/// How many variables are named.
const HOTTEST: usize = 10;
/// How many lines tell who waits.
const WAITS: usize = 12;

/// The picture of a sample; rates are what has changed since the one before.
pub(super) fn lines(now: &Sample, before: Option<&Sample>, size: Size) -> Vec<Line> {
    let tasks: Vec<Rates<'_>> = now.answers.iter().map(|it| Rates::new(it, now, before)).collect();
    let mut lines = vec![heading(summary(&tasks)), plain("")];
    let causes = waits::causes(&now.answers);
    let variables = hottest(&tasks);
    // What waits and what is hot has the last word on a small screen; tasks without trouble do not.
    let below = causes.len().min(WAITS) + 2 + variables.len().min(HOTTEST) + 3;
    let room = size.rows.saturating_sub(lines.len() + 1 + below).max(3);
    lines.extend(table(&tasks, room));
    lines.push(plain(""));
    if causes.is_empty() {
        lines.push(plain("nobody has waited for a second or longer"));
    } else {
        lines.push(heading("WHO WAITS, AND WHY".to_owned()));
        lines.extend(causes.into_iter().take(WAITS));
    }
    lines.push(plain(""));
    if !variables.is_empty() {
        let mut rows =
            vec![["VARIABLE", "TASK", "UPDATES/S", "READS/S", "SIZE"].map(str::to_owned).to_vec()];
        rows.extend(variables.into_iter().take(HOTTEST));
        lines.extend(as_lines(&rows));
    }
    lines
}

fn plain(text: impl Into<String>) -> Line {
    Line { text: text.into(), look: Look::Plain }
}

fn heading(text: String) -> Line {
    Line { text, look: Look::Heading }
}

/// Lines of a table, the first one being its heading.
fn as_lines(rows: &[Vec<String>]) -> Vec<Line> {
    let mut lines: Vec<Line> = aligned(rows).lines().map(plain).collect();
    if let Some(first) = lines.first_mut() {
        first.look = Look::Heading;
    }
    lines
}

/// A task and how fast it is.
struct Rates<'a> {
    answer: &'a Answer,
    steps: f64,
    failures: f64,
    sent: f64,
    received: f64,
    /// What it told the last time, if it is the same process, and how long ago.
    before: Option<(&'a Value, f64)>,
}

impl<'a> Rates<'a> {
    fn new(answer: &'a Answer, now: &Sample, before: Option<&'a Sample>) -> Rates<'a> {
        let mut rates =
            Rates { answer, steps: 0.0, failures: 0.0, sent: 0.0, received: 0.0, before: None };
        let (Ok(status), Some(before)) = (&answer.status, before) else { return rates };
        let seconds = now.at.duration_since(before.at).as_secs_f64();
        let same = before.answers.iter().find(|other| other.task == answer.task);
        let same = same.and_then(|other| other.status.as_ref().ok());
        // One that was started anew counts from nothing.
        let same = same.filter(|other| other["started_seconds"] == status["started_seconds"]);
        let Some(old) = same.filter(|_| seconds > 0.0) else { return rates };
        let rate = |count: fn(&Value) -> f64| ((count(status) - count(old)) / seconds).max(0.0);
        rates.steps = rate(|status| work(status, "done"));
        rates.failures = rate(|status| work(status, "failed"));
        rates.sent = rate(|status| links(status, "link_sent_bytes"));
        rates.received = rate(|status| links(status, "link_received_bytes"));
        rates.before = Some((old, seconds));
        rates
    }

    fn status(&self) -> Option<&'a Value> {
        self.answer.status.as_ref().ok()
    }
}

fn work(status: &Value, what: &str) -> f64 {
    let kinds = status["work"].as_object().into_iter().flatten();
    kinds.map(|(_, work)| work[what].as_f64().unwrap_or(0.0)).sum()
}

fn links(status: &Value, what: &str) -> f64 {
    let peers = status["peers"].as_array().into_iter().flatten();
    peers.map(|peer| peer[what].as_f64().unwrap_or(0.0)).sum()
}

fn summary(tasks: &[Rates<'_>]) -> String {
    let lost = tasks.iter().filter(|task| task.status().is_none()).count();
    let lost = if lost > 0 { format!(", {lost} of them do not answer") } else { String::new() };
    // What a master runs is counted there, and what its parts are where they run.
    let steps: f64 =
        tasks.iter().filter_map(|task| Some(step_rate(task.before?, task.status()?))).sum();
    let sent: f64 = tasks.iter().map(|task| task.sent).sum();
    let many = if tasks.len() == 1 { "task" } else { "tasks" };
    format!(
        "{} {many}{lost}   {} steps/s   {}/s between tasks   q ends",
        tasks.len(),
        number(steps),
        bytes(sent)
    )
}

/// Steps of own sessions and calls of TensorFlow 2's clients, a second.
fn step_rate((old, seconds): (&Value, f64), status: &Value) -> f64 {
    let count = |status: &Value, kind: &str| status["work"][kind]["done"].as_f64().unwrap_or(0.0);
    let kinds = ["step", "eager"].into_iter();
    kinds.map(|kind| (count(status, kind) - count(old, kind)).max(0.0) / seconds).sum()
}

const TASKS: [&str; 10] = [
    "TASK",
    "STATE",
    "STEPS/S",
    "FAILED/S",
    "RUNNING",
    "IN LINE",
    "SENT/S",
    "RECEIVED/S",
    "MEMORY",
    "ADDRESS",
];

fn table(tasks: &[Rates<'_>], room: usize) -> Vec<Line> {
    let mut shown: Vec<&Rates<'_>> = tasks.iter().collect();
    let left_out = shown.len().saturating_sub(room);
    if left_out > 0 {
        // Those in trouble stay, then the busiest.
        shown.sort_by(|a, b| {
            let key = |task: &Rates<'_>| (task.status().is_some(), -task.failures, -task.steps);
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        shown.truncate(room);
    }
    let mut rows = vec![TASKS.map(str::to_owned).to_vec()];
    rows.extend(shown.iter().map(|task| columns(task)));
    let mut lines = as_lines(&rows);
    for (line, task) in lines.iter_mut().skip(1).zip(&shown) {
        line.look = match task.status().map(|status| status["state"].as_str().unwrap_or("")) {
            None | Some("stalled") => Look::Bad,
            Some("serving") if task.failures == 0.0 => Look::Plain,
            Some(_) => Look::Warn,
        };
    }
    for task in &shown {
        if let Err(error) = &task.answer.status {
            let text = format!("{}: {}", short(&task.answer.task), error.message());
            lines.push(Line { text, look: Look::Bad });
        }
    }
    if left_out > 0 {
        lines.push(plain(format!("and {left_out} more tasks")));
    }
    lines
}

fn columns(task: &Rates<'_>) -> Vec<String> {
    let name = short(&task.answer.task);
    let Some(status) = task.status() else {
        let mut row = vec![name, "unreachable".to_owned()];
        row.extend((0..7).map(|_| "-".to_owned()));
        row.push(task.answer.address.clone());
        return row;
    };
    let pools = &status["pools"];
    let in_line = ["compute_waiting", "files_waiting"].into_iter();
    let in_line: u64 = in_line.map(|name| pools[name].as_u64().unwrap_or(0)).sum();
    vec![
        name,
        status["state"].as_str().unwrap_or("?").to_owned(),
        number(task.steps),
        number(task.failures),
        format!("{}", work(status, "running")),
        in_line.to_string(),
        bytes(task.sent),
        bytes(task.received),
        bytes(status["memory_bytes"].as_f64().unwrap_or(0.0)),
        task.answer.address.clone(),
    ]
}

/// The variables, tables and queues that change most, then those that are read most.
fn hottest(tasks: &[Rates<'_>]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for task in tasks {
        let (Some(status), Some((old, seconds))) = (task.status(), task.before) else { continue };
        let of = |status: &'_ Value| -> Vec<Value> {
            status["top_resources"].as_array().cloned().unwrap_or_default()
        };
        let known = of(old);
        for resource in of(status) {
            let same = |other: &&Value| {
                ["name", "container", "device"].iter().all(|key| other[*key] == resource[*key])
            };
            let Some(before) = known.iter().find(same) else { continue };
            let rate = |key: &str| {
                let count = |value: &Value| value[key].as_f64().unwrap_or(0.0);
                ((count(&resource) - count(before)) / seconds).max(0.0)
            };
            let (updates, reads) = (rate("updates"), rate("reads"));
            if updates > 0.0 || reads > 0.0 {
                let row = vec![
                    resource["name"].as_str().unwrap_or("?").to_owned(),
                    short(&task.answer.task),
                    number(updates),
                    number(reads),
                    bytes(resource["bytes"].as_f64().unwrap_or(0.0)),
                ];
                found.push((updates, reads, row));
            }
        }
    }
    found.sort_by(|a, b| (b.0, b.1).partial_cmp(&(a.0, a.1)).unwrap_or(std::cmp::Ordering::Equal));
    found.into_iter().map(|(.., row)| row).collect()
}

fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 10.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

pub(super) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = value;
    for unit in UNITS {
        if value < 999.5 || unit == "TB" {
            let digits = usize::from(value < 9.95 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tensorfleet_tensor::unavailable;

    use super::*;

    fn answer(task: &str, steps: u64, updates: u64) -> Answer {
        let (job, index) = task.split_once('/').unwrap();
        let status = json!({
            "state": "serving", "started_seconds": 5, "memory_bytes": 50_000_000,
            "work": {"step": {"running": 1, "done": steps, "failed": 0}},
            "peers": [{"link_sent_bytes": steps * 1000, "link_received_bytes": 0}],
            "pools": {"compute_waiting": 2, "files_waiting": 0},
            "top_resources": [{"name": "w", "container": "", "device": "d", "bytes": 4000,
                               "updates": updates, "reads": 0}],
            "steps": [],
        });
        Answer {
            task: format!("/job:{job}/replica:0/task:{index}"),
            address: "a:1".to_owned(),
            status: Ok(status),
        }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    #[test]
    fn rates_are_what_changed_in_the_time_between() {
        let start = Instant::now();
        let before = Sample { at: start, answers: vec![answer("ps/0", 10, 4)] };
        let mut now = Sample {
            at: start + Duration::from_secs(2),
            answers: vec![answer("ps/0", 30, 24), answer("worker/0", 7, 0)],
        };
        now.answers[1].status = Err(unavailable!("b:1: refused"));
        let expected = "\
2 tasks, 1 of them do not answer   10 steps/s   10 kB/s between tasks   q ends

TASK      STATE        STEPS/S  FAILED/S  RUNNING  IN LINE  SENT/S  RECEIVED/S  MEMORY  ADDRESS
ps/0      serving      10       0         1        2        10 kB   0 B         50 MB   a:1
worker/0  unreachable  -        -         -        -        -       -           -       a:1
worker/0: b:1: refused

nobody has waited for a second or longer

VARIABLE  TASK  UPDATES/S  READS/S  SIZE
w         ps/0  10         0        4.0 kB
";
        assert_eq!(text(&lines(&now, Some(&before), Size::UNBOUNDED)), expected);
        assert_eq!(now.exit_code(), 1);
        // A process that was started anew has no rate yet.
        now.answers[0].status.as_mut().unwrap()["started_seconds"] = json!(6);
        let again = text(&lines(&now, Some(&before), Size::UNBOUNDED));
        assert!(again.contains("  0 steps/s"), "{again}");
    }

    #[test]
    fn a_small_screen_shows_the_tasks_in_trouble() {
        let mut answers: Vec<Answer> =
            (0..200).map(|it| answer(&format!("worker/{it}"), 1, 0)).collect();
        answers[150].status = Err(unavailable!("gone"));
        let sample = Sample { at: Instant::now(), answers };
        let drawn = lines(&sample, None, Size { columns: 80, rows: 24 });
        let text = text(&drawn);
        assert!(drawn.len() <= 24, "{text}");
        assert!(text.contains("worker/150"), "{text}");
        assert!(text.contains("and 185 more tasks") || text.contains("more tasks"), "{text}");
    }

    #[test]
    fn sizes_have_units() {
        for (value, expected) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1500.0, "1.5 kB"),
            (999_700.0, "1.0 MB"),
            (2.5e13, "25 TB"),
        ] {
            assert_eq!(bytes(value), expected);
        }
    }
}

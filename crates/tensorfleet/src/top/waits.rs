//! Who waits for whom, and who is at the end of it: the one to look at.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::picture::{Line, Look};
use crate::status::{Answer, short};

/// Waiting of less than this is how steps go.
const NOTEWORTHY: f64 = 1.0;

/// A node that waits.
struct Wait<'a> {
    /// The task that waits, and the one that it waits for, which may be itself.
    from: String,
    to: String,
    seconds: f64,
    wait: &'a Value,
}

/// What keeps tasks from going on, a line each, the worst first.
pub(super) fn causes(answers: &[Answer]) -> Vec<Line> {
    let waits = waits(answers);
    let mut waits_for: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for wait in waits.iter().filter(|wait| wait.from != wait.to) {
        waits_for.entry(&wait.from).or_default().insert(&wait.to);
    }
    let waiters = |who: &str| -> String {
        let mut all: Vec<&str> = waits_for.keys().copied().filter(|id| *id != who).collect();
        all.retain(|id| reaches(&waits_for, id, who));
        if all.is_empty() { String::new() } else { format!("; {} wait for it", all.join(", ")) }
    };
    let mut found: Vec<(Look, f64, String)> = Vec::new();
    for answer in answers.iter().filter(|answer| answer.status.is_err()) {
        let task = short(&answer.task);
        let who = waiters(&task);
        if !who.is_empty() {
            found.push((Look::Bad, f64::INFINITY, format!("{task} does not answer{who}")));
        }
    }
    let circle: Vec<&str> =
        waits_for.keys().copied().filter(|id| reaches(&waits_for, id, id)).collect();
    if circle.len() > 1 {
        let longest = waits.iter().map(|wait| wait.seconds).fold(0.0, f64::max);
        found.push((Look::Bad, longest, format!("{} wait for each other", circle.join(" and "))));
    }
    let mut at_home: BTreeMap<(&str, String), (&Wait<'_>, usize)> = BTreeMap::new();
    let own = waits.iter().filter(|wait| wait.from == wait.to && wait.wait["for"] != "function");
    for wait in own {
        let same = at_home.entry((&wait.from, reason(wait.wait))).or_insert((wait, 0));
        same.1 += 1;
        if wait.seconds > same.0.seconds {
            same.0 = wait;
        }
    }
    for ((task, reason), (wait, count)) in at_home {
        let many = if count > 1 { format!(" ({count} nodes)") } else { String::new() };
        let node = wait.wait["node"].as_str().unwrap_or("?");
        let text = format!(
            "{task} waits for {reason} since {:.0} s, in node {node}{many}{}",
            wait.seconds,
            waiters(task)
        );
        found.push((Look::Warn, wait.seconds, text));
    }
    // Who is waited for, waits for nobody and answers is at work, or never sends.
    let awaited: BTreeSet<&str> = waits_for.values().flatten().copied().collect();
    for who in awaited {
        let is_named = found.iter().any(|(.., text)| text.starts_with(&format!("{who} ")));
        let longest = waits.iter().filter(|wait| wait.to == who && wait.from != who);
        let longest = longest.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let (false, false, Some(longest)) = (is_named, waits_for.contains_key(who), longest) else {
            continue;
        };
        let verb = if is_computing(answers, who) { "computes" } else { "has not sent" };
        let text = format!(
            "{who} {verb}: {} waits for {} since {:.0} s, in node {}",
            longest.from,
            reason(longest.wait),
            longest.seconds,
            longest.wait["node"].as_str().unwrap_or("?"),
        );
        found.push((Look::Warn, longest.seconds, text));
    }
    found.sort_by(|a, b| (b.0 == Look::Bad).cmp(&(a.0 == Look::Bad)).then(b.1.total_cmp(&a.1)));
    found.into_iter().map(|(look, _, text)| Line { text, look }).collect()
}

fn waits(answers: &[Answer]) -> Vec<Wait<'_>> {
    let mut found = Vec::new();
    for answer in answers {
        let Ok(status) = &answer.status else { continue };
        let task = short(&answer.task);
        for step in status["steps"].as_array().into_iter().flatten() {
            for wait in step["waits"].as_array().into_iter().flatten() {
                let seconds = wait["seconds"].as_f64().or_else(|| step["seconds"].as_f64());
                let seconds = seconds.unwrap_or(0.0);
                let from = wait["from"].as_str().filter(|_| wait["for"] == "tensor");
                let to = from.map_or_else(|| task.clone(), task_of);
                if seconds >= NOTEWORTHY {
                    found.push(Wait { from: task.clone(), to, seconds, wait });
                }
            }
        }
    }
    found
}

/// `ps/0` for `/job:ps/replica:0/task:0/device:CPU:0`.
fn task_of(device: &str) -> String {
    short(device.split("/device:").next().unwrap_or(device))
}

fn is_computing(answers: &[Answer], task: &str) -> bool {
    let of = answers.iter().filter(|answer| short(&answer.task) == task);
    let steps = of.filter_map(|answer| answer.status.as_ref().ok()?["steps"].as_array());
    steps.flatten().any(|step| step["is_computing"] == true)
}

fn reaches(waits_for: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let mut open: Vec<&str> = waits_for.get(from).into_iter().flatten().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if id == to {
            return true;
        }
        if seen.insert(id) {
            open.extend(waits_for.get(id).into_iter().flatten());
        }
    }
    false
}

/// What a node waits for, in words.
fn reason(wait: &Value) -> String {
    let text = |name: &str| wait[name].as_str().unwrap_or_default();
    let (op, what) = (text("op"), text("what"));
    let named = |words: &str| format!("{words} {what}").trim_end().to_owned();
    match text("for") {
        "tensor" => format!("the tensor {} from {}", what, task_of(text("from"))),
        "resource" if op.contains("Dequeue") => named("an element of the queue"),
        "resource" if op.contains("Enqueue") => named("room in the queue"),
        "resource" if op.contains("TakeGradient") => named("gradients in the accumulator"),
        "resource" if op.contains("Mutex") || op.contains("Lock") => named("the lock"),
        "resource" if op.contains("Barrier") => named("an element of the barrier"),
        "resource" => named("the resource"),
        "function" => "the end of a function".to_owned(),
        "collective" => "the other members of a collective".to_owned(),
        "file" => named("a file"),
        "thread" => "a thread that computes".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tensorfleet_tensor::unavailable;

    use super::*;

    fn answer(task: &str, waits: Value) -> Answer {
        let (job, index) = task.split_once('/').unwrap();
        let status = json!({"steps": [{"seconds": 9, "is_computing": false, "waits": waits}]});
        Answer {
            task: format!("/job:{job}/replica:0/task:{index}"),
            address: String::new(),
            status: Ok(status),
        }
    }

    fn tensor(from: &str) -> Value {
        let device = format!("/job:{from}/replica:0/task:0/device:CPU:0");
        json!([{"for": "tensor", "op": "_Recv", "what": "edge", "from": device, "node": "n", "seconds": 5}])
    }

    fn texts(answers: &[Answer]) -> Vec<String> {
        causes(answers).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn the_one_at_the_end_is_named_with_those_who_wait_for_it() {
        let queue = json!([{"for": "resource", "op": "QueueDequeueV2", "what": "tokens", "node": "take",
                            "seconds": 7}]);
        let answers = [answer("worker/0", tensor("ps")), answer("ps/0", queue)];
        assert_eq!(
            texts(&answers),
            [
                "ps/0 waits for an element of the queue tokens since 7 s, in node take; worker/0 wait for it"
            ]
        );
    }

    #[test]
    fn a_task_that_is_gone_is_worse_than_one_that_waits() {
        let mut lost = answer("ps/0", json!([]));
        lost.status = Err(unavailable!("gone"));
        let answers = [answer("worker/0", tensor("ps")), lost];
        assert_eq!(texts(&answers), ["ps/0 does not answer; worker/0 wait for it"]);
    }

    #[test]
    fn circles_and_silent_senders_are_found() {
        let answers = [answer("a/0", tensor("b")), answer("b/0", tensor("a"))];
        assert_eq!(texts(&answers), ["a/0 and b/0 wait for each other"]);
        let answers = [answer("a/0", tensor("b")), answer("b/0", json!([]))];
        assert_eq!(
            texts(&answers),
            ["b/0 has not sent: a/0 waits for the tensor edge from b/0 since 5 s, in node n"]
        );
    }

    #[test]
    fn short_waits_are_how_steps_go() {
        let short = json!([{"for": "thread", "seconds": 0.2}]);
        assert!(texts(&[answer("a/0", short)]).is_empty());
    }
}

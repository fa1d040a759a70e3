//! `tensorfleet check`: what would keep a cluster from training, found before it does.
//!
//! Every task is asked what it sees ([`Fact`]), the others included; [`judge`] compares what they tell.

mod judge;

use std::fmt::Write;
use std::net::IpAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Result, internal};
use tokio::runtime::Handle;

use crate::cli::{Check, Output};
use crate::status::{Known, known, runtime, short};
use judge::judge;

/// What is known of a task.
#[derive(Debug)]
struct Fact {
    /// As `worker/0`.
    task: String,
    address: String,
    /// What its name means here, or why it means nothing.
    resolved: std::result::Result<Vec<IpAddr>, String>,
    /// What it tells.
    told: Result<Value>,
    /// When it was asked, since 1970 by our clock, and how long that took.
    asked: f64,
    round_trip: f64,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    level: Level,
    what: String,
    cause: String,
    remedy: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Fine,
    Warning,
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Fine => "fine",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Looks at a cluster and returns what is shown and the exit code: 1 if there is an error.
pub(crate) fn run(check: &Check) -> Result<(String, u8)> {
    let proxies = judge::Proxies::from_environment();
    let runtime = runtime()?;
    let (known, facts) = runtime.block_on(async {
        let known = known(&check.whose).await?;
        let facts =
            join_all(known.tasks.iter().map(|task| learn(&known, task, &check.paths))).await;
        Ok::<_, tensorfleet_tensor::Error>((known, facts))
    })?;
    let cluster =
        known.tasks.iter().map(|(task, address)| (short(task), address.clone())).collect();
    let findings = judge(&cluster, &facts, &check.paths, &proxies);
    let has_error = findings.iter().any(|finding| finding.level == Level::Error);
    let text = match check.output {
        Output::Text => written(&findings),
        Output::Json => format!("{:#}\n", document(&findings)),
    };
    Ok((text, u8::from(has_error)))
}

async fn learn(known: &Known, task: &(String, String), paths: &[String]) -> Fact {
    let (name, address) = task;
    let resolved = match tokio::net::lookup_host(address).await {
        Ok(found) => {
            let mut found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            found.dedup();
            Ok(found)
        }
        Err(error) => Err(error.to_string()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let begun = Instant::now();
    let told = async {
        let client = AdminClient::new(&known.target(address), &Handle::current())?;
        let told = client.examine(&json!(paths).to_string()).await?;
        serde_json::from_str(&told)
            .map_err(|error| internal!("{address} tells what cannot be read: {error}"))
    };
    let told = told.await;
    Fact {
        task: short(name),
        address: address.clone(),
        resolved,
        told,
        asked: now.as_secs_f64(),
        round_trip: begun.elapsed().as_secs_f64(),
    }
}

fn written(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { level, what, cause, remedy } in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<9}{what}", level.name());
        if !cause.is_empty() {
            let _ = writeln!(text, "{:<9}{cause}", "");
        }
        if !remedy.is_empty() {
            let _ = writeln!(text, "{:<9}-> {remedy}", "");
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let _ = match (errors, warnings) {
        (0, 0) => writeln!(text, "\nnothing is in the way"),
        _ => writeln!(text, "\n{errors} errors, {warnings} warnings"),
    };
    text
}

fn document(findings: &[Finding]) -> Value {
    let findings = findings.iter().map(|Finding { level, what, cause, remedy }| {
        json!({"level": level.name(), "what": what, "cause": cause, "remedy": remedy})
    });
    Value::Array(findings.collect())
}

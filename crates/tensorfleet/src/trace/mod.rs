//! `tensorfleet trace`: the next steps of a cluster, node by node, on one clock, as a file for Perfetto or
//! chrome://tracing.

mod chrome;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Code, Result, deadline_exceeded, internal, unavailable};
use tokio::runtime::Handle;

use crate::cli::{Trace, Whose, report};
use crate::status::{known, runtime, short};

/// How often tasks are asked how far they are.
const LOOKS: Duration = Duration::from_millis(100);

/// A task whose steps are recorded.
pub(crate) struct Recorded {
    /// As `worker/0`.
    pub(crate) task: String,
    client: AdminClient,
    /// How far its clock is ahead of ours, in seconds, as it looked in the shortest round trip.
    ahead: f64,
    shortest: f64,
    /// What it told last; in the end, all that it recorded.
    pub(crate) told: Value,
}

impl Recorded {
    async fn ask(&mut self, request: Value) -> Result<()> {
        let (begun, clock) = (Instant::now(), SystemTime::now());
        let told = self.client.record(&request.to_string()).await?;
        let taken = begun.elapsed().as_secs_f64();
        self.told = serde_json::from_str(&told)
            .map_err(|error| internal!("{} tells what cannot be read: {error}", self.task))?;
        let ours = clock.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() + taken / 2.0;
        if let Some(theirs) = self.told["at_seconds"].as_f64()
            && taken < self.shortest
        {
            (self.ahead, self.shortest) = (theirs - ours, taken);
        }
        Ok(())
    }

    fn steps(&self) -> u64 {
        self.told["steps"].as_u64().unwrap_or(0)
    }
}

/// Records steps and writes them into a file; says what was written.
pub(crate) fn run(trace: &Trace) -> Result<String> {
    let tasks = runtime()?.block_on(record(&trace.whose, trace.steps, trace.timeout))?;
    let recorded: Vec<chrome::Task<'_>> = tasks
        .iter()
        .map(|task| chrome::Task { name: &task.task, ahead: task.ahead, told: &task.told })
        .collect();
    let drawn = chrome::draw(&recorded, trace.steps);
    if drawn.steps == 0 {
        return Err(deadline_exceeded!(
            "no step ran for {:?}: is somebody training on this cluster?",
            trace.timeout
        ));
    }
    std::fs::write(&trace.output, drawn.text)
        .map_err(|error| unavailable!("{} cannot be written: {error}", trace.output.display()))?;
    Ok(format!(
        "{} steps, {} nodes of {} tasks in {}: open it at ui.perfetto.dev or chrome://tracing\n",
        drawn.steps,
        drawn.nodes,
        drawn.tasks,
        trace.output.display()
    ))
}

/// Records steps of all tasks, until one of them has so many or the time is over.
pub(crate) async fn record(whose: &Whose, steps: usize, time: Duration) -> Result<Vec<Recorded>> {
    let known = known(whose).await?;
    let mut tasks = Vec::new();
    for (task, address) in &known.tasks {
        let client = AdminClient::new(&known.target(address), &Handle::current())?;
        let (task, shortest) = (short(task), f64::INFINITY);
        tasks.push(Recorded { task, client, ahead: 0.0, shortest, told: Value::Null });
    }
    let start = json!({"start": steps, "seconds": time.as_secs().max(1) + 5});
    let mut started = Vec::new();
    for (mut task, outcome) in join_all(tasks.into_iter().map(|mut task| {
        let start = start.clone();
        async move {
            let outcome = task.ask(start).await;
            (task, outcome)
        }
    }))
    .await
    {
        match outcome {
            Ok(()) => started.push(task),
            // The others' steps are worth seeing without it.
            Err(error)
                if error.code() == Code::Unimplemented || error.code() == Code::Unavailable =>
            {
                tracing::warn!("{} is left out: {}", task.task, error.message());
                task.told = Value::Null;
            }
            Err(error) => return Err(error),
        }
    }
    if started.is_empty() {
        return Err(unavailable!("no task of the cluster can be asked for its steps"));
    }
    let (begun, mut progress) = (Instant::now(), report::progress());
    let wanted = steps as u64;
    while started.iter().all(|task| task.steps() < wanted) && begun.elapsed() < time {
        tokio::time::sleep(LOOKS).await;
        let asked = started.iter_mut().map(|task| task.ask(json!({})));
        // A task that ends on the way is told of by the others' steps.
        drop(join_all(asked).await);
        let most = started.iter().map(Recorded::steps).max().unwrap_or(0);
        // Nobody needs to know how far it is if that cannot be shown.
        let _ = write!(progress, "\r{most} of {wanted} steps\x1b[K");
    }
    let _ = write!(progress, "\r\x1b[K");
    let taken = started.iter_mut().map(|task| task.ask(json!({"take": true})));
    drop(join_all(taken).await);
    Ok(started)
}

//! `tensorfleet top`: what a cluster does, again and again, on a terminal.
//!
//! [`picture`] turns what tasks tell into lines, [`waits`] finds who keeps whom waiting, and [`screen`] is
//! the terminal. What is no terminal gets one picture.

mod picture;
mod screen;
mod waits;

use std::time::{Duration, Instant};

use tensorfleet_rpc::AdminClient;
use tensorfleet_tensor::{Error, Result, unavailable};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::{Top, report};
use crate::status::{Answer, ask_at, known, runtime};
use futures_util::future::join_all;
use picture::{Sample, Size};
use screen::{Key, Screen};

/// Shows the cluster until it is told to end, and returns the exit code: 0 if all tasks answered when they
/// were last asked.
pub(crate) fn run(top: &Top) -> Result<u8> {
    let is_live = report::is_terminal() && !top.once;
    runtime()?.block_on(async {
        let known = known(&top.whose).await?;
        let mut tasks = Vec::new();
        for (task, address) in &known.tasks {
            let client = AdminClient::new(&known.target(address), &Handle::current())?;
            tasks.push(Asked { task: task.clone(), address: address.clone(), client });
        }
        if is_live { live(&tasks, top.interval).await } else { once(&tasks, top.interval).await }
    })
}

/// A task, and the connection that it is asked by.
struct Asked {
    task: String,
    address: String,
    client: AdminClient,
}

async fn sample(tasks: &[Asked]) -> Sample {
    let asked = tasks.iter().map(|Asked { task, address, client }| async move {
        let status = ask_at(client, address).await;
        Answer { task: task.clone(), address: address.clone(), status }
    });
    let answers = join_all(asked).await;
    Sample { at: Instant::now(), answers }
}

async fn once(tasks: &[Asked], interval: Duration) -> Result<u8> {
    // Rates need two looks.
    let before = sample(tasks).await;
    tokio::time::sleep(interval).await;
    let now = sample(tasks).await;
    let lines = picture::lines(&now, Some(&before), Size::UNBOUNDED);
    let text: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
    report::show(text).map_err(|error| not_shown(&error))?;
    Ok(now.exit_code())
}

async fn live(tasks: &[Asked], interval: Duration) -> Result<u8> {
    let failed = |error: std::io::Error| not_shown(&error);
    let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (sender, mut keys) = mpsc::channel(8);
    let mut screen = Screen::open(sender).map_err(failed)?;
    let mut before: Option<Sample> = None;
    let mut now = sample(tasks).await;
    loop {
        let lines = picture::lines(&now, before.as_ref(), screen.size());
        screen.draw(&lines).map_err(failed)?;
        let next = tokio::time::Instant::now() + interval;
        tokio::select! {
            () = tokio::time::sleep_until(next) => {
                let sampled = sample(tasks).await;
                before = Some(std::mem::replace(&mut now, sampled));
            }
            // Whoever goes away, as a terminal that is closed does, wants nothing more.
            key = keys.recv() => match key {
                Some(Key::Quit) => return Ok(now.exit_code()),
                Some(Key::Other) => {}
                None => std::future::pending().await,
            },
            _ = resized.recv() => {}
            _ = terminate.recv() => return Ok(now.exit_code()),
            _ = interrupt.recv() => return Ok(now.exit_code()),
        }
    }
}

fn not_shown(error: &std::io::Error) -> Error {
    unavailable!("the terminal cannot be used: {error}")
}

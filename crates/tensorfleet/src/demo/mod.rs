//! `tensorfleet demo`: a cluster in one process learns to read handwritten digits.
//!
//! Between-graph training, as TensorFlow calls it: each worker has a graph and a session of its own,
//! and all of them train the variables that the parameter servers hold.

mod curve;
mod data;
mod display;
mod model;
mod page;
mod progress;
mod svg;
mod training;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use tensorfleet_server::{Address, Config, LocalCluster, create_local_cluster};
use tensorfleet_strategy::Mode;
use tensorfleet_tensor::{Error, Result, unavailable};

use self::data::Digits;
use self::display::{Display, grouped, manner, say, tasks};
use self::svg::Kill;
use self::training::{BATCH, Training};

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demo {
    pub workers: u32,
    pub ps: u32,
    /// Batches that all workers together train with.
    pub steps: u64,
    pub mode: Mode,
    /// Stop a worker's server on the way.
    pub kill_worker: bool,
    /// Where the picture of the loss goes.
    pub svg: PathBuf,
    /// Whether the cluster is kept afterwards.
    pub serve: bool,
    /// Whether a browser is to show the dashboard.
    pub open: bool,
    /// Where the dashboard is, if it is wanted.
    pub http: Option<Address>,
}

/// Trains and tells about it. Returns the cluster, which still serves.
pub fn run(demo: &Demo, config: &Config) -> Result<Arc<LocalCluster>> {
    let start = Instant::now();
    check_place(&demo.svg)?;
    let digits = Digits::load()?;
    let sizes = (grouped(digits.train.len()), grouped(digits.held_out.len()));
    let cluster = Arc::new(create_local_cluster(demo.workers, demo.ps, "grpc", config, config)?);
    let kill_after = demo.kill_worker.then_some((demo.steps / 3).max(1));
    let training = Training::prepare(&cluster, digits, demo.mode, kill_after)?;
    let page = page::serve(&cluster, demo.http.as_ref())?;
    say(&format!(
        "A cluster in this process learns to read handwritten digits:\n\n{}{page}\n\
         {} images to train with and {} held out; {} batches of {BATCH}, {}\n\n",
        tasks(&cluster, &training.parameters),
        sizes.0,
        sizes.1,
        grouped(demo.steps as usize),
        manner(demo.mode),
    ))?;

    if demo.open {
        page.open()?;
    }

    let mut display = Display::new(demo.steps);
    let mut kills = Vec::new();
    training.run(demo.steps, |now, losses| {
        page::tell(&cluster, now);
        let news = losses.iter().skip(kills.len());
        kills.extend(news.map(|loss| Kill { step: now.steps, worker: loss.worker }));
        display.update(now, losses)
    })?;
    let (right, all) = training.evaluate()?;
    let seconds = start.elapsed().as_secs_f64();

    let samples = training.samples();
    let losses: Vec<f32> = samples.iter().map(|sample| sample.loss).collect();
    let verdict = format!(
        "held-out accuracy {:.4} ({right} of {all} images)",
        right as f64 / all.max(1) as f64
    );
    let title = format!("tensorfleet demo: {verdict}");
    let picture = svg::draw(&samples, cluster.workers.len(), &kills, &title);
    fs::write(&demo.svg, picture).map_err(|error| cannot_write(&demo.svg, &error))?;
    say(&format!(
        "\n{}\n{verdict} after {} steps, {seconds:.1} s in all\nthe loss as a picture: {}\n\n{}",
        curve::draw(&losses),
        grouped(samples.len()),
        demo.svg.display(),
        if demo.serve { python(&cluster, &training) } else { NEXT.to_owned() },
    ))?;
    Ok(cluster)
}

/// A picture that has no place is better known before the training than after.
fn check_place(path: &Path) -> Result<()> {
    let existed = path.exists();
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| cannot_write(path, &error))?;
    if !existed {
        // An empty picture in its place would say nothing if the training fails.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    unavailable!("the picture cannot be written to `{}`: {error}", path.display())
}

const NEXT: &str = "\
Try next:
  tensorfleet demo --sync                   all workers' gradients averaged in each step
  tensorfleet demo --staleness 2            no worker far ahead of the slowest
  tensorfleet demo --workers 4 --ps 3       a larger cluster
  tensorfleet demo --kill-worker            a worker dies on the way
  tensorfleet demo --serve --open           keep the cluster, look at it in a browser and from Python
  tensorfleet local --workers 2 --ps 1      a cluster for your own programs
";

/// A program that reads what was trained.
fn python(cluster: &LocalCluster, training: &Training) -> String {
    let target = cluster.workers.first().map(|server| server.target()).unwrap_or_default();
    let device = &training.bias_device;
    format!(
        "The cluster serves until interrupted. From Python, read what it has learnt:

import tensorflow as tf
tf.compat.v1.disable_eager_execution()
with tf.device(\"{device}\"):
    bias = tf.compat.v1.get_variable(\"logits/bias\", [10], use_resource=True)
print(tf.compat.v1.Session(\"{target}\").run(bias))
"
    )
}

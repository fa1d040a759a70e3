//! The third tutorial: one program, started once for each task of a cluster.
//!
//! ```sh
//! CLUSTER="--ps=localhost:9101,localhost:9102 --worker=localhost:9201,localhost:9202"
//! cargo run --example four_tasks -- --job_name=ps     --task_index=0 $CLUSTER &
//! cargo run --example four_tasks -- --job_name=ps     --task_index=1 $CLUSTER &
//! cargo run --example four_tasks -- --job_name=worker --task_index=0 $CLUSTER &
//! cargo run --example four_tasks -- --job_name=worker --task_index=1 $CLUSTER
//! ```
//!
//! Parameter servers serve until they are stopped. Workers build the same graph, each with itself as
//! the device that computes, and train the same variables.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use std::collections::HashMap;

use tensorfleet::monitored::StopAtStep;
use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::{
    ClusterSpec, Config, Graph, MonitoredSession, ReplicaDevices, Result, Server, SessionOptions,
    invalid_argument,
};

const STEPS: i64 = 200;

fn main() -> Result<()> {
    let flags: HashMap<String, String> = std::env::args()
        .skip(1)
        .filter_map(|flag| {
            let (name, value) = flag.strip_prefix("--")?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    let flag = |name: &str| {
        flags.get(name).cloned().ok_or_else(|| invalid_argument!("the flag --{name}= is missing"))
    };
    let hosts =
        |name: &str| Ok((name.to_owned(), flag(name)?.split(',').map(String::from).collect()));
    let jobs: Vec<(String, Vec<String>)> = vec![hosts("ps")?, hosts("worker")?];
    let ps_tasks = jobs[0].1.len();
    let cluster = ClusterSpec::from_lists(jobs)?;
    let task = flag("task_index")?;
    let task: u32 = task.parse().map_err(|_| invalid_argument!("{task} is not a number"))?;

    let job = flag("job_name")?;
    let server = Server::new(&cluster, &job, task, "grpc", &Config::default(), true)?;
    println!("{job} {task} serves at {}", server.target());
    if job == "ps" { server.join() } else { train(&server, ps_tasks, task) }
}

fn train(server: &Server, ps_tasks: usize, task: u32) -> Result<()> {
    let graph = Graph::new();
    let worker = format!("/job:worker/task:{task}");
    let (x, y, loss, train) = graph.device(ReplicaDevices::new(ps_tasks).worker(&worker), || {
        graph.global_step();
        let x = graph.placeholder::<f32>([None]);
        let y = graph.placeholder::<f32>([None]);
        let slope = graph.variable("slope", 0.0f32);
        let offset = graph.variable("offset", 0.0f32);
        let loss = (&x * &slope + &offset - &y).square().mean();
        let train = Sgd::new(0.05).minimize(&loss);
        (x, y, loss, train)
    });

    // A worker sees the parameter servers and itself, so that others may come and go.
    let options = SessionOptions::default().device_filter("/job:ps").device_filter(&worker);
    let mut session = MonitoredSession::builder(&graph)
        .target(server.target())
        .options(options)
        .chief(task == 0)
        .hook(StopAtStep::new(STEPS))
        .open()?;
    let xs = [-2.0f32, -1.0, 0.0, 1.0, 2.0].map(|x| x + task as f32 / 10.0);
    let ys = xs.map(|x| 3.0 * x + 1.0);
    let mut last = f32::NAN;
    while !session.should_stop() {
        let ((), loss) = session.run(((&x, xs), (&y, ys)), (&train, loss.value::<f32>()))?;
        last = loss;
    }
    println!("worker {task}: loss {last:.6} after {STEPS} steps of all workers");
    session.finish()
}

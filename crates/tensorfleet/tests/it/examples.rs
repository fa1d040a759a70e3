//! Every example runs and says what it should. `cargo test` builds them.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn program(name: &str) -> Command {
    // This test is target/debug/deps/it-..., an example target/debug/examples/name.
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is not built: cargo build --examples", path.display());
    let mut command = Command::new(path);
    command.env_remove("TENSORFLEET_LOG");
    command
}

/// Runs an example to its end; returns what it says.
fn run(name: &str, arguments: &[&str]) -> String {
    let output = program(name).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{name}: {said}{complaints}");
    said
}

/// The number that follows the last occurrence of some words.
fn number_after(said: &str, words: &str) -> f64 {
    let text = said.rsplit(words).next().unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn hello() {
    assert_eq!(run("hello", &[]), "Hello, distributed TensorFlow!\n");
}

#[test]
fn local_cluster() {
    let said = run("local_cluster", &[]);
    assert!(said.contains("y = 3.000 x + 1.000"), "{said}");
    assert!(said.contains("/job:ps/replica:0/task:1/device:CPU:0"), "{said}");
}

#[test]
fn between_graph() {
    let said = run("between_graph", &[]);
    assert!(number_after(&said, "loss ") < 0.05, "{said}");
}

#[test]
fn synchronous() {
    assert_eq!(run("synchronous", &[]), "y = 3.000 x + 1.000\n");
}

#[test]
fn training_rate() {
    // Without a target it starts a cluster of its own, with small batches for a moment.
    let said = run("training_rate", &["", "0.1", "4"]);
    assert!(number_after(&said, "run: ") > 0.0, "{said}");
    assert!(number_after(&said, "callable: ") > 0.0, "{said}");
}

#[test]
fn embeddings() {
    let said = run("embeddings", &[]);
    assert!(said.contains("words/part_2 [333,8] on /job:ps/task:2"), "{said}");
    assert!(number_after(&said, "loss ") < 0.2, "{said}");
}

#[test]
fn checkpoint() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("example-checkpoints");
    let _ = std::fs::remove_dir_all(&directory);
    let directory = directory.to_str().unwrap();
    assert!(run("checkpoint", &[directory]).starts_with("from step 0 to step 10"));
    assert!(run("checkpoint", &[directory]).starts_with("from step 10 to step 20"));
    let files = std::fs::read_dir(directory).unwrap();
    let names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let events = names.iter().filter(|name| name.starts_with("events.out.tfevents")).count();
    assert_eq!(events, 2, "{names:?}");
}

#[test]
fn tensorflow_server() {
    let said = run("tensorflow_server", &[]);
    assert!(said.contains("the trace of the inverse is 0.700"), "{said}");
    assert!(said.contains("[[-0.1100, 0.1400], [0.0700, -0.1800]]"), "{said}");
}

/// Stops a process that would serve for ever.
struct Task(Child);

impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn four_tasks() {
    // Ports are held until all are known, so that they differ.
    let listeners: Vec<TcpListener> =
        (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let hosts: Vec<String> = listeners
        .iter()
        .map(|listener| format!("127.0.0.1:{}", listener.local_addr().unwrap().port()))
        .collect();
    drop(listeners);
    let cluster =
        [format!("--ps={},{}", hosts[0], hosts[1]), format!("--worker={},{}", hosts[2], hosts[3])];
    let start = |job: &str, index: usize| {
        let task = [format!("--job_name={job}"), format!("--task_index={index}")];
        let child = program("four_tasks").args(task).args(&cluster).stdout(Stdio::piped()).spawn();
        Task(child.unwrap())
    };
    let _servers = [start("ps", 0), start("ps", 1)];
    let mut workers = [start("worker", 1), start("worker", 0)];
    for worker in &mut workers {
        let said = BufReader::new(worker.0.stdout.take().unwrap());
        let lines: Vec<String> = said.lines().map(Result::unwrap).collect();
        assert!(worker.0.wait().unwrap().success(), "{lines:?}");
        let last = lines.last().unwrap();
        assert!(last.contains("after 200 steps of all workers"), "{lines:?}");
    }
}

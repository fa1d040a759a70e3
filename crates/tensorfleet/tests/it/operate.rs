//! What an operator sees of a task, and how it is drained and stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

fn tensorfleet(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorfleet"));
    command.args(arguments).env_remove("TF_CONFIG").env_remove("TENSORFLEET_LOG");
    command.env_remove("TF_CPP_MIN_LOG_LEVEL");
    command
}

/// Runs a command and returns its exit code and what it wrote.
fn run(arguments: &[&str]) -> (i32, String) {
    let output = tensorfleet(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// A server that ends with the test.
struct Server {
    process: Child,
    log: BufReader<ChildStderr>,
    target: String,
    http: String,
}

impl Server {
    /// Starts a worker whose parameter server is nowhere.
    fn start() -> Server {
        let mut command = tensorfleet(&[
            "serve",
            "--worker=127.0.0.1:0",
            "--ps=127.0.0.1:1",
            "--job_name=worker",
            "--http=0",
            "--log-format=json",
            "--grace=1",
        ]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let entry: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(entry["level"], "INFO");
        let message = entry["message"].as_str().unwrap();
        let http =
            message.strip_prefix("dashboard, metrics and status at http://").unwrap().to_owned();
        let mut target = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut target).unwrap();
        Server { process, log, target: target.trim().to_owned(), http }
    }

    fn get(&self, request: &str) -> String {
        self.get_with(request, "")
    }

    /// Asks with one more header.
    fn get_with(&self, request: &str, header: &str) -> String {
        let mut connection = TcpStream::connect(&self.http).unwrap();
        let request = format!("{request} HTTP/1.1\r\nHost: x\r\n{header}\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn a_task_is_seen_drained_and_stopped() {
    let mut server = Server::start();
    let (code, table) = run(&["status", &server.target]);
    assert_eq!(code, 1, "the parameter server is missing");
    assert!(table.starts_with("TASK "), "{table}");
    assert!(table.contains("worker/0  serving"), "{table}");
    assert!(table.contains("ps/0      unreachable"), "{table}");

    let (_, json) = run(&["status", "-o", "json", &server.target]);
    let tasks: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(tasks[1]["task"], "/job:worker/replica:0/task:0");
    assert_eq!(tasks[1]["work"]["step"]["running"], 0);
    assert_eq!(tasks[0]["state"], "unreachable");
    assert_eq!(tasks[1]["peers"][0]["task"], "/job:ps/replica:0/task:0");
    assert_eq!(tasks[1]["peers"][0]["state"], "unused");
    assert_eq!(tasks[1]["steps"], serde_json::json!([]));
    assert!(tasks[1]["memory"]["resident"].as_u64().unwrap() > 0);
    let (_, yaml) = run(&["status", "-o", "yaml", &server.target]);
    assert!(yaml.contains("\"state\": \"serving\""), "{yaml}");

    let metrics = server.get("GET /metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    assert!(metrics.contains("\ntensorfleet_ready 1\n"), "{metrics}");
    assert!(metrics.contains("\ntensorfleet_work_total{kind=\"step\"} 0\n"), "{metrics}");
    let open = server.get_with("GET /metrics", "Accept: application/openmetrics-text\r\n");
    assert!(open.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(open.contains("# TYPE tensorfleet_work counter"), "{open}");
    assert!(open.ends_with("# EOF\n"), "{open}");
    assert!(server.get("GET /healthz").starts_with("HTTP/1.1 200"));
    assert!(server.get("GET /readyz").starts_with("HTTP/1.1 200"));
    assert!(server.get("GET /statusz").contains("\"state\":\"serving\""));
    assert!(server.get("GET /nothing").starts_with("HTTP/1.1 404"));
    assert!(server.get("POST /statusz").starts_with("HTTP/1.1 405"));

    assert_eq!(run(&["drain", &server.target]).0, 0);
    assert!(server.get("GET /healthz").starts_with("HTTP/1.1 200"));
    assert!(server.get("GET /readyz").starts_with("HTTP/1.1 503"));
    assert!(server.get("GET /statusz").contains("\"kind\":\"drain\""));
    let (code, _) = run(&["stop", "--all", "--grace=1", &server.target]);
    assert!(code >= 128, "the parameter server is missing, and the others are told all the same");
    assert!(server.process.wait().unwrap().success());
    // Every line of the log is an object.
    for line in server.log.by_ref().lines() {
        serde_json::from_str::<Value>(&line.unwrap()).unwrap();
    }
}

#[test]
fn what_cannot_be_asked_is_said() {
    let (code, output) = run(&["status"]);
    assert_eq!(code, 1);
    assert!(output.starts_with("ERROR 3 no cluster given"), "{output}");
    let (code, output) = run(&["stop", "127.0.0.1:1"]);
    assert!(code >= 128, "another try may help");
    assert!(output.starts_with("ERROR 14 127.0.0.1:1: "), "{output}");
}

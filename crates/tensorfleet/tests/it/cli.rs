//! The binary as other programs see it: what it prints, and how it ends.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

fn tensorfleet(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorfleet"));
    command.args(arguments).env_remove("TF_CONFIG").env_remove("TENSORFLEET_LOG");
    command
}

fn run(arguments: &[&str]) -> (Output, String, String) {
    let output = tensorfleet(arguments).output().unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    (output, stdout, stderr)
}

/// A server that ends with the test.
struct Server {
    process: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut command = tensorfleet(arguments);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Server { process, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[track_caller]
fn check_failure(arguments: &[&str], answer: &str, is_permanent: bool) {
    let (output, stdout, stderr) = run(arguments);
    assert!(stdout.starts_with(answer), "{stdout}");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let code = output.status.code().unwrap();
    assert!(code > 0 && (code < 128) == is_permanent, "{code}");
}

#[test]
fn failures_are_one_line_and_a_code() {
    check_failure(&["serve"], "ERROR 3 no cluster given", true);
    check_failure(&["serve", "--wrker=a:1"], "ERROR 3 unexpected argument '--wrker'", true);
    check_failure(&["serve", "--worker=a"], "ERROR 3 --worker: address `a` has no port", true);
    check_failure(&["serve", "no-such-file.pb"], "ERROR 5 cannot read `no-such-file.pb`", true);
}

#[test]
fn a_taken_port_may_be_free_later() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let answer = format!("ERROR 2 Could not start gRPC server: port {port} of 127.0.0.1 is taken");
    check_failure(&["serve", &format!("--worker=127.0.0.1:{port}")], &answer, false);
}

#[test]
fn help_is_for_people() {
    let (output, stdout, stderr) = run(&["serve", "--help"]);
    assert!(output.status.success());
    assert!(stdout.contains("--ps_hosts") || stdout.contains("--ps "), "{stdout}");
    assert_eq!(stderr, "");
}

#[test]
fn a_server_says_where_it_serves_and_stops_when_asked() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(&["serve", "--worker=127.0.0.1:0"]);
        let target = server.line();
        let address = target.strip_prefix("grpc://").unwrap();
        assert!(address.starts_with("127.0.0.1:") && !address.ends_with(":0"), "{target}");
        TcpStream::connect(address).unwrap();
        server.signal(signal);
        assert!(server.process.wait().unwrap().success());
        let mut rest = String::new();
        server.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        // The port is free again.
        drop(TcpListener::bind(address).unwrap());
    }
}

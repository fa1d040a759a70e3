//! The life of a task: what its supervisor hears, what it reads again, and why it ends by itself.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

fn tensorfleet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorfleet"));
    for variable in ["TF_CONFIG", "TENSORFLEET_LOG", "TF_CPP_MIN_LOG_LEVEL", "NOTIFY_SOCKET"] {
        command.env_remove(variable);
    }
    command
}

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("tensorfleet-serving-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A task that ends with the test.
struct Task {
    process: Child,
    log: BufReader<ChildStderr>,
}

impl Task {
    fn start(command: &mut Command) -> Task {
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(process.stderr.take().unwrap());
        Task { process, log }
    }

    /// Reads the log up to a line that has these words.
    fn until(&mut self, words: &str) -> String {
        let mut read = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "no {words:?} in\n{read}");
            if line.contains(words) {
                return line;
            }
            read += &line;
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The next thing that a supervisor hears, but for signs of life.
fn heard(socket: &UnixDatagram, but: &str) -> String {
    loop {
        let mut bytes = [0; 500];
        let length = socket.recv(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if text != but {
            return text;
        }
    }
}

#[test]
fn a_supervisor_hears_of_start_life_reload_and_end() {
    let directory = Directory::new("supervisor");
    let path = directory.0.join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = tensorfleet();
    command.args(["serve", "--worker=127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "30000");
    let mut task = Task::start(&mut command);
    let ready = heard(&socket, "WATCHDOG=1");
    assert!(ready.starts_with("READY=1\nSTATUS=Serving /job:worker"), "{ready}");
    assert_eq!(heard(&socket, ""), "WATCHDOG=1");
    task.signal("HUP");
    assert_eq!(heard(&socket, "WATCHDOG=1"), "RELOADING=1");
    assert_eq!(heard(&socket, "WATCHDOG=1"), "READY=1");
    task.signal("TERM");
    assert!(heard(&socket, "WATCHDOG=1").starts_with("STOPPING=1"));
    assert_eq!(task.exit_code(), Some(0));
}

#[test]
fn a_configuration_is_read_again_while_the_task_serves() {
    let directory = Directory::new("reload");
    let text = "worker = [\"127.0.0.1:0\"]\ngrace = 2\n";
    let path = directory.write("task.toml", text);
    let mut command = tensorfleet();
    command.arg("serve").arg("--config").arg(&path);
    let mut task = Task::start(&mut command);
    task.until("Started server");
    directory.write("task.toml", &format!("{text}slow_step = 0.5\nhttp = 1\n"));
    task.signal("HUP");
    assert!(task.until("WARN").contains("http is 1 now, which takes a restart"));
    assert!(task.until("read the configuration again").contains("slow_step is 0.5"));
    // A mistake changes nothing.
    directory.write("task.toml", "gracee = 3");
    task.signal("HUP");
    let refused = task.until("ERROR");
    assert!(refused.contains("the configuration stays as it was"), "{refused}");
    assert!(refused.contains("`grace` is one"), "{refused}");
    // What the log is told not to tell is not told.
    directory.write("task.toml", &format!("{text}log = \"error\"\n"));
    task.signal("HUP");
    directory.write("task.toml", "gracee = 4");
    task.signal("HUP");
    let mut line = String::new();
    task.log.read_line(&mut line).unwrap();
    assert!(line.contains("the configuration stays as it was"), "{line}");
    task.signal("TERM");
    assert_eq!(task.exit_code(), Some(0));
}

#[test]
fn the_configuration_is_shown_and_not_run() {
    let directory = Directory::new("print");
    let path = directory.write("task.toml", "ps = [\"127.0.0.1:0\"]\n");
    let mut command = tensorfleet();
    command.args(["serve", "--print-config", "--grace=3"]).env("TENSORFLEET_HTTP", "9100");
    command.env("TENSORFLEET_CONFIG", &path);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let origin = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        line.rsplit_once("# ").unwrap().1.to_owned()
    };
    assert_eq!(origin("grace"), "flag");
    assert_eq!(origin("http"), "TENSORFLEET_HTTP");
    assert_eq!(origin("ps"), format!("{}:1", path.display()));
    assert_eq!(origin("session_timeout"), "default");
}

#[test]
fn a_task_that_nobody_uses_ends() {
    let mut command = tensorfleet();
    let mut task =
        Task::start(command.args(["serve", "--worker=localhost:0", "--exit-when-idle=1"]));
    task.until("nobody has used this task");
    assert_eq!(task.exit_code(), Some(0));
}

#[test]
fn a_task_ends_when_its_chief_is_gone() {
    let chief = TcpListener::bind("127.0.0.1:0").unwrap();
    let cluster = format!(
        "--cluster={{\"chief\": [\"{}\"], \"ps\": [\"127.0.0.1:0\"]}}",
        chief.local_addr().unwrap()
    );
    let mut command = tensorfleet();
    let arguments = ["serve", &cluster, "--job_name=ps", "--exit_with_chief=0"];
    let mut task = Task::start(command.args(arguments));
    task.until("the chief answers");
    drop(chief);
    task.until("is gone: this task ends");
    assert_eq!(task.exit_code(), Some(0));
}

#[test]
fn a_file_that_is_missing_is_named() {
    let mut command = tensorfleet();
    let path = Path::new("/no/such/task.toml");
    let output = command.arg("serve").arg("--config").arg(path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("cannot read `/no/such/task.toml`"), "{text}");
}

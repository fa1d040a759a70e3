//! `tensorfleet launch`: a cluster of processes on this machine, for as long as a program runs.
//!
//! One thread waits for each process, one for signals; all that happens comes to the one that
//! decides, as an `Event`.

mod output;
mod tasks;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tensorfleet_tensor::{Result, not_found, unavailable};
use tokio::signal::unix::{SignalKind, signal};

use output::Label;
use tasks::Process;

const SIGTERM: i32 = Signal::SIGTERM as i32;

/// A cluster to be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    pub workers: u32,
    pub ps: u32,
    pub chief: bool,
    pub evaluator: bool,
    /// Whether workers are servers of ours too, and one program, the chief, drives them.
    pub client: bool,
    /// Whether programs get `--job_name`, `--task_index` and the lists of hosts.
    pub flags: bool,
    pub max_restarts: u32,
    pub grace: Duration,
    pub program: Vec<String>,
}

/// What a launched cluster tells the one thread that decides.
#[derive(Debug)]
enum Event {
    /// The process of a task ended.
    Ended(usize, ExitStatus),
    /// Somebody wants all of it to end.
    Signal(Signal),
}

/// A process that was started, and how often.
#[derive(Debug)]
struct Started {
    process: Process,
    label: Label,
    pid: Option<Pid>,
    restarts: u32,
    /// How its last process ended, in words.
    end: String,
}

/// Runs the cluster until its programs have ended, and returns the exit code. `own` is the command
/// that starts this program.
pub fn run(launch: &Launch, own: &[String]) -> Result<u8> {
    let processes = tasks::processes(launch, own)?;
    let name = |process: &Process| format!("{}/{}", process.task.job, process.task.index);
    let width = processes.iter().map(|process| name(process).len()).max().unwrap_or(0);
    let started = processes.into_iter().enumerate().map(|(position, process)| Started {
        label: Label::new(&name(&process), width, position),
        process,
        pid: None,
        restarts: 0,
        end: "never started".to_owned(),
    });
    let (sender, events) = mpsc::channel();
    let mut cluster = Cluster { started: started.collect(), sender, launch, failure: None };
    forward_signals(&cluster.sender)?;
    for index in 0..cluster.started.len() {
        if let Err(error) = cluster.start(index) {
            cluster.end(&events, Signal::SIGTERM);
            return Err(error);
        }
    }
    cluster.watch(&events);
    cluster.summarise();
    Ok(cluster.failure.map_or(0, exit_code))
}

#[derive(Debug)]
struct Cluster<'a> {
    started: Vec<Started>,
    sender: Sender<Event>,
    launch: &'a Launch,
    /// How the first process that failed for good ended.
    failure: Option<ExitStatus>,
}

impl Cluster<'_> {
    fn start(&mut self, index: usize) -> Result<()> {
        let started = &mut self.started[index];
        let [program, arguments @ ..] = started.process.arguments.as_slice() else {
            return Err(not_found!("no program is given; see `tensorfleet launch --help`"));
        };
        let spawned = Command::new(program)
            .args(arguments)
            .envs(started.process.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C reaches only this process, which passes it on once.
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => not_found!("there is no program `{program}`"),
            _ => unavailable!("`{program}` cannot be started: {error}"),
        })?;
        started.pid = i32::try_from(child.id()).ok().map(Pid::from_raw);
        let readers = [
            child.stdout.take().map(|source| started.label.pass_on(source)),
            child.stderr.take().map(|source| started.label.pass_on(source)),
        ];
        let sender = self.sender.clone();
        thread::spawn(move || {
            let status = wait(&mut child);
            // What the process wrote comes before the news of its end.
            for reader in readers.into_iter().flatten() {
                drop(reader.join());
            }
            drop(sender.send(Event::Ended(index, status)));
        });
        Ok(())
    }

    /// Waits until the programs have ended, restarting what fails, and ends the rest.
    fn watch(&mut self, events: &Receiver<Event>) {
        while self.started.iter().any(|started| !started.process.serves && started.pid.is_some()) {
            match events.recv() {
                Ok(Event::Ended(index, status)) => {
                    self.ended(index, status);
                    if self.failure.is_some() {
                        break;
                    }
                }
                Ok(Event::Signal(signal)) => return self.end(events, signal),
                Err(_) => break,
            }
        }
        self.end(events, Signal::SIGTERM);
    }

    fn ended(&mut self, index: usize, status: ExitStatus) {
        let restarts: u32 = self.started.iter().map(|started| started.restarts).sum();
        let started = &mut self.started[index];
        started.pid = None;
        started.end = status.to_string();
        // A server ends before it is told to only when something is wrong.
        if status.success() && !started.process.serves {
            return;
        }
        if restarts < self.launch.max_restarts {
            let left = self.launch.max_restarts - restarts - 1;
            started.label.write(format!("{status}; restarted, {left} restarts left").as_bytes());
            started.restarts += 1;
            match self.start(index) {
                Ok(()) => return,
                Err(error) => self.started[index].label.write(error.message().as_bytes()),
            }
        } else {
            started.label.write(format!("{status}; ending the cluster").as_bytes());
        }
        self.failure.get_or_insert(status);
    }

    /// Tells all processes to end, and makes them after the time of grace or at a second signal.
    fn end(&mut self, events: &Receiver<Event>, how: Signal) {
        self.tell(how);
        let deadline = Instant::now() + self.launch.grace;
        while self.started.iter().any(|started| started.pid.is_some()) {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(index, status)) => {
                    let started = &mut self.started[index];
                    started.pid = None;
                    // A server may be told to end before it can handle the signal.
                    let stopped = status.success() || status.signal() == Some(SIGTERM);
                    started.end = if started.process.serves && stopped {
                        "stopped".to_owned()
                    } else {
                        status.to_string()
                    };
                }
                Ok(Event::Signal(_)) | Err(RecvTimeoutError::Timeout) => {
                    self.tell(Signal::SIGKILL);
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn tell(&self, signal: Signal) {
        for pid in self.started.iter().filter_map(|started| started.pid) {
            // One that has ended meanwhile need not be told.
            let _ = kill(pid, signal);
        }
    }

    fn summarise(&self) {
        for started in &self.started {
            let kind = if started.process.serves { "server" } else { "program" };
            let line = format!("{kind}: {}, {} restarts", started.end, started.restarts);
            started.label.write(line.as_bytes());
        }
    }
}

/// A child whose end cannot be waited for counts as one that failed.
fn wait(child: &mut Child) -> ExitStatus {
    child.wait().unwrap_or_else(|_| ExitStatus::from_raw(1 << 8))
}

/// The exit code that a shell would show.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn forward_signals(sender: &Sender<Event>) -> Result<()> {
    let failed = |error| unavailable!("signals cannot be waited for: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let sender = sender.clone();
    let (mut interrupt, mut terminate) = {
        let _runtime = runtime.enter();
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        (interrupt, signal(SignalKind::terminate()).map_err(failed)?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let came = tokio::select! {
                    _ = interrupt.recv() => Signal::SIGINT,
                    _ = terminate.recv() => Signal::SIGTERM,
                };
                if sender.send(Event::Signal(came)).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}

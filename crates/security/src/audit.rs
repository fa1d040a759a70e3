//! The audit log: who did what, in a file that shows when it was changed afterwards.
//!
//! A line is a JSON object. It holds the hash of the line before, and ends with a hash of itself, so a
//! line that is changed, taken out or put in breaks the chain. What is cut off at the end is seen by
//! whoever has kept the last hash, which `tensorfleet audit verify` prints.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use tensorfleet_tensor::{Code, Error, Result, data_loss};
use tensorfleet_transport::{Identity, Peer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What stands between a line and its hash.
const HASH: &str = ",\"hash\":\"";

/// What comes before the first line.
const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Lines longer than this are not ours.
const LONGEST: usize = 64 << 10;

/// How long a text of a client may be.
const LONGEST_TEXT: usize = 1000;

/// What is written down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record<'a> {
    /// What kind of thing it is, as `call`, `refused` or `credentials`.
    pub event: &'a str,
    pub who: Option<&'a Identity>,
    pub from: Option<Peer>,
    /// What was done: a method, or a file.
    pub what: &'a str,
    /// `OK`, or a code and the words of a refusal.
    pub outcome: &'a str,
    pub took: Option<Duration>,
    /// How many bytes came, and went.
    pub bytes: Option<(usize, usize)>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    seq: u64,
    time: String,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    what: String,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes_in: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes_out: Option<usize>,
    prev: String,
}

/// An audit log that is written to.
#[derive(Debug)]
pub struct Audit {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    last: String,
    seq: u64,
    /// Whether a failure to write has been told.
    is_broken: bool,
}

/// What was found in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub lines: u64,
    /// The hash of the last line.
    pub last: String,
}

impl Audit {
    /// Opens a log, readable by its owner alone, and goes on behind what is in it, which must be whole. A
    /// last line that was not finished, as when the machine stopped, is cut off.
    pub fn open(path: &Path) -> Result<Arc<Audit>> {
        let failed = |error: io::Error| {
            Error::new(Code::FailedPrecondition, format!("audit log {}: {error}", path.display()))
        };
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        let (found, whole) = follow(&mut BufReader::new(&file), &path.display().to_string(), true)?;
        file.set_len(whole).map_err(failed)?;
        let Verified { lines, last } = found;
        let state = State { file, last, seq: lines, is_broken: false };
        Ok(Arc::new(Audit { state: Mutex::new(state) }))
    }

    /// Writes something down. That it cannot is told in the log of the server.
    pub fn record(&self, record: Record<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = state.write(record, SystemTime::now());
        match &written {
            Err(error) if !state.is_broken => {
                tracing::error!("the audit log cannot be written: {error}");
            }
            _ => {}
        }
        state.is_broken = written.is_err();
    }
}

impl State {
    fn write(&mut self, record: Record<'_>, now: SystemTime) -> io::Result<()> {
        let Record { event, who, from, what, outcome, took, bytes } = record;
        let time = OffsetDateTime::from(now).format(&Rfc3339).map_err(io::Error::other)?;
        let line = Line {
            seq: self.seq,
            time,
            event: event.to_owned(),
            who: who.map(|who| shortened(&who.name)),
            role: who.map(|who| who.role.to_string()),
            from: from.map(|from| from.to_string()),
            what: shortened(what),
            outcome: shortened(outcome),
            took_us: took.map(|took| took.as_micros() as u64),
            bytes_in: bytes.map(|(came, _)| came),
            bytes_out: bytes.map(|(_, went)| went),
            prev: self.last.clone(),
        };
        let text = serde_json::to_string(&line).map_err(io::Error::other)?;
        let body = text.strip_suffix('}').unwrap_or(&text);
        let hash = hash(body);
        self.file.write_all(format!("{body}{HASH}{hash}\"}}\n").as_bytes())?;
        (self.seq, self.last) = (self.seq + 1, hash);
        Ok(())
    }
}

/// Follows the chain of a log from its beginning to its end.
pub fn verify(path: &Path) -> Result<Verified> {
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| Error::new(Code::NotFound, format!("{name}: {error}")))?;
    follow(&mut BufReader::new(file), &name, false).map(|(found, _)| found)
}

/// Also says how many bytes the lines have that are whole.
fn follow(lines: &mut impl BufRead, name: &str, may_be_torn: bool) -> Result<(Verified, u64)> {
    let mut found = Verified { lines: 0, last: START.to_owned() };
    let mut whole = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let number = found.lines + 1;
        let broken = |why: &str| data_loss!("{name}: line {number} {why}");
        let read = io::Read::take(&mut *lines, LONGEST as u64).read_until(b'\n', &mut line);
        match read.map_err(|error| broken(&error.to_string()))? {
            0 => return Ok((found, whole)),
            len => {
                let Some(text) = line.strip_suffix(b"\n") else {
                    if may_be_torn && len < LONGEST {
                        return Ok((found, whole));
                    }
                    return Err(broken("is not finished"));
                };
                let text = std::str::from_utf8(text).map_err(|_| broken("is no text"))?;
                found.last = check(text, &found).map_err(broken)?;
                found.lines = number;
                whole += len as u64;
            }
        }
    }
}

/// Checks a line against the one before, and returns its hash.
fn check(text: &str, before: &Verified) -> std::result::Result<String, &'static str> {
    let (body, rest) = text.rsplit_once(HASH).ok_or("has no hash")?;
    let said = rest.strip_suffix("\"}").ok_or("has no hash")?;
    if said != hash(body) {
        return Err("was changed: its hash is not that of what it says");
    }
    let line: Line = serde_json::from_str(text).map_err(|_| "is not of an audit log")?;
    if line.prev != before.last || line.seq != before.lines {
        return Err("does not follow the one before: lines were taken out or put in");
    }
    Ok(said.to_owned())
}

fn hash(body: &str) -> String {
    digest(&SHA256, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    fn written(count: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let audit = Audit::open(&path).unwrap();
        let alice = Identity::new("alice\"\n{}", Role::Trainer);
        for _ in 0..count {
            audit.record(Record {
                event: "call",
                who: Some(&alice),
                from: Some(Peer::Inside),
                what: "/x\n{\"forged\":1}",
                outcome: "OK",
                took: Some(Duration::from_micros(5)),
                bytes: Some((1, 2)),
            });
        }
        (directory, path)
    }

    #[test]
    fn a_log_goes_on_where_it_ended_and_is_whole() {
        let (_directory, path) = written(3);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("\"role\":\"trainer\"") && text.contains("\"took_us\":5"), "{text}");
        let before = verify(&path).unwrap();
        assert_eq!(before.lines, 3);
        // A line that was being written when the machine stopped.
        std::fs::write(&path, format!("{text}{{\"seq\":3,")).unwrap();
        assert!(verify(&path).is_err());
        let audit = Audit::open(&path).unwrap();
        assert!(Audit::open(&path).is_err(), "two write to one file");
        audit.record(Record {
            event: "credentials",
            what: "tokens",
            outcome: "OK",
            ..Record::default()
        });
        let after = verify(&path).unwrap();
        assert_eq!(after.lines, 4);
        assert_ne!(after.last, before.last);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn changes_are_found() {
        let (_directory, path) = written(4);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let with = |lines: Vec<String>| {
            std::fs::write(&path, lines.join("\n") + "\n").unwrap();
            verify(&path).map_err(|error| error.message().to_owned())
        };
        let all = || lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert!(with(all()).is_ok());
        let mut changed = all();
        changed[1] = changed[1].replace("trainer", "admin");
        assert!(with(changed).unwrap_err().contains("line 2 was changed"));
        let mut without = all();
        without.remove(2);
        assert!(with(without).unwrap_err().contains("line 3 does not follow"));
        let mut twice = all();
        twice.insert(1, lines[0].to_owned());
        assert!(with(twice).unwrap_err().contains("line 2 does not follow"));
        let mut swapped = all();
        swapped.swap(1, 2);
        assert!(with(swapped).unwrap_err().contains("line 2 does not follow"));
        let mut forged = all();
        forged[0] = "{}".to_owned();
        assert!(with(forged.clone()).unwrap_err().contains("line 1 has no hash"));
        assert!(Audit::open(&path).is_err(), "nobody goes on behind a broken chain");
    }
}

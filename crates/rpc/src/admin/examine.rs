//! What a task finds out for an operator before there is training: whether it reaches the other tasks, what
//! its clock says, and what its machine and its directories are.
//!
//! It only tells; what that means is judged by whoever compares what all tasks tell.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use rustix::fs::{Access, access};
use serde_json::{Value, json};

use super::fleet::{Fleet, Member, read};

/// How many directories are looked at.
const PATHS: usize = 16;

/// How long a file system has to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Variables by which programs are sent through a proxy; gRPC in TensorFlow's clients follows them.
const PROXIES: [&str; 6] =
    ["grpc_proxy", "https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];

impl Fleet {
    /// Looks around for an operator who names some directories, and tells it as JSON.
    pub(crate) async fn examine(&self, paths: &[String]) -> String {
        let others = self.tasks.iter().filter(|member| !member.is_own);
        let reached = join_all(others.map(|member| self.reach(member)));
        let paths = join_all(paths.iter().take(PATHS).map(|path| look_at(path.clone())));
        let (reached, paths) = tokio::join!(reached, paths);
        let status = read(&self.own.json()).unwrap_or_default();
        let expiry = self.credentials.as_ref().and_then(|credentials| credentials.expiry());
        let kernel = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let proxies = PROXIES.iter().filter(|name| std::env::var_os(name).is_some());
        json!({
            "task": status["task"],
            "version": status["version"],
            "cluster": status["cluster"],
            "at_seconds": since_1970(SystemTime::now()),
            "host": kernel("hostname"),
            "machine": kernel("random/boot_id"),
            "tls": self.credentials.is_some(),
            "certificate_expires_seconds": expiry.map(since_1970),
            "proxies": proxies.collect::<Vec<_>>(),
            "peers": reached,
            "paths": paths,
        })
        .to_string()
    }

    /// Who answers at the address of another task.
    async fn reach(&self, member: &Member) -> Value {
        let begun = Instant::now();
        let answer = match self.client(member) {
            Ok(client) => client.status().await,
            Err(error) => Err(error),
        };
        let found = answer.and_then(|text| read(&text));
        json!({
            "task": member.task,
            "address": member.address,
            "answered_by": found.as_ref().ok().map(|status| status["task"].clone()),
            "code": found.as_ref().err().map(|error| error.code().name()),
            "error": found.as_ref().err().map(|error| error.message()),
            "round_trip_seconds": begun.elapsed().as_secs_f64(),
        })
    }
}

fn since_1970(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Looks at a directory, on a thread that may wait for a file system that does not answer.
async fn look_at(path: String) -> Value {
    let looked_at = path.clone();
    let looking = tokio::task::spawn_blocking(move || directory(&looked_at));
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(Ok(found)) => found,
        _ => json!({"path": path, "error": "its file system does not answer"}),
    }
}

/// Two tasks that tell the same number and the same time of the last change see one directory.
fn directory(path: &str) -> Value {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) => return json!({"path": path, "error": error.to_string()}),
    };
    let (kind, source) = mounted_at(Path::new(path)).unwrap_or_default();
    json!({
        "path": path,
        "is_directory": found.is_dir(),
        "is_writable": access(path, Access::WRITE_OK).is_ok(),
        "number": found.ino().to_string(),
        "changed": format!("{}.{:09}", found.ctime(), found.ctime_nsec()),
        "file_system": kind,
        "source": source,
    })
}

/// The kind of the file system that a path is on, and what it is mounted from.
fn mounted_at(path: &Path) -> Option<(String, String)> {
    let path = path.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let (place, device) = line.split_once(" - ")?;
        let point = place.split(' ').nth(4)?;
        let mut device = device.split(' ');
        let found = (device.next()?.to_owned(), device.next()?.to_owned());
        path.starts_with(point).then_some((point.len(), found))
    });
    // Later lines are mounted over earlier ones.
    mounts.max_by_key(|(length, _)| *length).map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_known_by_number_and_time() {
        let directory_of = |path: &str| directory(path);
        let here = std::env::temp_dir();
        let one = directory_of(here.to_str().unwrap());
        assert_eq!(one["is_directory"], true);
        assert_eq!(one["number"], directory_of(here.to_str().unwrap())["number"]);
        assert_ne!(one["file_system"], "");
        let missing = directory_of("/no/such/directory");
        assert!(missing["error"].as_str().unwrap().contains("No such file"), "{missing}");
    }
}

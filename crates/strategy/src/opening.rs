//! Opening the sessions of all workers at once, so that all who are missing are known together.

use std::thread;

use tensorfleet_client::{Code, Error, Graph, Result, Session, SessionOptions};

/// A worker that has no session yet.
pub(crate) struct Place {
    pub(crate) task: u32,
    pub(crate) target: String,
    pub(crate) graph: Graph,
    pub(crate) options: SessionOptions,
}

impl Place {
    pub(crate) fn connect(&self) -> Result<Session> {
        Session::connect_with(&self.target, &self.graph, &self.options)
    }
}

/// The name of a worker.
pub(crate) fn device_of(task: u32) -> String {
    format!("/job:worker/task:{task}")
}

/// Opens a session at each place, all at the same time. The error has what is wrong with each.
pub(crate) fn all_at_once(places: &[Place]) -> Result<Vec<Session>> {
    let outcomes: Vec<Result<Session>> = thread::scope(|scope| {
        let threads: Vec<_> = places.iter().map(|place| scope.spawn(|| place.connect())).collect();
        let panicked = |_| Err(Error::new(Code::Internal, "opening a session panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut failures = Vec::new();
    let mut sessions = Vec::new();
    for (place, outcome) in places.iter().zip(outcomes) {
        match outcome {
            Ok(session) => sessions.push(session),
            Err(error) => {
                failures.push((format!("{} ({})", device_of(place.task), place.target), error));
            }
        }
    }
    match &failures[..] {
        [] => Ok(sessions),
        failures => Err(together(failures)),
    }
}

/// One error that has all.
fn together(failures: &[(String, Error)]) -> Error {
    // Another try helps against an absence, but not against a mistake.
    let is_absence = |code: Code| matches!(code, Code::Unavailable | Code::DeadlineExceeded);
    let mut codes = failures.iter().map(|(_, error)| error.code());
    let code = codes.find(|&code| !is_absence(code)).unwrap_or(failures[0].1.code());
    let list: Vec<String> =
        failures.iter().map(|(name, error)| format!("{name}: {}", error.message())).collect();
    Error::new(code, format!("{} workers cannot be used:\n  {}", failures.len(), list.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_named_and_a_mistake_wins_over_an_absence() {
        let gone = ("/job:worker/task:0".to_owned(), Error::new(Code::Unavailable, "refused"));
        let wrong = ("/job:worker/task:1".to_owned(), Error::new(Code::InvalidArgument, "no such"));
        let error = together(&[gone.clone(), wrong]);
        assert_eq!(error.code(), Code::InvalidArgument);
        let lines: Vec<&str> = error.message().lines().collect();
        assert_eq!(lines[1..], ["  /job:worker/task:0: refused", "  /job:worker/task:1: no such"]);
        assert_eq!(together(&[gone]).code(), Code::Unavailable);
    }
}

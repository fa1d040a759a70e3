//! Who was lost, told by what a step says.

use std::fmt;

use tensorfleet_client::{Code, Error};

/// A task of the cluster that was lost, and how that showed.
///
/// ```
/// use tensorfleet_client::{Code, Error};
/// use tensorfleet_strategy::{Coordinator, Loss, Lost, Mode, OnLoss};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let coordinator = Coordinator::new(vec!["a", "b"], Mode::Bounded(0), OnLoss::GoOn)?;
/// for _ in 0..4 {
///     drop(coordinator.schedule(|name: &mut &str| match *name {
///         "b" => Err(Error::new(Code::Unavailable, "gone")),
///         _ => Ok(()),
///     }));
/// }
/// coordinator.join()?;
/// let Loss { worker, lost, error } = &coordinator.losses()[0];
/// assert_eq!((*worker, lost, error.message()), (1, &Lost::Worker, "gone"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Loss {
    /// The number of the worker that was lost, or that has missed a parameter server.
    pub worker: usize,
    /// Who was lost.
    pub lost: Lost,
    /// What the worker's task returned.
    pub error: Error,
}

/// Whether it was a worker that was lost, without which the others go on, or a parameter server,
/// whose variables all of them need.
///
/// ```
/// use tensorfleet_client::{Code, Error};
/// use tensorfleet_strategy::Lost;
///
/// let error = Error::new(Code::Unavailable, "/job:ps/replica:0/task:1 at b:2222: it is gone");
/// assert_eq!(Lost::of(&error), Some(Lost::ParameterServer("/job:ps/replica:0/task:1".to_owned())));
/// let error = Error::new(Code::Unavailable, "the server at a:2222 cannot be reached");
/// assert_eq!(Lost::of(&error), Some(Lost::Worker));
/// assert_eq!(Lost::of(&Error::new(Code::NotFound, "no such file")), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The worker itself.
    Worker,
    /// The task of this name in the job `ps`.
    ParameterServer(String),
}

impl Lost {
    /// What an error of a worker's step says. As in TensorFlow, `UNAVAILABLE` and `ABORTED` are
    /// losses, and who is lost is in the words.
    ///
    /// As in the example of [`Lost`].
    pub fn of(error: &Error) -> Option<Lost> {
        if !matches!(error.code(), Code::Unavailable | Code::Aborted) {
            return None;
        }
        Some(match parameter_server(error.message()) {
            Some(name) => Lost::ParameterServer(name),
            None => Lost::Worker,
        })
    }
}

/// The first task of the job `ps` that a text names.
fn parameter_server(text: &str) -> Option<String> {
    let from = &text[text.find("/job:ps/")?..];
    let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || "/:_".contains(c)));
    let name = &from[..end.unwrap_or(from.len())];
    // The task, without its device and without a colon that belongs to the sentence.
    let name = name.split("/device:").next().unwrap_or(name);
    Some(name.trim_end_matches(':').to_owned())
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Loss { worker, lost, error } = self;
        match lost {
            Lost::Worker => write!(f, "worker {worker} was lost: {error}"),
            Lost::ParameterServer(name) => {
                write!(f, "the parameter server {name} was lost, says worker {worker}: {error}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_servers_are_known_by_their_names() {
        let task = Some("/job:ps/replica:0/task:3".to_owned());
        for text in [
            "From /job:ps/replica:0/task:3:\ngone",
            "Send to /job:ps/replica:0/task:3/device:CPU:0 failed",
            "no answer (/job:ps/replica:0/task:3)",
        ] {
            assert_eq!(parameter_server(text), task, "{text}");
        }
        assert_eq!(parameter_server("/job:worker/replica:0/task:3 is gone"), None);
        assert_eq!(parameter_server("/job:psx/replica:0/task:3 is gone"), None);
    }
}

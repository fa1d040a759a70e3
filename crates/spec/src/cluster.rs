//! The tasks of a cluster and their addresses.

use std::collections::BTreeMap;
use std::fmt;

use tensorfleet_tensor::{Error, Result, invalid_argument};

/// Two names for one job: the worker that does more than the others.
pub(super) const CHIEFS: [&str; 2] = ["chief", "master"];

/// A process of its own that only reads checkpoints; no other task talks to it.
pub(super) const EVALUATOR: &str = "evaluator";

/// A task: one server process, known by its job and its number in it.
///
/// ```
/// use tensorfleet_spec::Task;
///
/// assert_eq!(Task::new("ps", 1).to_string(), "/job:ps/replica:0/task:1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    pub job: String,
    pub index: u32,
}

impl Task {
    /// The task of a job with a number.
    ///
    /// ```
    /// use tensorfleet_spec::Task;
    ///
    /// assert_eq!(Task::new("worker", 2).index, 2);
    /// ```
    pub fn new(job: impl Into<String>, index: u32) -> Task {
        Task { job: job.into(), index }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/job:{}/replica:0/task:{}", self.job, self.index)
    }
}

/// The address of every task, by job and number.
///
/// A job need not have all numbers up to its last: a worker of a sparse cluster knows only the
/// tasks that it talks to. Addresses are kept as they were given. Those that users write are
/// checked where they are read; those that peers send are theirs to choose.
///
/// ```
/// use tensorfleet_spec::ClusterSpec;
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let cluster = ClusterSpec::from_lists([
///     ("ps", vec!["ps0:2222"]),
///     ("worker", vec!["worker0:2222", "worker1:2222"]),
/// ])?;
/// assert_eq!(cluster.jobs().collect::<Vec<_>>(), ["ps", "worker"]);
/// assert_eq!(cluster.num_tasks("worker")?, 2);
/// // The same cluster from elsewhere is equal.
/// assert_eq!(ClusterSpec::from_json("cluster", &cluster.to_json())?, cluster);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSpec {
    jobs: BTreeMap<String, BTreeMap<u32, String>>,
}

impl ClusterSpec {
    /// Makes a cluster of jobs whose tasks are numbered as listed.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["a:2222", "b:2222"])])?;
    /// assert_eq!(cluster.task_address("worker", 1)?, "b:2222");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_lists<J, A>(jobs: impl IntoIterator<Item = (J, Vec<A>)>) -> Result<ClusterSpec>
    where
        J: Into<String>,
        A: Into<String>,
    {
        let mut cluster = ClusterSpec::default();
        for (job, addresses) in jobs {
            let job = job.into();
            for (index, address) in (0..).zip(addresses) {
                cluster.insert(Task::new(&job, index), address)?;
            }
        }
        Ok(cluster)
    }

    /// Makes a cluster of jobs of which only some tasks are known, by their numbers.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_maps([("worker", [(1, "host1:2222"), (3, "host3:2222")])])?;
    /// assert_eq!(cluster.task_indices("worker")?, [1, 3]);
    /// assert_eq!(cluster.task_address("worker", 3)?, "host3:2222");
    /// assert_eq!(cluster.to_json(), r#"{"worker":{"1":"host1:2222","3":"host3:2222"}}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_maps<J, A, M>(jobs: impl IntoIterator<Item = (J, M)>) -> Result<ClusterSpec>
    where
        J: Into<String>,
        A: Into<String>,
        M: IntoIterator<Item = (u32, A)>,
    {
        let mut cluster = ClusterSpec::default();
        for (job, tasks) in jobs {
            let job = job.into();
            for (index, address) in tasks {
                cluster.insert(Task::new(&job, index), address)?;
            }
        }
        Ok(cluster)
    }

    /// Adds a task. It must be new, and the job's name one that device names can hold.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let mut cluster = ClusterSpec::default();
    /// cluster.insert(Task::new("worker", 3), "d:2222")?;
    /// assert!(cluster.insert(Task::new("worker", 3), "e:2222").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert(&mut self, task: Task, address: impl Into<String>) -> Result<()> {
        if !is_job_name(&task.job) {
            return Err(invalid_argument!(
                "`{}` is not a job name: it must start with a letter, and letters, digits and \
                 underscores may follow",
                task.job
            ));
        }
        let tasks = self.jobs.entry(task.job.clone()).or_default();
        match tasks.insert(task.index, address.into()) {
            None => Ok(()),
            Some(_) => Err(invalid_argument!(
                "job `{}` has two addresses for task {}",
                task.job,
                task.index
            )),
        }
    }

    /// Whether there are no tasks.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// assert!(ClusterSpec::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns the names of the jobs in alphabetical order.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.jobs().collect::<Vec<_>>(), ["ps", "worker"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.jobs.keys().map(String::as_str)
    }

    /// Returns the tasks of a job with their addresses; none if there is no such job.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.tasks_of("ps").collect::<Vec<_>>(), [(0, "a:1")]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tasks_of(&self, job: &str) -> impl Iterator<Item = (u32, &str)> {
        let tasks = self.jobs.get(job).into_iter().flatten();
        tasks.map(|(index, address)| (*index, address.as_str()))
    }

    /// The number of tasks of a job.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.num_tasks("worker")?, 2);
    /// assert!(cluster.num_tasks("chief").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn num_tasks(&self, job: &str) -> Result<usize> {
        Ok(self.known_job(job)?.len())
    }

    /// The numbers of a job's tasks, in order.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.task_indices("worker")?, [0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn task_indices(&self, job: &str) -> Result<Vec<u32>> {
        Ok(self.known_job(job)?.keys().copied().collect())
    }

    /// The address of a task by job and number.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.task_address("worker", 1)?, "c:1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn task_address(&self, job: &str, index: u32) -> Result<&str> {
        self.address(&Task::new(job, index))
    }

    /// The addresses of a job's tasks up to the last; `None` for those that are not known.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_maps([("worker", [(1, "b:1")])])?;
    /// assert_eq!(cluster.job_tasks("worker")?, [None, Some("b:1")]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn job_tasks(&self, job: &str) -> Result<Vec<Option<&str>>> {
        let tasks = self.known_job(job)?;
        let count = tasks.keys().next_back().map_or(0, |last| last + 1);
        Ok((0..count).map(|index| tasks.get(&index).map(String::as_str)).collect())
    }

    /// The addresses by job and number.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.as_map()["worker"][&1], "c:1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn as_map(&self) -> &BTreeMap<String, BTreeMap<u32, String>> {
        &self.jobs
    }

    fn known_job(&self, job: &str) -> Result<&BTreeMap<u32, String>> {
        self.jobs.get(job).ok_or_else(|| self.no_job(job))
    }

    /// Returns all tasks with their addresses, job by job.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// let all: Vec<String> = cluster.tasks().map(|(task, at)| format!("{task} {at}")).collect();
    /// assert_eq!(all[0], "/job:ps/replica:0/task:0 a:1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn tasks(&self) -> impl Iterator<Item = (Task, &str)> {
        self.jobs().flat_map(|job| {
            self.tasks_of(job).map(move |(index, address)| (Task::new(job, index), address))
        })
    }

    /// Whether a task is one of the cluster's.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["a:1"])])?;
    /// assert!(cluster.contains(&Task::new("worker", 0)));
    /// assert!(!cluster.contains(&Task::new("worker", 1)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn contains(&self, task: &Task) -> bool {
        self.address(task).is_ok()
    }

    /// Returns the job that a user means by a name. The chief may be called by either of its.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("master", vec!["a:1"])])?;
    /// assert_eq!(cluster.resolve_job("chief")?, "master");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolve_job(&self, name: &str) -> Result<&str> {
        let find = |name: &str| self.jobs.get_key_value(name).map(|(job, _)| job.as_str());
        let is_chief = CHIEFS.contains(&name);
        let found = find(name).or_else(|| CHIEFS.into_iter().filter(|_| is_chief).find_map(find));
        match found {
            Some(job) => Ok(job),
            None if name == EVALUATOR => Err(invalid_argument!(
                "an evaluator is not part of the cluster and needs no server"
            )),
            None => Err(self.no_job(name)),
        }
    }

    /// Returns the address of a task.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.address(&Task::new("ps", 0))?, "a:1");
    /// let error = cluster.address(&Task::new("ps", 1)).unwrap_err();
    /// assert_eq!(error.message(), "job `ps` has no task 1; its tasks are 0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self, task: &Task) -> Result<&str> {
        let tasks = self.known_job(&task.job)?;
        tasks.get(&task.index).map(String::as_str).ok_or_else(|| {
            let known = join(tasks.keys().map(u32::to_string));
            invalid_argument!(
                "job `{}` has no task {}; its tasks are {known}",
                task.job,
                task.index
            )
        })
    }

    fn no_job(&self, name: &str) -> Error {
        let known = join(self.jobs().map(|job| format!("`{job}`")));
        invalid_argument!("the cluster has no job `{name}`; its jobs are {known}")
    }
}

fn join(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn is_job_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ClusterSpec {
        ClusterSpec::from_lists([("worker", vec!["a:1", "b:2"]), ("ps", vec!["c:3"])]).unwrap()
    }

    #[test]
    fn tasks_are_numbered_as_listed() {
        let tasks: Vec<String> =
            sample().tasks().map(|(task, address)| format!("{task} {address}")).collect();
        assert_eq!(
            tasks,
            [
                "/job:ps/replica:0/task:0 c:3",
                "/job:worker/replica:0/task:0 a:1",
                "/job:worker/replica:0/task:1 b:2",
            ]
        );
    }

    #[test]
    fn unknown_tasks_are_told_what_there_is() {
        let message = |task| sample().address(&task).unwrap_err().message().to_owned();
        assert_eq!(
            message(Task::new("chief", 0)),
            "the cluster has no job `chief`; its jobs are `ps`, `worker`"
        );
        assert_eq!(
            message(Task::new("worker", 2)),
            "job `worker` has no task 2; its tasks are 0, 1"
        );
    }

    #[test]
    fn jobs_may_lack_tasks() {
        let cluster = ClusterSpec::from_maps([("worker", [(0, "a:1"), (2, "c:3")])]).unwrap();
        assert_eq!(cluster.num_tasks("worker").unwrap(), 2);
        assert_eq!(cluster.job_tasks("worker").unwrap(), [Some("a:1"), None, Some("c:3")]);
        assert_eq!(cluster.as_map()["worker"][&2], "c:3");
        assert!(cluster.num_tasks("ps").is_err());
        assert_ne!(cluster, sample());
    }

    #[test]
    fn the_chief_has_two_names() {
        let cluster = ClusterSpec::from_lists([("master", vec!["a:1"])]).unwrap();
        assert_eq!(cluster.resolve_job("chief").unwrap(), "master");
        assert_eq!(cluster.resolve_job("master").unwrap(), "master");
        assert!(sample().resolve_job("chief").is_err());
        assert_eq!(sample().resolve_job("ps").unwrap(), "ps");
    }

    #[test]
    fn job_names_fit_into_device_names() {
        for name in ["", "1ps", "my job", "ps/0", "ps:0"] {
            let error = ClusterSpec::default().insert(Task::new(name, 0), "a:1").unwrap_err();
            assert!(error.message().contains("is not a job name"), "{error}");
        }
    }

    #[test]
    fn a_task_has_one_address() {
        let mut cluster = sample();
        let error = cluster.insert(Task::new("ps", 0), "d:4").unwrap_err();
        assert_eq!(error.message(), "job `ps` has two addresses for task 0");
    }
}

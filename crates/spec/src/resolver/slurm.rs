//! Clusters of the processes that a Slurm job step starts.
//!
//! Slurm numbers the processes over all nodes, and tells each the list of nodes and how many
//! processes each node has. Jobs take processes in their order: with `ps` 1 and `worker` 3, process
//! 0 is the parameter server.

use std::fmt;

use tensorfleet_tensor::{Context, Error, Result, invalid_argument, not_found};

use super::{ClusterResolver, ClusterSpec, Environment, Task, process_environment};

/// More nodes or processes than any cluster has: a list that names more is a mistake.
const MAX_TASKS: usize = 1 << 20;

/// The cluster of a Slurm job step.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, SlurmResolver, Task};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// // What Slurm tells the second of four processes on two nodes.
/// let variables = [
///     ("SLURM_STEP_NODELIST", "node[1-2]"),
///     ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
///     ("SLURM_PROCID", "1"),
/// ];
/// let resolver = SlurmResolver::new([("ps", 1), ("worker", 3)], 8888);
/// let resolver = resolver.environment(move |name| {
///     variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
/// });
/// let cluster = resolver.cluster_spec()?;
/// assert_eq!(cluster.task_address("ps", 0)?, "node1:8888");
/// assert_eq!(cluster.task_address("worker", 2)?, "node2:8889");
/// assert_eq!(resolver.task()?, Some(Task::new("worker", 0)));
/// # Ok(())
/// # }
/// ```
pub struct SlurmResolver {
    jobs: Vec<(String, u32)>,
    port_base: u16,
    environment: Box<Environment>,
}

impl fmt::Debug for SlurmResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlurmResolver")
            .field("jobs", &self.jobs)
            .field("port_base", &self.port_base)
            .finish_non_exhaustive()
    }
}

impl SlurmResolver {
    /// Shares the processes of the step among jobs, each with its number of tasks; without jobs all
    /// are workers. Processes of one node listen at `port_base` and the ports after it.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, SlurmResolver};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// // What Slurm tells the second of four processes on two nodes.
    /// let variables = [
    ///     ("SLURM_STEP_NODELIST", "node[1-2]"),
    ///     ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
    ///     ("SLURM_PROCID", "1"),
    /// ];
    /// let resolver = SlurmResolver::new([("ps", 1), ("worker", 3)], 8888);
    /// let resolver = resolver.environment(move |name| {
    ///     variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    /// });
    /// assert_eq!(resolver.cluster_spec()?.num_tasks("worker")?, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<J: Into<String>>(
        jobs: impl IntoIterator<Item = (J, u32)>,
        port_base: u16,
    ) -> SlurmResolver {
        SlurmResolver {
            jobs: jobs.into_iter().map(|(job, tasks)| (job.into(), tasks)).collect(),
            port_base,
            environment: Box::new(process_environment),
        }
    }

    /// Reads variables from elsewhere than this process.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, SlurmResolver, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// // What Slurm tells the second of four processes on two nodes.
    /// let variables = [
    ///     ("SLURM_STEP_NODELIST", "node[1-2]"),
    ///     ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
    ///     ("SLURM_PROCID", "1"),
    /// ];
    /// let resolver = SlurmResolver::new([("ps", 1), ("worker", 3)], 8888);
    /// let resolver = resolver.environment(move |name| {
    ///     variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    /// });
    /// assert_eq!(resolver.task()?, Some(Task::new("worker", 0)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn environment(
        mut self,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> SlurmResolver {
        self.environment = Box::new(environment);
        self
    }

    /// The value of one of several variables, the first that is set.
    fn variable(&self, names: &[&str]) -> Result<String> {
        let found = names.iter().find_map(|name| (self.environment)(name));
        found.ok_or_else(|| {
            not_found!("{} is not set; is this process part of a Slurm job step?", names[0])
        })
    }

    /// The addresses of all processes, in their order.
    fn addresses(&self) -> Result<Vec<String>> {
        let names = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"];
        let hosts = expand_hosts(&self.variable(&names)?).context(|| names[0])?;
        let names = ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"];
        let counts = expand_counts(&self.variable(&names)?).context(|| names[0])?;
        if hosts.len() != counts.len() {
            return Err(invalid_argument!(
                "Slurm names {} nodes, but {} numbers of tasks",
                hosts.len(),
                counts.len()
            ));
        }
        let mut addresses = Vec::new();
        for (host, count) in hosts.iter().zip(counts) {
            for number in 0..count {
                let port = u16::try_from(number).ok().and_then(|n| self.port_base.checked_add(n));
                let port = port.ok_or_else(|| {
                    invalid_argument!("{host} has more tasks than ports after {}", self.port_base)
                })?;
                addresses.push(format!("{host}:{port}"));
            }
        }
        Ok(addresses)
    }

    /// The job and number of each process.
    fn tasks(&self, processes: usize) -> Result<Vec<Task>> {
        if self.jobs.is_empty() {
            return Ok((0..processes as u32).map(|index| Task::new("worker", index)).collect());
        }
        let wanted: u64 = self.jobs.iter().map(|(_, tasks)| u64::from(*tasks)).sum();
        if wanted != processes as u64 {
            return Err(invalid_argument!(
                "the jobs have {wanted} tasks, but the Slurm step has {processes} processes"
            ));
        }
        let tasks = self
            .jobs
            .iter()
            .flat_map(|(job, count)| (0..*count).map(move |index| Task::new(job, index)));
        Ok(tasks.collect())
    }
}

impl ClusterResolver for SlurmResolver {
    fn cluster_spec(&self) -> Result<ClusterSpec> {
        let addresses = self.addresses()?;
        let mut cluster = ClusterSpec::default();
        for (task, address) in self.tasks(addresses.len())?.into_iter().zip(addresses) {
            cluster.insert(task, address)?;
        }
        Ok(cluster)
    }

    fn task(&self) -> Result<Option<Task>> {
        let text = self.variable(&["SLURM_PROCID"])?;
        let process: usize = text
            .trim()
            .parse()
            .map_err(|_| invalid_argument!("SLURM_PROCID: `{text}` is not a number"))?;
        let tasks = self.tasks(self.addresses()?.len())?;
        match tasks.into_iter().nth(process) {
            Some(task) => Ok(Some(task)),
            None => Err(invalid_argument!("SLURM_PROCID: the step has no process {process}")),
        }
    }
}

/// The hosts of a list such as `n[1-2],m5,o[03-04,6]`.
fn expand_hosts(list: &str) -> Result<Vec<String>> {
    let wrong = || -> Error { invalid_argument!("`{list}` is not a list of nodes") };
    let mut hosts = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = rest.find([',', '[']).unwrap_or(rest.len());
        let (prefix, after) = rest.split_at(end);
        let after = match after.strip_prefix('[') {
            None if prefix.is_empty() => return Err(wrong()),
            None => {
                hosts.push(prefix.to_owned());
                after
            }
            Some(inside) => {
                let (ranges, after) = inside.split_once(']').ok_or_else(wrong)?;
                for range in ranges.split(',') {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
                    let (from, to) = (number(first)?, number(last)?);
                    if to.saturating_sub(from) + hosts.len() > MAX_TASKS {
                        return Err(wrong());
                    }
                    // Numbers keep the zeros in front that the first of them has.
                    let width = first.len();
                    hosts.extend((from..=to).map(|number| format!("{prefix}{number:0width$}")));
                }
                after
            }
        };
        rest = match after.strip_prefix(',') {
            Some(next) if !next.is_empty() => next,
            None if after.is_empty() => after,
            _ => return Err(wrong()),
        };
    }
    if hosts.is_empty() { Err(wrong()) } else { Ok(hosts) }
}

/// The numbers of a list such as `3(x2),2,1`.
fn expand_counts(list: &str) -> Result<Vec<u32>> {
    let wrong = || -> Error { invalid_argument!("`{list}` is not a list of numbers of tasks") };
    let mut counts = Vec::new();
    for part in list.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(wrong)?),
            None => (part, "1"),
        };
        let count: u32 = count.trim().parse().map_err(|_| wrong())?;
        let times: usize = times.parse().map_err(|_| wrong())?;
        if counts.len() + times > MAX_TASKS {
            return Err(wrong());
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(variables: &'static [(&'static str, &'static str)]) -> SlurmResolver {
        SlurmResolver::new([("ps", 1), ("worker", 3)], 8888).environment(move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn jobs_take_processes_in_order() {
        let resolver = slurm(&[
            ("SLURM_STEP_NODELIST", "n[1-2],m5"),
            ("SLURM_STEP_TASKS_PER_NODE", "2,1(x2)"),
            ("SLURM_PROCID", "2"),
        ]);
        let cluster = resolver.cluster_spec().unwrap();
        let tasks: Vec<String> =
            cluster.tasks().map(|(t, a)| format!("{}{} {a}", t.job, t.index)).collect();
        assert_eq!(tasks, ["ps0 n1:8888", "worker0 n1:8889", "worker1 n2:8888", "worker2 m5:8888"]);
        assert_eq!(resolver.task().unwrap(), Some(Task::new("worker", 1)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |variables| slurm(variables).cluster_spec().unwrap_err().to_string();
        assert!(message(&[]).contains("SLURM_STEP_NODELIST is not set"));
        let one = &[("SLURM_JOB_NODELIST", "n1"), ("SLURM_TASKS_PER_NODE", "2")];
        assert!(message(one).contains("the jobs have 4 tasks, but the Slurm step has 2 processes"));
        for (hosts, counts) in [("n[1", "1"), ("n[a]", "1"), (",", "1"), ("n[0-99999999999]", "1")]
        {
            assert!(expand_hosts(hosts).is_err(), "{hosts}");
            assert!(expand_counts(counts).is_ok());
        }
        for counts in ["", "x", "1(x", "1(x99999999999)"] {
            assert!(expand_counts(counts).is_err(), "{counts}");
        }
    }

    #[test]
    fn numbers_keep_their_width() {
        assert_eq!(expand_hosts("o[03-04,6]").unwrap(), ["o03", "o04", "o6"]);
        assert_eq!(expand_counts("3(x2),2,1").unwrap(), [3, 3, 2, 1]);
    }
}

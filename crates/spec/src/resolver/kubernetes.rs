//! Clusters of pods.
//!
//! The pods of a StatefulSet have numbers and names that stay: pod 2 of `trainer` is `trainer-2`, and
//! a headless service lets the others find it as `trainer-2.<service>`. So a cluster is known from
//! the names of the sets and how many pods each has, and a pod knows which task it is by its own
//! name, without asking the API server.

use std::fmt;

use tensorfleet_tensor::{Result, not_found};

use super::{ClusterResolver, ClusterSpec, Environment, Task, process_environment};

/// The cluster of the pods of some StatefulSets.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, KubernetesResolver};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let resolver = KubernetesResolver::new("training", 2222)
///     .job("ps", "trainer-ps", 1)
///     .job("worker", "trainer-worker", 2);
/// let cluster = resolver.cluster_spec()?;
/// assert_eq!(cluster.task_address("worker", 1)?, "trainer-worker-1.training:2222");
/// # Ok(())
/// # }
/// ```
pub struct KubernetesResolver {
    domain: String,
    port: u16,
    jobs: Vec<(String, String, u32)>,
    environment: Box<Environment>,
}

impl fmt::Debug for KubernetesResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesResolver")
            .field("domain", &self.domain)
            .field("port", &self.port)
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

impl KubernetesResolver {
    /// Finds pods through a headless service, given as `service` or with its whole domain; all listen
    /// at one port.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, KubernetesResolver};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let resolver = KubernetesResolver::new("training.default.svc", 2222);
    /// let resolver = resolver.job("worker", "trainer", 1);
    /// let cluster = resolver.cluster_spec()?;
    /// assert_eq!(cluster.task_address("worker", 0)?, "trainer-0.training.default.svc:2222");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(domain: impl Into<String>, port: u16) -> KubernetesResolver {
        KubernetesResolver {
            domain: domain.into(),
            port,
            jobs: Vec::new(),
            environment: Box::new(process_environment),
        }
    }

    /// Makes the pods of a StatefulSet the tasks of a job.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, KubernetesResolver};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let resolver = KubernetesResolver::new("training", 2222).job("worker", "trainer", 3);
    /// assert_eq!(resolver.cluster_spec()?.num_tasks("worker")?, 3);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn job(
        mut self,
        job: impl Into<String>,
        stateful_set: impl Into<String>,
        replicas: u32,
    ) -> KubernetesResolver {
        self.jobs.push((job.into(), stateful_set.into(), replicas));
        self
    }

    /// Reads variables from elsewhere than this process.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, KubernetesResolver, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let resolver = KubernetesResolver::new("training", 2222)
    ///     .job("worker", "trainer", 3)
    ///     .environment(|name| (name == "HOSTNAME").then(|| "trainer-2".to_owned()));
    /// assert_eq!(resolver.task()?, Some(Task::new("worker", 2)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn environment(
        mut self,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> KubernetesResolver {
        self.environment = Box::new(environment);
        self
    }
}

impl ClusterResolver for KubernetesResolver {
    fn cluster_spec(&self) -> Result<ClusterSpec> {
        let mut cluster = ClusterSpec::default();
        for (job, set, replicas) in &self.jobs {
            for index in 0..*replicas {
                let address = format!("{set}-{index}.{}:{}", self.domain, self.port);
                cluster.insert(Task::new(job, index), address)?;
            }
        }
        Ok(cluster)
    }

    /// The pod's name is in `POD_NAME`, if the manifest sets it, or in `HOSTNAME`.
    fn task(&self) -> Result<Option<Task>> {
        let pod = ["POD_NAME", "HOSTNAME"].into_iter().find_map(|name| (self.environment)(name));
        let pod = pod.ok_or_else(|| not_found!("neither POD_NAME nor HOSTNAME is set"))?;
        let Some((set, number)) = pod.rsplit_once('-') else { return Ok(None) };
        let Ok(index) = number.parse::<u32>() else { return Ok(None) };
        let job = self.jobs.iter().find(|(_, name, replicas)| name == set && index < *replicas);
        Ok(job.map(|(job, ..)| Task::new(job, index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_task(pod: &'static str) -> Option<Task> {
        let resolver = KubernetesResolver::new("training.default.svc", 2222)
            .job("ps", "ps", 1)
            .job("worker", "trainer-worker", 2)
            .environment(move |name| (name == "HOSTNAME").then(|| pod.to_owned()));
        resolver.task().unwrap()
    }

    #[test]
    fn a_pod_knows_itself_by_its_name() {
        assert_eq!(own_task("trainer-worker-1"), Some(Task::new("worker", 1)));
        assert_eq!(own_task("ps-0"), Some(Task::new("ps", 0)));
        assert_eq!(own_task("trainer-worker-2"), None);
        assert_eq!(own_task("notebook"), None);
    }
}

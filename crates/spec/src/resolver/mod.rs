//! Where a process learns which cluster it is part of, and which of its tasks it is.
//!
//! Schedulers say so in different ways: [`TfConfigResolver`] reads `TF_CONFIG`, [`SlurmResolver`]
//! what Slurm tells each process of a job step, [`KubernetesResolver`] the names of pods.
//! [`SimpleResolver`] is told, and [`UnionResolver`] asks several.

mod kubernetes;
mod slurm;
mod union;

use tensorfleet_tensor::{Result, not_found};

use super::{ClusterSpec, Task, TfConfig};

pub use kubernetes::KubernetesResolver;
pub use slurm::SlurmResolver;
pub use union::UnionResolver;

/// The variables that a process was started with.
pub(super) type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The variables of this process.
pub(super) fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Says what the cluster is, and which of its tasks this process is.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, ClusterSpec, Task};
/// use tensorfleet_tensor::Result;
///
/// /// A cluster whose addresses count up.
/// struct Ports(u32);
///
/// impl ClusterResolver for Ports {
///     fn cluster_spec(&self) -> Result<ClusterSpec> {
///         let tasks = (0..self.0).map(|task| format!("localhost:{}", 2222 + task)).collect();
///         ClusterSpec::from_lists([("worker", tasks)])
///     }
///
///     fn task(&self) -> Result<Option<Task>> {
///         Ok(Some(Task::new("worker", 0)))
///     }
/// }
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// assert_eq!(Ports(2).master(None)?, "grpc://localhost:2222");
/// assert_eq!(Ports(2).master(Some(&Task::new("worker", 1)))?, "grpc://localhost:2223");
/// # Ok(())
/// # }
/// ```
pub trait ClusterResolver {
    /// The cluster as it is now.
    fn cluster_spec(&self) -> Result<ClusterSpec>;

    /// The task of this process, if it is one of them.
    fn task(&self) -> Result<Option<Task>>;

    /// The target of sessions on a task, as `grpc://host:2222`; on this process's if none is named.
    fn master(&self, task: Option<&Task>) -> Result<String> {
        let own = match task {
            Some(_) => None,
            None => self.task()?,
        };
        let Some(task) = task.or(own.as_ref()) else {
            return Err(not_found!("this process is not a task of the cluster; name one"));
        };
        Ok(format!("grpc://{}", self.cluster_spec()?.address(task)?))
    }
}

/// A cluster that the program knows.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, ClusterSpec, SimpleResolver, Task};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let cluster = ClusterSpec::from_lists([("worker", vec!["a:1", "b:1"])])?;
/// let resolver = SimpleResolver { cluster, task: Some(Task::new("worker", 1)) };
/// assert_eq!(resolver.master(None)?, "grpc://b:1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SimpleResolver {
    pub cluster: ClusterSpec,
    pub task: Option<Task>,
}

impl ClusterResolver for SimpleResolver {
    fn cluster_spec(&self) -> Result<ClusterSpec> {
        Ok(self.cluster.clone())
    }

    fn task(&self) -> Result<Option<Task>> {
        Ok(self.task.clone())
    }
}

/// The cluster of the environment variable `TF_CONFIG`.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, TfConfigResolver};
///
/// // Without the variable there is no cluster.
/// if std::env::var("TF_CONFIG").is_err() {
///     let error = TfConfigResolver.cluster_spec().unwrap_err();
///     assert_eq!(error.message(), "the environment variable TF_CONFIG is not set");
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TfConfigResolver;

impl TfConfigResolver {
    fn read(&self) -> Result<TfConfig> {
        let text = process_environment("TF_CONFIG")
            .ok_or_else(|| not_found!("the environment variable TF_CONFIG is not set"))?;
        TfConfig::parse(&text)
    }
}

impl ClusterResolver for TfConfigResolver {
    fn cluster_spec(&self) -> Result<ClusterSpec> {
        Ok(self.read()?.cluster)
    }

    fn task(&self) -> Result<Option<Task>> {
        Ok(self.read()?.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_is_this_process_unless_another_is_named() {
        let cluster = ClusterSpec::from_lists([("worker", vec!["a:1", "b:2"])]).unwrap();
        let mut resolver = SimpleResolver { cluster, task: Some(Task::new("worker", 1)) };
        assert_eq!(resolver.master(None).unwrap(), "grpc://b:2");
        assert_eq!(resolver.master(Some(&Task::new("worker", 0))).unwrap(), "grpc://a:1");
        resolver.task = None;
        let error = resolver.master(None).unwrap_err();
        assert_eq!(error.message(), "this process is not a task of the cluster; name one");
    }
}

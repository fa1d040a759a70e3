//! Several clusters as one.

use std::fmt;

use tensorfleet_tensor::{Context, Result, invalid_argument};

use super::{ClusterResolver, ClusterSpec, Task};

/// The jobs of several resolvers together; this process is the task that the first of them says.
///
/// ```
/// use tensorfleet_spec::{ClusterResolver, ClusterSpec, SimpleResolver, UnionResolver};
/// use tensorfleet_tensor::Result;
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let part = |job: &str, address: &str| -> Result<SimpleResolver> {
///     Ok(SimpleResolver { cluster: ClusterSpec::from_lists([(job, vec![address])])?, task: None })
/// };
/// let union = UnionResolver::default().with(part("ps", "a:1")?).with(part("worker", "b:1")?);
/// assert_eq!(union.cluster_spec()?.jobs().collect::<Vec<_>>(), ["ps", "worker"]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct UnionResolver {
    parts: Vec<Box<dyn ClusterResolver>>,
}

impl fmt::Debug for UnionResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnionResolver").field("parts", &self.parts.len()).finish()
    }
}

impl UnionResolver {
    /// Adds a resolver.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterResolver, ClusterSpec, SimpleResolver, UnionResolver};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// let part = SimpleResolver { cluster: cluster.clone(), task: None };
    /// let union = UnionResolver::default().with(part);
    /// assert_eq!(union.cluster_spec()?, cluster);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with(mut self, resolver: impl ClusterResolver + 'static) -> UnionResolver {
        self.parts.push(Box::new(resolver));
        self
    }
}

impl ClusterResolver for UnionResolver {
    fn cluster_spec(&self) -> Result<ClusterSpec> {
        let mut all = ClusterSpec::default();
        for part in &self.parts {
            for (task, address) in part.cluster_spec()?.tasks() {
                // Resolvers may know the same task, but not at different addresses.
                match all.address(&task) {
                    Ok(known) if known == address => {}
                    Ok(known) => {
                        return Err(invalid_argument!("{task} is at {known} and at {address}"));
                    }
                    Err(_) => all.insert(task, address).context(|| "in a union of clusters")?,
                }
            }
        }
        Ok(all)
    }

    fn task(&self) -> Result<Option<Task>> {
        for part in &self.parts {
            if let Some(task) = part.task()? {
                return Ok(Some(task));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SimpleResolver;
    use super::*;

    fn part(job: &str, address: &str, task: Option<Task>) -> SimpleResolver {
        let cluster = ClusterSpec::from_lists([(job, vec![address])]).unwrap();
        SimpleResolver { cluster, task }
    }

    #[test]
    fn jobs_come_together() {
        let own = Task::new("worker", 0);
        let union = UnionResolver::default()
            .with(part("ps", "a:1", None))
            .with(part("worker", "b:2", Some(own.clone())))
            .with(part("ps", "a:1", None));
        assert_eq!(union.cluster_spec().unwrap().tasks().count(), 2);
        assert_eq!(union.task().unwrap(), Some(own));
    }

    #[test]
    fn a_task_has_one_address() {
        let union =
            UnionResolver::default().with(part("ps", "a:1", None)).with(part("ps", "b:1", None));
        let error = union.cluster_spec().unwrap_err();
        assert_eq!(error.message(), "/job:ps/replica:0/task:0 is at a:1 and at b:1");
    }
}

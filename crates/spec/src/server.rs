//! What a server must know to start: the cluster, and which of its tasks it is.

use std::collections::BTreeMap;

use tensorfleet_tensor::{Result, invalid_argument, unimplemented_error};

use super::{Address, ClusterSpec, Task};

/// The only protocol there is between tasks.
///
/// ```
/// use tensorfleet_spec::{PROTOCOL, ServerSpec};
///
/// assert!(ServerSpec::check_protocol(PROTOCOL).is_ok());
/// ```
pub const PROTOCOL: &str = "grpc";

/// A server's place in a cluster. The task is one of the cluster's.
///
/// ```
/// use tensorfleet_spec::{ClusterSpec, ServerSpec, Task};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
/// let cluster = ClusterSpec::from_lists(jobs)?;
/// let server = ServerSpec::new(cluster, Task::new("worker", 1))?;
/// assert_eq!(server.address()?.to_string(), "c:1");
/// assert_eq!(server.task().index, 1);
/// assert_eq!(server.cluster().num_tasks("ps")?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    cluster: ClusterSpec,
    task: Task,
    /// The port to listen on instead of the one that the cluster gives.
    pub port: Option<u16>,
    /// A serialized `ConfigProto`: what sessions get unless they say otherwise.
    pub session_config: Vec<u8>,
    /// Devices that a task can see, where it does not see all.
    pub device_filters: BTreeMap<Task, Vec<String>>,
}

impl ServerSpec {
    /// Makes the specification of a task that is part of the cluster.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, ServerSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert!(ServerSpec::new(cluster.clone(), Task::new("worker", 1)).is_ok());
    /// assert!(ServerSpec::new(cluster, Task::new("worker", 2)).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(cluster: ClusterSpec, task: Task) -> Result<ServerSpec> {
        cluster.address(&task)?;
        Ok(ServerSpec {
            cluster,
            task,
            port: None,
            session_config: Vec::new(),
            device_filters: BTreeMap::new(),
        })
    }

    /// The cluster. The example of [`ServerSpec`] has one.
    pub fn cluster(&self) -> &ClusterSpec {
        &self.cluster
    }

    /// The server's own task. The example of [`ServerSpec`] has one.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Returns the address that the task serves on, its port overridden if one is given.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, ServerSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// let mut server = ServerSpec::new(cluster, Task::new("worker", 1))?;
    /// server.port = Some(7);
    /// assert_eq!(server.address()?.to_string(), "c:7");
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self) -> Result<Address> {
        let mut address: Address = self.cluster.address(&self.task)?.parse()?;
        address.port = self.port.unwrap_or(address.port);
        Ok(address)
    }

    /// Checks that a protocol, as users and messages name it, is ours. None named is ours too.
    ///
    /// ```
    /// use tensorfleet_spec::ServerSpec;
    ///
    /// assert!(ServerSpec::check_protocol("grpc").is_ok());
    /// assert!(ServerSpec::check_protocol("http").is_err());
    /// ```
    pub fn check_protocol(protocol: &str) -> Result<()> {
        match protocol {
            "" | PROTOCOL => Ok(()),
            other if other.starts_with("grpc+") => {
                Err(unimplemented_error!("protocol `{other}` is not supported; use `{PROTOCOL}`"))
            }
            other => Err(invalid_argument!("unknown protocol `{other}`; use `{PROTOCOL}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_one_of_the_tasks() {
        let cluster = ClusterSpec::from_lists([("worker", vec!["a:1"])]).unwrap();
        let mut server = ServerSpec::new(cluster.clone(), Task::new("worker", 0)).unwrap();
        assert_eq!(server.address().unwrap().to_string(), "a:1");
        server.port = Some(7);
        assert_eq!(server.address().unwrap().to_string(), "a:7");
        let error = ServerSpec::new(cluster, Task::new("worker", 1)).unwrap_err();
        assert_eq!(error.message(), "job `worker` has no task 1; its tasks are 0");
    }

    #[test]
    fn only_our_protocol_is_spoken() {
        assert!(ServerSpec::check_protocol("grpc").is_ok());
        assert!(ServerSpec::check_protocol("").is_ok());
        assert_eq!(
            ServerSpec::check_protocol("grpc+verbs").unwrap_err().to_string(),
            "UNIMPLEMENTED: protocol `grpc+verbs` is not supported; use `grpc`"
        );
        assert_eq!(
            ServerSpec::check_protocol("http").unwrap_err().to_string(),
            "INVALID_ARGUMENT: unknown protocol `http`; use `grpc`"
        );
    }
}

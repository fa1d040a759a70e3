//! Specifications as messages, and as the files that hold them.

use std::collections::BTreeMap;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use tensorfleet_proto::FILE_DESCRIPTOR_SET;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Context, Error, Result, internal, invalid_argument};

use super::{ClusterSpec, PROTOCOL, ServerSpec, Task};

/// Reads a cluster.
pub fn cluster_spec(message: &pb::ClusterDef) -> Result<ClusterSpec> {
    let mut cluster = ClusterSpec::default();
    for job in &message.job {
        for (index, address) in &job.tasks {
            cluster.insert(task(&job.name, *index)?, address)?;
        }
    }
    Ok(cluster)
}

impl ClusterSpec {
    /// Reads a serialized `ClusterDef`.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(ClusterSpec::from_cluster_def(&cluster.to_cluster_def())?, cluster);
    /// assert!(ClusterSpec::from_cluster_def(b"not a message").is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_cluster_def(bytes: &[u8]) -> Result<ClusterSpec> {
        let message = pb::ClusterDef::decode(bytes)
            .map_err(|error| invalid_argument!("not a serialized ClusterDef: {error}"))?;
        cluster_spec(&message)
    }

    /// The cluster as a serialized `ClusterDef`.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert!(!cluster.to_cluster_def().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_cluster_def(&self) -> Vec<u8> {
        cluster_def(self).encode_to_vec()
    }
}

impl ServerSpec {
    /// Reads a `ServerDef`, serialized or in text format.
    ///
    /// ```
    /// use tensorfleet_spec::ServerSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let server = ServerSpec::from_server_def(
    ///     br#"
    ///         cluster { job { name: "worker" tasks { key: 0 value: "a:2222" } } }
    ///         job_name: "worker"
    ///         protocol: "grpc"
    ///     "#,
    /// )?;
    /// assert_eq!(server.address()?.to_string(), "a:2222");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_server_def(content: &[u8]) -> Result<ServerSpec> {
        if content.is_empty() {
            return Err(invalid_argument!("the file is empty; it should hold a ServerDef"));
        }
        let message = match as_text(content) {
            Some(text) => parse_text(text)?,
            None => pb::ServerDef::decode(content)
                .map_err(|error| invalid_argument!("not a serialized ServerDef: {error}"))?,
        };
        server_spec(&message)
    }

    /// The specification as a serialized `ServerDef`.
    ///
    /// ```
    /// use tensorfleet_spec::{ClusterSpec, ServerSpec, Task};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let cluster = ClusterSpec::from_lists([("worker", vec!["a:2222"])])?;
    /// let server = ServerSpec::new(cluster, Task::new("worker", 0))?;
    /// assert_eq!(ServerSpec::from_server_def(&server.to_server_def()?)?, server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_server_def(&self) -> Result<Vec<u8>> {
        Ok(server_def(self)?.encode_to_vec())
    }
}

/// A serialized `ConfigProto` of tasks with a number of CPU devices.
pub fn session_config(cpu_devices: u32) -> Vec<u8> {
    let device_count = [("CPU".to_owned(), to_i32(cpu_devices))].into();
    pb::ConfigProto { device_count, ..Default::default() }.encode_to_vec()
}

/// Writes a cluster.
pub fn cluster_def(cluster: &ClusterSpec) -> pb::ClusterDef {
    let job = |name: &str| pb::JobDef {
        name: name.to_owned(),
        tasks: cluster
            .tasks_of(name)
            .map(|(index, address)| (to_i32(index), address.to_owned()))
            .collect(),
    };
    pb::ClusterDef { job: cluster.jobs().map(job).collect() }
}

/// Reads what a server must know.
pub fn server_spec(message: &pb::ServerDef) -> Result<ServerSpec> {
    let cluster = message.cluster.as_ref().map(cluster_spec).transpose().context(|| "cluster")?;
    let task = task(&message.job_name, message.task_index).context(|| "task_index")?;
    ServerSpec::check_protocol(&message.protocol).context(|| "protocol")?;
    let mut server = ServerSpec::new(cluster.unwrap_or_default(), task)?;
    server.port = match message.port {
        0 => None,
        port => {
            Some(u16::try_from(port).map_err(|_| invalid_argument!("port: {port} is not a port"))?)
        }
    };
    server.session_config =
        message.default_session_config.as_ref().map(Message::encode_to_vec).unwrap_or_default();
    server.device_filters = device_filters(message.cluster_device_filters.as_ref())?;
    Ok(server)
}

/// Writes what a server must know.
pub fn server_def(server: &ServerSpec) -> Result<pb::ServerDef> {
    let config = match server.session_config.as_slice() {
        [] => None,
        bytes => Some(pb::ConfigProto::decode(bytes).map_err(|error| {
            invalid_argument!("the session configuration is not a ConfigProto: {error}")
        })?),
    };
    Ok(pb::ServerDef {
        cluster: Some(cluster_def(server.cluster())),
        job_name: server.task().job.clone(),
        task_index: to_i32(server.task().index),
        default_session_config: config,
        protocol: PROTOCOL.to_owned(),
        port: server.port.map_or(0, i32::from),
        cluster_device_filters: device_filters_def(&server.device_filters),
        replica: 0,
    })
}

/// Returns the content as text, unless it is binary.
///
/// A binary `ServerDef` has a job name, and the byte in front of it is a control character that
/// never stands in text.
fn as_text(content: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(content).ok()?;
    let is_binary = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    (!text.contains(is_binary)).then_some(text)
}

fn parse_text(text: &str) -> Result<pb::ServerDef> {
    let broken = |error: &dyn std::fmt::Display| internal!("the built-in descriptors: {error}");
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).map_err(|error| broken(&error))?;
    let descriptor = pool
        .get_message_by_name("tensorflow.ServerDef")
        .ok_or_else(|| broken(&"no tensorflow.ServerDef"))?;
    let message = DynamicMessage::parse_text_format(descriptor, text)
        .map_err(|error| invalid_argument!("not a ServerDef in text format: {error}"))?;
    message.transcode_to().map_err(|error| broken(&error))
}

fn device_filters(
    message: Option<&pb::ClusterDeviceFilters>,
) -> Result<BTreeMap<Task, Vec<String>>> {
    let jobs = message.map_or(&[][..], |message| &message.jobs);
    let mut filters = BTreeMap::new();
    for job in jobs {
        for (index, task_filters) in &job.tasks {
            let task = task(&job.name, *index).context(|| "cluster_device_filters")?;
            filters.insert(task, task_filters.device_filters.clone());
        }
    }
    Ok(filters)
}

fn device_filters_def(filters: &BTreeMap<Task, Vec<String>>) -> Option<pb::ClusterDeviceFilters> {
    let mut jobs: BTreeMap<&str, pb::JobDeviceFilters> = BTreeMap::new();
    for (task, device_filters) in filters {
        let job = jobs.entry(&task.job).or_default();
        job.name.clone_from(&task.job);
        let device_filters = device_filters.clone();
        job.tasks.insert(to_i32(task.index), pb::TaskDeviceFilters { device_filters });
    }
    (!jobs.is_empty()).then(|| pb::ClusterDeviceFilters { jobs: jobs.into_values().collect() })
}

fn task(job: &str, index: i32) -> Result<Task> {
    let index = u32::try_from(index)
        .map_err(|_| -> Error { invalid_argument!("job `{job}` has a task {index}") })?;
    Ok(Task::new(job, index))
}

/// Numbers on the wire are signed. Those that we read were, and those that users write are small.
fn to_i32(index: u32) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        # Two tasks.
        cluster {
          job { name: "ps" tasks { key: 0 value: "a:1" } }
          job { name: "worker" tasks { key: 3 value: "b:2" } }
        }
        job_name: "worker"
        task_index: 3
        protocol: "grpc"
        default_session_config { device_count { key: "CPU" value: 2 } }
        cluster_device_filters {
          jobs { name: "worker" tasks { key: 3 value { device_filters: "/job:ps" } } }
        }
    "#;

    #[test]
    fn text_and_binary_say_the_same() {
        let server = ServerSpec::from_server_def(TEXT.as_bytes()).unwrap();
        assert_eq!(*server.task(), Task::new("worker", 3));
        assert_eq!(server.address().unwrap().to_string(), "b:2");
        assert_eq!(server.cluster().tasks().count(), 2);
        let config = pb::ConfigProto::decode(server.session_config.as_slice()).unwrap();
        assert_eq!(config.device_count["CPU"], 2);
        assert_eq!(server.device_filters[&Task::new("worker", 3)], ["/job:ps"]);

        let binary = server_def(&server).unwrap().encode_to_vec();
        assert_eq!(ServerSpec::from_server_def(&binary).unwrap(), server);
    }

    #[test]
    fn the_smallest_binary_is_not_taken_for_text() {
        let cluster = ClusterSpec::from_lists([("w", vec!["localhost:2222"])]).unwrap();
        let server = ServerSpec::new(cluster, Task::new("w", 0)).unwrap();
        let binary = server_def(&server).unwrap().encode_to_vec();
        assert!(as_text(&binary).is_none());
        assert_eq!(ServerSpec::from_server_def(&binary).unwrap(), server);
    }

    #[track_caller]
    fn check_error(content: &[u8], expected: &str) {
        let message = ServerSpec::from_server_def(content).unwrap_err().message().to_owned();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn broken_files_say_where() {
        check_error(b"", "the file is empty");
        check_error(b"\x12\xff", "not a serialized ServerDef");
        check_error(b"job_name: \"w\"\ntask_indx: 3", "task_indx");
        check_error(b"job_name: 3", "not a ServerDef in text format");
        check_error(b"job_name: \"w\"", "the cluster has no job `w`; its jobs are none");
        check_error(b"job_name: \"w\" task_index: -1", "task_index: job `w` has a task -1");
        let cluster = "cluster { job { name: \"w\" tasks { key: 0 value: \"a:1\" } } } ";
        let server = |rest| format!("{cluster} job_name: \"w\" {rest}").into_bytes();
        check_error(&server("protocol: \"http\""), "protocol: unknown protocol `http`");
        check_error(&server("port: 70000"), "port: 70000 is not a port");
        check_error(&server("task_index: 1"), "job `w` has no task 1; its tasks are 0");
    }

    #[test]
    fn a_cluster_def_comes_back() {
        let cluster = ClusterSpec::from_maps([("w", [(1, "a:1"), (5, "b:2")])]).unwrap();
        assert_eq!(ClusterSpec::from_cluster_def(&cluster.to_cluster_def()).unwrap(), cluster);
        assert!(ClusterSpec::from_cluster_def(&[0xff]).is_err());
    }

    #[test]
    fn repeated_tasks_are_refused() {
        let job = |index: i32| pb::JobDef {
            name: "w".to_owned(),
            tasks: BTreeMap::from([(index, "a:1".to_owned())]),
        };
        let read = |job_defs: Vec<pb::JobDef>| cluster_spec(&pb::ClusterDef { job: job_defs });
        assert_eq!(read(vec![job(0), job(1)]).unwrap().tasks().count(), 2);
        assert!(read(vec![job(0), job(0)]).is_err());
        assert!(read(vec![job(-1)]).is_err());
    }
}

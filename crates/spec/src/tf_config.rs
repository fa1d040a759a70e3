//! The environment variable `TF_CONFIG`, by which schedulers tell a process who it is.
//!
//! ```json
//! {"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222"], "ps": ["host2:2222"]},
//!  "task": {"type": "worker", "index": 0}}
//! ```

use serde_json::Value;
use tensorfleet_tensor::{Context, Result, invalid_argument};

use super::cluster::{CHIEFS, EVALUATOR};
use super::{ClusterSpec, Task, json};

const PLACE: &str = "TF_CONFIG";

/// What `TF_CONFIG` says.
///
/// ```
/// use tensorfleet_spec::{Task, TfConfig};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let config = TfConfig::parse(
///     r#"{
///         "cluster": {"ps": ["a:1"], "worker": ["b:1"]},
///         "task": {"type": "worker", "index": 0}
///     }"#,
/// )?;
/// assert_eq!(config.cluster.num_tasks("worker")?, 1);
/// assert_eq!(config.task, Some(Task::new("worker", 0)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfConfig {
    /// All tasks but an evaluator.
    pub cluster: ClusterSpec,
    /// This process, if it says so.
    pub task: Option<Task>,
}

impl TfConfig {
    /// Reads the variable's value.
    ///
    /// ```
    /// use tensorfleet_spec::TfConfig;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let config = TfConfig::parse(
    ///     r#"{
    ///         "cluster": {"ps": ["a:1"], "worker": ["b:1"]},
    ///         "task": {"type": "worker", "index": 0}
    ///     }"#,
    /// )?;
    /// assert_eq!(config.cluster.jobs().collect::<Vec<_>>(), ["ps", "worker"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(text: &str) -> Result<TfConfig> {
        let config = json::parse(PLACE, text)?;
        let cluster = cluster(json::object(PLACE, &config)?.get("cluster"))?;
        let task = match config.get("task") {
            None | Some(Value::Null) => None,
            Some(task) => Some(read_task(&cluster, task)?),
        };
        Ok(TfConfig { cluster, task })
    }
}

fn cluster(value: Option<&Value>) -> Result<ClusterSpec> {
    let place = format!("{PLACE}.cluster");
    let Some(value) = value else {
        return Err(invalid_argument!("{place} is missing"));
    };
    // Some schedulers list the evaluator although it is not part of the cluster.
    let mut jobs = json::object(&place, value)?.clone();
    jobs.remove(EVALUATOR);
    if CHIEFS.iter().all(|chief| jobs.contains_key(*chief)) {
        return Err(invalid_argument!(
            "{place}: `chief` and `master` are two names for one job; keep one of them"
        ));
    }
    ClusterSpec::from_value(&place, &Value::Object(jobs))
}

fn read_task(cluster: &ClusterSpec, value: &Value) -> Result<Task> {
    let task = json::object(&format!("{PLACE}.task"), value)?;
    let place = format!("{PLACE}.task.type");
    let Some(kind) = task.get("type") else {
        return Err(invalid_argument!("{place} is missing"));
    };
    let job = cluster.resolve_job(json::string(&place, kind)?).context(|| &place)?;
    let place = format!("{PLACE}.task.index");
    let index = match task.get("index") {
        Some(index) => json::index(&place, index)?,
        // Jobs of one task are often left without numbers.
        None if cluster.tasks_of(job).count() == 1 => 0,
        None => return Err(invalid_argument!("{place} is missing")),
    };
    let task = Task::new(job, index);
    cluster.address(&task).context(|| &place)?;
    Ok(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = r#"{"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": {"4": "d:4"}}"#;

    fn parse(cluster: &str, task: &str) -> Result<TfConfig> {
        TfConfig::parse(&format!(r#"{{"cluster": {cluster}, "task": {task}}}"#))
    }

    #[track_caller]
    fn check_task(cluster: &str, task: &str, job: &str, index: u32) {
        assert_eq!(parse(cluster, task).unwrap().task, Some(Task::new(job, index)));
    }

    #[track_caller]
    fn check_error(cluster: &str, task: &str, expected: &str) {
        assert_eq!(parse(cluster, task).unwrap_err().message(), expected);
    }

    #[test]
    fn a_task_is_found_in_the_cluster() {
        check_task(CLUSTER, r#"{"type": "worker", "index": 1}"#, "worker", 1);
        check_task(CLUSTER, r#"{"type": "worker", "index": "1"}"#, "worker", 1);
        check_task(CLUSTER, r#"{"type": "ps", "index": 4, "trial": "1"}"#, "ps", 4);
        check_task(CLUSTER, r#"{"type": "chief"}"#, "chief", 0);
    }

    #[test]
    fn chief_and_master_are_the_same() {
        check_task(CLUSTER, r#"{"type": "master", "index": 0}"#, "chief", 0);
        check_task(r#"{"master": ["a:1"]}"#, r#"{"type": "chief", "index": 0}"#, "master", 0);
        check_error(
            r#"{"master": ["a:1"], "chief": ["b:1"]}"#,
            r#"{"type": "chief", "index": 0}"#,
            "TF_CONFIG.cluster: `chief` and `master` are two names for one job; keep one of them",
        );
    }

    #[test]
    fn an_evaluator_is_never_part_of_the_cluster() {
        let cluster = r#"{"worker": ["a:1"], "evaluator": ["b:1"]}"#;
        let config = parse(cluster, r#"{"type": "worker", "index": 0}"#).unwrap();
        assert_eq!(config.cluster.jobs().collect::<Vec<_>>(), ["worker"]);
        check_error(
            cluster,
            r#"{"type": "evaluator", "index": 0}"#,
            "TF_CONFIG.task.type: an evaluator is not part of the cluster and needs no server",
        );
    }

    #[test]
    fn the_task_may_be_left_out() {
        let config = TfConfig::parse(&format!(r#"{{"cluster": {CLUSTER}}}"#)).unwrap();
        assert_eq!(config.task, None);
        assert_eq!(config.cluster.tasks().count(), 4);
    }

    #[test]
    fn errors_name_the_place() {
        check_error(CLUSTER, r#"{"type": "worker"}"#, "TF_CONFIG.task.index is missing");
        check_error(
            CLUSTER,
            r#"{"type": "worker", "index": 7}"#,
            "TF_CONFIG.task.index: job `worker` has no task 7; its tasks are 0, 1",
        );
        check_error(
            CLUSTER,
            r#"{"type": "worker", "index": "first"}"#,
            "TF_CONFIG.task.index: expected the number of a task, got \"first\"",
        );
        check_error(
            CLUSTER,
            r#"{"type": "wroker", "index": 0}"#,
            "TF_CONFIG.task.type: the cluster has no job `wroker`; its jobs are `chief`, `ps`, `worker`",
        );
        check_error(CLUSTER, r#"{"index": 0}"#, "TF_CONFIG.task.type is missing");
        check_error(CLUSTER, "3", "TF_CONFIG.task: expected an object, got 3");
        check_error(
            r#"{"worker": ["a"]}"#,
            r#"{"type": "worker", "index": 0}"#,
            "TF_CONFIG.cluster.worker[0]: address `a` has no port; write it as `a:2222`",
        );
        let message = |text| TfConfig::parse(text).unwrap_err().message().to_owned();
        assert_eq!(message("{}"), "TF_CONFIG.cluster is missing");
        assert_eq!(message("[]"), "TF_CONFIG: expected an object, got []");
        assert_eq!(
            message("{'cluster': {}}"),
            "TF_CONFIG: not JSON: key must be a string at line 1 column 2"
        );
    }
}

//! Clusters as JSON: `{"ps": ["host:2222"], "worker": {"1": "host:2223"}}`.
//!
//! A job's tasks are a list, or an object from number to address. Errors name the place, as in
//! `cluster.worker[1]`.

use serde_json::{Map, Value};
use tensorfleet_tensor::{Context, Error, Result, invalid_argument};

use super::{Address, ClusterSpec, Task};

impl ClusterSpec {
    /// Reads a cluster from JSON. `place` names it in errors.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let text = r#"{"ps": ["a:1"], "worker": {"3": "b:1"}}"#;
    /// let cluster = ClusterSpec::from_json("--cluster", text)?;
    /// assert_eq!(cluster.task_indices("worker")?, [3]);
    /// let error = ClusterSpec::from_json("--cluster", r#"{"ps": ["a"]}"#).unwrap_err();
    /// assert!(error.message().starts_with("--cluster.ps[0]: address `a` has no port"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_json(place: &str, text: &str) -> Result<ClusterSpec> {
        ClusterSpec::from_value(place, &parse(place, text)?)
    }

    /// The cluster as JSON: jobs with all numbers from 0 on as lists, others as objects.
    ///
    /// ```
    /// use tensorfleet_spec::ClusterSpec;
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(cluster.to_json(), r#"{"ps":["a:1"],"worker":["b:1","c:1"]}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_json(&self) -> String {
        let jobs = self.as_map().iter().map(|(job, tasks)| {
            let is_dense = tasks.keys().copied().eq(0..tasks.len() as u32);
            let tasks = if is_dense {
                tasks.values().cloned().map(Value::from).collect::<Vec<_>>().into()
            } else {
                let tasks =
                    tasks.iter().map(|(index, a)| (index.to_string(), Value::from(a.as_str())));
                Value::Object(tasks.collect())
            };
            (job.clone(), tasks)
        });
        Value::Object(jobs.collect()).to_string()
    }

    /// Reads a cluster from a JSON value that stands at `place`.
    pub(super) fn from_value(place: &str, value: &Value) -> Result<ClusterSpec> {
        let mut cluster = ClusterSpec::default();
        for (job, tasks) in object(place, value)? {
            let place = format!("{place}.{job}");
            for (index, place, address) in listed_tasks(&place, tasks)? {
                let address = string(&place, address)?;
                address.parse::<Address>().context(|| &place)?;
                cluster.insert(Task::new(job, index), address).context(|| &place)?;
            }
        }
        if cluster.is_empty() {
            return Err(invalid_argument!("{place}: the cluster has no task"));
        }
        Ok(cluster)
    }
}

/// Reads JSON; what is no JSON is reported by line and column.
pub(super) fn parse(place: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| invalid_argument!("{place}: not JSON: {error}"))
}

pub(super) fn object<'a>(place: &str, value: &'a Value) -> Result<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| expected(place, "an object", value))
}

pub(super) fn string<'a>(place: &str, value: &'a Value) -> Result<&'a str> {
    value.as_str().ok_or_else(|| expected(place, "a string", value))
}

/// Reads a task's number, which tools also write as a string.
pub(super) fn index(place: &str, value: &Value) -> Result<u32> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.ok_or_else(|| expected(place, "the number of a task", value))
}

/// Makes the error for a value of the wrong kind.
pub(super) fn expected(place: &str, what: &str, value: &Value) -> Error {
    // A value may be of any size, and the beginning tells which it is.
    let mut shown: String = value.to_string().chars().take(60).collect();
    if shown.len() < value.to_string().len() {
        shown.push_str("...");
    }
    invalid_argument!("{place}: expected {what}, got {shown}")
}

/// Returns each task of a job with its number and place.
fn listed_tasks<'a>(place: &str, tasks: &'a Value) -> Result<Vec<(u32, String, &'a Value)>> {
    match tasks {
        Value::Array(list) => Ok((0..)
            .zip(list)
            .map(|(index, address)| (index, format!("{place}[{index}]"), address))
            .collect()),
        Value::Object(map) => map
            .iter()
            .map(|(key, address)| {
                let place = format!("{place}.{key}");
                let index = index(&place, &Value::from(key.as_str()))?;
                Ok((index, place, address))
            })
            .collect(),
        other => Err(expected(place, "a list of addresses, or an object by task", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let cluster = ClusterSpec::from_json("cluster", text).unwrap();
        let tasks: Vec<String> =
            cluster.tasks().map(|(task, a)| format!("{}/{} {a}", task.job, task.index)).collect();
        assert_eq!(tasks, expected);
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = ClusterSpec::from_json("cluster", text).unwrap_err();
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn jobs_are_lists() {
        check(
            r#"{"worker": ["a:1", "b:2"], "ps": ["c:3"]}"#,
            &["ps/0 c:3", "worker/0 a:1", "worker/1 b:2"],
        );
    }

    #[test]
    fn jobs_may_be_sparse() {
        check(r#"{"worker": {"7": "a:1", "10": "b:2"}}"#, &["worker/7 a:1", "worker/10 b:2"]);
    }

    #[test]
    fn errors_name_the_place() {
        check_error(r#"{"worker": ["a:1", 5]}"#, "cluster.worker[1]: expected a string, got 5");
        check_error(
            r#"{"worker": ["a:1", "b"]}"#,
            "cluster.worker[1]: address `b` has no port; write it as `b:2222`",
        );
        check_error(
            r#"{"ps": {"zero": "a:1"}}"#,
            "cluster.ps.zero: expected the number of a task, got \"zero\"",
        );
        check_error(
            r#"{"ps": {"1": "a:1", "01": "b:1"}}"#,
            "cluster.ps.1: job `ps` has two addresses for task 1",
        );
        check_error(
            r#"{"ps": "a:1"}"#,
            "cluster.ps: expected a list of addresses, or an object by task, got \"a:1\"",
        );
        check_error(
            r#"{"my job": ["a:1"]}"#,
            "cluster.my job[0]: `my job` is not a job name: it must start with a letter, and \
             letters, digits and underscores may follow",
        );
        check_error("[]", "cluster: expected an object, got []");
        check_error("{}", "cluster: the cluster has no task");
        check_error("{", "cluster: not JSON: EOF while parsing an object at line 1 column 1");
    }
}

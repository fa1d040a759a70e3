//! Names of devices: `/job:ps/replica:0/task:0/device:CPU:0`, every part optional.

use std::fmt;

use tensorfleet_tensor::{Result, invalid_argument};

/// A device's name, or a pattern that leaves parts open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceName {
    pub job: Option<String>,
    pub replica: Option<u32>,
    pub task: Option<u32>,
    /// The kind in upper case, as `CPU`.
    pub kind: Option<String>,
    pub index: Option<u32>,
}

impl DeviceName {
    /// Reads a name or pattern. `/cpu:0` is the old spelling of `/device:CPU:0`, and `*` leaves a
    /// part open.
    pub fn parse(text: &str) -> Result<DeviceName> {
        let malformed = || invalid_argument!("Malformed device specification '{text}'");
        let mut name = DeviceName::default();
        if text.is_empty() || text == "/" {
            return Ok(name);
        }
        for part in text.strip_prefix('/').ok_or_else(malformed)?.split('/') {
            let (key, value) = part.split_once(':').ok_or_else(malformed)?;
            let number = |value: &str| match value {
                "*" => Ok(None),
                digits => digits.parse().map(Some).map_err(|_| malformed()),
            };
            match key {
                "job" if value == "*" => name.job = None,
                "job" if is_identifier(value) => name.job = Some(value.to_owned()),
                "replica" => name.replica = number(value)?,
                "task" => name.task = number(value)?,
                "device" => {
                    let (kind, index) = match value.split_once(':') {
                        Some((kind, index)) => (kind, number(index)?),
                        None => (value, None),
                    };
                    name.set_kind(kind);
                    name.index = index;
                }
                "cpu" | "CPU" | "gpu" | "GPU" | "tpu" | "TPU" => {
                    name.set_kind(key);
                    name.index = number(value)?;
                }
                _ => return Err(malformed()),
            }
        }
        Ok(name)
    }

    fn set_kind(&mut self, kind: &str) {
        self.kind = (kind != "*").then(|| {
            if kind.chars().all(|c| c.is_ascii_lowercase()) {
                kind.to_ascii_uppercase()
            } else {
                kind.to_owned()
            }
        });
    }

    /// Whether every part is given.
    pub fn is_full(&self) -> bool {
        self.job.is_some()
            && self.replica.is_some()
            && self.task.is_some()
            && self.kind.is_some()
            && self.index.is_some()
    }

    /// Whether the device `other`, or each that it describes, fits this pattern.
    pub fn matches(&self, other: &DeviceName) -> bool {
        fn fits<T: PartialEq>(pattern: &Option<T>, part: &Option<T>) -> bool {
            pattern.is_none() || pattern == part
        }
        fits(&self.job, &other.job)
            && fits(&self.replica, &other.replica)
            && fits(&self.task, &other.task)
            && fits(&self.kind, &other.kind)
            && fits(&self.index, &other.index)
    }

    /// Takes open parts from `other`; given parts stay.
    #[must_use]
    pub fn or(&self, other: &DeviceName) -> DeviceName {
        let kind_is_open = self.kind.is_none();
        DeviceName {
            job: self.job.clone().or_else(|| other.job.clone()),
            replica: self.replica.or(other.replica),
            task: self.task.or(other.task),
            kind: self.kind.clone().or_else(|| other.kind.clone()),
            index: self.index.or(if kind_is_open || self.kind == other.kind {
                other.index
            } else {
                None
            }),
        }
    }

    /// The name of the task, as `/job:ps/replica:0/task:1`.
    pub fn task_name(&self) -> DeviceName {
        DeviceName { kind: None, index: None, ..self.clone() }
    }

    /// The part that names a device inside its task, as `CPU:0`.
    pub fn local(&self) -> Option<String> {
        Some(format!("{}:{}", self.kind.as_ref()?, self.index?))
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(job) = &self.job {
            write!(f, "/job:{job}")?;
        }
        if let Some(replica) = self.replica {
            write!(f, "/replica:{replica}")?;
        }
        if let Some(task) = self.task {
            write!(f, "/task:{task}")?;
        }
        match (&self.kind, self.index) {
            (Some(kind), Some(index)) => write!(f, "/device:{kind}:{index}"),
            (Some(kind), None) => write!(f, "/device:{kind}:*"),
            (None, Some(index)) => write!(f, "/device:*:{index}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_are_read() {
        for (text, canonical) in [
            ("", ""),
            ("/cpu:0", "/device:CPU:0"),
            ("/device:CPU:*", "/device:CPU:*"),
            ("/job:ps/task:1", "/job:ps/task:1"),
            (
                "/job:worker/replica:0/task:3/device:CPU:0",
                "/job:worker/replica:0/task:3/device:CPU:0",
            ),
            ("/job:a/cpu:1", "/job:a/device:CPU:1"),
            ("/task:*/job:x", "/job:x"),
        ] {
            assert_eq!(DeviceName::parse(text).unwrap().to_string(), canonical, "{text}");
        }
        for text in ["job:ps", "/jobs:ps", "/task:x", "/job:1a", "nonsense"] {
            assert!(DeviceName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_match() {
        let device = DeviceName::parse("/job:ps/replica:0/task:1/device:CPU:0").unwrap();
        assert!(device.is_full());
        assert!(DeviceName::parse("/job:ps").unwrap().matches(&device));
        assert!(!DeviceName::parse("/job:ps/task:0").unwrap().matches(&device));
        assert_eq!(device.task_name().to_string(), "/job:ps/replica:0/task:1");
        assert_eq!(device.local().as_deref(), Some("CPU:0"));
    }
}

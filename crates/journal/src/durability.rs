//! What an acknowledged change is worth.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tensorfleet_tensor::{Error, Result, invalid_argument};

/// When changes are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the step that made them is answered.
    Sync,
    /// At the latest so long after that, and while the disk takes longer nothing else is answered.
    Interval(Duration),
    /// Never.
    None,
}

impl FromStr for Durability {
    type Err = Error;

    /// Reads `sync`, `interval:100ms`, `interval:2s` or `none`.
    fn from_str(text: &str) -> Result<Durability> {
        let wrong = || {
            invalid_argument!(
                "`{text}` is no durability: expected `sync`, `interval:TIME` with a time from 1ms to 1h, as \
                 `interval:100ms` or `interval:2s`, or `none`"
            )
        };
        match text {
            "sync" => return Ok(Durability::Sync),
            "none" => return Ok(Durability::None),
            _ => {}
        }
        let time = text.strip_prefix("interval:").ok_or_else(wrong)?;
        let (number, unit) = match time.strip_suffix("ms") {
            Some(number) => (number, 1),
            None => (time.strip_suffix('s').ok_or_else(wrong)?, 1000),
        };
        let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        let millis = millis.filter(|millis| (1..=3_600_000).contains(millis)).ok_or_else(wrong)?;
        Ok(Durability::Interval(Duration::from_millis(millis)))
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Durability::Sync => f.write_str("sync"),
            Durability::Interval(time) => write!(f, "interval:{}ms", time.as_millis()),
            Durability::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_is_read_and_written() {
        for text in ["sync", "none", "interval:100ms", "interval:1ms"] {
            assert_eq!(text.parse::<Durability>().unwrap().to_string(), text);
        }
        let two = Durability::Interval(Duration::from_secs(2));
        assert_eq!("interval:2s".parse::<Durability>().unwrap(), two);
        for text in
            ["", "Sync", "interval", "interval:", "interval:0ms", "interval:-1s", "interval:5"]
        {
            assert!(text.parse::<Durability>().is_err(), "{text}");
        }
    }
}

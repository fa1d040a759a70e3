//! How far what a task keeps is kept.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::Serialize;
use tensorfleet_journal::{DurableJournal, Progress};
use tensorfleet_tensor::{Result, failed_precondition, internal};

/// Has a snapshot taken, and returns the last record in it.
pub(super) async fn snapshot(journal: Option<Arc<DurableJournal>>) -> Result<u64> {
    let Some(journal) = journal else {
        return Err(failed_precondition!("the task keeps nothing: it has no data directory"));
    };
    let taken = tokio::task::spawn_blocking(move || journal.snapshot()).await;
    taken.unwrap_or_else(|error| Err(internal!("the snapshot was lost: {error}")))
}

/// The journal of a task with a data directory. Records are counted from one.
#[derive(Debug, Serialize)]
pub(super) struct JournalStatus {
    durability: String,
    /// The last record that steps have told, the last that is on the disk, and for how long another one
    /// has been waiting to be there.
    pub(super) told: u64,
    pub(super) durable: u64,
    pub(super) lag_seconds: f64,
    /// Why nothing can be changed any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    /// The last record that is elsewhere too, on a task with a backup, and the age of what is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backed_up: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup_lag_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup_error: Option<String>,
}

impl JournalStatus {
    pub(super) fn of(journal: &Weak<DurableJournal>) -> Option<JournalStatus> {
        Some(JournalStatus::from(journal.upgrade()?.progress()))
    }
}

impl From<Progress> for JournalStatus {
    fn from(progress: Progress) -> JournalStatus {
        let Progress { durability, told, durable, lag, failed, backed_up, backup_error } = progress;
        // What is not there is at most as old as the last look.
        let at_risk = |(number, ago): (u64, Duration)| match number >= told {
            true => 0.0,
            false => ago.as_secs_f64(),
        };
        JournalStatus {
            durability: durability.to_string(),
            told,
            durable,
            lag_seconds: lag.as_secs_f64(),
            failed,
            backed_up: backed_up.map(|(number, _)| number),
            backup_lag_seconds: backed_up.map(at_risk),
            backup_error,
        }
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_journal::Durability;

    use super::*;

    #[test]
    fn what_is_not_shipped_is_as_old_as_the_last_look() {
        let lag = |told| {
            let progress = Progress {
                durability: Durability::Sync,
                told,
                durable: told,
                lag: Duration::ZERO,
                failed: None,
                backed_up: Some((7, Duration::from_secs(3))),
                backup_error: None,
            };
            JournalStatus::from(progress).backup_lag_seconds
        };
        assert_eq!((lag(7), lag(8)), (Some(0.0), Some(3.0)));
    }
}

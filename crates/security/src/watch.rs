//! Looks whether the files of credentials change, and when certificates end.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;

use crate::audit::Record;
use crate::certificate::{Certificate, written};
use crate::credentials::{Credentials, Files};

const LOOKS: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long before its end a certificate is warned of.
const WARNINGS: [Duration; 2] = [DAY.saturating_mul(14), DAY.saturating_mul(3)];

impl Credentials {
    /// Reads the files again whenever they change, and warns of certificates that end, for as long as
    /// somebody has the credentials.
    pub fn watch(self: &Arc<Self>, runtime: &Handle) {
        runtime.spawn(look(Arc::downgrade(self), self.stamps.clone()));
    }
}

/// By what one sees that files have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamps(Vec<Option<(u64, i64, i64, u64)>>);

impl Stamps {
    pub(crate) fn of(files: &Files) -> Stamps {
        let stamp = |path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
        };
        Stamps(files.paths().map(stamp).collect())
    }
}

async fn look(credentials: Weak<Credentials>, mut stamps: Stamps) {
    let mut warned = Vec::new();
    loop {
        let Some(now) = credentials.upgrade() else { return };
        warn_of_ends(&now.now().certificates, SystemTime::now(), &mut warned);
        let before = stamps.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let stamps = Stamps::of(&now.files);
            let outcome = (stamps != before).then(|| now.reload());
            (stamps, outcome)
        });
        // An error means that the runtime ends.
        let Ok((seen, outcome)) = looked.await else { return };
        stamps = seen;
        match outcome {
            None => {}
            Some(Ok(())) => {
                tracing::info!("credentials have changed and are read");
                tell(&credentials, "OK");
            }
            Some(Err(error)) => {
                tell(&credentials, error.message());
                tracing::warn!(
                    "credentials have changed and cannot be used, those before stay: {error}"
                );
            }
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// Writes down that credentials have changed.
fn tell(credentials: &Weak<Credentials>, outcome: &str) {
    if let Some(credentials) = credentials.upgrade() {
        let what = "the files of credentials have changed";
        credentials.record(Record { event: "credentials", what, outcome, ..Record::default() });
    }
}

/// Warns of each certificate once for each time that it is warned before.
fn warn_of_ends(
    certificates: &[Certificate],
    now: SystemTime,
    warned: &mut Vec<(String, Option<Duration>)>,
) {
    for certificate in certificates {
        let left = certificate.not_after.duration_since(now).ok();
        let due = match left {
            None => Some(None),
            Some(left) => WARNINGS.into_iter().rfind(|time| left <= *time).map(Some),
        };
        let Some(due) = due else { continue };
        let warning = (certificate.fingerprint.clone(), due);
        if warned.contains(&warning) {
            continue;
        }
        let (subject, end) = (&certificate.subject, written(certificate.not_after));
        match left {
            None => tracing::error!("the certificate {subject} has expired, on {end}"),
            Some(left) => {
                let days = left.as_secs() / DAY.as_secs();
                tracing::warn!("the certificate {subject} expires in {days} days, on {end}");
            }
        }
        warned.push(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_warned_of_twice_and_told() {
        let certificate = Certificate {
            hosts: Vec::new(),
            member: None,
            not_before: SystemTime::UNIX_EPOCH,
            not_after: SystemTime::UNIX_EPOCH + DAY * 100,
            subject: "CN=a".to_owned(),
            issuer: "CN=a".to_owned(),
            is_authority: false,
            fingerprint: "f".to_owned(),
        };
        let mut warned = Vec::new();
        let mut counts = Vec::new();
        for day in [0, 85, 87, 90, 96, 98, 99, 101, 102] {
            let now = SystemTime::UNIX_EPOCH + DAY * day;
            warn_of_ends(std::slice::from_ref(&certificate), now, &mut warned);
            counts.push(warned.len());
        }
        assert_eq!(counts, [0, 0, 1, 1, 1, 2, 2, 3, 3]);
    }
}

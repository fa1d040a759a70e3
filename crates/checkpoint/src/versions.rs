//! Whether a file was written for readers like this one.

use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Result, invalid_argument};

/// Checks the versions that a file carries against the one understood here.
pub(crate) fn check(versions: Option<&pb::VersionDef>, understood: i32) -> Result<()> {
    let Some(versions) = versions else { return Ok(()) };
    if versions.min_consumer > understood {
        return Err(invalid_argument!(
            "Checkpoint min consumer version {} above current version {understood} for \
             TensorFlow 2.21. Please upgrade TensorFlow.",
            versions.min_consumer
        ));
    }
    if versions.bad_consumers.contains(&understood) {
        return Err(invalid_argument!(
            "Checkpoint disallows consumer version {understood}. Please upgrade TensorFlow: this \
             version is likely buggy."
        ));
    }
    Ok(())
}

//! Which role may call which method: the one table.
//!
//! Administrators may call everything, and what is not in the table nobody else. A service that is
//! added gets its rows here; a test of the server calls every method with every role.

use tensorfleet_transport::Role::{self, Operator, Peer, Reader, Trainer};

/// A service, its methods, and who may call them besides administrators.
type Rows = &'static [(&'static str, &'static [&'static str], &'static [Role])];

const TABLE: Rows = &[
    (
        "tensorflow.MasterService",
        &[
            "CreateSession",
            "ExtendSession",
            "PartialRunSetup",
            "RunStep",
            "CloseSession",
            "MakeCallable",
            "RunCallable",
            "ReleaseCallable",
            // Of their own: the master refuses what would reach others.
            "Reset",
        ],
        &[Trainer],
    ),
    ("tensorflow.MasterService", &["ListDevices"], &[Trainer, Reader, Operator]),
    (
        "tensorflow.WorkerService",
        &[
            "CleanupAll",
            "CleanupGraph",
            "CompleteGroup",
            "CompleteInstance",
            "CreateWorkerSession",
            "DeleteWorkerSession",
            "DeregisterGraph",
            "GetStepSequence",
            "Logging",
            "MarkRecvFinished",
            "RecvBuf",
            "RegisterGraph",
            "RunGraph",
            "Tracing",
        ],
        &[Peer],
    ),
    // Clients with eager contexts ask for the devices of tasks, and fetch what these send them.
    ("tensorflow.WorkerService", &["GetStatus"], &[Peer, Trainer, Reader, Operator]),
    ("tensorflow.WorkerService", &["RecvTensor"], &[Peer, Trainer]),
    (
        "tensorflow.eager.EagerService",
        &[
            "CreateContext",
            "UpdateContext",
            "Enqueue",
            "StreamingEnqueue",
            "WaitQueueDone",
            "KeepAlive",
            "CloseContext",
        ],
        &[Peer, Trainer],
    ),
    ("tensorflow.eager.EagerService", &["RunComponentFunction"], &[Peer]),
    // Members and clients of a cluster of TensorFlow 2 meet there.
    (
        "tensorflow.CoordinationService",
        &[
            "Barrier",
            "CancelBarrier",
            "DeleteKeyValue",
            "GetAliveTasks",
            "GetKeyValue",
            "GetKeyValueDir",
            "GetTaskState",
            "Heartbeat",
            "IncrementKeyValue",
            "InsertKeyValue",
            "PollForError",
            "RegisterTask",
            "ReportErrorToService",
            "ReportErrorToTask",
            "ResetTask",
            "ShutdownTask",
            "TryGetKeyValue",
            "WaitForAllTasks",
            "WatchJobState",
        ],
        &[Peer, Trainer],
    ),
    // A task asks the others for whoever looks at the cluster.
    ("tensorfleet.Admin", &["Status"], &[Peer, Trainer, Reader, Operator]),
    ("tensorfleet.Admin", &["Logs"], &[Peer, Operator]),
    ("tensorfleet.Admin", &["Examine"], &[Trainer, Operator]),
    ("tensorfleet.Admin", &["Record", "Graphs"], &[Operator]),
    ("tensorfleet.Admin", &["Scalars"], &[Trainer]),
    ("tensorfleet.Admin", &["Drain", "Snapshot", "Stop"], &[Operator]),
];

/// The one service that answers everybody: orchestrators have no credentials.
const HEALTH: &str = "grpc.health.v1.Health";

/// Whether a method answers everybody.
pub fn is_public(path: &str) -> bool {
    split(path).is_some_and(|(service, _)| service == HEALTH)
}

/// The roles that may call a method besides administrators; nothing for one that the table lacks.
pub fn callers(path: &str) -> Option<&'static [Role]> {
    let (service, method) = split(path)?;
    let mut rows = TABLE.iter();
    let row = rows.find(|(of, methods, _)| *of == service && methods.contains(&method))?;
    Some(row.2)
}

/// Whether a role may call a method.
pub fn allows(path: &str, role: Role) -> bool {
    role == Role::Admin || callers(path).is_some_and(|roles| roles.contains(&role))
}

fn split(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_method_stands_twice() {
        let rows = TABLE
            .iter()
            .flat_map(|(service, methods, _)| methods.iter().map(move |m| (service, m)));
        let mut seen = std::collections::HashSet::new();
        for row in rows {
            assert!(seen.insert(row), "{row:?}");
        }
    }

    #[test]
    fn what_the_table_lacks_is_for_administrators() {
        let path = "/tensorflow.MasterService/Anything";
        assert_eq!(callers(path), None);
        for role in Role::ALL {
            assert_eq!(allows(path, role), role == Role::Admin, "{role}");
        }
    }
}

//! What a traced step records: when each node ran, and what it made.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tensorfleet_framework::{BoxFuture, Outcome, Value};
use tensorfleet_tensor::{DType, Result, Shape};

use crate::executable::{CompiledNode, Executable};

/// Collects the records of one partition of a step.
#[derive(Debug)]
pub struct Trace {
    origin: Instant,
    origin_since_epoch: Duration,
    records: Mutex<Vec<NodeRecord>>,
}

/// One node that ran.
#[derive(Clone, Debug)]
pub struct NodeRecord {
    pub name: Arc<str>,
    pub op: Arc<str>,
    /// When the node started, since the Unix epoch.
    pub start: Duration,
    pub duration: Duration,
    pub outputs: Vec<(DType, Shape, usize)>,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace {
            origin: Instant::now(),
            origin_since_epoch: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            records: Mutex::default(),
        }
    }
}

impl Trace {
    /// The moment before a node runs.
    pub(crate) fn start(&self) -> Instant {
        Instant::now()
    }

    pub(crate) fn record(&self, node: &CompiledNode, started: Instant, outputs: &[Value]) {
        let duration = started.elapsed();
        let outputs = outputs
            .iter()
            .filter_map(|output| match output {
                Value::Tensor(tensor) => {
                    Some((tensor.dtype(), tensor.shape().clone(), tensor.byte_len()))
                }
                Value::Ref(_) | Value::Empty => None,
            })
            .collect();
        let record = NodeRecord {
            name: Arc::clone(&node.name),
            op: Arc::clone(&node.op),
            start: self.origin_since_epoch + started.duration_since(self.origin),
            duration,
            outputs,
        };
        self.records.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(record);
    }

    /// All records so far, in the order in which nodes ended.
    pub fn records(&self) -> Vec<NodeRecord> {
        self.records.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}

/// Lets a node that waits be recorded when it is done, if the step is traced.
pub(crate) fn when_done(
    trace: &Option<Arc<Trace>>,
    executable: &Arc<Executable>,
    node: u32,
    work: BoxFuture<Result<Outcome>>,
) -> BoxFuture<Result<Outcome>> {
    let Some(trace) = trace.clone() else { return work };
    let executable = Arc::clone(executable);
    Box::pin(async move {
        let started = trace.start();
        let outcome = work.await?;
        let outputs = if let Outcome::Values(values) = &outcome { &values[..] } else { &[] };
        trace.record(&executable.nodes[node as usize], started, outputs);
        Ok(outcome)
    })
}

//! Where variables go: over the tasks of a job, in turn or by size.

use std::sync::{Arc, Mutex};

use tensorfleet_framework::{DeviceFn, DeviceName, NewNode};
use tensorfleet_graph::AttrValue;
use tensorfleet_tensor::Result;

use crate::scope::Device;

/// How the task for a variable is chosen.
///
/// ```
/// use tensorfleet_client::{Graph, ReplicaDevices, Spread, initializer};
///
/// let graph = Graph::new();
/// let devices = ReplicaDevices::new(2).spread(Spread::BySize);
/// graph.device(devices, || {
///     let large = graph.variable("large", initializer::zeros([1000]));
///     let small = ["a", "b"].map(|name| graph.variable(name, initializer::zeros([10])));
///     assert_eq!(large.device(), "/job:ps/task:0");
///     // Both small ones together are smaller than the large one.
///     assert!(small.iter().all(|variable| variable.device() == "/job:ps/task:1"));
/// });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// One task after the other.
    #[default]
    RoundRobin,
    /// The task that has the fewest bytes so far.
    BySize,
}

/// Puts variables on parameter servers and everything else on a worker: TensorFlow's
/// `replica_device_setter`.
///
/// ```
/// use tensorfleet_client::{Graph, ReplicaDevices, initializer};
///
/// let graph = Graph::new();
/// let devices = ReplicaDevices::new(2).worker("/job:worker/task:1");
/// graph.device(devices, || {
///     let a = graph.variable("a", initializer::zeros([2, 3]));
///     let b = graph.variable("b", initializer::zeros([3]));
///     assert_eq!(a.device(), "/job:ps/task:0");
///     assert_eq!(b.device(), "/job:ps/task:1");
///     assert_eq!((a.read().sum() * 2.0).device(), "/job:worker/task:1");
/// });
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReplicaDevices {
    ps_tasks: usize,
    ps: String,
    worker: String,
    spread: Spread,
}

impl ReplicaDevices {
    /// Spreads variables over a number of tasks of the job `ps`; with none, all stays on the worker.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, ReplicaDevices};
    ///
    /// let graph = Graph::new();
    /// let w = graph.device(ReplicaDevices::new(3), || graph.variable("w", 1.0f32));
    /// assert_eq!(w.device(), "/job:ps/task:0");
    /// ```
    pub fn new(ps_tasks: usize) -> ReplicaDevices {
        ReplicaDevices {
            ps_tasks,
            ps: "/job:ps".to_owned(),
            worker: "/job:worker".to_owned(),
            spread: Spread::RoundRobin,
        }
    }

    /// Names the job that holds variables.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, ReplicaDevices};
    ///
    /// let graph = Graph::new();
    /// let devices = ReplicaDevices::new(1).ps("/job:store");
    /// let w = graph.device(devices, || graph.variable("w", 1.0f32));
    /// assert_eq!(w.device(), "/job:store/task:0");
    /// ```
    pub fn ps(mut self, device: impl Into<String>) -> ReplicaDevices {
        self.ps = device.into();
        self
    }

    /// Names the device of everything else.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, ReplicaDevices};
    ///
    /// let graph = Graph::new();
    /// let devices = ReplicaDevices::new(1).worker("/job:worker/task:3/device:CPU:0");
    /// let x = graph.device(devices, || graph.constant(1.0f32));
    /// assert_eq!(x.device(), "/job:worker/task:3/device:CPU:0");
    /// ```
    pub fn worker(mut self, device: impl Into<String>) -> ReplicaDevices {
        self.worker = device.into();
        self
    }

    /// Says how the task for a variable is chosen.
    ///
    /// ```
    /// use tensorfleet_client::{ReplicaDevices, Spread};
    ///
    /// let by_size = ReplicaDevices::new(4).spread(Spread::BySize);
    /// # drop(by_size);
    /// ```
    pub fn spread(mut self, spread: Spread) -> ReplicaDevices {
        self.spread = spread;
        self
    }
}

/// The ops that hold state which workers share.
const STATE_OPS: &[&str] = &[
    "AutoReloadVariable",
    "HashTable",
    "HashTableV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "MutableHashTable",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableHashTableV2",
    "VarHandleOp",
    "Variable",
    "VariableV2",
];

/// The number of bytes of the variable that a node makes.
fn bytes(node: &NewNode) -> usize {
    let elements = match node.attrs.get("shape") {
        Some(AttrValue::Shape(shape)) => shape.to_shape().map_or(1, |shape| shape.num_elements()),
        _ => 1,
    };
    let size = match node.attrs.get("dtype") {
        Some(AttrValue::Type(dtype)) => dtype.size().max(1),
        _ => 1,
    };
    elements.saturating_mul(size)
}

impl Device for ReplicaDevices {
    fn into_device_fn(self) -> Result<Arc<DeviceFn>> {
        let (ps, worker) = (DeviceName::parse(&self.ps)?, DeviceName::parse(&self.worker)?);
        let load: Mutex<Vec<usize>> = Mutex::new(vec![0; self.ps_tasks]);
        let spread = self.spread;
        Ok(Arc::new(move |node: &NewNode, outer: &str| {
            let outer = DeviceName::parse(outer).unwrap_or_default();
            let mut load = load.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if load.is_empty() || !STATE_OPS.contains(&node.op.as_str()) {
                return worker.or(&outer).to_string();
            }
            let task = (0..load.len()).min_by_key(|&task| load[task]).unwrap_or_default();
            load[task] += match spread {
                Spread::RoundRobin => 1,
                Spread::BySize => bytes(node),
            };
            let ps = DeviceName { task: Some(task as u32), ..ps.clone() };
            ps.or(&outer).to_string()
        }))
    }
}

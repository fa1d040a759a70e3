//! Kernels that outlive a run: those of stateful nodes, and those of single ops.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::Implementation;
use tensorfleet_graph::Node;
use tensorfleet_runtime::{KernelCache, Operation};
use tensorfleet_tensor::Result;

use crate::session::lock;

/// The kernels of an engine.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    /// Kernels of graphs' stateful nodes, by device, name and op: they are the same in every graph.
    /// Functions have kernels of their own, since names of nodes repeat from function to function.
    nodes: Mutex<FxHashMap<NodeKey, Implementation>>,
    /// Single ops by device, name, op and attributes.
    operations: Mutex<FxHashMap<String, Arc<Operation>>>,
}

type NodeKey = (Arc<str>, Arc<str>, Arc<str>);

/// When so many single ops are known, those that keep nothing are forgotten.
const MAX_OPERATIONS: usize = 4096;

impl Kernels {
    /// The kernels of the nodes on a device.
    pub(super) fn on<'a>(&'a self, device: &'a Arc<str>) -> NodeKernels<'a> {
        NodeKernels { kernels: self, device }
    }

    /// The single op that a node stands for, made by the first who asks.
    pub(super) fn operation(
        &self,
        device: &str,
        node: &Node,
        create: impl FnOnce() -> Result<Operation>,
    ) -> Result<Arc<Operation>> {
        // The long form tells attributes apart to the last element of a tensor.
        let key = format!("{device} {} {} {:#?}", node.name, node.op, node.attrs);
        if let Some(known) = lock(&self.operations).get(&key) {
            return Ok(Arc::clone(known));
        }
        let created = Arc::new(create()?);
        let mut operations = lock(&self.operations);
        if operations.len() >= MAX_OPERATIONS {
            operations.retain(|_, operation| operation.is_stateful());
        }
        Ok(Arc::clone(operations.entry(key).or_insert(created)))
    }
}

/// The kernels of stateful nodes on one device.
pub(super) struct NodeKernels<'a> {
    kernels: &'a Kernels,
    device: &'a Arc<str>,
}

impl KernelCache for NodeKernels<'_> {
    fn get_or_create(
        &self,
        node: &Node,
        create: &mut dyn FnMut() -> Result<Implementation>,
    ) -> Result<Implementation> {
        let key = (Arc::clone(self.device), Arc::clone(&node.name), Arc::clone(&node.op));
        if let Some(kernel) = lock(&self.kernels.nodes).get(&key) {
            return Ok(kernel.clone());
        }
        let created = create()?;
        Ok(lock(&self.kernels.nodes).entry(key).or_insert(created).clone())
    }
}

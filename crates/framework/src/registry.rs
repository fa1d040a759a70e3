//! The table of all ops that a server knows.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_files::FileSystem;
use tensorfleet_graph::{Nature, Node, OpDef, OpLookup, op_def_text};
use tensorfleet_tensor::{
    Result, invalid_argument, not_found, permission_denied, unimplemented_error,
};

use crate::policy::files_under;
use crate::{Attrs, DurableType, GradientFn, Implementation, KernelDef, Op, OpPolicy, ShapeFn};

/// All known ops by name. A value: two servers of one process may know different ops.
#[derive(Debug)]
pub struct Registry {
    ops: FxHashMap<&'static str, Registered>,
    /// Which of them get no kernels.
    policy: Option<Arc<dyn OpPolicy>>,
    /// The resources of these ops that can be kept, other than variables.
    durable: &'static [DurableType],
}

#[derive(Clone, Debug)]
struct Registered {
    op: Op,
    def: Arc<OpDef>,
}

impl Registry {
    /// Reads the definitions of `ops`. An error is a mistake in a definition.
    pub fn new<'a>(ops: impl IntoIterator<Item = &'a Op>) -> Result<Registry> {
        let mut registry = Registry { ops: FxHashMap::default(), policy: None, durable: &[] };
        for op in ops {
            let mut def = op_def_text::parse(op.name, op.inputs, op.outputs, op.attrs)?;
            def.is_stateful = op.stateful;
            def.is_commutative = op.commutative;
            def.is_aggregate = op.aggregate;
            def.allows_uninitialized_input = op.allows_uninitialized_input;
            def.is_distributed_communication = op.distributed_communication;
            let control_flow = op.kernels.iter().find_map(KernelDef::control_flow);
            def.nature = Nature { control_flow, ..op.nature };
            let registered = Registered { op: *op, def: Arc::new(def) };
            if registry.ops.insert(op.name, registered).is_some() {
                return Err(invalid_argument!("op {} is registered twice", op.name));
            }
        }
        Ok(registry)
    }

    /// The same ops under a policy.
    #[must_use]
    pub fn under(&self, policy: Arc<dyn OpPolicy>) -> Registry {
        Registry { ops: self.ops.clone(), policy: Some(policy), durable: self.durable }
    }

    /// The same ops, whose resources of these types a journal can make again.
    #[must_use]
    pub fn keeping(self, durable: &'static [DurableType]) -> Registry {
        Registry { durable, ..self }
    }

    /// How resources of a type are made again, if they can be.
    pub fn durable_type(&self, type_name: &str) -> Option<&'static DurableType> {
        self.durable.iter().find(|durable| durable.type_name == type_name)
    }

    /// The policy, if there is one.
    pub fn policy(&self) -> Option<&Arc<dyn OpPolicy>> {
        self.policy.as_ref()
    }

    /// The files that ops see.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        files_under(self.policy.as_ref())
    }

    fn check_allowed(&self, node: &Node, touches_files: bool) -> Result<()> {
        match self.policy.as_ref().and_then(|policy| policy.refuse(node, touches_files)) {
            Some(why) => Err(permission_denied!("{why}").at_node(&node.name)),
            None => Ok(()),
        }
    }

    /// All ops, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Op, &Arc<OpDef>)> {
        let mut ops: Vec<_> = self.ops.values().collect();
        ops.sort_by_key(|registered| registered.op.name);
        ops.into_iter().map(|registered| (&registered.op, &registered.def))
    }

    /// Whether the op `name` has an implementation here.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.ops.get(name).is_some_and(|registered| !registered.op.kernels.is_empty())
    }

    /// How gradients flow back through the op `name`, if it has any.
    pub fn gradient_fn(&self, name: &str) -> Option<GradientFn> {
        self.ops.get(name).and_then(|registered| registered.op.gradient)
    }

    /// What computes the shapes of the outputs of the op `name`, if that is known.
    pub fn shape_fn(&self, name: &str) -> Option<ShapeFn> {
        self.ops.get(name).and_then(|registered| registered.op.shape)
    }

    /// Makes the kernel of a node.
    pub fn create_kernel(&self, node: &Node, device_kind: &str) -> Result<Implementation> {
        let Some(registered) = self.ops.get(&*node.op) else {
            return Err(not_found!(
                "Op type not registered '{}' in binary running on tensorfleet. Make sure the Op and \
                 Kernel are registered in the binary running in this process.",
                node.op
            )
            .at_node(&node.name));
        };
        // Before there is a kernel, because some look at files when they are made.
        self.check_allowed(node, false)?;
        let attrs = Attrs::under(node, self.policy.as_ref());
        let kernels = registered.op.kernels;
        let fitting = |k: &&KernelDef| k.device == device_kind && k.supports(&attrs);
        match kernels.iter().find(fitting) {
            Some(kernel) => {
                let made = kernel.create(&attrs).map_err(|error| error.at_node(&node.name))?;
                if matches!(&made, Implementation::Compute(kernel) if kernel.blocks()) {
                    self.check_allowed(node, true)?;
                }
                Ok(made)
            }
            None => Err(no_kernel(node, kernels, device_kind)),
        }
    }
}

fn no_kernel(node: &Node, kernels: &[KernelDef], device_kind: &str) -> tensorfleet_tensor::Error {
    let attrs: Vec<String> = node
        .attrs
        .iter()
        .filter(|(name, _)| !name.starts_with('_'))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut registered = String::new();
    for kernel in kernels {
        registered.push_str(&format!("  device='{}'", kernel.device));
        for (attr, types) in kernel.types.iter().flatten() {
            let names: Vec<String> =
                types.iter().map(|dtype| format!("DT_{}", dtype.name().to_uppercase())).collect();
            registered.push_str(&format!("; {attr} in [{}]", names.join(", ")));
        }
        registered.push('\n');
    }
    if registered.is_empty() {
        registered.push_str("  <no registered kernels>\n");
    }
    let text = format!(
        "No OpKernel was registered to support Op '{}' used by {{{{node {}}}}} with these attrs: [{}]\n\
         Registered devices: [{device_kind}]\nRegistered kernels:\n{registered}",
        node.op,
        node.name,
        attrs.join(", ")
    );
    // TensorFlow says INVALID_ARGUMENT for types that no kernel takes.
    if kernels.is_empty() {
        unimplemented_error!("{text}").at_node(&node.name)
    } else {
        invalid_argument!("{text}").at_node(&node.name)
    }
}

impl OpLookup for Registry {
    fn op_def(&self, name: &str) -> Option<Arc<OpDef>> {
        self.ops.get(name).map(|registered| Arc::clone(&registered.def))
    }
}

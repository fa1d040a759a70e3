//! What an op is: a value that holds its definition, its kernels, its shape rule and its gradient.

use std::fmt;
use std::sync::Arc;

use tensorfleet_graph::{ControlFlow, Nature};
use tensorfleet_tensor::{DType, Result};

use crate::kernel::{AsyncKernel, Kernel};
use crate::{Attrs, GradientFn, ShapeFn};

/// An op: its definition, word for word TensorFlow's, and how to compute it.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub name: &'static str,
    /// Input arguments in TensorFlow's registration language: `"a: T"`, `"values: N * T"`.
    pub inputs: &'static [&'static str],
    pub outputs: &'static [&'static str],
    /// Attributes: `"T: {float, double}"`, `"axis: int = 0"`.
    pub attrs: &'static [&'static str],
    pub stateful: bool,
    pub commutative: bool,
    pub aggregate: bool,
    pub allows_uninitialized_input: bool,
    pub distributed_communication: bool,
    /// What planners must know of it; what it means to the executor follows from its kernels.
    pub nature: Nature,
    /// Implementations; the first whose device and types fit a node is used.
    pub kernels: &'static [KernelDef],
    /// What is known of the outputs' shapes; without it nothing.
    pub shape: Option<ShapeFn>,
    /// How gradients flow back; without it the op has none.
    pub gradient: Option<GradientFn>,
    /// What a user of TensorFlow would notice, as a sentence of `docs/ops.md`; empty where nothing is known to differ.
    pub differs: &'static str,
}

impl Op {
    /// An op with nothing in it, for `..Op::DEFAULT`.
    pub const DEFAULT: Op = Op {
        name: "",
        inputs: &[],
        outputs: &[],
        attrs: &[],
        stateful: false,
        commutative: false,
        aggregate: false,
        allows_uninitialized_input: false,
        distributed_communication: false,
        nature: Nature::PLAIN,
        kernels: &[],
        shape: None,
        gradient: None,
        differs: "",
    };

    /// The op with a shape rule, for ops that a function makes.
    #[must_use]
    pub const fn with_shape(mut self, shape: ShapeFn) -> Op {
        self.shape = Some(shape);
        self
    }

    /// The op with a gradient, for ops that a function makes.
    #[must_use]
    pub const fn with_gradient(mut self, gradient: GradientFn) -> Op {
        self.gradient = Some(gradient);
        self
    }
}

/// One implementation of an op, and for which nodes it is.
#[derive(Clone, Copy)]
pub struct KernelDef {
    /// The kind of device that it runs on, as `CPU`.
    pub device: &'static str,
    /// For attributes of type `type` (or lists of them), the types supported.
    pub types: [Option<(&'static str, &'static [DType])>; 4],
    create: Create,
}

#[derive(Clone, Copy)]
enum Create {
    Compute(fn(&Attrs<'_>) -> Result<Arc<dyn Kernel>>),
    Async(fn(&Attrs<'_>) -> Result<Arc<dyn AsyncKernel>>),
    ControlFlow(ControlFlow),
}

/// A kernel made for one node.
#[derive(Clone, Debug)]
pub enum Implementation {
    Compute(Arc<dyn Kernel>),
    Async(Arc<dyn AsyncKernel>),
    /// The executor itself does what this node means.
    ControlFlow(ControlFlow),
}

/// A kernel for the CPU.
pub const fn cpu<K: Kernel>() -> KernelDef {
    KernelDef {
        device: "CPU",
        types: [None; 4],
        create: Create::Compute(|attrs| Ok(Arc::new(K::new(attrs)?))),
    }
}

/// A kernel for the CPU that may wait for something.
pub const fn cpu_async<K: AsyncKernel>() -> KernelDef {
    KernelDef {
        device: "CPU",
        types: [None; 4],
        create: Create::Async(|attrs| Ok(Arc::new(K::new(attrs)?))),
    }
}

/// An op that only steers the executor.
pub const fn control_flow(what: ControlFlow) -> KernelDef {
    KernelDef { device: "CPU", types: [None; 4], create: Create::ControlFlow(what) }
}

impl KernelDef {
    /// What the executor does with such nodes, if it needs no kernel for them.
    pub(crate) fn control_flow(&self) -> Option<ControlFlow> {
        match self.create {
            Create::ControlFlow(what) => Some(what),
            Create::Compute(_) | Create::Async(_) => None,
        }
    }

    /// Restricts the kernel to nodes whose attribute `attr` is one of `types`.
    #[must_use]
    pub const fn types(mut self, attr: &'static str, types: &'static [DType]) -> KernelDef {
        let mut i = 0;
        while self.types[i].is_some() {
            i += 1;
        }
        self.types[i] = Some((attr, types));
        self
    }

    /// Whether the kernel is for a node with these attributes.
    pub fn supports(&self, attrs: &Attrs<'_>) -> bool {
        self.types.iter().flatten().all(|(name, types)| {
            attrs.types_of(name).is_ok_and(|have| have.iter().all(|dtype| types.contains(dtype)))
        })
    }

    /// Makes the kernel for a node.
    pub fn create(&self, attrs: &Attrs<'_>) -> Result<Implementation> {
        Ok(match self.create {
            Create::Compute(create) => Implementation::Compute(create(attrs)?),
            Create::Async(create) => Implementation::Async(create(attrs)?),
            Create::ControlFlow(what) => Implementation::ControlFlow(what),
        })
    }
}

impl fmt::Debug for KernelDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelDef")
            .field("device", &self.device)
            .field("types", &self.types)
            .finish_non_exhaustive()
    }
}

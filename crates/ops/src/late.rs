//! Kernels whose attributes name a file: it is read where reading may block, in the first step and not
//! when the graph is made.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tensorfleet_framework::{Attrs, Kernel, KernelContext};
use tensorfleet_graph::Node;
use tensorfleet_tensor::Result;

/// A kernel that may read a file when it is made.
pub(crate) trait ReadsWhenMade: Kernel {
    /// Whether it does with these attributes.
    fn reads(attrs: &Attrs<'_>) -> Result<bool>;
}

/// A kernel that is made when it is needed, if that means to read a file.
pub(crate) enum Late<K> {
    Made(K),
    Unmade { node: Box<Node>, made: Mutex<Option<Arc<K>>> },
}

impl<K> fmt::Debug for Late<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Late::Made(_) => "Late::Made",
            Late::Unmade { .. } => "Late::Unmade",
        })
    }
}

impl<K: ReadsWhenMade> Kernel for Late<K> {
    fn new(attrs: &Attrs<'_>) -> Result<Late<K>> {
        if K::reads(attrs)? {
            return Ok(Late::Unmade {
                node: Box::new(attrs.node().clone()),
                made: Mutex::default(),
            });
        }
        K::new(attrs).map(Late::Made)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        match self {
            Late::Made(kernel) => kernel.compute(ctx),
            Late::Unmade { node, made } => {
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                let attrs = Attrs::under(node, ctx.step().policy.as_ref());
                let kernel = match &*made {
                    Some(kernel) => Arc::clone(kernel),
                    None => Arc::clone(made.insert(Arc::new(K::new(&attrs)?))),
                };
                drop(made);
                kernel.compute(ctx)
            }
        }
    }

    fn blocks(&self) -> bool {
        matches!(self, Late::Unmade { .. })
    }

    fn cost(&self, inputs: &[tensorfleet_framework::Value]) -> u64 {
        match self {
            Late::Made(kernel) => kernel.cost(inputs),
            Late::Unmade { .. } => 0,
        }
    }
}

//! The op library of servers inside a Python process: its Python functions can be called.

use std::sync::Arc;

use tensorfleet_framework::{KernelDef, Op, Registry, cpu_async};
use tensorfleet_tensor::Result;

use crate::function::PythonFunction;

const CALL: &[KernelDef] = &[cpu_async::<PythonFunction>()];

/// The whole library, with kernels that call Python where others can only refuse.
pub(crate) fn with_python_functions() -> Result<Arc<Registry>> {
    let ops: Vec<Op> = tensorfleet_ops::all()
        .map(|op| match op.name {
            "EagerPyFunc" | "PyFunc" | "PyFuncStateless" => Op { kernels: CALL, ..*op },
            _ => *op,
        })
        .collect();
    Ok(Arc::new(Registry::new(&ops)?))
}

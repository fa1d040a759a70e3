//! Ops whose state is in the client's process: tensors kept by an in-process session, and Python
//! functions.
//!
//! No server has them, TensorFlow's neither; a program that uses them is told so in its words.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Result, failed_precondition, invalid_argument};

const CALLBACK: &[KernelDef] = &[cpu::<Callback>()];
const SESSION: &[KernelDef] = &[cpu::<SessionTensor>()];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DeleteSessionTensor",
        inputs: &["handle: string"],
        stateful: true,
        kernels: SESSION,
        ..Op::DEFAULT
    },
    Op {
        name: "EagerPyFunc",
        inputs: &["input: Tin"],
        outputs: &["output: Tout"],
        attrs: &[
            "token: string",
            "is_async: bool = false",
            "Tin: list(type) >= 0",
            "Tout: list(type) >= 0",
        ],
        stateful: true,
        kernels: CALLBACK,
        ..Op::DEFAULT
    },
    Op {
        name: "GetSessionHandle",
        inputs: &["value: T"],
        outputs: &["handle: string"],
        attrs: &["T: type"],
        stateful: true,
        kernels: SESSION,
        ..Op::DEFAULT
    },
    Op {
        name: "GetSessionHandleV2",
        inputs: &["value: T"],
        outputs: &["handle: resource"],
        attrs: &["T: type"],
        stateful: true,
        kernels: SESSION,
        ..Op::DEFAULT
    },
    Op {
        name: "GetSessionTensor",
        inputs: &["handle: string"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        stateful: true,
        kernels: SESSION,
        ..Op::DEFAULT
    },
    Op {
        name: "PyFunc",
        inputs: &["input: Tin"],
        outputs: &["output: Tout"],
        attrs: &["token: string", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
        stateful: true,
        kernels: CALLBACK,
        ..Op::DEFAULT
    },
    Op {
        name: "PyFuncStateless",
        inputs: &["input: Tin"],
        outputs: &["output: Tout"],
        attrs: &["token: string", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
        kernels: CALLBACK,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct SessionTensor {
    op: String,
}

impl Kernel for SessionTensor {
    fn new(attrs: &Attrs<'_>) -> Result<SessionTensor> {
        Ok(SessionTensor { op: attrs.op().trim_end_matches("V2").to_owned() })
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Err(failed_precondition!("{} called on null session state", self.op))
    }
}

#[derive(Debug)]
struct Callback {
    token: String,
}

impl Kernel for Callback {
    fn new(attrs: &Attrs<'_>) -> Result<Callback> {
        Ok(Callback { token: attrs.string("token")?.into_owned() })
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Err(invalid_argument!(
            "ValueError: Could not find callback with key={} in the registry. Python functions \
             exist in the process that defined them and cannot run in this server.",
            self.token
        ))
    }
}

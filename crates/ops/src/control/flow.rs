//! Branches, loops, and the ends of a function: ops that the executor itself carries out.

use tensorfleet_framework::{Attrs, ControlFlow, Kernel, KernelContext, Op, control_flow, cpu};
use tensorfleet_tensor::{Result, aborted};

const ENTER: &[&str] = &[
    "T: type",
    "frame_name: string",
    "is_constant: bool = false",
    "parallel_iterations: int = 10",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Abort",
        attrs: &["error_msg: string = ''", "exit_without_error: bool = false"],
        kernels: &[cpu::<Abort>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ControlTrigger",
        kernels: &[control_flow(ControlFlow::ControlTrigger)],
        ..Op::DEFAULT
    },
    Op {
        name: "Enter",
        inputs: &["data: T"],
        outputs: &["output: T"],
        attrs: ENTER,
        kernels: &[control_flow(ControlFlow::Enter)],
        ..Op::DEFAULT
    },
    Op {
        name: "Exit",
        inputs: &["data: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[control_flow(ControlFlow::Exit)],
        ..Op::DEFAULT
    },
    Op {
        name: "LoopCond",
        inputs: &["input: bool"],
        outputs: &["output: bool"],
        kernels: &[control_flow(ControlFlow::LoopCond)],
        ..Op::DEFAULT
    },
    Op {
        name: "Merge",
        inputs: &["inputs: N * T"],
        outputs: &["output: T", "value_index: int32"],
        attrs: &["T: type", "N: int >= 1"],
        kernels: &[control_flow(ControlFlow::Merge)],
        ..Op::DEFAULT
    },
    Op {
        name: "NextIteration",
        inputs: &["data: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[control_flow(ControlFlow::NextIteration)],
        ..Op::DEFAULT
    },
    Op { name: "NoOp", kernels: &[cpu::<NoOp>()], ..Op::DEFAULT },
    Op {
        name: "RefEnter",
        inputs: &["data: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: ENTER,
        kernels: &[control_flow(ControlFlow::Enter)],
        ..Op::DEFAULT
    },
    Op {
        name: "RefExit",
        inputs: &["data: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type"],
        kernels: &[control_flow(ControlFlow::Exit)],
        ..Op::DEFAULT
    },
    Op {
        name: "RefMerge",
        inputs: &["inputs: Ref(N * T)"],
        outputs: &["output: Ref(T)", "value_index: int32"],
        attrs: &["T: type", "N: int >= 1"],
        kernels: &[control_flow(ControlFlow::Merge)],
        ..Op::DEFAULT
    },
    Op {
        name: "RefNextIteration",
        inputs: &["data: Ref(T)"],
        outputs: &["output: Ref(T)"],
        attrs: &["T: type"],
        kernels: &[control_flow(ControlFlow::NextIteration)],
        ..Op::DEFAULT
    },
    Op {
        name: "RefSwitch",
        inputs: &["data: Ref(T)", "pred: bool"],
        outputs: &["output_false: Ref(T)", "output_true: Ref(T)"],
        attrs: &["T: type"],
        allows_uninitialized_input: true,
        kernels: &[control_flow(ControlFlow::Switch)],
        ..Op::DEFAULT
    },
    Op {
        name: "Switch",
        inputs: &["data: T", "pred: bool"],
        outputs: &["output_false: T", "output_true: T"],
        attrs: &["T: type"],
        kernels: &[control_flow(ControlFlow::Switch)],
        ..Op::DEFAULT
    },
    Op {
        name: "_Arg",
        outputs: &["output: T"],
        attrs: &["T: type", "index: int >= 0"],
        stateful: true,
        kernels: &[control_flow(ControlFlow::Arg)],
        ..Op::DEFAULT
    },
    Op {
        name: "_Retval",
        inputs: &["input: T"],
        attrs: &["T: type", "index: int >= 0"],
        stateful: true,
        kernels: &[control_flow(ControlFlow::Retval)],
        ..Op::DEFAULT
    },
    Op {
        name: "_SwitchN",
        inputs: &["data: T", "output_index: int32"],
        outputs: &["outputs: num_outs * T"],
        attrs: &["num_outs: int >= 1", "T: type"],
        kernels: &[control_flow(ControlFlow::SwitchN)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct NoOp;

impl Kernel for NoOp {
    fn new(_: &Attrs<'_>) -> Result<NoOp> {
        Ok(NoOp)
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// TensorFlow ends the process here. A server that any client can end is not ours: the step fails.
#[derive(Debug)]
struct Abort {
    message: String,
    without_error: bool,
}

impl Kernel for Abort {
    fn new(attrs: &Attrs<'_>) -> Result<Abort> {
        let (message, without_error) =
            (attrs.string("error_msg")?, attrs.bool("exit_without_error")?);
        Ok(Abort { message: message.into_owned(), without_error })
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        if self.without_error {
            return Ok(());
        }
        Err(aborted!("Abort_op intentional failure; {}", self.message))
    }
}

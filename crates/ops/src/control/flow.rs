//! Branches, loops, and the ends of a function: ops that the executor itself carries out.

use tensorfleet_framework::{
    Attrs, ControlFlow, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op,
    ShapeContext, control_flow, cpu, gradient,
};
use tensorfleet_tensor::{DType, PartialShape, unimplemented_error};
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
        shape: Some(merge_shape),
        gradient: Some(merge_gradient),
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
        shape: Some(switch_shape),
        gradient: Some(switch_gradient),
        ..Op::DEFAULT
    },
    Op { name: "SyncDevice", stateful: true, kernels: &[cpu::<NoOp>()], ..Op::DEFAULT },
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

fn merge_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let first = c.input(0);
    let agree = (1..c.num_inputs()).all(|index| c.input(index) == first);
    let shape = if agree { first.clone() } else { PartialShape::UNKNOWN };
    Ok(vec![shape, PartialShape::scalar()])
}

fn switch_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.input(0).clone(); 2])
}

/// The gradient goes back to the branch from which the value came, and is dead on the others.
fn merge_gradient(g: &GradientContext<'_>) -> InputGradients {
    if g.num_inputs() != 2 {
        return Err(unimplemented_error!("a Merge of {} inputs has no gradient", g.num_inputs()));
    }
    let is_second = g.call("Equal", [g.output(1), g.scalar(1i32)?])?;
    let [first, second] = g.outs(NewNode::new("Switch").input(g.grad(0)?).input(is_second))?;
    gradient::both(first, second)
}

/// Whichever branch ran has the gradient; a branch that does not use the value has zeros.
fn switch_gradient(g: &GradientContext<'_>) -> InputGradients {
    let of_branch = |index| match g.grad_or_none(index) {
        Some(gradient) => g.dense(gradient),
        None => {
            let value = g.output(index);
            match g.dtype(value) {
                // The gradient of a handle is that of the variable's value.
                DType::Resource => {
                    let dtype = [0, 1].iter().find_map(|&index| g.grad_or_none(index));
                    let dtype = dtype.map_or(DType::Float, |gradient| g.dtype(gradient.values()));
                    let read = NewNode::new("ReadVariableOp").input(value).attr("dtype", dtype);
                    g.zeros_like(g.out(read)?)
                }
                _ => g.zeros_like(value),
            }
        }
    };
    let branches = [of_branch(0)?, of_branch(1)?];
    let merged = g.out(NewNode::new("Merge").list(&branches))?;
    Ok(vec![Some(merged.into()), None])
}

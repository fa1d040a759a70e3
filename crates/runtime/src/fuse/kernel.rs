//! The kernel of a fused node.

use std::sync::Arc;

use smallvec::SmallVec;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Pointwise, Value};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor, internal};

use super::program::Program;

/// What stands for one node in a fused one.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) kernel: Arc<dyn Kernel>,
    /// Where the operands come from: the numbers of inputs, then those of earlier members.
    pub(super) operands: SmallVec<[usize; 2]>,
}

/// Computes what its members would, in one pass if the shapes allow that.
#[derive(Debug)]
pub(super) struct Fused {
    num_inputs: usize,
    members: Vec<Member>,
    program: AnyProgram,
    /// For each input and member the last member that uses it.
    last_uses: Vec<usize>,
}

/// A program over the numbers of the members' type.
#[derive(Debug)]
enum AnyProgram {
    F32(Program<f32>),
    F64(Program<f64>),
    I32(Program<i32>),
    I64(Program<i64>),
    None,
}

impl Fused {
    /// Fuses members, of which the last one's result is that of all, and which all have one type.
    pub(super) fn new(num_inputs: usize, members: Vec<Member>) -> Fused {
        let mut last_uses = vec![0; num_inputs + members.len()];
        for (number, member) in members.iter().enumerate() {
            member.operands.iter().for_each(|&operand| last_uses[operand] = number);
        }
        let program = match members.first().and_then(|member| member.kernel.pointwise()) {
            Some(Pointwise::F32(_)) => {
                Program::new(num_inputs, &members, &last_uses).map(AnyProgram::F32)
            }
            Some(Pointwise::F64(_)) => {
                Program::new(num_inputs, &members, &last_uses).map(AnyProgram::F64)
            }
            Some(Pointwise::I32(_)) => {
                Program::new(num_inputs, &members, &last_uses).map(AnyProgram::I32)
            }
            Some(Pointwise::I64(_)) => {
                Program::new(num_inputs, &members, &last_uses).map(AnyProgram::I64)
            }
            None => None,
        };
        Fused { num_inputs, members, program: program.unwrap_or(AnyProgram::None), last_uses }
    }

    /// Runs the members' own kernels, for operands that have to be broadcast, and for errors.
    fn one_by_one(&self, ctx: &mut KernelContext<'_>) -> Result<Value> {
        let mut values: Vec<Value> =
            (0..self.num_inputs).map(|index| ctx.take_value(index)).collect::<Result<_>>()?;
        for (number, member) in self.members.iter().enumerate() {
            let mut operands: SmallVec<[Value; 2]> =
                member.operands.iter().map(|&operand| values[operand].clone()).collect();
            // Whose last use this is may be overwritten.
            for &operand in &member.operands {
                if self.last_uses[operand] == number {
                    values[operand] = Value::Empty;
                }
            }
            let mut output = [Value::Empty];
            let (step, frame) = (ctx.step(), ctx.frame());
            let mut ctx = KernelContext::new(&member.name, step, frame, &mut operands, &mut output);
            member.kernel.compute(&mut ctx).map_err(|error| error.at_node(&member.name))?;
            let [output] = output;
            values.push(output);
        }
        Ok(values.pop().unwrap_or_default())
    }
}

impl Kernel for Fused {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Err(internal!("{} is not a node that others can ask for", attrs.op()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let inputs = ctx.inputs_mut();
        let result: Option<Tensor> = match &self.program {
            AnyProgram::F32(program) => program.run(par, inputs)?,
            AnyProgram::F64(program) => program.run(par, inputs)?,
            AnyProgram::I32(program) => program.run(par, inputs)?,
            AnyProgram::I64(program) => program.run(par, inputs)?,
            AnyProgram::None => None,
        };
        let value = match result {
            Some(tensor) => Value::Tensor(tensor),
            None => self.one_by_one(ctx)?,
        };
        ctx.set_value(0, value);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        let bytes = |input: &Value| match input {
            Value::Tensor(tensor) => tensor.byte_len() as u64,
            Value::Ref(_) | Value::Empty => 0,
        };
        let (largest, members) =
            (inputs.iter().map(bytes).max().unwrap_or(0), self.members.len() as u64);
        // Each member takes a few nanoseconds to begin, and then works within the nearest cache.
        inputs.iter().map(bytes).sum::<u64>() / 4 + members * (4 + largest / 16)
    }
}

//! Functions of elements, one after the other over blocks that stay in the nearest cache.

use smallvec::SmallVec;
use tensorfleet_framework::{PointwiseElement, PointwiseFn, Row, Value};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Element, Result, Shape, Tensor};

use super::kernel::Member;
use super::partial::{BLOCK, Partial};

/// Elements times functions below which another thread is not worth waking.
const MIN_WORK: usize = 64 * 1024;

/// The functions of a fused node.
#[derive(Debug)]
pub(super) struct Program<T> {
    num_inputs: usize,
    lines: Vec<Line<T>>,
    num_registers: usize,
}

#[derive(Debug)]
struct Line<T> {
    function: PointwiseFn<T>,
    /// The numbers of inputs, then those of earlier lines; a function of one operand has it twice.
    operands: [usize; 2],
    /// Where a block of results is kept.
    register: usize,
}

/// A line for operands of known shapes, with what its operands are.
struct Resolved<T> {
    function: PointwiseFn<T>,
    operands: [Operand<T>; 2],
    register: usize,
}

#[derive(Clone, Copy)]
enum Operand<T> {
    Value(T),
    /// An input of the output's shape.
    Input(usize),
    Partial(usize),
    Register(usize),
}

impl<T: PointwiseElement> Program<T> {
    /// The program of members that all have functions of the type. For each input and member
    /// `last_uses` has the last member that uses it.
    pub(super) fn new(
        num_inputs: usize,
        members: &[Member],
        last_uses: &[usize],
    ) -> Option<Program<T>> {
        let mut lines: Vec<Line<T>> = Vec::with_capacity(members.len());
        let (mut free, mut num_registers) = (Vec::new(), 0);
        for (number, member) in members.iter().enumerate() {
            let register = free.pop().unwrap_or_else(|| {
                num_registers += 1;
                num_registers - 1
            });
            let operands = [*member.operands.first()?, *member.operands.last()?];
            // What is used for the last time is free for the next line, not yet for this one.
            let mut sources: Vec<usize> =
                operands.iter().filter_map(|operand| operand.checked_sub(num_inputs)).collect();
            sources.dedup();
            let ended = sources.into_iter().filter(|&line| last_uses[num_inputs + line] == number);
            free.extend(ended.map(|line| lines[line].register));
            lines.push(Line {
                function: T::function(member.kernel.pointwise()?)?,
                operands,
                register,
            });
        }
        Some(Program { num_inputs, lines, num_registers })
    }

    /// Runs the program; nothing if an input is neither a scalar, nor of the output's shape, nor
    /// repeats along it in a simple way.
    pub(super) fn run(&self, par: Parallel, inputs: &mut [Value]) -> Result<Option<Tensor>> {
        let Some(tensors) = tensors(inputs) else { return Ok(None) };
        let shape = largest_shape(&tensors).cloned();
        let mut operands = Vec::with_capacity(self.num_inputs + self.lines.len());
        let mut partials = Vec::new();
        for (index, tensor) in tensors.iter().enumerate() {
            operands.push(match &shape {
                _ if tensor.shape().is_scalar() => Operand::Value(tensor.scalar_value::<T>()?),
                Some(shape) if tensor.shape() == shape => Operand::Input(index),
                Some(shape) => {
                    let partial = Partial::new(tensor.values::<T>()?, tensor.shape(), shape);
                    let Some(partial) = partial else { return Ok(None) };
                    partials.push(partial);
                    Operand::Partial(partials.len() - 1)
                }
                None => return Ok(None),
            });
        }
        let Some(resolved) = self.resolve(&mut operands, &mut partials) else { return Ok(None) };
        let Some(shape) = shape else {
            return Ok(match operands.last() {
                Some(Operand::Value(value)) => Some(Tensor::scalar(*value)),
                _ => None,
            });
        };
        let reused = inputs.iter().position(|input| {
            let has_shape = |tensor: &Tensor| *tensor.shape() == shape && tensor.is_unique();
            matches!(input, Value::Tensor(tensor) if has_shape(tensor))
        });
        let storage = reused.map(|index| inputs[index].take());
        let slices: Vec<&[T]> = inputs
            .iter()
            .map(|input| match input {
                Value::Tensor(tensor) => tensor.values::<T>(),
                Value::Ref(_) | Value::Empty => Ok(&[][..]),
            })
            .collect::<Result<_>>()?;
        let blocks = Blocks {
            lines: &resolved,
            inputs: &slices,
            partials: &partials,
            reused,
            registers: self.num_registers,
        };
        match storage {
            Some(Value::Tensor(mut tensor)) => {
                blocks.fill(par, tensor.values_mut()?);
                Ok(Some(tensor))
            }
            _ => Tensor::build(shape, |out| blocks.fill(par, out)).map(Some),
        }
    }

    /// Finds out what every line's operands are, and computes once what is a scalar or repeats.
    /// Nothing if a function cannot take its operands as they are.
    fn resolve(
        &self,
        operands: &mut Vec<Operand<T>>,
        partials: &mut Vec<Partial<T>>,
    ) -> Option<Vec<Resolved<T>>> {
        let mut resolved = Vec::new();
        for line in &self.lines {
            let [a, b] = line.operands.map(|operand| operands[operand]);
            let is_small = |operand| matches!(operand, Operand::Value(_) | Operand::Partial(_));
            let result = match (line.function, a, b) {
                // The operands have different shapes, which is an error or a case of its own.
                (PointwiseFn::Pair(_), Operand::Partial(_), _)
                | (PointwiseFn::Pair(_), _, Operand::Partial(_)) => return None,
                (PointwiseFn::One(f), Operand::Value(a), _) => Some(single(|out| f(&[a], out))),
                (PointwiseFn::Two(f), Operand::Value(a), Operand::Value(b)) => {
                    Some(single(|out| f(Row::Value(a), Row::Value(b), out)))
                }
                (PointwiseFn::Pair(f), Operand::Value(a), Operand::Value(b)) => {
                    Some(single(|out| f(&[a], &[b], out)))
                }
                (PointwiseFn::Pair(_), Operand::Value(_), _)
                | (PointwiseFn::Pair(_), _, Operand::Value(_)) => return None,
                (function, a, b) if is_small(a) && is_small(b) => {
                    if let Some(partial) = partial(function, a, b, partials) {
                        partials.push(partial);
                        operands.push(Operand::Partial(partials.len() - 1));
                        continue;
                    }
                    None
                }
                _ => None,
            };
            operands.push(match result {
                Some(value) => Operand::Value(value),
                None => {
                    let (function, register) = (line.function, line.register);
                    resolved.push(Resolved { function, operands: [a, b], register });
                    Operand::Register(register)
                }
            });
        }
        Some(resolved)
    }
}

/// The result of a function whose operands repeat in the same way, or not at all: it does so too.
fn partial<T: Element>(
    function: PointwiseFn<T>,
    a: Operand<T>,
    b: Operand<T>,
    partials: &[Partial<T>],
) -> Option<Partial<T>> {
    let row = |operand| match operand {
        Operand::Value(value) => Some(Row::Value(value)),
        Operand::Partial(index) => Some(Row::Slice(partials[index].once())),
        Operand::Input(_) | Operand::Register(_) => None,
    };
    let like = match (a, b) {
        (Operand::Partial(a), Operand::Partial(b)) if !partials[a].is_like(&partials[b]) => {
            return None;
        }
        (Operand::Partial(index), _) | (_, Operand::Partial(index)) => &partials[index],
        _ => return None,
    };
    let (a, b) = (row(a)?, row(b)?);
    match (function, a) {
        (PointwiseFn::One(f), Row::Slice(a)) => Some(like.with_values(|out| f(a, out))),
        (PointwiseFn::Two(f), a) => Some(like.with_values(|out| f(a, b, out))),
        (PointwiseFn::One(_) | PointwiseFn::Pair(_), _) => None,
    }
}

fn single<T: Element>(f: impl FnOnce(&mut [T])) -> T {
    let mut out = [T::default()];
    f(&mut out);
    out[0]
}

fn tensors(inputs: &[Value]) -> Option<Vec<&Tensor>> {
    inputs
        .iter()
        .map(|input| match input {
            Value::Tensor(tensor) => Some(tensor),
            Value::Ref(_) | Value::Empty => None,
        })
        .collect()
}

/// The shape of the largest tensor, unless all are scalars.
fn largest_shape<'a>(tensors: &[&'a Tensor]) -> Option<&'a Shape> {
    let shapes = tensors.iter().map(|tensor| tensor.shape()).filter(|shape| !shape.is_scalar());
    shapes.max_by_key(|shape| (shape.num_elements(), shape.rank()))
}

/// What all pieces of the output have in common.
struct Blocks<'a, T> {
    lines: &'a [Resolved<T>],
    /// The inputs, of which those of the output's shape are used.
    inputs: &'a [&'a [T]],
    partials: &'a [Partial<T>],
    /// The input whose storage the output takes.
    reused: Option<usize>,
    registers: usize,
}

impl<T: Element> Blocks<'_, T> {
    fn fill(&self, par: Parallel, out: &mut [T]) {
        let min_len = (MIN_WORK / self.lines.len()).max(BLOCK);
        par.for_each(out, min_len, |range, out| self.piece(range.start, out));
    }

    /// Computes the elements from `start` on.
    fn piece(&self, start: usize, out: &mut [T]) {
        let len = out.len().min(BLOCK);
        let mut registers = vec![vec![T::default(); len]; self.registers];
        // The lines read the reused input from here while they overwrite it.
        let mut copy = vec![T::default(); if self.reused.is_some() { len } else { 0 }];
        let mut spaces = vec![vec![T::default(); len]; self.partials.len()];
        let mut at = start;
        for out in out.chunks_mut(BLOCK) {
            if self.reused.is_some() {
                copy[..out.len()].copy_from_slice(out);
            }
            self.block(at, out, &mut registers, &copy, &mut spaces);
            at += out.len();
        }
    }

    fn block(
        &self,
        at: usize,
        out: &mut [T],
        registers: &mut [Vec<T>],
        copy: &[T],
        spaces: &mut [Vec<T>],
    ) {
        let len = out.len();
        let partials: SmallVec<[Row<'_, T>; 4]> =
            self.partials.iter().zip(spaces).map(|(p, space)| p.row(at, len, space)).collect();
        let last = self.lines.len() - 1;
        for (number, line) in self.lines.iter().enumerate() {
            let mut results = std::mem::take(&mut registers[line.register]);
            let target = if number == last { &mut *out } else { &mut results[..len] };
            let row = |operand: Operand<T>| match operand {
                Operand::Value(value) => Row::Value(value),
                Operand::Input(index) if self.reused == Some(index) => Row::Slice(&copy[..len]),
                Operand::Input(index) => Row::Slice(&self.inputs[index][at..at + len]),
                Operand::Partial(index) => partials[index],
                Operand::Register(register) => Row::Slice(&registers[register][..len]),
            };
            match (line.function, line.operands.map(row)) {
                (PointwiseFn::One(f), [Row::Slice(a), _]) => f(a, target),
                (PointwiseFn::Two(f), [a, b]) => f(a, b, target),
                (PointwiseFn::Pair(f), [Row::Slice(a), Row::Slice(b)]) => f(a, b, target),
                (PointwiseFn::One(_) | PointwiseFn::Pair(_), _) => {
                    unreachable!("scalars were computed before")
                }
            }
            registers[line.register] = results;
        }
    }
}

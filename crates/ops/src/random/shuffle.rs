//! `RandomShuffle`: the rows of a tensor in random order.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::random::{GuardedPhilox, shuffle, shuffle_words};
use tensorfleet_tensor::{DType, Result, Tensor, unimplemented_error};

use super::stateful::generator;
use super::stateless::generator_of_key;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RandomShuffle",
        inputs: &["value: T"],
        outputs: &["output: T"],
        attrs: &["seed: int = 0", "seed2: int = 0", "T: type"],
        stateful: true,
        kernels: &[cpu::<RandomShuffle>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessShuffle",
        inputs: &["value: T", "key: uint64", "counter: uint64", "alg: int32"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<StatelessShuffle>()],
        ..Op::DEFAULT
    },
];

/// The same with a generator that is an input.
#[derive(Debug)]
struct StatelessShuffle;

impl Kernel for StatelessShuffle {
    fn new(_: &Attrs<'_>) -> Result<StatelessShuffle> {
        Ok(StatelessShuffle)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let philox = generator_of_key(ctx.input(1)?, ctx.input(2)?, ctx.input(3)?)?;
        let input = ctx.take_input(0)?;
        let output = match input.dims().first() {
            Some(&rows) if rows > 1 && input.num_elements() > 1 => {
                let mut order: Vec<usize> = (0..rows).collect();
                shuffle(philox, &mut order);
                reorder(&input, &order)?
            }
            _ => input,
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct RandomShuffle(GuardedPhilox);

impl Kernel for RandomShuffle {
    fn new(attrs: &Attrs<'_>) -> Result<RandomShuffle> {
        Ok(RandomShuffle(generator(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.take_input(0)?;
        let rows = match input.dims().first() {
            Some(&rows) if rows > 1 && input.num_elements() > 1 => rows,
            _ => {
                ctx.set_output(0, input);
                return Ok(());
            }
        };
        let mut order: Vec<usize> = (0..rows).collect();
        shuffle(self.0.reserve_words(shuffle_words(rows)), &mut order);
        let output = reorder(&input, &order)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn reorder(input: &Tensor, order: &[usize]) -> Result<Tensor> {
    let shape = input.shape().clone();
    let row = input.num_elements() / order.len();
    match input.dtype() {
        DType::String => {
            let values = input.strings()?;
            let rows = order.iter().flat_map(|&i| &values[i * row..(i + 1) * row]);
            Tensor::from_strings(shape, rows.cloned().collect())
        }
        dtype if dtype.is_plain() => {
            let (bytes, values) = (row * dtype.size(), input.raw());
            Tensor::build_raw(dtype, shape, |out| {
                for (out, &i) in out.chunks_exact_mut(bytes).zip(order) {
                    out.copy_from_slice(&values[i * bytes..(i + 1) * bytes]);
                }
                Ok(())
            })
        }
        other => Err(unimplemented_error!("RandomShuffle of {other} tensors")),
    }
}

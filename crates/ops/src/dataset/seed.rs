//! Seeds of datasets: TensorFlow's way from the seeds of a program to the numbers of a shuffle.

use std::sync::Arc;
use std::sync::Mutex;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Resource, cpu};
use tensorfleet_kernels::random::{Philox, entropy};
use tensorfleet_tensor::{Result, Tensor};

use super::iterator::deleter;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AnonymousRandomSeedGenerator",
        inputs: &["seed: int64", "seed2: int64"],
        outputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[cpu::<Anonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousSeedGenerator",
        inputs: &["seed: int64", "seed2: int64", "reshuffle: bool"],
        outputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[cpu::<Anonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DeleteRandomSeedGenerator",
        inputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[DELETE],
        ..Op::DEFAULT
    },
    Op {
        name: "DeleteSeedGenerator",
        inputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[DELETE],
        ..Op::DEFAULT
    },
];

const DELETE: KernelDef = cpu::<Delete>();

/// The words of a Philox stream, one by one.
#[derive(Clone, Debug)]
pub(super) struct Words {
    philox: Philox,
    block: [u32; 4],
    used: usize,
}

impl Words {
    pub(super) fn new((seed, seed2): (u64, u64)) -> Words {
        Words { philox: Philox::new(seed, seed2), block: [0; 4], used: 4 }
    }

    pub(super) fn next(&mut self) -> u32 {
        if self.used == 4 {
            self.block = self.philox.next_block();
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }
}

/// Gives each iteration its seeds: always the same ones, or others each time.
#[derive(Debug)]
pub(crate) struct SeedGenerator {
    changes: bool,
    position: Mutex<Position>,
}

/// Where a generator is. It says all about the seeds that follow, so that an iteration that starts
/// from the same position gets the same seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) seeds: (u64, u64),
    /// How many iterations have had their seeds.
    pub(crate) given: u64,
}

impl Resource for SeedGenerator {
    const TYPE_NAME: &'static str = "tensorflow::data::SeedGeneratorManager";
}

impl SeedGenerator {
    /// Two seeds of zero mean: any seeds.
    pub(super) fn new(seed: i64, seed2: i64, changes: bool) -> SeedGenerator {
        let seeds = match (seed, seed2) {
            (0, 0) => (entropy(), entropy()),
            (seed, seed2) => (seed as u64, seed2 as u64),
        };
        SeedGenerator { changes, position: Mutex::new(Position { seeds, given: 0 }) }
    }

    /// The seeds by which elements are shuffled whose numbers are asked for. TensorFlow shuffles them
    /// by a constant where all iterations have the same seeds.
    pub(super) fn seeds(&self) -> (u64, u64) {
        const FIXED: (u64, u64) = (87_654_321, 87_654_321);
        if !self.changes {
            return FIXED;
        }
        self.position.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).seeds
    }

    /// The seeds of the next iteration, and where the generator was when it gave them. With `from`,
    /// the generator goes there first.
    pub(super) fn next(&self, from: Option<Position>) -> (Position, (u64, u64)) {
        let mut position = self.position.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = from.unwrap_or(*position);
        *position = Position { given: before.given.wrapping_add(1), ..before };
        if !self.changes {
            return (before, before.seeds);
        }
        // Each iteration takes two words, so a block serves two iterations.
        let mut philox = Philox::new(before.seeds.0, before.seeds.1);
        philox.skip(before.given / 2);
        let [a, b, c, d] = philox.next_block().map(u64::from);
        (before, if before.given.is_multiple_of(2) { (a, b) } else { (c, d) })
    }
}

/// A generator that lives as long as its handle.
#[derive(Debug)]
struct Anonymous;

impl Kernel for Anonymous {
    fn new(_: &Attrs<'_>) -> Result<Anonymous> {
        Ok(Anonymous)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let seed = ctx.input(0)?.scalar_value::<i64>()?;
        let seed2 = ctx.input(1)?.scalar_value::<i64>()?;
        let changes = match ctx.num_inputs() {
            3 => ctx.input(2)?.scalar_value::<bool>()?,
            _ => true,
        };
        let generator = Arc::new(SeedGenerator::new(seed, seed2, changes));
        let step = ctx.step();
        let handle =
            step.resources.anonymous_handle(&step.device, "AnonymousSeedGenerator", generator);
        ctx.set_output(0, Tensor::resource(handle));
        ctx.set_output(1, deleter());
        Ok(())
    }
}

/// The generator goes with its handle.
#[derive(Debug)]
struct Delete;

impl Kernel for Delete {
    fn new(_: &Attrs<'_>) -> Result<Delete> {
        Ok(Delete)
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }
}

//! Seeds of datasets: TensorFlow's way from the seeds of a program to the numbers of a shuffle.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tensorfleet_framework::{
    Attrs, Kernel, KernelContext, KernelDef, Op, Resource, anonymous_handle, cpu,
};
use tensorfleet_kernels::random::Philox;
use tensorfleet_tensor::{Result, Tensor};

use super::iterator::deleter;
use super::scope::random_seeds;

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
pub(super) struct SeedGenerator {
    seeds: (u64, u64),
    words: Option<Mutex<Words>>,
}

impl Resource for SeedGenerator {
    const TYPE_NAME: &'static str = "tensorflow::data::SeedGeneratorManager";
}

impl SeedGenerator {
    /// Two seeds of zero mean: any seeds.
    pub(super) fn new(seed: i64, seed2: i64, changes: bool) -> SeedGenerator {
        let seeds = match (seed, seed2) {
            (0, 0) => random_seeds(),
            (seed, seed2) => (seed as u64, seed2 as u64),
        };
        SeedGenerator { seeds, words: changes.then(|| Mutex::new(Words::new(seeds))) }
    }

    /// The seeds of the next iteration.
    pub(super) fn next(&self) -> (u64, u64) {
        match &self.words {
            None => self.seeds,
            Some(words) => {
                let mut words = words.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                (words.next().into(), words.next().into())
            }
        }
    }
}

/// A generator that lives as long as its handle.
#[derive(Debug)]
struct Anonymous {
    made: AtomicU64,
}

impl Kernel for Anonymous {
    fn new(_: &Attrs<'_>) -> Result<Anonymous> {
        Ok(Anonymous { made: AtomicU64::new(0) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let seed = ctx.input(0)?.scalar_value::<i64>()?;
        let seed2 = ctx.input(1)?.scalar_value::<i64>()?;
        let changes = match ctx.num_inputs() {
            3 => ctx.input(2)?.scalar_value::<bool>()?,
            _ => true,
        };
        let generator = Arc::new(SeedGenerator::new(seed, seed2, changes));
        let name = format!("AnonymousSeedGenerator{}", self.made.fetch_add(1, Ordering::Relaxed));
        let handle = anonymous_handle(&ctx.step().device, &name, generator);
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

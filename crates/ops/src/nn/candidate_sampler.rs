//! Candidate samplers: classes drawn at random, to be contrasted with the true ones of a batch.
//!
//! With fixed seeds the classes are those that TensorFlow draws.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_kernels::random::{GuardedPhilox, Words};
use tensorfleet_tensor::{Result, Shape, Tensor, internal, invalid_argument, try_vec};

use self::fixed_unigram::FixedUnigram;
use self::weights::Weights;
use crate::late::{Late, ReadsWhenMade};

mod fixed_unigram;
mod weights;

const KERNELS: &[KernelDef] = &[cpu::<Late<CandidateSampler>>()];

const fn sampler(name: &'static str, attrs: &'static [&'static str]) -> Op {
    Op {
        name,
        inputs: &["true_classes: int64"],
        outputs: &[
            "sampled_candidates: int64",
            "true_expected_count: float",
            "sampled_expected_count: float",
        ],
        attrs,
        stateful: true,
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

const RANGED: &[&str] = &[
    "num_true: int >= 1",
    "num_sampled: int >= 1",
    "unique: bool",
    "range_max: int >= 1",
    "seed: int = 0",
    "seed2: int = 0",
];

pub(super) const OPS: &[Op] = &[
    sampler(
        "AllCandidateSampler",
        &[
            "num_true: int >= 1",
            "num_sampled: int >= 1",
            "unique: bool",
            "seed: int = 0",
            "seed2: int = 0",
        ],
    ),
    Op {
        name: "ComputeAccidentalHits",
        inputs: &["true_classes: int64", "sampled_candidates: int64"],
        outputs: &["indices: int32", "ids: int64", "weights: float"],
        attrs: &["num_true: int", "seed: int = 0", "seed2: int = 0"],
        kernels: &[cpu::<AccidentalHits>()],
        ..Op::DEFAULT
    },
    sampler(
        "FixedUnigramCandidateSampler",
        &[
            "num_true: int >= 1",
            "num_sampled: int >= 1",
            "unique: bool",
            "range_max: int >= 1",
            "vocab_file: string = ''",
            "distortion: float = 1.0",
            "num_reserved_ids: int = 0",
            "num_shards: int >= 1 = 1",
            "shard: int >= 0 = 0",
            "unigrams: list(float) = []",
            "seed: int = 0",
            "seed2: int = 0",
        ],
    ),
    sampler("LearnedUnigramCandidateSampler", RANGED),
    sampler("LogUniformCandidateSampler", RANGED),
    sampler("ThreadUnsafeUnigramCandidateSampler", RANGED),
    sampler("UniformCandidateSampler", RANGED),
];

/// Words of random bits that TensorFlow sets aside for each class.
const WORDS_PER_SAMPLE: i64 = 2048;

#[derive(Debug)]
struct CandidateSampler {
    num_true: usize,
    num_sampled: i32,
    unique: bool,
    range: i64,
    classes: Classes,
    generator: GuardedPhilox,
}

/// How classes are distributed.
#[derive(Debug)]
enum Classes {
    /// Every class once; nothing is random.
    All,
    Uniform,
    /// Falling like the words of a language in the order of their frequency.
    LogUniform,
    /// As often as they were among the true classes so far.
    Learned(RwLock<Weights>),
    Fixed(FixedUnigram),
}

impl ReadsWhenMade for CandidateSampler {
    fn reads(attrs: &Attrs<'_>) -> Result<bool> {
        Ok(attrs.get("vocab_file").is_some() && !attrs.string("vocab_file")?.is_empty())
    }
}

impl Kernel for CandidateSampler {
    fn new(attrs: &Attrs<'_>) -> Result<CandidateSampler> {
        let num_sampled = int32(attrs, "num_sampled")?;
        let range = match attrs.op() {
            "AllCandidateSampler" => num_sampled.into(),
            _ => attrs.int("range_max")?,
        };
        let classes = match attrs.op() {
            "AllCandidateSampler" => Classes::All,
            "UniformCandidateSampler" => Classes::Uniform,
            "LogUniformCandidateSampler" => Classes::LogUniform,
            "FixedUnigramCandidateSampler" => Classes::Fixed(FixedUnigram::new(attrs, range)?),
            _ => Classes::Learned(RwLock::new(Weights::new(range)?)),
        };
        Ok(CandidateSampler {
            num_true: int32(attrs, "num_true")? as usize,
            num_sampled,
            unique: attrs.bool("unique")?,
            range,
            classes,
            generator: GuardedPhilox::new(attrs.int("seed")?, attrs.int("seed2")?),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let true_classes = ctx.input(0)?;
        let &[batch, columns] = true_classes.dims() else {
            return Err(invalid_argument!("true_classes must be a matrix"));
        };
        if columns != self.num_true {
            return Err(invalid_argument!(
                "true_classes must have num_true columns, expected: {columns} was: {}",
                self.num_true
            ));
        }
        if self.unique && self.distinct_classes() < self.num_sampled.into() {
            return Err(invalid_argument!("Sampler's range is too small."));
        }
        let classes: &[i64] = true_classes.values()?;
        if let Some(class) = classes.iter().find(|class| !(0..self.range).contains(class)) {
            return Err(invalid_argument!(
                "`true_candidate` out of range [0, {}), received {class}",
                self.range
            ));
        }
        let (sampled, tries) = self.sample()?;
        let expected = |class: i64| self.expected_count(class, tries);
        let true_count = Tensor::build(Shape::new(&[batch, columns])?, |out: &mut [f32]| {
            out.iter_mut().zip(classes).for_each(|(out, &class)| *out = expected(class));
        })?;
        let sampled_count = Tensor::build(Shape::vector(sampled.len()), |out: &mut [f32]| {
            out.iter_mut().zip(&sampled).for_each(|(out, &class)| *out = expected(class));
        })?;
        if let Classes::Learned(weights) = &self.classes {
            weights.write().unwrap_or_else(PoisonError::into_inner).count(classes);
        }
        ctx.set_output(0, Tensor::vector(&sampled)?);
        ctx.set_output(1, true_count);
        ctx.set_output(2, sampled_count);
        Ok(())
    }
}

impl CandidateSampler {
    /// Draws the classes of one run, and says how many draws it took.
    fn sample(&self) -> Result<(Vec<i64>, i32)> {
        let count = self.num_sampled as usize;
        let mut sampled = try_vec(count)?;
        let words = WORDS_PER_SAMPLE * i64::from(self.num_sampled);
        let mut words = self.generator.reserve_words(words as u64).words();
        if let Classes::All = self.classes {
            sampled.extend(0..i64::from(self.num_sampled));
            return Ok((sampled, self.num_sampled));
        }
        if !self.unique {
            sampled.extend((0..count).map(|_| self.draw(&mut words)));
            return Ok((sampled, self.num_sampled));
        }
        let mut used = HashSet::new();
        let mut tries = 0i32;
        while sampled.len() < count {
            tries = tries.checked_add(1).ok_or_else(|| {
                internal!("found only {} of {count} unique classes", sampled.len())
            })?;
            let class = self.draw(&mut words);
            if used.insert(class) {
                sampled.push(class);
            }
        }
        Ok((sampled, tries))
    }

    fn draw(&self, words: &mut Words) -> i64 {
        match &self.classes {
            Classes::All => 0,
            Classes::Uniform => words.below_u64(self.range as u64) as i64,
            Classes::LogUniform => {
                let class = (words.next_f64() * self.log_range()).exp() as i64 - 1;
                class % self.range
            }
            Classes::Learned(weights) => {
                weights.read().unwrap_or_else(PoisonError::into_inner).draw(words)
            }
            Classes::Fixed(fixed) => fixed.draw(words),
        }
    }

    fn probability(&self, class: i64) -> f32 {
        match &self.classes {
            Classes::All => 1.0,
            Classes::Uniform => (1.0 / self.range as f64) as f32,
            Classes::LogUniform => {
                let class = class as f64;
                (((class + 2.0) / (class + 1.0)).ln() / self.log_range()) as f32
            }
            Classes::Learned(weights) => {
                weights.read().unwrap_or_else(PoisonError::into_inner).probability(class)
            }
            Classes::Fixed(fixed) => fixed.probability(class),
        }
    }

    /// How often a class is expected in a run that took `tries` draws. For unique classes this
    /// supposes, as TensorFlow does, that every run takes as many.
    fn expected_count(&self, class: i64, tries: i32) -> f32 {
        let probability = self.probability(class);
        if let Classes::All = self.classes {
            1.0
        } else if tries == self.num_sampled {
            probability * tries as f32
        } else {
            -(tries as f32 * (-probability).ln_1p()).exp_m1()
        }
    }

    fn log_range(&self) -> f64 {
        (self.range as f64).ln_1p()
    }

    /// The number of classes that can be drawn at all.
    fn distinct_classes(&self) -> i64 {
        match &self.classes {
            Classes::Fixed(fixed) => fixed.distinct(),
            _ => self.range,
        }
    }
}

/// Reads an attribute that TensorFlow keeps in 32 bits.
fn int32(attrs: &Attrs<'_>, name: &str) -> Result<i32> {
    let value = attrs.int(name)?;
    i32::try_from(value)
        .map_err(|_| invalid_argument!("Attr {name} has value {value} out of range for an int32"))
}

/// Finds true classes among the sampled ones.
#[derive(Debug)]
struct AccidentalHits {
    num_true: i64,
}

impl Kernel for AccidentalHits {
    fn new(attrs: &Attrs<'_>) -> Result<AccidentalHits> {
        Ok(AccidentalHits { num_true: attrs.int("num_true")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (classes, sampled) = (ctx.input(0)?, ctx.input(1)?);
        let columns = match *classes.dims() {
            [_, columns] if usize::try_from(self.num_true) == Ok(columns) => columns,
            _ => {
                return Err(invalid_argument!(
                    "true_candidates must be a batch_size * num_true matrix"
                ));
            }
        };
        if sampled.rank() != 1 {
            return Err(invalid_argument!(
                "sampled_candidates must be a vector, which is typically an output from \
                 CandidateSampler"
            ));
        }
        // The last of equal candidates is the one that is found.
        let places: FxHashMap<i64, i64> =
            sampled.values::<i64>()?.iter().copied().zip(0..).collect();
        let (mut indices, mut ids) = (Vec::new(), Vec::new());
        for (at, class) in classes.values::<i64>()?.iter().enumerate() {
            if let Some(&place) = places.get(class) {
                indices.push((at / columns) as i32);
                ids.push(place);
            }
        }
        ctx.set_output(0, Tensor::vector(&indices)?);
        ctx.set_output(2, Tensor::vector(&vec![f32::MIN; ids.len()])?);
        ctx.set_output(1, Tensor::vector(&ids)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(classes: Classes) -> CandidateSampler {
        CandidateSampler {
            num_true: 1,
            num_sampled: 4,
            unique: false,
            range: 5,
            classes,
            generator: GuardedPhilox::new(1, 2),
        }
    }

    #[test]
    fn later_runs_draw_what_tensorflow_draws_then() {
        let uniform = sampler(Classes::Uniform);
        for expected in [[4, 1, 2, 1], [3, 0, 2, 1], [3, 0, 3, 2]] {
            assert_eq!(uniform.sample().unwrap().0, expected);
        }
    }

    #[test]
    fn classes_seen_before_become_likelier() {
        let learned = sampler(Classes::Learned(RwLock::new(Weights::new(5).unwrap())));
        let runs = [([4, 0, 2, 4], 0.8), ([3, 0, 1, 4], 1.5), ([1, 1, 3, 1], 1.818_181_9)];
        for (expected, count_of_one) in runs {
            let (sampled, tries) = learned.sample().unwrap();
            assert_eq!(sampled, expected);
            assert_eq!(learned.expected_count(1, tries), count_of_one);
            let Classes::Learned(weights) = &learned.classes else { unreachable!() };
            weights.write().unwrap().count(&[1, 1, 4]);
        }
    }
}

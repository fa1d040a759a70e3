//! A distribution given by weights, drawn from by the alias method.

use std::iter;

use tensorfleet_files::FileSystem;
use tensorfleet_framework::Attrs;
use tensorfleet_kernels::random::Words;
use tensorfleet_tensor::{Error, Result, invalid_argument};

use crate::record::{Compression, Stream};

/// Weights of classes that do not change.
#[derive(Debug)]
pub(super) struct FixedUnigram {
    weights: Vec<f32>,
    total: f32,
    buckets: Vec<Bucket>,
}

/// An equal share of the distribution: of one class with some chance, and otherwise of another.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    chance: f32,
    other: u32,
}

impl FixedUnigram {
    pub(super) fn new(attrs: &Attrs<'_>, range: i64) -> Result<FixedUnigram> {
        let (file, unigrams) = (attrs.string("vocab_file")?, attrs.floats("unigrams")?);
        if file.is_empty() && unigrams.is_empty() {
            return Err(invalid_argument!("Must provide either vocab_file or unigrams."));
        }
        if !file.is_empty() && !unigrams.is_empty() {
            return Err(invalid_argument!("Must only provide one of vocab_file and unigrams."));
        }
        let reserved = attrs.int("num_reserved_ids")?;
        let (shards, shard) = (attrs.int("num_shards")?, attrs.int("shard")?);
        // Of the numbers below `reserved`, those that are `shard` modulo `shards`.
        let reserved = reserved.saturating_sub(shard).max(0) as u64;
        let reserved = reserved.div_ceil(shards as u64) as i64;
        let mut weights = match usize::try_from(reserved) {
            Ok(count) if reserved <= range => vec![0.0; count],
            _ => return Err(wrong_size(range, reserved)),
        };
        let words = if file.is_empty() {
            unigrams.to_vec()
        } else {
            read_vocabulary(&*attrs.files(), &file)?
        };
        let distortion = attrs.float("distortion")?;
        let mut total = 0.0;
        for (id, word) in (reserved..).zip(words) {
            if id % shards == shard {
                let weight = word.powf(distortion);
                total += weight;
                weights.push(weight);
            }
        }
        if i64::try_from(weights.len()) != Ok(range) {
            return Err(wrong_size(range, weights.len() as i64));
        }
        let buckets = buckets(&weights);
        Ok(FixedUnigram { weights, total, buckets })
    }

    pub(super) fn draw(&self, words: &mut Words) -> i64 {
        let chance = words.next_f32();
        let class = words.below(self.buckets.len() as u32);
        let bucket = self.buckets[class as usize];
        if chance < bucket.chance { class.into() } else { bucket.other.into() }
    }

    pub(super) fn probability(&self, class: i64) -> f32 {
        let weight = usize::try_from(class).ok().and_then(|class| self.weights.get(class));
        weight.map_or(0.0, |weight| weight / self.total)
    }

    /// The number of classes with a chance.
    pub(super) fn distinct(&self) -> i64 {
        self.weights.iter().filter(|&&weight| weight > 0.0).count() as i64
    }
}

fn wrong_size(range: i64, size: i64) -> Error {
    invalid_argument!("range is {range} must be equal to weights size  {size}")
}

/// Reads the weights of a vocabulary: the last column of each line.
fn read_vocabulary(files: &dyn FileSystem, file: &str) -> Result<Vec<f32>> {
    let mut file = Stream::open(files, file, Compression::None, None)?;
    iter::from_fn(|| file.line().transpose())
        .map(|line| {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            let weight = line.rsplit(',').next().unwrap_or_default();
            weight
                .trim()
                .parse()
                .map_err(|_| invalid_argument!("Wrong vocabulary format at line: {line}"))
        })
        .collect()
}

/// Pairs classes below the average with ones above, which give them what they lack.
fn buckets(weights: &[f32]) -> Vec<Bucket> {
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut shares: Vec<f64> =
        weights.iter().map(|weight| f64::from(weight * weights.len() as f32) / sum).collect();
    let mut others: Vec<usize> = (0..weights.len()).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|&class| shares[class] < 1.0);
    while let (Some(&short), Some(&long)) = (low.last(), high.last()) {
        low.pop();
        high.pop();
        others[short] = long;
        shares[long] -= 1.0 - shares[short];
        if shares[long] < 1.0 {
            low.push(long);
        } else {
            high.push(long);
        }
    }
    // What is left is a whole share but for rounding.
    for class in low.into_iter().chain(high) {
        shares[class] = 1.0;
        others[class] = class;
    }
    let bucket = |(share, other)| Bucket { chance: share as f32, other: other as u32 };
    shares.into_iter().zip(others).map(bucket).collect()
}

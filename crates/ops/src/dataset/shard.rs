//! `ShardDataset`: every so many elements.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, failed_precondition, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Renumbered};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "ShardDataset",
    inputs: &["input_dataset: variant", "num_shards: int64", "index: int64"],
    outputs: &["handle: variant"],
    attrs: &[
        "require_non_empty: bool = false",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<Shard>()],
    ..Op::DEFAULT
}];

/// As the number of shards: to be chosen by whoever distributes the dataset.
pub(super) const SHARD_HINT: i64 = -1;

#[derive(Debug)]
struct Shard {
    require_non_empty: bool,
}

impl MakeDataset for Shard {
    fn new(attrs: &Attrs<'_>) -> Result<Shard> {
        Ok(Shard { require_non_empty: attrs.bool("require_non_empty")? })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let shards = inputs.scalar::<i64>(1, "num_shards")?;
        let index = inputs.scalar::<i64>(2, "index")?;
        let is_hint = shards == SHARD_HINT;
        if shards <= 0 && !is_hint {
            return Err(invalid_argument!(
                "Number of shards must be greater than zero (currently num_shards = {shards})."
            ));
        }
        if !is_hint && !(0..shards).contains(&index) {
            return Err(invalid_argument!(
                "Index must be between 0 and {} (currently index = {index}).",
                shards - 1
            ));
        }
        Ok(Arc::new(ShardDataset {
            input,
            shards: u64::try_from(shards).unwrap_or(1),
            index: u64::try_from(index).unwrap_or(0),
            is_hint,
            require_non_empty: self.require_non_empty,
            signature,
        }))
    }
}

#[derive(Debug)]
struct ShardDataset {
    input: DatasetRef,
    shards: u64,
    index: u64,
    /// Whether the shard is chosen by whoever distributes the dataset.
    is_hint: bool,
    require_non_empty: bool,
    signature: Signature,
}

impl Dataset for ShardDataset {
    fn kind(&self) -> &str {
        "Shard"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        let (shards, index) = (self.shards, self.index);
        self.input.cardinality().map(|count| count / shards + u64::from(index < count % shards))
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        self.input.check_shuffling(self.input.kind())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        if self.is_hint {
            return Err(failed_precondition!(
                "`tf.data.Dataset.shard(SHARD_HINT, ...)` can only be used in \
                 `tf.distribute.Strategy.experimental_distribute_dataset()` with \
                 `tf.data.experimental.AutoShardPolicy.HINT` policy, or tf.data service with \
                 `tf.data.experimental.service.ShardingPolicy.HINT` processing mode."
            ));
        }
        Ok(Box::new(Sharded {
            input: scope.iterate(&*self.input)?,
            skip: self.index,
            shards: self.shards,
            index: self.index,
            require_non_empty: self.require_non_empty,
        }))
    }
}

impl Indexed for ShardDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (input, shards, own) = (scope.access(&*self.input)?, self.shards, self.index);
        Ok(Box::new(Renumbered { input, number: move |index| index * shards + own }))
    }
}

struct Sharded {
    input: Box<dyn Elements>,
    /// How many elements of other shards come before the next of this one.
    skip: u64,
    shards: u64,
    index: u64,
    require_non_empty: bool,
}

impl Elements for Sharded {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.input.skip(self.skip).await? < self.skip {
                return Ok(None);
            }
            let element = self.input.next().await?;
            self.skip = self.shards - 1;
            if element.is_some() && std::mem::take(&mut self.require_non_empty) {
                // After its first element a shard looks whether all others have one.
                let others = self.shards - self.index - 1;
                if self.input.skip(others).await? < others {
                    return Err(invalid_argument!(
                        "Could not apply FILE based sharding: the dataset only has {} file(s), which \
                         is not enough for the required {} shards/workers.If you are using datasets \
                         with distribution strategy, consider setting the auto sharding policy to \
                         either DATA or OFF using the `experimental_distribute.auto_shard_policy` \
                         option of `tf.data.Options()`. Or, split your input files into a larger \
                         number of small files such that number of files is greater than number of \
                         shards/workers.",
                        self.index + 1,
                        self.shards
                    ));
                }
                self.skip = self.index;
            }
            Ok(element)
        })
    }
}

//! `ShardDataset` and `AutoShardDataset`: every so many elements.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument, unimplemented_error};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AutoShardDataset",
        inputs: &["input_dataset: variant", "num_workers: int64", "index: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "auto_shard_policy: int = 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "num_replicas: int = 0",
        ],
        kernels: &[dataset::<AutoShard>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalAutoShardDataset",
        inputs: &["input_dataset: variant", "num_workers: int64", "index: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "auto_shard_policy: int = 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<AutoShard>()],
        ..Op::DEFAULT
    },
    Op {
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
    },
];

/// What a worker is given. By files would need another pipeline than the user's, so workers always
/// share elements: each of them sees as many, and no two see the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AutoShard {
    All,
    Elements,
}

impl MakeDataset for AutoShard {
    fn new(attrs: &Attrs<'_>) -> Result<AutoShard> {
        match attrs.int("auto_shard_policy")? {
            // Off, or where the user says, which a `ShardDataset` does.
            -1 | 3 => Ok(AutoShard::All),
            0 | 2 => Ok(AutoShard::Elements),
            1 => Err(unimplemented_error!(
                "no sharding by files: shard the files themselves, or set auto_shard_policy to DATA"
            )),
            _ => Err(invalid_argument!("auto_shard_policy is invalid.")),
        }
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let workers = inputs.scalar::<i64>(1, "num_workers")?;
        let index = inputs.scalar::<i64>(2, "index")?;
        if workers <= 0 {
            return Err(invalid_argument!("num_workers must be greater than zero."));
        }
        if !(0..workers).contains(&index) {
            return Err(invalid_argument!("index must be between 0 and {}", workers - 1));
        }
        if *self == AutoShard::All {
            return Ok(input);
        }
        Ok(Arc::new(ShardDataset {
            input,
            shards: workers as u64,
            index: index as u64,
            require_non_empty: false,
            signature,
        }))
    }
}

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
        if shards <= 0 {
            return Err(invalid_argument!(
                "Number of shards must be greater than zero (currently num_shards = {shards})."
            ));
        }
        if !(0..shards).contains(&index) {
            return Err(invalid_argument!(
                "Index must be between 0 and {} (currently index = {index}).",
                shards - 1
            ));
        }
        Ok(Arc::new(ShardDataset {
            input,
            shards: shards as u64,
            index: index as u64,
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

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Sharded {
            input: scope.iterate(&*self.input)?,
            skip: self.index,
            shards: self.shards,
            index: self.index,
            require_non_empty: self.require_non_empty,
        }))
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
            let passed = self.input.skip(self.skip).await?;
            let element = if passed == self.skip { self.input.next().await? } else { None };
            // Only the first element can be missing because there are too few for all shards.
            if element.is_none() && self.require_non_empty && self.skip == self.index {
                return Err(invalid_argument!(
                    "Could not apply FILE based sharding: the dataset only has {passed} file(s), \
                     which is not enough for the required {} shards/workers.If you are using \
                     datasets with distribution strategy, consider setting the auto sharding policy \
                     to either DATA or OFF using the `experimental_distribute.auto_shard_policy` \
                     option of `tf.data.Options()`. Or, split your input files into a larger number \
                     of small files such that number of files is greater than number of \
                     shards/workers.",
                    self.shards
                ));
            }
            self.skip = self.shards - 1;
            self.require_non_empty = false;
            Ok(element)
        })
    }
}

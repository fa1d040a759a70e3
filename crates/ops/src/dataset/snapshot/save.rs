//! `SaveDataset` and `SaveDatasetV2`: writing a dataset to files.

use std::sync::Arc;

use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, cpu_async};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, invalid_argument};

use super::super::aside::Aside;
use super::super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, from_tensor,
};
use super::super::scope::{Captured, Scope, UserFunction};
use super::shards::{Store, compression, shard_of};
use crate::record::Compression;

pub(in super::super) const OPS: &[Op] = &[
    Op {
        name: "SaveDataset",
        inputs: &[
            "input_dataset: variant",
            "path: string",
            "shard_func_other_args: Tshard_func_args",
        ],
        attrs: &[
            "compression: string = ''",
            "shard_func: func",
            "use_shard_func: bool = true",
            "Tshard_func_args: list(type) >= 0",
        ],
        stateful: true,
        kernels: &[cpu_async::<Save>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SaveDatasetV2",
        inputs: &[
            "input_dataset: variant",
            "path: string",
            "shard_func_other_args: Tshard_func_args",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "compression: string = ''",
            "shard_func: func",
            "use_shard_func: bool = true",
            "Tshard_func_args: list(type) >= 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<How>()],
        ..Op::DEFAULT
    },
];

/// How to save, as the attributes say.
#[derive(Debug)]
struct How {
    compression: Compression,
    /// What chooses the shard of an element; without, all go to the first.
    shard: Option<Func>,
}

impl How {
    fn read(attrs: &Attrs<'_>) -> Result<How> {
        let shard = match attrs.bool("use_shard_func")? {
            true => Some(attrs.func("shard_func")?.clone()),
            false => None,
        };
        Ok(How { compression: compression(attrs)?, shard })
    }
}

/// Saves at once.
#[derive(Debug)]
struct Save(How);

impl AsyncKernel for Save {
    fn new(attrs: &Attrs<'_>) -> Result<Save> {
        How::read(attrs).map(Save)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let scope = Scope::within(&ctx.step, "SaveDatasetOpIterator::Root");
        let mut inputs = ctx.into_tensors()?;
        let captured = inputs.split_off(2);
        let path = match inputs[1].strings()? {
            [path] => String::from_utf8_lossy(path).into_owned(),
            _ => return Err(invalid_argument!("path must be a scalar")),
        };
        let input = from_tensor(&inputs[0])?;
        let saving = SavingDataset {
            signature: input.signature().clone(),
            input,
            path,
            compression: self.0.compression,
            shard: self.0.shard.as_ref().map(|shard| Captured::new(shard, captured)),
        };
        let mut elements = saving.iterate(&scope)?;
        let task = scope.spawn(async move {
            while elements.next().await?.is_some() {}
            Ok(())
        });
        Ok(Started::Waiting(Box::pin(async move {
            let saved: Result<()> = task.await?;
            saved.map(|()| Outcome::from(Vec::new()))
        })))
    }
}

/// Saves what passes through.
impl MakeDataset for How {
    fn new(attrs: &Attrs<'_>) -> Result<How> {
        How::read(attrs)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let captured = inputs.rest(2)?;
        Ok(Arc::new(SavingDataset {
            input: inputs.dataset(0)?,
            path: String::from_utf8_lossy(inputs.string(1, "path")?).into_owned(),
            compression: self.compression,
            shard: self.shard.as_ref().map(|shard| Captured::new(shard, captured)),
            signature,
        }))
    }
}

#[derive(Debug)]
struct SavingDataset {
    input: DatasetRef,
    path: String,
    compression: Compression,
    shard: Option<Captured>,
    signature: Signature,
}

impl Dataset for SavingDataset {
    fn kind(&self) -> &str {
        "SaveV2"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let store = Store::New {
            files: scope.files(),
            directory: self.path.clone(),
            hash: String::new(),
            compression: self.compression,
            types: self.input.signature().types.clone(),
        };
        let shard = self.shard.as_ref().map(|shard| scope.function(shard)).transpose()?;
        let input = scope.iterate(&*self.input)?;
        Ok(Box::new(Saving { input, store: Aside::new(scope, store), shard, counts: true }))
    }
}

/// Gives the elements of its input, and stores them.
pub(super) struct Saving {
    pub(super) input: Box<dyn Elements>,
    pub(super) store: Aside<Store, Option<Element>>,
    pub(super) shard: Option<UserFunction>,
    /// Whether the number of elements is stored.
    pub(super) counts: bool,
}

impl Elements for Saving {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let (mut shard, mut element) = (0, None);
            if !self.store.is_away() {
                element = self.input.next().await?;
                if let (Some(function), Some(element)) = (&self.shard, &element) {
                    shard = shard_of(function, element).await?;
                }
            }
            let counts = self.counts;
            self.store.run(move |store| store.store(shard, element, counts)).await
        })
    }
}

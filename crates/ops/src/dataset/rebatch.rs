//! `RebatchDataset`: batches cut anew.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::batch::gather;
use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalRebatchDataset",
        inputs: &["input_dataset: variant", "num_replicas: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_fallback: bool = true",
        ],
        kernels: &[dataset::<ByReplicas>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RebatchDataset",
        inputs: &["input_dataset: variant", "num_replicas: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "use_fallback: bool = true",
        ],
        kernels: &[dataset::<ByReplicas>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RebatchDatasetV2",
        inputs: &["input_dataset: variant", "batch_sizes: int64", "drop_remainder: bool"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<BySizes>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct BySizes;

impl MakeDataset for BySizes {
    fn new(_: &Attrs<'_>) -> Result<BySizes> {
        Ok(BySizes)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let sizes = inputs.tensor(1)?;
        if sizes.rank() > 1 {
            return Err(invalid_argument!("`batch_sizes` must be a scalar or a vector."));
        }
        let sizes: Result<Arc<[usize]>> = sizes
            .to_i64_vec()?
            .into_iter()
            .map(|size| {
                usize::try_from(size).map_err(|_| {
                    invalid_argument!("`batch_sizes` must not be negative, got {size}")
                })
            })
            .collect();
        let sizes = sizes?;
        if sizes.iter().all(|size| *size == 0) {
            return Err(invalid_argument!("`batch_sizes` must have a size that is not zero."));
        }
        let drop_remainder = inputs.scalar(2, "drop_remainder")?;
        let cut = Cut::Sizes { sizes, drop_remainder };
        Ok(Arc::new(RebatchDataset { input: inputs.dataset(0)?, cut, signature }))
    }
}

#[derive(Debug)]
struct ByReplicas;

impl MakeDataset for ByReplicas {
    fn new(_: &Attrs<'_>) -> Result<ByReplicas> {
        Ok(ByReplicas)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let replicas = match inputs.scalar::<i64>(1, "num_replicas")? {
            replicas @ 1.. => replicas as usize,
            _ => {
                return Err(invalid_argument!("Number of replicas must be greater than zero."));
            }
        };
        let cut = Cut::Replicas(replicas);
        Ok(Arc::new(RebatchDataset { input: inputs.dataset(0)?, cut, signature }))
    }
}

#[derive(Clone, Debug)]
enum Cut {
    /// Batches of these sizes, in turn.
    Sizes { sizes: Arc<[usize]>, drop_remainder: bool },
    /// Each batch in so many parts.
    Replicas(usize),
}

#[derive(Debug)]
struct RebatchDataset {
    input: DatasetRef,
    cut: Cut,
    signature: Signature,
}

impl Dataset for RebatchDataset {
    fn kind(&self) -> &str {
        match self.cut {
            Cut::Sizes { .. } => "RebatchV2",
            Cut::Replicas(_) => "Rebatch",
        }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        Ok(match self.cut.clone() {
            Cut::Sizes { sizes, drop_remainder } => Box::new(Resized {
                input: Some(input),
                sizes,
                drop_remainder,
                turn: 0,
                batch: Vec::new(),
                used: 0,
            }),
            Cut::Replicas(parts) => Box::new(Parts { input, parts, batch: None, next: 0 }),
        })
    }
}

/// The number of rows of a batch.
fn rows(batch: &[Tensor]) -> Result<usize> {
    let mut common = None;
    for tensor in batch {
        let Some(&rows) = tensor.dims().first() else {
            return Err(invalid_argument!(
                "Input element must have a non-scalar value in each component."
            ));
        };
        if *common.get_or_insert(rows) != rows {
            return Err(invalid_argument!(
                "Input element must have the same batch size in each component."
            ));
        }
    }
    Ok(common.unwrap_or(0))
}

struct Resized {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    sizes: Arc<[usize]>,
    drop_remainder: bool,
    turn: usize,
    /// The batch that is being cut, and how many of its rows are gone.
    batch: Element,
    used: usize,
}

impl Resized {
    /// Sees to it that there are rows left in the batch. False: there are no more.
    async fn load(&mut self) -> Result<bool> {
        while self.used == rows(&self.batch)? {
            let Some(input) = &mut self.input else { return Ok(false) };
            match input.next().await? {
                Some(batch) => (self.batch, self.used) = (batch, 0),
                None => {
                    self.input = None;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Elements for Resized {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let wanted = self.sizes[self.turn];
            let mut pieces: Vec<Element> = Vec::new();
            let mut have = 0;
            // An empty batch has its shape from the batch before it, though that may be the last.
            let has_shape = wanted == 0 && !self.batch.is_empty() && self.input.is_some();
            while (have < wanted || pieces.is_empty()) && (has_shape || self.load().await?) {
                let count = (wanted - have).min(rows(&self.batch)? - self.used);
                let range = self.used..self.used + count;
                let piece = self.batch.iter().map(|tensor| tensor.rows(range.clone()));
                pieces.push(piece.collect::<Result<_>>()?);
                self.used += count;
                have += count;
            }
            if pieces.is_empty() || (have < wanted && self.drop_remainder) {
                return Ok(None);
            }
            self.turn = (self.turn + 1) % self.sizes.len();
            join(pieces).map(Some)
        })
    }
}

/// Joins batches along their first dimension.
fn join(mut pieces: Vec<Element>) -> Result<Element> {
    if pieces.len() == 1 {
        return Ok(pieces.swap_remove(0));
    }
    (0..pieces[0].len())
        .map(|component| {
            let first = &pieces[0][component];
            let mut dims = first.dims().to_vec();
            dims[0] = 0;
            for piece in &pieces {
                let own = piece[component].dims();
                if own[1..] != dims[1..] {
                    return Err(invalid_argument!(
                        "Mismatched shapes in component {component} of batches to be joined: {} \
                         and {}.",
                        first.shape(),
                        piece[component].shape()
                    ));
                }
                dims[0] += own[0];
            }
            let tensors = pieces.iter().map(|piece| &piece[component]);
            gather(first.dtype(), Shape::new(&dims)?, tensors)
        })
        .collect()
}

struct Parts {
    input: Box<dyn Elements>,
    parts: usize,
    batch: Option<Element>,
    next: usize,
}

impl Elements for Parts {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.next == self.parts || self.batch.is_none() {
                self.batch = self.input.next().await?;
                self.next = 0;
            }
            let Some(batch) = &self.batch else { return Ok(None) };
            let rows = rows(batch)?;
            let size = rows.div_ceil(self.parts);
            let start = self.next.saturating_mul(size).min(rows);
            let end = start.saturating_add(size).min(rows);
            self.next += 1;
            batch.iter().map(|tensor| tensor.rows(start..end)).collect::<Result<_>>().map(Some)
        })
    }
}

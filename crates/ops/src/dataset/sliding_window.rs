//! `SlidingWindowDataset`: overlapping batches.

use std::collections::VecDeque;
use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::batch::stack;
use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalSlidingWindowDataset",
        inputs: &[
            "input_dataset: variant",
            "window_size: int64",
            "window_shift: int64",
            "window_stride: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<SlidingWindow>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SlidingWindowDataset",
        inputs: &[
            "input_dataset: variant",
            "window_size: int64",
            "window_shift: int64",
            "window_stride: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "drop_remainder: bool = true",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[dataset::<SlidingWindow>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct SlidingWindow {
    drop_remainder: bool,
}

impl MakeDataset for SlidingWindow {
    fn new(attrs: &Attrs<'_>) -> Result<SlidingWindow> {
        let drop_remainder = match attrs.get("drop_remainder") {
            Some(_) => attrs.bool("drop_remainder")?,
            None => true,
        };
        Ok(SlidingWindow { drop_remainder })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let positive = |index, name: &str, what: &str| match inputs.scalar::<i64>(index, name)? {
            value @ 1.. => Ok(usize::try_from(value).unwrap_or(usize::MAX)),
            _ => Err(invalid_argument!("{what} must be greater than zero.")),
        };
        Ok(Arc::new(SlidingWindowDataset {
            input: inputs.dataset(0)?,
            window: Window {
                size: positive(1, "window_size", "Window size")?,
                shift: positive(2, "window_shift", "Window shift")?,
                stride: positive(3, "window_stride", "window_stride")?,
                drop_remainder: self.drop_remainder,
            },
            signature,
        }))
    }
}

/// Which elements each batch has.
#[derive(Clone, Copy, Debug)]
struct Window {
    size: usize,
    shift: usize,
    stride: usize,
    drop_remainder: bool,
}

impl Window {
    /// How many elements of the input a full batch spans.
    fn span(&self) -> usize {
        (self.size - 1).saturating_mul(self.stride).saturating_add(1)
    }
}

#[derive(Debug)]
struct SlidingWindowDataset {
    input: DatasetRef,
    window: Window,
    signature: Signature,
}

impl Dataset for SlidingWindowDataset {
    fn kind(&self) -> &str {
        "SlidingWindow"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Slid {
            input: Some(scope.iterate(&*self.input)?),
            window: self.window,
            buffer: VecDeque::new(),
        }))
    }
}

struct Slid {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    window: Window,
    buffer: VecDeque<Element>,
}

impl Elements for Slid {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let Window { shift, stride, drop_remainder, .. } = self.window;
            let span = self.window.span();
            while self.buffer.len() < span {
                let Some(input) = &mut self.input else { break };
                match input.next().await? {
                    Some(element) => self.buffer.push_back(element),
                    None => self.input = None,
                }
            }
            if self.buffer.is_empty() || (self.buffer.len() < span && drop_remainder) {
                self.buffer.clear();
                return Ok(None);
            }
            let batch = self.buffer.iter().step_by(stride).cloned().collect();
            let have = self.buffer.len();
            self.buffer.drain(..shift.min(have));
            if let Some(input) = &mut self.input
                && shift > have
            {
                let gap = (shift - have) as u64;
                if input.skip(gap).await? < gap {
                    self.input = None;
                }
            }
            stack(batch).map(Some)
        })
    }
}

//! `WindowDataset`: datasets of consecutive elements.

use std::collections::VecDeque;
use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, into_tensor,
};
use super::memory::MemoryDataset;
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "WindowDataset",
    inputs: &[
        "input_dataset: variant",
        "size: int64",
        "shift: int64",
        "stride: int64",
        "drop_remainder: bool",
    ],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<Window>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Window;

impl MakeDataset for Window {
    fn new(_: &Attrs<'_>) -> Result<Window> {
        Ok(Window)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let positive = |index, name: &str| match inputs.scalar::<i64>(index, name)? {
            value @ 1.. => Ok(value as u64),
            _ => Err(invalid_argument!("Window {name} must be greater than zero.")),
        };
        let shape = Windows {
            size: positive(1, "size")?,
            shift: positive(2, "shift")?,
            stride: positive(3, "stride")?,
            drop_remainder: inputs.scalar(4, "drop_remainder")?,
        };
        Ok(Arc::new(WindowDataset { input, windows: shape, signature }))
    }
}

/// Which elements each window has.
#[derive(Clone, Copy, Debug)]
struct Windows {
    size: u64,
    shift: u64,
    stride: u64,
    drop_remainder: bool,
}

impl Windows {
    /// How many elements of the input a full window spans.
    fn span(&self) -> u64 {
        (self.size - 1).saturating_mul(self.stride).saturating_add(1)
    }
}

#[derive(Debug)]
struct WindowDataset {
    input: DatasetRef,
    windows: Windows,
    signature: Signature,
}

impl Dataset for WindowDataset {
    fn kind(&self) -> &str {
        "Window"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        let Windows { shift, drop_remainder, .. } = self.windows;
        let span = self.windows.span();
        self.input.cardinality().map(|count| {
            if drop_remainder {
                if count < span { 0 } else { (count - span) / shift + 1 }
            } else {
                count.div_ceil(shift)
            }
        })
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Windowed {
            input: Some(scope.iterate(&*self.input)?),
            windows: self.windows,
            buffer: VecDeque::new(),
            signature: self.input.signature().clone(),
        }))
    }
}

struct Windowed {
    /// Absent at the end.
    input: Option<Box<dyn Elements>>,
    windows: Windows,
    /// Elements, or what failed in their place: a window that needs one fails, others do not.
    buffer: VecDeque<Result<Element>>,
    signature: Signature,
}

impl Windowed {
    async fn fill(&mut self) {
        while (self.buffer.len() as u64) < self.windows.span() {
            let Some(input) = &mut self.input else { return };
            match input.next().await {
                Ok(Some(element)) => self.buffer.push_back(Ok(element)),
                Ok(None) => self.input = None,
                Err(error) => self.buffer.push_back(Err(error)),
            }
        }
    }

    async fn shift(&mut self) -> Result<()> {
        let have = self.buffer.len() as u64;
        let shift = self.windows.shift;
        self.buffer.drain(..shift.min(have) as usize);
        if let Some(input) = &mut self.input
            && shift > have
            && input.skip(shift - have).await? < shift - have
        {
            self.input = None;
        }
        Ok(())
    }

    /// The datasets of the window, one for each component.
    fn window(&self, elements: Vec<Element>) -> Result<Element> {
        (0..self.signature.types.len())
            .map(|component| {
                let own: Result<Vec<Element>> = elements
                    .iter()
                    .map(|element| {
                        let tensor = element.get(component).cloned();
                        tensor.map(|tensor| vec![tensor]).ok_or_else(|| {
                            invalid_argument!("an element lacks component {component}")
                        })
                    })
                    .collect();
                let signature = Signature {
                    types: vec![self.signature.types[component]],
                    shapes: vec![self.signature.shapes.get(component).cloned().unwrap_or_default()],
                };
                let elements = Arc::new(own?);
                Ok(into_tensor(Arc::new(MemoryDataset { kind: "Window", elements, signature })))
            })
            .collect()
    }
}

impl Elements for Windowed {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            self.fill().await;
            let is_short = (self.buffer.len() as u64) < self.windows.span();
            if self.buffer.is_empty() || (is_short && self.windows.drop_remainder) {
                self.buffer.clear();
                return Ok(None);
            }
            let stride = usize::try_from(self.windows.stride).unwrap_or(usize::MAX);
            let elements: Result<Vec<Element>> =
                self.buffer.iter().step_by(stride).cloned().collect();
            self.shift().await?;
            self.window(elements?).map(Some)
        })
    }
}

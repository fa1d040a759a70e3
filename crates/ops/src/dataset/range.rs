//! `RangeDataset`: numbers from a start, with a step, up to a stop.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, invalid_argument, unimplemented_error};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[Op {
    name: "RangeDataset",
    inputs: &["start: int64", "stop: int64", "step: int64"],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
        "replicate_on_split: bool = false",
    ],
    stateful: true,
    kernels: &[dataset::<Range>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Range;

impl MakeDataset for Range {
    fn new(_: &Attrs<'_>) -> Result<Range> {
        Ok(Range)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let start = inputs.scalar(0, "start")?;
        let stop = inputs.scalar(1, "stop")?;
        let step = inputs.scalar(2, "step")?;
        if step == 0 {
            return Err(invalid_argument!("step must be a non-zero integer."));
        }
        let numbers = Numbers { next: start, stop, step, dtype: signature.types[0] };
        number(numbers.dtype, start)?;
        Ok(std::sync::Arc::new(RangeDataset { numbers, signature }))
    }
}

#[derive(Debug)]
struct RangeDataset {
    numbers: Numbers,
    signature: Signature,
}

impl Dataset for RangeDataset {
    fn kind(&self) -> &str {
        "Range"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        // Numbers up to the largest one count as all numbers, as in TensorFlow.
        if self.numbers.stop == i64::MAX {
            return Cardinality::Infinite;
        }
        Cardinality::Known(self.numbers.left())
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn title(&self) -> String {
        let Numbers { next, stop, step, .. } = &self.numbers;
        format!("RangeDatasetOp({next}, {stop}, {step})::Dataset")
    }

    fn iterate(&self, _: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(self.numbers.clone()))
    }
}

impl Indexed for RangeDataset {
    fn access(&self, _: &Scope) -> Result<Box<dyn Access>> {
        Ok(Box::new(self.numbers.clone()))
    }
}

impl Access for Numbers {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        let mut from_there = self.clone();
        from_there.advance(index);
        let value = number(self.dtype, from_there.next);
        Box::pin(async { Ok(vec![value?]) })
    }
}

#[derive(Clone, Debug)]
struct Numbers {
    next: i64,
    stop: i64,
    step: i64,
    dtype: DType,
}

impl Numbers {
    fn left(&self) -> u64 {
        let (next, stop) = (i128::from(self.next), i128::from(self.stop));
        let distance = if self.step > 0 { stop - next } else { next - stop };
        let step = i128::from(self.step).unsigned_abs();
        match u128::try_from(distance) {
            Ok(distance) => u64::try_from(distance.div_ceil(step)).unwrap_or(u64::MAX),
            Err(_) => 0,
        }
    }

    fn advance(&mut self, count: u64) {
        let next = i128::from(self.next) + i128::from(self.step) * i128::from(count);
        // Only the number behind the last one can be out of range.
        self.next = i64::try_from(next).unwrap_or(self.stop);
    }
}

impl Elements for Numbers {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        let next = self.try_next().unwrap_or(Ok(None));
        Box::pin(async { next })
    }

    fn try_next(&mut self) -> Option<Result<Option<Element>>> {
        if self.left() == 0 {
            return Some(Ok(None));
        }
        let value = number(self.dtype, self.next);
        self.advance(1);
        Some(value.map(|value| Some(vec![value])))
    }

    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        let count = count.min(self.left());
        self.advance(count);
        Box::pin(async move { Ok(count) })
    }
}

fn number(dtype: DType, value: i64) -> Result<Tensor> {
    Ok(match dtype {
        DType::Half => Tensor::scalar(f16::from_f64(value as f64)),
        DType::BFloat16 => Tensor::scalar(bf16::from_f64(value as f64)),
        dtype => dispatch!(
            dtype,
            [i64, i32, f32, f64, i8, i16, u8, u16, u32, u64],
            T => Tensor::scalar(value as T),
            else => return Err(unimplemented_error!("Unsupported data type: {dtype}"))
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(next: i64, stop: i64, step: i64) -> Vec<i64> {
        let mut numbers = Numbers { next, stop, step, dtype: DType::Int64 };
        let mut all = Vec::new();
        while let Some(Ok(Some(element))) = numbers.try_next() {
            all.push(element[0].scalar_value::<i64>().unwrap());
        }
        all
    }

    #[test]
    fn ranges_end_before_their_stop() {
        assert_eq!(all(0, 7, 3), [0, 3, 6]);
        assert_eq!(all(5, 1, -2), [5, 3]);
        assert!(all(5, 1, 2).is_empty());
        assert_eq!(all(i64::MAX - 1, i64::MAX, 5), [i64::MAX - 1]);
        assert_eq!(all(i64::MIN + 1, i64::MIN, -5), [i64::MIN + 1]);
    }
}

//! `LowerBound` and `UpperBound`: where values would go in sorted rows.

use std::cmp::Ordering::Less;

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::types;

const KERNELS: &[KernelDef] = &[cpu::<Bound>().types("T", types::REAL)];

const fn bound(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["sorted_inputs: T", "values: T"],
        outputs: &["output: out_type"],
        attrs: &["T: type", "out_type: {int32, int64} = DT_INT32"],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[bound("LowerBound"), bound("UpperBound")];

#[derive(Debug)]
struct Bound {
    out_type: DType,
    /// Whether equal values come before.
    is_upper: bool,
}

impl Kernel for Bound {
    fn new(attrs: &Attrs<'_>) -> Result<Bound> {
        Ok(Bound { out_type: attrs.dtype("out_type")?, is_upper: attrs.op() == "UpperBound" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (sorted, values) = (ctx.input(0)?, ctx.input(1)?);
        for (name, tensor) in [("sorted_inputs", sorted), ("values", values)] {
            if tensor.rank() != 2 {
                return Err(invalid_argument!(
                    "Shape must be rank 2 but is rank {} for `{name}` argument",
                    tensor.rank()
                ));
            }
        }
        if sorted.dims()[0] != values.dims()[0] {
            return Err(invalid_argument!("Leading dim_size of both tensors must match."));
        }
        if self.out_type == DType::Int32 && sorted.dims()[1] > i32::MAX as usize {
            return Err(invalid_argument!("trailing dim_size must less than INT_MAX"));
        }
        let places = dispatch!(
            sorted.dtype(),
            [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
            T => self.places::<T>(sorted, values)?,
            else => return Err(internal!("bounds of type {}", sorted.dtype()))
        );
        let shape = values.shape().clone();
        let output = if self.out_type == DType::Int64 {
            Tensor::from_slice(shape, &places)?
        } else {
            Tensor::build(shape, |out: &mut [i32]| {
                out.iter_mut().zip(&places).for_each(|(out, &place)| *out = place as i32);
            })?
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(sorted), Value::Tensor(values)] => {
                let steps = sorted.dims().last().map_or(0, |len| usize::BITS - len.leading_zeros());
                values.num_elements() as u64 * u64::from(steps) * 2
            }
            _ => 0,
        }
    }
}

impl Bound {
    fn places<T: Element + PartialOrd>(
        &self,
        sorted: &Tensor,
        values: &Tensor,
    ) -> Result<Vec<i64>> {
        let (width, each) = (sorted.dims()[1], values.dims()[1]);
        let (sorted, values) = (sorted.values::<T>()?, values.values::<T>()?);
        let mut places = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let row = &sorted[i / each * width..][..width];
            // Phrased so that a value without an order gets the place that TensorFlow gives it.
            let place = if self.is_upper {
                row.partition_point(|element| value.partial_cmp(element) != Some(Less))
            } else {
                row.partition_point(|element| element < value)
            };
            places.push(place as i64);
        }
        Ok(places)
    }
}

//! `Bitcast`: the same bytes read as another type.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, invalid_argument};

use super::copy::dims_of;

pub(super) const OPS: &[Op] = &[Op {
    name: "Bitcast",
    inputs: &["input: T"],
    outputs: &["output: type"],
    attrs: &[
        "T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, \
         int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
        "type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, \
         int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}",
    ],
    kernels: &[cpu::<Bitcast>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Bitcast(DType);

impl Kernel for Bitcast {
    fn new(attrs: &Attrs<'_>) -> Result<Bitcast> {
        Ok(Bitcast(attrs.dtype("type")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let (from, to) = (input.dtype().size(), self.0.size());
        let mut dims = dims_of(input);
        // A wider type takes up the last axis; a narrower one adds an axis.
        if from < to {
            if dims.pop().is_none_or(|last| last * from != to) {
                return Err(invalid_argument!(
                    "Cannot bitcast from {} to {}",
                    input.dtype() as u8,
                    self.0 as u8
                ));
            }
        } else if from > to {
            dims.push(from / to);
        }
        let output = input.reinterpret(self.0, Shape::new(&dims)?)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

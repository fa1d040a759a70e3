//! `SerializeTensor` and `ParseTensor`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::wire;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ParseTensor",
        inputs: &["serialized: string"],
        outputs: &["output: out_type"],
        attrs: &["out_type: type"],
        kernels: &[cpu::<ParseTensor>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SerializeTensor",
        inputs: &["tensor: T"],
        outputs: &["serialized: string"],
        attrs: &["T: type"],
        kernels: &[cpu::<SerializeTensor>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct SerializeTensor;

impl Kernel for SerializeTensor {
    fn new(_: &Attrs<'_>) -> Result<SerializeTensor> {
        Ok(SerializeTensor)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let serialized = wire::encode_tensor(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::string(serialized));
        Ok(())
    }
}

#[derive(Debug)]
struct ParseTensor {
    dtype: DType,
}

impl Kernel for ParseTensor {
    fn new(attrs: &Attrs<'_>) -> Result<ParseTensor> {
        Ok(ParseTensor { dtype: attrs.dtype("out_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let serialized = ctx.input(0)?;
        let bytes = match serialized.strings()? {
            [bytes] if serialized.rank() == 0 => bytes,
            _ => {
                return Err(invalid_argument!(
                    "Expected `serialized` to be a scalar, got shape: {}",
                    serialized.shape()
                ));
            }
        };
        let tensor = wire::decode_tensor(bytes)?;
        if tensor.dtype() != self.dtype {
            return Err(invalid_argument!(
                "Type mismatch between parsed tensor ({}) and dtype ({})",
                tensor.dtype(),
                self.dtype
            ));
        }
        ctx.set_output(0, tensor);
        Ok(())
    }
}

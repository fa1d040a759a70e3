//! `CompressElement` and `UncompressElement`: an element as one small value.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, VariantValue, invalid_argument};

use super::dataset::Signature;
use super::wire::{decode_tensor, encode_tensor};
use crate::record::snappy;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CompressElement",
        inputs: &["components: input_types"],
        outputs: &["compressed: variant"],
        attrs: &["input_types: list(type) >= 1"],
        kernels: &[cpu::<Compress>()],
        ..Op::DEFAULT
    },
    Op {
        name: "UncompressElement",
        inputs: &["compressed: variant"],
        outputs: &["components: output_types"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[cpu::<Uncompress>()],
        ..Op::DEFAULT
    },
];

/// Tensors, each as a compressed message.
#[derive(Debug)]
struct Compressed(Vec<Vec<u8>>);

impl VariantValue for Compressed {
    fn type_name(&self) -> &str {
        "tensorflow.data.CompressedElement"
    }
}

#[derive(Debug)]
struct Compress;

impl Kernel for Compress {
    fn new(_: &Attrs<'_>) -> Result<Compress> {
        Ok(Compress)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let components = (0..ctx.num_inputs())
            .map(|index| snappy::compress(&encode_tensor(ctx.input(index)?)?))
            .collect::<Result<_>>()?;
        ctx.set_output(0, Tensor::variant(Arc::new(Compressed(components))));
        Ok(())
    }
}

#[derive(Debug)]
struct Uncompress(Signature);

impl Kernel for Uncompress {
    fn new(attrs: &Attrs<'_>) -> Result<Uncompress> {
        Ok(Uncompress(Signature::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tensor = ctx.input(0)?;
        let compressed = match tensor.variants()? {
            [variant] => variant.downcast_ref::<Compressed>(),
            _ => None,
        };
        let Some(Compressed(components)) = compressed else {
            return Err(invalid_argument!("Tensor does not contain a compressed element"));
        };
        if components.len() != self.0.types.len() {
            return Err(invalid_argument!(
                "The compressed element has {} components, expected {}",
                components.len(),
                self.0.types.len()
            ));
        }
        let outputs = components
            .iter()
            .map(|component| decode_tensor(snappy::decompress(component)?.into()))
            .collect::<Result<Vec<_>>>()?;
        self.0.check_element(&outputs)?;
        for (index, output) in outputs.into_iter().enumerate() {
            ctx.set_output(index, output);
        }
        Ok(())
    }
}

//! Sparse tensors in strings or variants, three for each, so that they can be batched.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, EncodedVariant, Result, Shape, Tensor, Variant, invalid_argument};

use super::many::{Parts, join};
use crate::parsing::wire;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DeserializeManySparse",
        inputs: &["serialized_sparse: string"],
        outputs: &["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"],
        attrs: &["dtype: type"],
        kernels: &[cpu::<Deserialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DeserializeSparse",
        inputs: &["serialized_sparse: Tserialized"],
        outputs: &["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"],
        attrs: &["dtype: type", "Tserialized: {string, variant} = DT_STRING"],
        kernels: &[cpu::<Deserialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SerializeManySparse",
        inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
        outputs: &["serialized_sparse: out_type"],
        attrs: &["T: type", "out_type: {string, variant} = DT_STRING"],
        kernels: &[cpu::<Serialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SerializeSparse",
        inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
        outputs: &["serialized_sparse: out_type"],
        attrs: &["T: type", "out_type: {string, variant} = DT_STRING"],
        kernels: &[cpu::<Serialize>()],
        ..Op::DEFAULT
    },
];

/// TensorFlow's name for a variant that is just a tensor.
const TENSOR_VARIANT: &str = "tensorflow::Tensor";

#[derive(Debug)]
struct Serialize {
    many: bool,
    as_variants: bool,
}

impl Kernel for Serialize {
    fn new(attrs: &Attrs<'_>) -> Result<Serialize> {
        Ok(Serialize {
            many: attrs.op() == "SerializeManySparse",
            as_variants: attrs.dtype("out_type")? == DType::Variant,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let whole = Parts::new(ctx.input(0)?, ctx.input(1)?, ctx.input(2)?)?;
        let (rows, shape) = if self.many {
            let rows = whole.rows()?;
            let shape = Shape::matrix(rows.len(), 3);
            (rows, shape)
        } else {
            (vec![whole], Shape::vector(3))
        };
        let tensors = rows.into_iter().flat_map(|row| [row.indices, row.values, row.shape]);
        let output = if self.as_variants {
            as_variants(shape, tensors)?
        } else {
            let strings = tensors.map(|tensor| wire::encode_content(&tensor));
            Tensor::from_strings(shape, strings.collect::<Result<_>>()?)?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Tensors, each in a variant: how a sparse tensor is one tensor.
pub(crate) fn as_variants(shape: Shape, tensors: impl Iterator<Item = Tensor>) -> Result<Tensor> {
    let variants = tensors.map(|tensor| {
        Arc::new(EncodedVariant {
            type_name: TENSOR_VARIANT.to_owned(),
            metadata: Vec::new(),
            tensors: vec![tensor],
        }) as Variant
    });
    Tensor::from_variants(shape, variants.collect())
}

#[derive(Debug)]
struct Deserialize {
    dtype: DType,
}

impl Kernel for Deserialize {
    fn new(attrs: &Attrs<'_>) -> Result<Deserialize> {
        Ok(Deserialize { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let serialized = ctx.input(0)?;
        let Some((&last, outer)) = serialized.dims().split_last() else {
            return Err(invalid_argument!(
                "Serialized sparse should have non-zero rank {}",
                serialized.shape()
            ));
        };
        if last != 3 {
            return Err(invalid_argument!(
                "Serialized sparse should have 3 as the last dimension {}",
                serialized.shape()
            ));
        }
        if outer.contains(&0) {
            return Err(invalid_argument!(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero \
                 dimension {}",
                serialized.shape()
            ));
        }
        let tensors = decode(serialized)?;
        let parts: Vec<Parts> = tensors
            .as_chunks::<3>()
            .0
            .iter()
            .map(|[indices, values, shape]| Parts {
                indices: indices.clone(),
                values: values.clone(),
                shape: shape.clone(),
            })
            .collect();
        let whole = join(&parts, outer, self.dtype)?;
        ctx.set_output(0, whole.indices);
        ctx.set_output(1, whole.values);
        ctx.set_output(2, whole.shape);
        Ok(())
    }
}

fn decode(serialized: &Tensor) -> Result<Vec<Tensor>> {
    if serialized.dtype() == DType::Variant {
        return serialized
            .variants()?
            .iter()
            .map(|variant| match variant.downcast_ref::<EncodedVariant>() {
                Some(EncodedVariant { type_name, tensors, .. })
                    if type_name == TENSOR_VARIANT && tensors.len() == 1 =>
                {
                    Ok(tensors[0].clone())
                }
                _ => Err(invalid_argument!(
                    "Could not get a tensor from serialized variant {}",
                    variant.type_name()
                )),
            })
            .collect();
    }
    serialized
        .strings()?
        .iter()
        .map(|bytes| {
            wire::decode_tensor(bytes)
                .map_err(|_| invalid_argument!("Could not parse serialized proto"))
        })
        .collect()
}

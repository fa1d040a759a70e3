//! Tensors of several parts (ragged, sparse, a client's own) as one variant: the parts, and what the
//! client says of their type.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{
    DType, EncodedVariant, Result, Shape, Tensor, Variant, VariantValue, invalid_argument,
};

use crate::parsing::fields::{Field, Fields, Malformed};

const TYPE_NAME: &str = "CompositeTensorVariant";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CompositeTensorVariantFromComponents",
        inputs: &["components: Tcomponents"],
        outputs: &["encoded: variant"],
        attrs: &["metadata: string", "Tcomponents: list(type) >= 0"],
        kernels: &[cpu::<FromComponents>()],
        gradient: Some(from_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "CompositeTensorVariantToComponents",
        inputs: &["encoded: variant"],
        outputs: &["components: Tcomponents"],
        attrs: &["metadata: string", "Tcomponents: list(type) >= 0"],
        kernels: &[cpu::<ToComponents>()],
        gradient: Some(to_gradient),
        ..Op::DEFAULT
    },
];

/// The parts of a tensor.
#[derive(Clone, Debug)]
struct Composite {
    /// An encoded `CompositeTensorVariantMetadata`.
    metadata: Bytes,
    components: Vec<Tensor>,
}

impl VariantValue for Composite {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn encode(&self) -> Result<EncodedVariant> {
        Ok(EncodedVariant {
            type_name: TYPE_NAME.to_owned(),
            metadata: self.metadata.to_vec(),
            tensors: self.components.clone(),
        })
    }
}

fn composite(variant: &Variant) -> Result<Cow<'_, Composite>> {
    if let Some(value) = variant.downcast_ref::<Composite>() {
        return Ok(Cow::Borrowed(value));
    }
    match variant.downcast_ref::<EncodedVariant>() {
        Some(encoded) if encoded.type_name == TYPE_NAME => Ok(Cow::Owned(Composite {
            metadata: encoded.metadata.clone().into(),
            components: encoded.tensors.clone(),
        })),
        _ => Err(invalid_argument!(
            "The input `encoded` is not a valid CompositeTensorVariant tensor, got a variant of \
             type {}",
            variant.type_name()
        )),
    }
}

/// Reads which kind of tensor metadata is of: the first field of its first field.
fn class(metadata: &[u8]) -> Result<u64, Malformed> {
    let mut class = 0;
    let mut fields = Fields::new(metadata);
    while let Some((number, field)) = fields.next()? {
        if let (1, Field::Bytes(spec)) = (number, field) {
            let mut fields = Fields::new(spec);
            while let Some((number, field)) = fields.next()? {
                if let (1, Field::Varint(value)) = (number, field) {
                    class = value;
                }
            }
        }
    }
    Ok(class)
}

fn checked_class(metadata: &[u8]) -> Result<u64> {
    class(metadata).map_err(|_| invalid_argument!("Error parsing metadata"))
}

/// TensorFlow's name of a kind.
fn class_name(class: u64) -> &'static str {
    match class {
        1 => "SPARSE_TENSOR_SPEC",
        2 => "INDEXED_SLICES_SPEC",
        3 => "RAGGED_TENSOR_SPEC",
        4 => "TENSOR_ARRAY_SPEC",
        5 => "DATA_DATASET_SPEC",
        6 => "DATA_ITERATOR_SPEC",
        7 => "OPTIONAL_SPEC",
        8 => "PER_REPLICA_SPEC",
        9 => "VARIABLE_SPEC",
        10 => "ROW_PARTITION_SPEC",
        12 => "REGISTERED_TYPE_SPEC",
        13 => "EXTENSION_TYPE_SPEC",
        _ => "UNKNOWN",
    }
}

#[derive(Debug)]
struct FromComponents {
    metadata: Bytes,
}

impl Kernel for FromComponents {
    fn new(attrs: &Attrs<'_>) -> Result<FromComponents> {
        let metadata = attrs.bytes("metadata")?.clone();
        checked_class(&metadata)?;
        Ok(FromComponents { metadata })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = ctx.num_inputs();
        let components = (0..count).map(|i| ctx.take_input(i)).collect::<Result<Vec<_>>>()?;
        let value: Variant = Arc::new(Composite { metadata: self.metadata.clone(), components });
        ctx.set_output(0, Tensor::from_variants(Shape::SCALAR, vec![value])?);
        Ok(())
    }
}

#[derive(Debug)]
struct ToComponents {
    class: u64,
    dtypes: Vec<DType>,
}

impl Kernel for ToComponents {
    fn new(attrs: &Attrs<'_>) -> Result<ToComponents> {
        let class = checked_class(attrs.bytes("metadata")?)?;
        Ok(ToComponents { class, dtypes: attrs.dtypes("Tcomponents")?.to_vec() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let Some(variant) = ctx.input(0)?.variants()?.first() else {
            return Err(invalid_argument!("The input `encoded` has no value"));
        };
        let value = composite(variant)?;
        let found = checked_class(&value.metadata)?;
        if found != self.class {
            return Err(invalid_argument!(
                "Expected a {} (based on `type_spec`), but `encoded` contains a {}",
                class_name(self.class),
                class_name(found)
            ));
        }
        if value.components.len() != self.dtypes.len() {
            return Err(invalid_argument!(
                "Encoded value has {} tensor components; expected {} components based on type_spec",
                value.components.len(),
                self.dtypes.len()
            ));
        }
        for (at, (component, dtype)) in value.components.iter().zip(&self.dtypes).enumerate() {
            if component.dtype() != *dtype {
                return Err(invalid_argument!(
                    "Tensor component {at} had dtype DT_{}; expected dtype DT_{}",
                    component.dtype().name().to_uppercase(),
                    dtype.name().to_uppercase()
                ));
            }
        }
        let components = value.components.clone();
        for (at, component) in components.into_iter().enumerate() {
            ctx.set_output(at, component);
        }
        Ok(())
    }
}

fn from_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("CompositeTensorVariantToComponents").input(g.grad(0)?);
    let node = g.add(g.with_attrs_of(node)?)?;
    Ok((0..g.num_inputs()).map(|index| Some(Output { node, index: index as u32 }.into())).collect())
}

fn to_gradient(g: &GradientContext<'_>) -> InputGradients {
    let parts = (0..g.num_outputs()).map(|index| g.grad(index)).collect::<Result<Vec<_>>>()?;
    let node = NewNode::new("CompositeTensorVariantFromComponents").list(&parts);
    only(g.out(g.with_attrs_of(node)?)?)
}

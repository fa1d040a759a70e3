//! Optionals: an element or nothing.

use std::sync::Arc;

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{
    DType, EncodedVariant, PartialShape, Result, Tensor, VariantValue, internal, invalid_argument,
};

use super::dataset::{Element, Signature};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "OptionalFromValue",
        inputs: &["components: Toutput_types"],
        outputs: &["optional: variant"],
        attrs: &["Toutput_types: list(type) >= 1"],
        kernels: &[cpu::<FromValue>()],
        gradient: Some(from_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "OptionalGetValue",
        inputs: &["optional: variant"],
        outputs: &["components: output_types"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[cpu::<GetValue>()],
        gradient: Some(get_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "OptionalHasValue",
        inputs: &["optional: variant"],
        outputs: &["has_value: bool"],
        kernels: &[cpu::<HasValue>()],
        ..Op::DEFAULT
    },
    Op {
        name: "OptionalNone",
        outputs: &["optional: variant"],
        kernels: &[cpu::<Nothing>()],
        ..Op::DEFAULT
    },
];

const TYPE_NAME: &str = "tensorflow::data::Optional";

/// An optional as an element of a variant tensor.
#[derive(Clone, Debug)]
struct Optional(Option<Element>);

impl VariantValue for Optional {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn encode(&self) -> Result<EncodedVariant> {
        Ok(EncodedVariant {
            type_name: TYPE_NAME.to_owned(),
            metadata: vec![self.0.is_some().into()],
            tensors: self.0.clone().unwrap_or_default(),
        })
    }
}

/// Puts an element or nothing into a tensor.
pub(super) fn into_tensor(element: Option<Element>) -> Tensor {
    Tensor::variant(Arc::new(Optional(element)))
}

fn from_tensor(tensor: &Tensor) -> Result<Optional> {
    let what = "The given variant tensor does not hold an Optional.";
    if tensor.dtype() != DType::Variant || !tensor.shape().is_scalar() {
        return Err(invalid_argument!(
            "Input to OptionalHasValue must be a scalar tensor containing an OptionalVariant object."
        ));
    }
    let variant = &tensor.variants()?[0];
    if let Some(optional) = variant.downcast_ref::<Optional>() {
        return Ok(optional.clone());
    }
    match variant.downcast_ref::<EncodedVariant>() {
        Some(encoded) if encoded.type_name == TYPE_NAME => {
            let has_value = encoded.metadata == [1];
            Ok(Optional(has_value.then(|| encoded.tensors.clone())))
        }
        _ => Err(invalid_argument!("{what}")),
    }
}

#[derive(Debug)]
struct FromValue;

impl Kernel for FromValue {
    fn new(_: &Attrs<'_>) -> Result<FromValue> {
        Ok(FromValue)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let element = (0..ctx.num_inputs()).map(|i| ctx.take_input(i)).collect::<Result<_>>()?;
        ctx.set_output(0, into_tensor(Some(element)));
        Ok(())
    }
}

#[derive(Debug)]
struct Nothing;

impl Kernel for Nothing {
    fn new(_: &Attrs<'_>) -> Result<Nothing> {
        Ok(Nothing)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.set_output(0, into_tensor(None));
        Ok(())
    }
}

#[derive(Debug)]
struct HasValue;

impl Kernel for HasValue {
    fn new(_: &Attrs<'_>) -> Result<HasValue> {
        Ok(HasValue)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let has_value = from_tensor(ctx.input(0)?)?.0.is_some();
        ctx.set_output(0, Tensor::scalar(has_value));
        Ok(())
    }
}

#[derive(Debug)]
struct GetValue(Signature);

impl Kernel for GetValue {
    fn new(attrs: &Attrs<'_>) -> Result<GetValue> {
        Ok(GetValue(Signature::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let Some(element) = from_tensor(ctx.input(0)?)?.0 else {
            return Err(invalid_argument!("The given optional does not have a value."));
        };
        if element.len() != self.0.types.len() {
            return Err(invalid_argument!(
                "The given optional has {} components, expected {}.",
                element.len(),
                self.0.types.len()
            ));
        }
        for (i, tensor) in element.into_iter().enumerate() {
            if tensor.dtype() != self.0.types[i] {
                return Err(invalid_argument!(
                    "The given optional does not match the expected type for component {i}. \
                     Expected: {}. Actual: {}.",
                    self.0.types[i],
                    tensor.dtype()
                ));
            }
            let shape = self.0.shapes.get(i).ok_or_else(|| internal!("a shape is missing"))?;
            if !shape.is_compatible_with(tensor.shape()) {
                return Err(invalid_argument!(
                    "The given optional does not match the expected shape for component {i}. \
                     Expected: {shape}. Actual: {}.",
                    tensor.shape()
                ));
            }
            ctx.set_output(i, tensor);
        }
        Ok(())
    }
}

fn from_gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = g.inputs(0..g.num_inputs());
    let types: Vec<DType> = inputs.iter().map(|&input| g.dtype(input)).collect();
    let shapes: Vec<PartialShape> = inputs.iter().map(|&input| g.shape(input)).collect();
    let node = NewNode::new("OptionalGetValue").input(g.grad(0)?);
    let node = g.add(node.attr("output_types", types).attr("output_shapes", shapes))?;
    Ok((0..inputs.len()).map(|index| Some(Output { node, index: index as u32 }.into())).collect())
}

fn get_gradient(g: &GradientContext<'_>) -> InputGradients {
    let parts = (0..g.num_outputs()).map(|index| g.grad(index)).collect::<Result<Vec<_>>>()?;
    only(g.out(NewNode::new("OptionalFromValue").list(&parts))?)
}

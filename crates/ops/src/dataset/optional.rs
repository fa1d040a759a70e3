//! Optionals: an element or nothing.

use std::borrow::Cow;
use std::sync::Arc;

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{
    AddTensors, DType, EncodedVariant, PartialShape, Result, Tensor, Variant, VariantValue,
    internal, invalid_argument,
};

use super::dataset::{Element, Signature};
use crate::list::arithmetic::zeros_of_part;
use crate::logging::summarize;

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

pub(crate) const TYPE_NAME: &str = "tensorflow::data::Optional";

/// An optional as an element of a variant tensor.
#[derive(Clone, Debug)]
pub(crate) struct Optional(Option<Element>);

impl VariantValue for Optional {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn zeros_like(&self) -> Result<Variant> {
        let zeros = |element: &Element| element.iter().map(zeros_of_part).collect();
        Ok(Arc::new(Optional(self.0.as_ref().map(zeros).transpose()?)))
    }

    fn plus(&self, other: &Variant, add: AddTensors<'_>) -> Result<Variant> {
        let other = from_variant(other)?;
        let (own, other) = match (&self.0, &other.0) {
            (Some(own), Some(other)) => (own, other),
            (None, None) => return Ok(Arc::new(Optional(None))),
            _ => {
                return Err(invalid_argument!(
                    "Cannot add optionals because one has a value and the other doesn't."
                ));
            }
        };
        if own.len() != other.len() {
            return Err(invalid_argument!(
                "Cannot add optionals because they have different numbers of components ({} vs. \
                 {}).",
                own.len(),
                other.len()
            ));
        }
        let sums = own.iter().zip(other).map(|(own, other)| add(own.clone(), other.clone()));
        Ok(Arc::new(Optional(Some(sums.collect::<Result<_>>()?))))
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

impl Optional {
    /// The optional as messages show it.
    pub(crate) fn debug(&self) -> String {
        let Some(element) = &self.0 else { return "OptionalVariant<None>".to_owned() };
        let values: Vec<String> = element.iter().map(summarize::with_type).collect();
        format!("OptionalVariant<values: ({})>", values.join(", "))
    }
}

/// Reads the optional in a variant.
pub(crate) fn from_variant(variant: &Variant) -> Result<Cow<'_, Optional>> {
    if let Some(optional) = variant.downcast_ref::<Optional>() {
        return Ok(Cow::Borrowed(optional));
    }
    match variant.downcast_ref::<EncodedVariant>() {
        Some(encoded) if encoded.type_name == TYPE_NAME => {
            let has_value = encoded.metadata == [1];
            Ok(Cow::Owned(Optional(has_value.then(|| encoded.tensors.clone()))))
        }
        _ => Err(invalid_argument!("{} is no optional", variant.type_name())),
    }
}

/// Reads the optional that is the input of the op `op`.
fn input<'a>(ctx: &'a KernelContext<'_>, op: &str) -> Result<Cow<'a, Optional>> {
    let input = ctx.input(0)?;
    let [variant] = input.variants()? else {
        return Err(invalid_argument!(
            "Input to {op} must be a scalar tensor containing an OptionalVariant object."
        ));
    };
    from_variant(variant)
        .map_err(|_| invalid_argument!("Input to {op} must be an OptionalVariant object."))
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
        let has_value = input(ctx, "OptionalHasValue")?.0.is_some();
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
        let Some(element) = input(ctx, "OptionalGetValue")?.into_owned().0 else {
            return Err(invalid_argument!("The given optional does not have a value."));
        };
        if element.len() != self.0.types.len() {
            return Err(invalid_argument!(
                "The given optional has {} components, expected {}",
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

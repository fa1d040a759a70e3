//! Variables of TensorFlow 1, which are handed around by reference.

use std::sync::Arc;

use tensorfleet_framework::{
    Attrs, FrameIteration, Kernel, KernelContext, KernelDef, Op, RefVariable, Resource, Value,
    Variable, cpu,
};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, internal, invalid_argument};

const VARIABLE: &[&str] =
    &["shape: shape", "dtype: type", "container: string = ''", "shared_name: string = ''"];
const VARIABLE_KERNELS: &[KernelDef] = &[cpu::<NamedVariable>()];

const fn variable(name: &'static str) -> Op {
    Op {
        name,
        outputs: &["ref: Ref(dtype)"],
        attrs: VARIABLE,
        stateful: true,
        kernels: VARIABLE_KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DestroyTemporaryVariable",
        inputs: &["ref: Ref(T)"],
        outputs: &["value: T"],
        attrs: &["T: type", "var_name: string"],
        kernels: &[cpu::<DestroyTemporaryVariable>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IsVariableInitialized",
        inputs: &["ref: Ref(dtype)"],
        outputs: &["is_initialized: bool"],
        attrs: &["dtype: type"],
        allows_uninitialized_input: true,
        kernels: &[cpu::<IsVariableInitialized>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TemporaryVariable",
        outputs: &["ref: Ref(dtype)"],
        attrs: &["shape: shape", "dtype: type", "var_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<TemporaryVariable>()],
        ..Op::DEFAULT
    },
    variable("Variable"),
    variable("VariableV2"),
];

#[derive(Debug)]
struct NamedVariable {
    container: String,
    name: String,
    dtype: DType,
    shape: Shape,
}

/// The shape of a variable without a value; TensorFlow takes an unknown one for a scalar's.
fn declared_shape(shape: &PartialShape) -> Result<Shape> {
    if shape.rank().is_none() {
        return Ok(Shape::SCALAR);
    }
    shape.to_shape().ok_or_else(|| invalid_argument!("Shape {shape} is not fully defined"))
}

impl Kernel for NamedVariable {
    fn new(attrs: &Attrs<'_>) -> Result<NamedVariable> {
        let shared_name = attrs.string("shared_name")?;
        let name = if shared_name.is_empty() { attrs.node_name().into() } else { shared_name };
        Ok(NamedVariable {
            container: attrs.string("container")?.into_owned(),
            name: name.into_owned(),
            dtype: attrs.dtype("dtype")?,
            shape: declared_shape(attrs.shape("shape")?)?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // Looked up in every step: a reset of the container must take the variable away.
        let node = ctx.node_name();
        let make = || Variable::with_shape(node, self.dtype, self.shape.clone());
        let create = || Ok(RefVariable(Arc::new(make())));
        let found = ctx.step().resources.lookup_or_create(&self.container, &self.name, create)?;
        if found.0.dtype() != self.dtype {
            return Err(internal!(
                "Output 0 of type {}_ref does not match declared output type {}_ref for node \
                 {{{{node {node}}}}}",
                found.0.dtype(),
                self.dtype
            ));
        }
        ctx.set_output_ref(0, Arc::clone(&found.0));
        Ok(())
    }
}

#[derive(Debug)]
struct IsVariableInitialized;

impl Kernel for IsVariableInitialized {
    fn new(_: &Attrs<'_>) -> Result<IsVariableInitialized> {
        Ok(IsVariableInitialized)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let is_initialized = ctx.variable(0)?.is_initialized();
        ctx.set_output(0, Tensor::scalar(is_initialized));
        Ok(())
    }
}

/// The name of a temporary variable, taken from its op to the `DestroyTemporaryVariable` of that
/// name. The variable itself lives in the references to it.
#[derive(Debug)]
struct Temporary;

impl Resource for Temporary {
    const TYPE_NAME: &'static str = "N10tensorflow19TemporaryVariableOp6TmpVarE";
}

/// Iterations of a loop have temporary variables of their own.
fn name_in_frame(name: &str, frame: FrameIteration) -> String {
    format!("{name}/frame:{}/iter:{}", frame.frame, frame.iteration)
}

#[derive(Debug)]
struct TemporaryVariable {
    name: String,
    dtype: DType,
    shape: Shape,
}

impl Kernel for TemporaryVariable {
    fn new(attrs: &Attrs<'_>) -> Result<TemporaryVariable> {
        let name = attrs.string("var_name")?;
        let name = if name.is_empty() { attrs.node_name().into() } else { name };
        let shape = declared_shape(attrs.shape("shape")?)?;
        Ok(TemporaryVariable { name: name.into_owned(), dtype: attrs.dtype("dtype")?, shape })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = Arc::new(Variable::new(ctx.node_name(), self.dtype));
        variable.assign(Tensor::zeros(self.dtype, self.shape.clone())?)?;
        let name = name_in_frame(&self.name, ctx.frame());
        ctx.step().step_resources.create("", &name, Arc::new(Temporary))?;
        ctx.set_output_ref(0, variable);
        Ok(())
    }
}

#[derive(Debug)]
struct DestroyTemporaryVariable {
    name: String,
}

impl Kernel for DestroyTemporaryVariable {
    fn new(attrs: &Attrs<'_>) -> Result<DestroyTemporaryVariable> {
        let name = attrs.string("var_name")?;
        if name.is_empty() {
            return Err(invalid_argument!("Missing var_name attribute"));
        }
        Ok(DestroyTemporaryVariable { name: name.into_owned() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = ctx.variable(0)?.read()?;
        let name = name_in_frame(&self.name, ctx.frame());
        ctx.step().step_resources.delete::<Temporary>("", &name)?;
        ctx.set_output(0, value);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

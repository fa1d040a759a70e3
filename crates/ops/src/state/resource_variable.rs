//! Resource variables: found by a handle that names their container and themselves.

use std::sync::{Arc, OnceLock};

use crate::shapes::scalar;
use tensorfleet_framework::{
    Attrs, Kernel, KernelContext, Nature, Op, Resources, Value, Variable, cpu, no_gradient,
};
use tensorfleet_tensor::{
    Code, DType, PartialShape, ResourceHandle, Result, Tensor, failed_precondition,
    invalid_argument,
};

/// A `shared_name` that means: a variable of its own in every step, reachable by the handle only.
const ANONYMOUS: &str = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DestroyResourceOp",
        inputs: &["resource: resource"],
        attrs: &["ignore_lookup_error: bool = true"],
        stateful: true,
        kernels: &[cpu::<DestroyResource>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DisableCopyOnRead",
        inputs: &["resource: resource"],
        stateful: true,
        kernels: &[cpu::<DisableCopyOnRead>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReadVariableOp",
        inputs: &["resource: resource"],
        outputs: &["value: dtype"],
        attrs: &["dtype: type"],
        stateful: true,
        kernels: &[cpu::<ReadVariable>()],
        // The gradient of a variable's handle is that of its value.
        gradient: Some(crate::control::through),
        nature: Nature::READS_VARIABLE,
        ..Op::DEFAULT
    },
    Op {
        name: "VarHandleOp",
        outputs: &["resource: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "debug_name: string = ''",
            "dtype: type",
            "shape: shape",
            "allowed_devices: list(string) = []",
        ],
        stateful: true,
        kernels: &[cpu::<VarHandle>()],
        shape: Some(scalar),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "VarIsInitializedOp",
        inputs: &["resource: resource"],
        outputs: &["is_initialized: bool"],
        stateful: true,
        kernels: &[cpu::<VarIsInitialized>()],
        shape: Some(scalar),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "VariableShape",
        inputs: &["input: resource"],
        outputs: &["output: out_type"],
        attrs: &["out_type: {int32, int64} = DT_INT32"],
        stateful: true,
        kernels: &[cpu::<VariableShape>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_ReadVariablesOp",
        inputs: &["resources: N * resource"],
        outputs: &["values: dtypes"],
        attrs: &["N: int >= 0", "dtypes: list(type) >= 1"],
        stateful: true,
        kernels: &[cpu::<ReadVariables>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_VarHandlesOp",
        outputs: &["resources: N * resource"],
        attrs: &[
            "containers: list(string)",
            "shared_names: list(string)",
            "N: int >= 0",
            "dtypes: list(type)",
            "shapes: list(shape)",
        ],
        stateful: true,
        kernels: &[cpu::<VarHandles>()],
        ..Op::DEFAULT
    },
];

/// The handle that is an input.
pub(super) fn handle<'a>(ctx: &'a KernelContext<'_>, index: usize) -> Result<&'a ResourceHandle> {
    let tensor = ctx.input(index)?;
    match tensor.resources()? {
        [handle] => Ok(handle),
        _ => Err(invalid_argument!("expected one resource handle, got shape {}", tensor.shape())),
    }
}

/// The variable whose handle is an input, made if it is not there.
pub(super) fn lookup_or_create(
    ctx: &KernelContext<'_>,
    index: usize,
    dtype: DType,
) -> Result<Arc<Variable>> {
    let handle = handle(ctx, index)?;
    if handle.anchor.is_some() {
        return ctx.resource(index);
    }
    let create = || Ok(Variable::new(handle.name.clone(), dtype));
    ctx.step().resources.lookup_or_create(&handle.container, &handle.name, create)
}

/// The variable whose handle is an input; an error that tells a user what may have happened.
fn existing(ctx: &KernelContext<'_>, index: usize) -> Result<Arc<Variable>> {
    ctx.resource(index).map_err(|error| match handle(ctx, index) {
        Ok(handle) => failed_precondition!(
            "Could not find variable {}. This could mean that the variable has been deleted. In \
             TF1, it can also mean the variable is uninitialized. Debug info: container={}, \
             status error message={}",
            handle.name,
            handle.container,
            error.message()
        ),
        Err(no_handle) => no_handle,
    })
}

/// A variable as the attributes describe it.
#[derive(Debug)]
struct Described {
    container: String,
    name: String,
    dtype: DType,
    shape: PartialShape,
    /// The handle of a named variable, which is the same in every step.
    handle: OnceLock<Tensor>,
}

impl Described {
    fn handle(&self, device: &str, resources: &Resources) -> Tensor {
        let contents = || vec![(self.dtype, self.shape.clone())];
        if self.name == ANONYMOUS {
            let variable = Arc::new(Variable::new(ANONYMOUS, self.dtype));
            // Listed, because a handle may come back as a message.
            let handle = resources.anonymous_handle(device, "Variable", variable);
            return Tensor::resource(ResourceHandle { contents: contents(), ..handle });
        }
        let named = || {
            Tensor::resource(resources.handle::<Variable>(
                device,
                &self.container,
                &self.name,
                contents(),
            ))
        };
        self.handle.get_or_init(named).clone()
    }
}

#[derive(Debug)]
struct VarHandle(Described);

impl Kernel for VarHandle {
    fn new(attrs: &Attrs<'_>) -> Result<VarHandle> {
        Ok(VarHandle(Described {
            container: attrs.string("container")?.into_owned(),
            name: attrs.string("shared_name")?.into_owned(),
            dtype: attrs.dtype("dtype")?,
            shape: attrs.shape("shape")?.clone(),
            handle: OnceLock::new(),
        }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.step();
        ctx.set_output(0, self.0.handle(&step.device, &step.resources));
        Ok(())
    }
}

#[derive(Debug)]
struct VarHandles(Vec<Described>);

impl Kernel for VarHandles {
    fn new(attrs: &Attrs<'_>) -> Result<VarHandles> {
        let (containers, names) = (attrs.strings("containers")?, attrs.strings("shared_names")?);
        let (dtypes, shapes) = (attrs.dtypes("dtypes")?, attrs.shapes("shapes")?);
        let count = attrs.int("N")?;
        for (what, len) in [
            ("containers", containers.len()),
            ("shared_names", names.len()),
            ("dtypes", dtypes.len()),
            ("shapes", shapes.len()),
        ] {
            if i64::try_from(len).is_ok_and(|len| len != count) {
                return Err(invalid_argument!("N ({count}) does not match the {len} {what}"));
            }
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let variables = (0..names.len()).map(|i| Described {
            container: text(&containers[i]),
            name: text(&names[i]),
            dtype: dtypes[i],
            shape: shapes[i].clone(),
            handle: OnceLock::new(),
        });
        Ok(VarHandles(variables.collect()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.step();
        for (i, variable) in self.0.iter().enumerate() {
            ctx.set_output(i, variable.handle(&step.device, &step.resources));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct ReadVariable {
    dtype: DType,
}

impl Kernel for ReadVariable {
    fn new(attrs: &Attrs<'_>) -> Result<ReadVariable> {
        Ok(ReadVariable { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = existing(ctx, 0)?;
        if variable.dtype() != self.dtype {
            return Err(invalid_argument!(
                "Trying to read variable with wrong dtype. Expected {} got {}",
                self.dtype,
                variable.dtype()
            ));
        }
        ctx.set_output(0, variable.read()?);
        Ok(())
    }
}

#[derive(Debug)]
struct ReadVariables {
    dtypes: Vec<DType>,
}

impl Kernel for ReadVariables {
    fn new(attrs: &Attrs<'_>) -> Result<ReadVariables> {
        let (count, dtypes) = (attrs.int("N")?, attrs.dtypes("dtypes")?);
        if usize::try_from(count) != Ok(dtypes.len()) {
            return Err(invalid_argument!(
                "Mismatched number of arguments to ReadVariablesOp ({count} vs. {})",
                dtypes.len()
            ));
        }
        Ok(ReadVariables { dtypes: dtypes.to_vec() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut found = Vec::with_capacity(self.dtypes.len());
        let mut missing = Vec::new();
        for index in 0..self.dtypes.len() {
            match ctx.resource::<Variable>(index) {
                Ok(variable) => found.push(variable),
                Err(error) if error.code() == Code::NotFound => {
                    missing.push(handle(ctx, index)?.name.clone());
                }
                Err(error) => return Err(error),
            }
        }
        if !missing.is_empty() {
            return Err(failed_precondition!(
                "In ReadVariablesOp the following variables were found uninitialized: {}",
                missing.join(", ")
            ));
        }
        for (index, (variable, &dtype)) in found.iter().zip(&self.dtypes).enumerate() {
            if variable.dtype() != dtype {
                let handle = handle(ctx, index)?;
                return Err(invalid_argument!(
                    "Trying to read variable {} from Container: {} with wrong dtype. Expected \
                     {dtype} got {}",
                    handle.name,
                    handle.container,
                    variable.dtype()
                ));
            }
            let value = variable.read()?;
            ctx.set_output(index, value);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct VarIsInitialized;

impl Kernel for VarIsInitialized {
    fn new(_: &Attrs<'_>) -> Result<VarIsInitialized> {
        Ok(VarIsInitialized)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let is_initialized =
            ctx.resource::<Variable>(0).is_ok_and(|variable| variable.is_initialized());
        ctx.set_output(0, Tensor::scalar(is_initialized));
        Ok(())
    }
}

#[derive(Debug)]
struct VariableShape {
    dtype: DType,
}

impl Kernel for VariableShape {
    fn new(attrs: &Attrs<'_>) -> Result<VariableShape> {
        Ok(VariableShape { dtype: attrs.dtype("out_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = ctx.resource::<Variable>(0)?.with(|value| Ok(value.shape().clone()))?;
        let sizes: Vec<i64> = shape.signed().collect();
        let output = if self.dtype == DType::Int64 {
            Tensor::vector(&sizes)?
        } else {
            let narrow = |(i, &size): (usize, &i64)| {
                i32::try_from(size).map_err(|_| {
                    invalid_argument!(
                        "Shape output type is 32-bit but shape[{i}] dimension is {size}"
                    )
                })
            };
            Tensor::vector(&sizes.iter().enumerate().map(narrow).collect::<Result<Vec<i32>>>()?)?
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct DestroyResource {
    ignore_lookup_error: bool,
}

impl Kernel for DestroyResource {
    fn new(attrs: &Attrs<'_>) -> Result<DestroyResource> {
        Ok(DestroyResource { ignore_lookup_error: attrs.bool("ignore_lookup_error")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handle = handle(ctx, 0)?;
        let step = ctx.step();
        let resources = if handle.container == step.step_resources.default_container() {
            &step.step_resources
        } else {
            &step.resources
        };
        match resources.delete_handle(handle, step.unit.as_deref()) {
            Err(error) if self.ignore_lookup_error && error.code() == Code::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Reads never copy here, so there is nothing to disable; the variable must exist all the same.
#[derive(Debug)]
struct DisableCopyOnRead;

impl Kernel for DisableCopyOnRead {
    fn new(_: &Attrs<'_>) -> Result<DisableCopyOnRead> {
        Ok(DisableCopyOnRead)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        existing(ctx, 0).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tensorfleet_framework::StepContext;
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::{OpRun, step_context};

    use super::*;

    fn handle_of(name: &str, step: &Arc<StepContext>) -> Tensor {
        OpRun::new("VarHandleOp")
            .attr("shared_name", AttrValue::String(name.to_owned().into()))
            .attr("dtype", AttrValue::Type(DType::Float))
            .attr("shape", AttrValue::Shape(PartialShape::UNKNOWN))
            .run_in(&crate::registry().unwrap(), step)
            .unwrap()
            .remove(0)
    }

    fn on(op: &str, handle: &Tensor) -> OpRun {
        OpRun::new(op).attr("dtype", AttrValue::Type(DType::Float)).input(handle.clone())
    }

    fn run(op: OpRun, step: &Arc<StepContext>) -> Result<Vec<Tensor>> {
        op.run_in(&crate::registry().unwrap(), step)
    }

    #[test]
    fn a_variable_lives_from_its_first_value_to_its_destruction() {
        let step = step_context();
        let v = handle_of("v", &step);
        assert_eq!(
            run(on("ReadVariableOp", &v), &step).unwrap_err().to_string(),
            "FAILED_PRECONDITION: Could not find variable v. This could mean that the variable has \
             been deleted. In TF1, it can also mean the variable is uninitialized. Debug info: \
             container=localhost, status error message=Container localhost does not exist. (Could \
             not find resource: localhost/v)"
        );
        let is_initialized = || {
            let answer = run(OpRun::new("VarIsInitializedOp").input(v.clone()), &step).unwrap();
            answer[0].scalar_value::<bool>().unwrap()
        };
        assert!(!is_initialized());
        let one = Tensor::vector(&[1.0f32, 2.0]).unwrap();
        run(on("AssignVariableOp", &v).input(one.clone()), &step).unwrap();
        assert!(is_initialized());
        run(on("AssignAddVariableOp", &v).input(one), &step).unwrap();
        let value = run(on("ReadVariableOp", &v), &step).unwrap();
        assert_eq!(value[0].values::<f32>().unwrap(), [2.0, 4.0]);
        run(OpRun::new("DestroyResourceOp").input(v.clone()), &step).unwrap();
        assert!(!is_initialized());
        let again = OpRun::new("DestroyResourceOp")
            .attr("ignore_lookup_error", AttrValue::Bool(false))
            .input(v.clone());
        assert_eq!(
            run(again, &step).unwrap_err().message(),
            "Resource localhost/v/<unknown> does not exist."
        );
    }

    #[test]
    fn anonymous_variables_share_nothing() {
        let step = step_context();
        let (a, b) = (handle_of(ANONYMOUS, &step), handle_of(ANONYMOUS, &step));
        run(on("AssignVariableOp", &a).input(Tensor::scalar(1.0f32)), &step).unwrap();
        assert!(run(on("ReadVariableOp", &a), &step).is_ok());
        assert!(run(on("ReadVariableOp", &b), &step).is_err());
    }
}

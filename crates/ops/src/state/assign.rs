//! Setting a variable, and adding to it.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_kernels::{Parallel, elementwise};
use tensorfleet_tensor::{DType, Error, Result, Tensor, invalid_argument};

use super::number::{self, NUMBERS, Number, for_number};

const ASSIGNABLE: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::String,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::QInt8,
    DType::QUInt8,
    DType::QInt32,
    DType::BFloat16,
    DType::QUInt16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::Resource,
    DType::Variant,
    DType::UInt32,
    DType::UInt64,
];

const RESOURCE_ASSIGNABLE: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::String,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::QInt8,
    DType::QUInt8,
    DType::QInt32,
    DType::BFloat16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::Resource,
    DType::Variant,
    DType::UInt32,
    DType::UInt64,
    DType::Float8E5M2,
    DType::Float8E4M3FN,
    DType::Int4,
    DType::UInt4,
    DType::Int2,
    DType::UInt2,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Assign",
        inputs: &["ref: Ref(T)", "value: T"],
        outputs: &["output_ref: Ref(T)"],
        attrs: &["T: type", "validate_shape: bool = true", "use_locking: bool = true"],
        allows_uninitialized_input: true,
        kernels: &[cpu::<Assign>().types("T", ASSIGNABLE)],
        ..Op::DEFAULT
    },
    update("AssignAdd", REF_ADD),
    resource_update("AssignAddVariableOp", RESOURCE_ADD),
    update("AssignSub", REF_SUB),
    resource_update("AssignSubVariableOp", RESOURCE_SUB),
    Op {
        name: "AssignVariableOp",
        inputs: &["resource: resource", "value: dtype"],
        attrs: &["dtype: type", "validate_shape: bool = false"],
        stateful: true,
        kernels: &[cpu::<AssignVariable>().types("dtype", RESOURCE_ASSIGNABLE)],
        ..Op::DEFAULT
    },
];

const REF_ADD: &[KernelDef] = &[cpu::<Update<false>>().types("T", NUMBERS)];
const REF_SUB: &[KernelDef] = &[cpu::<Update<true>>().types("T", NUMBERS)];
const RESOURCE_ADD: &[KernelDef] = &[cpu::<Update<false>>().types("dtype", NUMBERS)];
const RESOURCE_SUB: &[KernelDef] = &[cpu::<Update<true>>().types("dtype", NUMBERS)];

const fn update(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["ref: Ref(T)", "value: T"],
        outputs: &["output_ref: Ref(T)"],
        attrs: &[number::T, "use_locking: bool = false"],
        kernels,
        ..Op::DEFAULT
    }
}

const fn resource_update(name: &'static str, kernels: &'static [KernelDef]) -> Op {
    Op {
        name,
        inputs: &["resource: resource", "value: dtype"],
        attrs: &["dtype: type"],
        stateful: true,
        kernels,
        ..Op::DEFAULT
    }
}

#[derive(Debug)]
struct Assign {
    validate_shape: bool,
    changer: Changer,
}

impl Kernel for Assign {
    fn new(attrs: &Attrs<'_>) -> Result<Assign> {
        Ok(Assign { validate_shape: attrs.bool("validate_shape")?, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable = Arc::clone(ctx.variable(0)?);
        let change = ctx.change(&self.changer);
        let value = ctx.take_input(1)?;
        variable.update_slot(&change, |slot| {
            let shape = slot.as_ref().map(Tensor::shape).or(variable.declared_shape());
            if let Some(shape) = shape
                && self.validate_shape
                && shape != value.shape()
            {
                return Err(invalid_argument!(
                    "Assign requires shapes of both tensors to match. lhs shape= {shape} rhs \
                     shape= {}",
                    value.shape()
                ));
            }
            *slot = Some(value);
            Ok(())
        })?;
        ctx.set_output_ref(0, variable);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct AssignVariable {
    dtype: DType,
    validate_shape: bool,
    changer: Changer,
}

impl Kernel for AssignVariable {
    fn new(attrs: &Attrs<'_>) -> Result<AssignVariable> {
        let validate_shape = attrs.bool("validate_shape")?;
        Ok(AssignVariable {
            dtype: attrs.dtype("dtype")?,
            validate_shape,
            changer: attrs.changer(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let change = ctx.change(&self.changer);
        let value = ctx.take_input(1)?;
        let variable = super::resource_variable::lookup_or_create(ctx, 0, self.dtype)?;
        if variable.dtype() != value.dtype() {
            return Err(invalid_argument!(
                "Trying to assign variable with wrong dtype. Expected {} got {}",
                variable.dtype(),
                value.dtype()
            ));
        }
        variable.update_slot(&change, |slot| {
            if let Some(old) = slot
                && self.validate_shape
                && old.shape() != value.shape()
            {
                return Err(invalid_argument!(
                    "Trying to assign to variable with tensor with wrong shape. Expected {} got {}",
                    old.shape(),
                    value.shape()
                ));
            }
            *slot = Some(value);
            Ok(())
        })
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

/// Adds to a variable, or subtracts from it.
#[derive(Debug)]
struct Update<const SUBTRACT: bool>(Changer);

impl<const SUBTRACT: bool> Kernel for Update<SUBTRACT> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Update(attrs.changer()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let by_ref = matches!(ctx.value(0)?, Value::Ref(_));
        let variable = super::variable_at(ctx, 0)?;
        let change = ctx.change(&self.0);
        let by = ctx.take_input(1)?;
        let par = Parallel::new(ctx.parallelism());
        variable.update(&change, |value| {
            if value.shape() != by.shape() {
                return Err(wrong_shape(by_ref, value, &by));
            }
            for_number!(value.dtype(), T => apply::<T, SUBTRACT>(par, value, by))
        })?;
        if by_ref {
            ctx.set_output_ref(0, variable);
        }
        Ok(())
    }
}

fn wrong_shape(by_ref: bool, value: &Tensor, change: &Tensor) -> Error {
    if by_ref {
        return invalid_argument!("Parameters and update must be the same size");
    }
    invalid_argument!(
        "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
        value.shape(),
        change.shape()
    )
}

fn apply<T: Number, const SUBTRACT: bool>(
    par: Parallel,
    value: &mut Tensor,
    mut change: Tensor,
) -> Result<()> {
    let combine = |value: T, change: T| {
        if SUBTRACT { value.sub(change) } else { value.add(change) }
    };
    // Somebody still reads the old value: rather than copying it, the change becomes the new one.
    if !value.is_unique() && change.is_unique() {
        let old = value.values::<T>()?;
        elementwise::zip_in_place(par, change.values_mut::<T>()?, old, |change, old| {
            combine(old, change)
        });
        *value = change;
        return Ok(());
    }
    elementwise::zip_in_place(par, value.values_mut::<T>()?, change.values::<T>()?, combine);
    Ok(())
}

#[cfg(test)]
mod tests {
    use tensorfleet_framework::Variable;
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::{OpRun, step_context};

    use super::*;

    fn variable(values: &[f32]) -> Arc<Variable> {
        let variable = Variable::new("v", DType::Float);
        variable.assign(Tensor::vector(values).unwrap()).unwrap();
        Arc::new(variable)
    }

    fn subtract(from: &Arc<Variable>, what: &[f32]) -> Result<Vec<Tensor>> {
        OpRun::new("AssignSub")
            .attr("T", AttrValue::Type(DType::Float))
            .input(Value::Ref(Arc::clone(from)))
            .input(Tensor::vector(what).unwrap())
            .run_in(&crate::registry().unwrap(), &step_context())
    }

    #[test]
    fn a_reader_keeps_what_it_read() {
        let v = variable(&[5.0; 8]);
        let before = v.read().unwrap();
        subtract(&v, &[1.0; 8]).unwrap();
        subtract(&v, &[1.0; 8]).unwrap();
        assert_eq!(before.values::<f32>().unwrap(), [5.0; 8]);
        assert_eq!(v.read().unwrap().values::<f32>().unwrap(), [3.0; 8]);
    }

    #[test]
    fn shapes_must_agree() {
        let error = subtract(&variable(&[1.0; 3]), &[1.0; 2]).unwrap_err();
        assert_eq!(error.message(), "Parameters and update must be the same size");
    }

    #[test]
    fn the_declared_shape_binds_the_first_value() {
        let v = Arc::new(Variable::with_shape("v", DType::Float, [3].into()));
        let assign = |validate| {
            OpRun::new("Assign")
                .attr("T", AttrValue::Type(DType::Float))
                .attr("validate_shape", AttrValue::Bool(validate))
                .input(Value::Ref(Arc::clone(&v)))
                .input(Tensor::vector(&[1.0f32, 2.0]).unwrap())
                .run_values(&crate::registry().unwrap(), &step_context())
        };
        assert_eq!(
            assign(true).unwrap_err().message(),
            "Assign requires shapes of both tensors to match. lhs shape= [3] rhs shape= [2]"
        );
        assign(false).unwrap();
        assert_eq!(v.read().unwrap().dims(), [2]);
    }
}

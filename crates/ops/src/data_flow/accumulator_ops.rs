//! The ops on accumulators, with handles that are references or resources.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, KernelDef, Op, Outcome, Started, cpu,
    cpu_async,
};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::accumulator::{Accumulator, Gradient, Rows, Signature};
use super::named::{Named, check_signature, input_words, resource_of};

/// The types of gradients that TensorFlow accumulates.
const FLOATS: &[DType] = &[DType::Half, DType::Float, DType::Double];

const APPLY: &[KernelDef] = &[cpu::<Apply>()];
const TAKE: &[KernelDef] = &[cpu_async::<Take>()];
const MAKE: &[KernelDef] = &[cpu::<Make>().types("dtype", FLOATS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AccumulatorApplyGradient",
        inputs: &["handle: Ref(string)", "local_step: int64", "gradient: dtype"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: APPLY,
        ..Op::DEFAULT
    },
    Op {
        name: "AccumulatorNumAccumulated",
        inputs: &["handle: Ref(string)"],
        outputs: &["num_accumulated: int32"],
        kernels: &[cpu::<NumAccumulated>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AccumulatorSetGlobalStep",
        inputs: &["handle: Ref(string)", "new_global_step: int64"],
        kernels: &[cpu::<SetGlobalStep>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AccumulatorTakeGradient",
        inputs: &["handle: Ref(string)", "num_required: int32"],
        outputs: &["average: dtype"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: TAKE,
        ..Op::DEFAULT
    },
    Op {
        name: "ConditionalAccumulator",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "shape: shape",
            "container: string = ''",
            "shared_name: string = ''",
            "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
        ],
        stateful: true,
        kernels: MAKE,
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceAccumulatorApplyGradient",
        inputs: &["handle: resource", "local_step: int64", "gradient: dtype"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        stateful: true,
        kernels: APPLY,
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceAccumulatorNumAccumulated",
        inputs: &["handle: resource"],
        outputs: &["num_accumulated: int32"],
        stateful: true,
        kernels: &[cpu::<NumAccumulated>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceAccumulatorSetGlobalStep",
        inputs: &["handle: resource", "new_global_step: int64"],
        stateful: true,
        kernels: &[cpu::<SetGlobalStep>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceAccumulatorTakeGradient",
        inputs: &["handle: resource", "num_required: int32"],
        outputs: &["average: dtype"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        stateful: true,
        kernels: TAKE,
        ..Op::DEFAULT
    },
    Op {
        name: "ResourceConditionalAccumulator",
        outputs: &["handle: resource"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "shape: shape",
            "container: string = ''",
            "shared_name: string = ''",
            "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
        ],
        stateful: true,
        kernels: MAKE,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseAccumulatorApplyGradient",
        inputs: &[
            "handle: Ref(string)",
            "local_step: int64",
            "gradient_indices: int64",
            "gradient_values: dtype",
            "gradient_shape: int64",
        ],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "has_known_shape: bool",
        ],
        kernels: APPLY,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseAccumulatorTakeGradient",
        inputs: &["handle: Ref(string)", "num_required: int32"],
        outputs: &["indices: int64", "values: dtype", "shape: int64"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: TAKE,
        ..Op::DEFAULT
    },
    Op {
        name: "SparseConditionalAccumulator",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "dtype: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "shape: shape",
            "container: string = ''",
            "shared_name: string = ''",
            "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
        ],
        stateful: true,
        kernels: MAKE,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Make {
    accumulator: Named<Accumulator>,
    signature: Signature,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        Ok(Make {
            accumulator: Named::new(attrs)?,
            signature: Signature {
                sparse: attrs.op().starts_with("Sparse"),
                dtype: attrs.dtype("dtype")?,
                shape: attrs.shape("shape")?.clone(),
                mean: attrs.string("reduction_type")? == "MEAN",
            },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let create = |name: &str| Ok(Accumulator::new(name, self.signature.clone()));
        let found = self.accumulator.output(ctx, create)?;
        let (have, want) = (&found.signature, &self.signature);
        if have.dtype != want.dtype {
            return Err(invalid_argument!(
                "Shared conditional accumulator '{}' has type {} but requested type was {}",
                found.name,
                have.dtype,
                want.dtype
            ));
        }
        if have.shape != want.shape {
            return Err(invalid_argument!(
                "Shared conditional accumulator '{}' has shape {} but requested shape was {}",
                found.name,
                have.shape,
                want.shape
            ));
        }
        if have != want {
            return Err(invalid_argument!(
                "Shared conditional accumulator '{}' is of another kind or reduction",
                found.name
            ));
        }
        Ok(())
    }
}

fn accumulator_of(ctx: &KernelContext<'_>) -> Result<Arc<Accumulator>> {
    resource_of(ctx.step(), ctx.value(0)?)
}

fn step_at(ctx: &KernelContext<'_>, name: &str) -> Result<i64> {
    let step = ctx.input(1)?;
    if !step.shape().is_scalar() {
        return Err(invalid_argument!(
            "Argument {name} must be scalar, but had bad shape {}",
            step.shape()
        ));
    }
    step.scalar_value()
}

#[derive(Debug)]
struct Apply {
    sparse: bool,
    has_known_shape: bool,
    dtype: DType,
    by_reference: bool,
}

impl Apply {
    fn dense(&self, ctx: &mut KernelContext<'_>, accumulator: &Accumulator) -> Result<Gradient> {
        let gradient = ctx.take_input(2)?;
        let expected = &accumulator.signature.shape;
        if !expected.is_compatible_with(gradient.shape()) {
            return Err(invalid_argument!(
                "Shape mismatch: expected {expected}, got {}",
                gradient.shape()
            ));
        }
        Ok(Gradient::Dense(gradient))
    }

    fn sparse(&self, ctx: &mut KernelContext<'_>, accumulator: &Accumulator) -> Result<Gradient> {
        let (indices, values, shape) = (ctx.input(2)?, ctx.input(3)?, ctx.input(4)?);
        if indices.rank() != 1 {
            return Err(invalid_argument!(
                "Input indices should be vector but received shape: {}",
                indices.shape()
            ));
        }
        if values.rank() == 0 {
            return Err(invalid_argument!("Values cannot be 0-dimensional."));
        }
        if values.dims()[0] != indices.num_elements() {
            return Err(invalid_argument!(
                "Expected {} non-empty input values, got {}",
                indices.num_elements(),
                values.dims()[0]
            ));
        }
        let indices = indices.values::<i64>()?;
        if let Some(expected) = accumulator.signature.shape.dims.as_deref() {
            let shape = if self.has_known_shape { Some(shape.to_i64_vec()?) } else { None };
            check_sparse(expected, shape.as_deref(), indices, values)?;
        }
        Ok(Gradient::Sparse(Rows { indices: indices.to_vec(), values: values.clone() }))
    }
}

/// Checks a sparse gradient against the shape of its accumulator.
fn check_sparse(
    expected: &[Option<usize>],
    shape: Option<&[i64]>,
    indices: &[i64],
    values: &Tensor,
) -> Result<()> {
    if let Some(shape) = shape
        && shape.len() < expected.len()
    {
        return Err(invalid_argument!(
            "Shape mismatch: expected shape rank at least {}, got {}",
            expected.len(),
            shape.len()
        ));
    }
    for (dim, (want, &have)) in expected.iter().zip(shape.unwrap_or_default()).enumerate() {
        if let Some(want) = want
            && have != *want as i64
        {
            return Err(invalid_argument!(
                "Shape mismatch: expected shape dim {dim} to be {want}, got {have}"
            ));
        }
    }
    if let Some(Some(rows)) = expected.first()
        && let Some((slice, index)) =
            indices.iter().enumerate().find(|(_, index)| **index >= *rows as i64)
    {
        return Err(invalid_argument!(
            "Shape mismatch: index of slice {slice} exceeded limits of shape; index is {index} \
             exceeded {rows}"
        ));
    }
    if expected.len() > values.rank() {
        return Err(invalid_argument!(
            "Shape mismatch: expected values rank at least {}, got {}",
            expected.len(),
            values.rank()
        ));
    }
    for (dim, (want, have)) in expected.iter().zip(values.dims()).enumerate().skip(1) {
        if want.is_some_and(|want| want != *have) {
            return Err(invalid_argument!(
                "Shape mismatch: expected values dim {dim} to be {}, got {have}",
                want.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

impl Kernel for Apply {
    fn new(attrs: &Attrs<'_>) -> Result<Apply> {
        let sparse = attrs.op().starts_with("Sparse");
        Ok(Apply {
            sparse,
            has_known_shape: sparse && attrs.bool("has_known_shape")?,
            dtype: attrs.dtype("dtype")?,
            by_reference: attrs.inputs().first().is_some_and(|input| input.is_ref),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let accumulator = accumulator_of(ctx)?;
        let words = |dtype| {
            let rest: &[DType] = if self.sparse {
                &[DType::Int64, DType::Int64, dtype, DType::Int64]
            } else {
                &[DType::Int64, dtype]
            };
            input_words(self.by_reference, rest)
        };
        check_signature((&words(self.dtype), &[]), (&words(accumulator.signature.dtype), &[]))?;
        if self.sparse != accumulator.signature.sparse {
            return Err(invalid_argument!(
                "accumulator '{}' does not take this kind of gradient",
                accumulator.name
            ));
        }
        let local_step = step_at(ctx, "local_step")?;
        // A stale gradient is dropped, whatever it looks like.
        if accumulator.is_stale(local_step) {
            return Ok(());
        }
        let gradient = if self.sparse {
            self.sparse(ctx, &accumulator)?
        } else {
            self.dense(ctx, &accumulator)?
        };
        accumulator.apply(ctx.step().unit.as_deref(), local_step, gradient)
    }
}

#[derive(Debug)]
struct Take {
    sparse: bool,
    dtype: DType,
    by_reference: bool,
}

impl AsyncKernel for Take {
    fn new(attrs: &Attrs<'_>) -> Result<Take> {
        Ok(Take {
            sparse: attrs.op().starts_with("Sparse"),
            dtype: attrs.dtype("dtype")?,
            by_reference: attrs.inputs().first().is_some_and(|input| input.is_ref),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let handle = ctx.inputs.first().ok_or_else(|| invalid_argument!("no handle"))?;
        let accumulator: Arc<Accumulator> = resource_of(&ctx.step, handle)?;
        let words = input_words(self.by_reference, &[DType::Int32]);
        let outputs = |dtype| match self.sparse {
            true => vec![DType::Int64, dtype, DType::Int64],
            false => vec![dtype],
        };
        check_signature(
            (&words, &outputs(self.dtype)),
            (&words, &outputs(accumulator.signature.dtype)),
        )?;
        let required = ctx.input(1)?;
        if !required.shape().is_scalar() {
            return Err(invalid_argument!(
                "Argument num_required must be scalar, but had bad shape {}",
                required.shape()
            ));
        }
        let required = required.scalar_value::<i32>()?;
        let Some(count) = usize::try_from(required).ok().filter(|&count| count > 0) else {
            return Err(invalid_argument!(
                "Argument num_required must be positive, but was {required}"
            ));
        };
        let mut waiter = accumulator.take(ctx.step.unit.clone(), count)?;
        match waiter.now()? {
            Some(gradient) => Ok(Started::Done(outcome(&accumulator, gradient)?)),
            None => Ok(Started::Waiting(Box::pin(async move {
                let gradient = waiter.await?;
                outcome(&accumulator, gradient)
            }))),
        }
    }
}

fn outcome(accumulator: &Accumulator, gradient: Gradient) -> Result<Outcome> {
    Ok(Outcome::from(match gradient {
        Gradient::Dense(tensor) => vec![tensor],
        Gradient::Sparse(Rows { indices, values }) => {
            // Only rows were seen: how many there could be, the accumulator knows or nobody.
            let declared = accumulator.signature.shape.dims.as_ref();
            let rows = declared.and_then(|dims| *dims.first()?).map_or(-1, |rows| rows as i64);
            let shape: Vec<i64> =
                std::iter::once(rows).chain(values.shape().signed().skip(1)).collect();
            vec![Tensor::vector(&indices)?, values, Tensor::vector(&shape)?]
        }
    }))
}

#[derive(Debug)]
struct NumAccumulated;

impl Kernel for NumAccumulated {
    fn new(_: &Attrs<'_>) -> Result<NumAccumulated> {
        Ok(NumAccumulated)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = accumulator_of(ctx)?.count();
        ctx.set_output(0, Tensor::scalar(count as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct SetGlobalStep;

impl Kernel for SetGlobalStep {
    fn new(_: &Attrs<'_>) -> Result<SetGlobalStep> {
        Ok(SetGlobalStep)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = step_at(ctx, "new_global_step")?;
        accumulator_of(ctx)?.set_global_step(ctx.step().unit.as_deref(), step)
    }
}

//! `ArgMax` and `ArgMin`: where along a dimension the extreme value is.

use std::fmt;
use std::marker::PhantomData;

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, ShapeContext, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::reduce::{Ordered, argmax, argmin};
use tensorfleet_tensor::PartialShape;
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

const T_ARG: &str = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, \
     half, uint32, uint64, qint8, quint8, qint32, qint16, quint16, bool}";
const TYPES: &[DType] = &[
    DType::BFloat16,
    DType::Bool,
    DType::Double,
    DType::Float,
    DType::Half,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ArgMax",
        inputs: &["input: T", "dimension: Tidx"],
        outputs: &["output: output_type"],
        attrs: &[
            T_ARG,
            "Tidx: {int16, int32, int64} = DT_INT32",
            "output_type: {int16, uint16, int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<Arg<Largest>>().types("T", TYPES)],
        shape: Some(shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ArgMin",
        inputs: &["input: T", "dimension: Tidx"],
        outputs: &["output: output_type"],
        attrs: &[
            T_ARG,
            "Tidx: {int32, int64} = DT_INT32",
            "output_type: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<Arg<Smallest>>().types("T", TYPES)],
        shape: Some(shape),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

/// Which value is looked for.
trait Extreme: fmt::Debug + Send + Sync + 'static {
    fn find<T: Ordered>(par: Parallel, values: &[T], dims: [usize; 3], out: &mut [i64]);
}

#[derive(Debug)]
struct Largest;

#[derive(Debug)]
struct Smallest;

impl Extreme for Largest {
    fn find<T: Ordered>(par: Parallel, values: &[T], dims: [usize; 3], out: &mut [i64]) {
        argmax(par, values, dims, out);
    }
}

impl Extreme for Smallest {
    fn find<T: Ordered>(par: Parallel, values: &[T], dims: [usize; 3], out: &mut [i64]) {
        argmin(par, values, dims, out);
    }
}

#[derive(Debug)]
struct Arg<E> {
    output_type: DType,
    extreme: PhantomData<E>,
}

impl<E: Extreme> Kernel for Arg<E> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Arg { output_type: attrs.dtype("output_type")?, extreme: PhantomData })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, dimension) = (ctx.input(0)?, ctx.input(1)?);
        let axis = axis(input, dimension)?;
        let (before, after) = (&input.dims()[..axis], &input.dims()[axis + 1..]);
        let shape = Shape::new(&[before, after].concat())?;
        let indices = if shape.num_elements() == 0 {
            Tensor::zeros(DType::Int64, shape)?
        } else {
            let dims = [before.iter().product(), input.dims()[axis], after.iter().product()];
            dispatch!(
                input.dtype(),
                [bool, f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
                T => find::<E, T>(par, input, dims, shape)?,
                else => return Err(internal!("ArgMax was given a {} tensor", input.dtype()))
            )
        };
        ctx.set_output(0, super::cast::cast(par, &indices, self.output_type, false)?);
        Ok(())
    }
}

fn axis(input: &Tensor, dimension: &Tensor) -> Result<usize> {
    let [axis] = dimension.to_i64_vec()?[..] else {
        return Err(not_scalar(dimension));
    };
    if !dimension.shape().is_scalar() {
        return Err(not_scalar(dimension));
    }
    let rank = input.rank() as i64;
    let index = if axis < 0 { axis.saturating_add(rank) } else { axis };
    if !(0..rank).contains(&index) {
        return Err(invalid_argument!(
            "Expected dimension in the range [{}, {rank}), but got {axis}",
            -rank
        ));
    }
    let index = index as usize;
    if input.dims()[index] == 0 {
        return Err(invalid_argument!(
            "Reduction axis {index} is empty in shape {}",
            input.shape()
        ));
    }
    Ok(index)
}

fn not_scalar(dimension: &Tensor) -> tensorfleet_tensor::Error {
    invalid_argument!("dim must be a scalar, but received tensor of shape: {}", dimension.shape())
}

fn find<E: Extreme, T: Element + Ordered>(
    par: Parallel,
    input: &Tensor,
    dims: [usize; 3],
    shape: Shape,
) -> Result<Tensor> {
    let values = input.values::<T>()?;
    Tensor::build(shape, |out: &mut [i64]| E::find(par, values, dims, out))
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let (Some(dims), Some(axis)) = (&c.input(0).dims, c.constant_int(1)) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let mut dims = dims.clone();
    dims.remove(crate::shapes::axis_index(axis, dims.len())?);
    Ok(vec![PartialShape::known(dims)])
}

//! Reductions: `Sum`, `Mean`, `Max` and their kind over chosen dimensions.

use std::fmt;
use std::marker::PhantomData;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, ShapeContext, cpu, no_gradient};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::reduce::{self, Axes, Reduction};
use tensorfleet_tensor::{Element, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::dtypes::{INDICES, NUMBERS, ORDERED, T_NUMBER};
use super::norm;
use super::reduce_gradient as gradient;
use tensorfleet_tensor::PartialShape;

const T_EXTREME: &str = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, \
     half, uint32, uint64, qint8, quint8, qint32, qint16, quint16}";
const KEEP_DIMS: &str = "keep_dims: bool = false";
const TIDX: &str = "Tidx: {int32, int64} = DT_INT32";

/// What the values that meet in one position become.
trait Kind: fmt::Debug + Send + Sync + 'static {
    /// Whether a single value stays what it is.
    const KEEPS_SINGLE_VALUES: bool;

    fn reduce(par: Parallel, input: &Tensor, axes: &Axes, shape: Shape) -> Result<Tensor>;
}

macro_rules! kinds {
    ($($name:ident($keeps:literal) = $reduction:ty, [$($type:ty),+ $(,)?];)+) => {$(
        #[derive(Debug)]
        struct $name;

        impl Kind for $name {
            const KEEPS_SINGLE_VALUES: bool = $keeps;

            fn reduce(
                par: Parallel,
                input: &Tensor,
                axes: &Axes,
                shape: Shape,
            ) -> Result<Tensor> {
                dispatch!(
                    input.dtype(),
                    [$($type),+],
                    T => reduce_with::<$reduction, T>(par, input, axes, shape),
                    else => Err(internal!("a reduction was given a {} tensor", input.dtype()))
                )
            }
        }
    )+};
}

kinds! {
    All(true) = reduce::All, [bool];
    Any(true) = reduce::Any, [bool];
    EuclideanNorm(false) = norm::EuclideanNorm, [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
    Max(true) = reduce::Max, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64];
    Mean(true) = reduce::Mean, [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
    Min(true) = reduce::Min, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64];
    Prod(true) = reduce::Prod, [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
    Sum(true) = reduce::Sum, [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
}

macro_rules! ops {
    (numbers { $($name:ident: $attr:expr, $types:expr, $gradient:path;)+ } logical { $($logical:ident)+ }) => {
        pub(super) const OPS: &[Op] = &[
            $(Op {
                name: stringify!($name),
                inputs: &["input: T", "reduction_indices: Tidx"],
                outputs: &["output: T"],
                attrs: &[KEEP_DIMS, $attr, TIDX],
                kernels: &[cpu::<Reduce<$name>>().types("T", $types).types("Tidx", INDICES)],
                shape: Some(shape),
                gradient: Some($gradient),
                ..Op::DEFAULT
            },)+
            $(Op {
                name: stringify!($logical),
                inputs: &["input: bool", "reduction_indices: Tidx"],
                outputs: &["output: bool"],
                attrs: &[KEEP_DIMS, TIDX],
                kernels: &[cpu::<Reduce<$logical>>().types("Tidx", INDICES)],
                shape: Some(shape),
                gradient: Some(no_gradient),
                ..Op::DEFAULT
            },)+
        ];
    };
}

ops! {
    numbers {
        EuclideanNorm: T_NUMBER, NUMBERS, gradient::norm;
        Max: T_EXTREME, ORDERED, gradient::extreme;
        Mean: T_NUMBER, NUMBERS, gradient::mean;
        Min: T_EXTREME, ORDERED, gradient::extreme;
        Prod: T_NUMBER, NUMBERS, gradient::product;
        Sum: T_NUMBER, NUMBERS, gradient::sum;
    }
    logical { All Any }
}

#[derive(Debug)]
struct Reduce<K> {
    keep_dims: bool,
    kind: PhantomData<K>,
}

impl<K: Kind> Kernel for Reduce<K> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Reduce { keep_dims: attrs.bool("keep_dims")?, kind: PhantomData })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let reduced = reduced_axes(ctx.input(1)?, input.rank())?;
        let shape = self.output_shape(input.dims(), &reduced)?;
        let single = input.dims().iter().zip(&reduced).all(|(&len, &axis)| !axis || len == 1);
        let output = if single && K::KEEPS_SINGLE_VALUES {
            input.reshape(shape)?
        } else if input.num_elements() == 0 {
            // The sizes of an empty tensor may have no product.
            let axes = match shape.num_elements() {
                0 => Axes::middle(0, 1, 1),
                outputs => Axes::middle(outputs, 0, 1),
            };
            K::reduce(par, &Tensor::zeros(input.dtype(), Shape::vector(0))?, &axes, shape)?
        } else {
            K::reduce(par, input, &Axes::new(input.dims(), |axis| reduced[axis]), shape)?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

impl<K> Reduce<K> {
    fn output_shape(&self, dims: &[usize], reduced: &[bool]) -> Result<Shape> {
        let kept: Vec<usize> = dims
            .iter()
            .zip(reduced)
            .filter_map(|(&len, &reduced)| match (reduced, self.keep_dims) {
                (false, _) => Some(len),
                (true, true) => Some(1),
                (true, false) => None,
            })
            .collect();
        Shape::new(&kept)
    }
}

/// For each dimension, whether the axes name it.
fn reduced_axes(axes: &Tensor, rank: usize) -> Result<Vec<bool>> {
    let mut reduced = vec![false; rank];
    for axis in axes.to_i64_vec()? {
        let index = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        let index = index.and_then(|index| usize::try_from(index).ok()).filter(|&i| i < rank);
        let Some(index) = index else {
            return Err(invalid_argument!(
                "Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            ));
        };
        if reduced[index] {
            return Err(invalid_argument!(
                "Invalid reduction arguments: Axes contains duplicate dimension: {index}"
            ));
        }
        reduced[index] = true;
    }
    Ok(reduced)
}

fn reduce_with<R: Reduction<T>, T: Element>(
    par: Parallel,
    input: &Tensor,
    axes: &Axes,
    shape: Shape,
) -> Result<Tensor> {
    let values = input.values::<T>()?;
    Tensor::build(shape, |out: &mut [T]| reduce::reduce::<R, T>(par, values, axes, out))
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let keep_dims = c.attrs().bool("keep_dims")?;
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let Some(axes) = c.constant_ints(1) else {
        let rank_is_kept = if keep_dims { Some(dims.len()) } else { None };
        return Ok(vec![rank_is_kept.map_or(PartialShape::UNKNOWN, PartialShape::of_rank)]);
    };
    let mut reduced = vec![false; dims.len()];
    for axis in axes {
        reduced[crate::shapes::axis_index(axis, dims.len())?] = true;
    }
    let kept = dims.iter().zip(reduced).filter_map(|(&dim, reduced)| match reduced {
        false => Some(dim),
        true => keep_dims.then_some(Some(1)),
    });
    Ok(vec![PartialShape::known(kept)])
}

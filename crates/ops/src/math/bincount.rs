//! `Bincount` and `DenseBincount`: how often each small integer occurs, or the sum of its weights.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dtypes::INDICES;

const WEIGHTS: &[DType] = &[DType::Int32, DType::Int64, DType::Float, DType::Double];
const T_WEIGHTS: &str = "T: {int32, int64, float, double}";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Bincount",
        inputs: &["arr: int32", "size: int32", "weights: T"],
        outputs: &["bins: T"],
        attrs: &[T_WEIGHTS],
        kernels: &[cpu::<Bincount>().types("T", WEIGHTS)],
        ..Op::DEFAULT
    },
    Op {
        name: "DenseBincount",
        inputs: &["input: Tidx", "size: Tidx", "weights: T"],
        outputs: &["output: T"],
        attrs: &["Tidx: {int32, int64}", T_WEIGHTS, "binary_output: bool = false"],
        kernels: &[cpu::<DenseBincount>().types("Tidx", INDICES).types("T", WEIGHTS)],
        ..Op::DEFAULT
    },
];

/// The number of bins.
fn size(input: &Tensor) -> Result<usize> {
    if !input.shape().is_scalar() {
        return Err(invalid_argument!("Shape must be rank 0 but is rank {}", input.rank()));
    }
    let size = input.to_i64_vec()?[0];
    usize::try_from(size).map_err(|_| invalid_argument!("size ({size}) must be non-negative"))
}

/// A number that weights are of.
trait Weight: Element {
    const ONE: Self;

    fn add(self, other: Self) -> Self;
}

macro_rules! weights {
    ($($type:ty: $one:literal, |$a:ident, $b:ident| $sum:expr;)+) => {$(
        impl Weight for $type {
            const ONE: Self = $one;

            fn add(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )+};
}

weights! {
    i32: 1, |a, b| a.wrapping_add(b);
    i64: 1, |a, b| a.wrapping_add(b);
    f32: 1.0, |a, b| a + b;
    f64: 1.0, |a, b| a + b;
}

/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 32 * 1024;

/// A type that bins are named by.
trait Name: Element {
    /// The number of the bin; a negative one is no such number.
    fn bin(self) -> usize;
    fn is_negative(self) -> bool;
}

macro_rules! names {
    ($($type:ty)+) => {$(
        impl Name for $type {
            fn bin(self) -> usize {
                self as usize
            }

            fn is_negative(self) -> bool {
                self < 0
            }
        }
    )+};
}

names!(i32 i64);

/// Adds up weights (ones if there are none) in the bins that `values` name; values past the last
/// bin are left out.
fn fill<V: Name, W: Weight>(values: &[V], weights: &[W], binary: bool, bins: &mut [W]) {
    for (i, value) in values.iter().enumerate() {
        let Some(bin) = bins.get_mut(value.bin()) else { continue };
        *bin = if binary { W::ONE } else { bin.add(weights.get(i).copied().unwrap_or(W::ONE)) };
    }
}

/// As [`fill`] with ones, on several threads that have bins of their own.
fn count<V: Name, W: Weight>(par: Parallel, values: &[V], bins: &mut [W]) {
    // Bins must be worth adding up.
    let share = MIN_VALUES.max(bins.len()).max(values.len().div_ceil(par.threads()));
    let parts = par.map_ranges(values.len(), share, |range| {
        // Four sets, so that one value after the other does not wait for the same bin.
        let mut sets = vec![W::default(); 4 * bins.len()];
        for (i, value) in values[range].iter().enumerate() {
            let bin = value.bin();
            if bin < bins.len() {
                let place = &mut sets[4 * bin + i % 4];
                *place = place.add(W::ONE);
            }
        }
        sets
    });
    for sets in parts {
        for (bin, set) in bins.iter_mut().zip(sets.as_chunks::<4>().0) {
            *bin = set.iter().fold(*bin, |sum, part| sum.add(*part));
        }
    }
}

/// Bins for each of `rows` rows of values.
fn bins<V: Name, W: Weight>(
    par: Parallel,
    shape: Shape,
    rows: usize,
    values: &[V],
    weights: &Tensor,
    binary: bool,
) -> Result<Tensor> {
    let weights = weights.values::<W>()?;
    let width = values.len().checked_div(rows).unwrap_or(0);
    Tensor::build(shape, |out: &mut [W]| {
        out.fill(W::default());
        let size = out.len().checked_div(rows).unwrap_or(0);
        if rows == 1 && weights.is_empty() && !binary && values.len() >= 4 * size {
            return count(par, values, out);
        }
        for row in 0..rows {
            let columns = row * width..(row + 1) * width;
            let weights = weights.get(columns.clone()).unwrap_or_default();
            fill(&values[columns], weights, binary, &mut out[row * size..(row + 1) * size]);
        }
    })
}

fn dispatch_bins<V: Name>(
    par: Parallel,
    shape: Shape,
    rows: usize,
    values: &[V],
    weights: &Tensor,
    binary: bool,
) -> Result<Tensor> {
    dispatch!(
        weights.dtype(),
        [i32, i64, f32, f64],
        W => bins::<V, W>(par, shape, rows, values, weights, binary),
        else => Err(internal!("Bincount was given {} weights", weights.dtype()))
    )
}

#[derive(Debug)]
struct Bincount;

impl Kernel for Bincount {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let values = ctx.input(0)?.values::<i32>()?;
        let size = size(ctx.input(1)?)?;
        let weights = ctx.input(2)?;
        if weights.num_elements() != 0 && weights.num_elements() != values.len() {
            return Err(invalid_argument!("Input indices and weights must have the same size."));
        }
        if values.iter().any(|&value| value < 0) {
            return Err(invalid_argument!("Input arr must be non-negative!"));
        }
        let bins = dispatch_bins(par, Shape::new(&[size])?, 1, values, weights, false)?;
        ctx.set_output(0, bins);
        Ok(())
    }
}

#[derive(Debug)]
struct DenseBincount {
    binary_output: bool,
}

impl Kernel for DenseBincount {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(DenseBincount { binary_output: attrs.bool("binary_output")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, weights) = (ctx.input(0)?, ctx.input(2)?);
        if input.rank() > 2 {
            return Err(invalid_argument!(
                "Shape must be at most rank 2 but is rank {}",
                input.rank()
            ));
        }
        let size = size(ctx.input(1)?)?;
        if weights.num_elements() != 0 && weights.shape() != input.shape() {
            return Err(invalid_argument!(
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it \
                 acts as all weights equal to 1. Received {}",
                weights.shape()
            ));
        }
        let par = Parallel::new(ctx.parallelism());
        let bins = match input.dtype() {
            DType::Int32 => self.run::<i32>(par, input, size, weights)?,
            _ => self.run::<i64>(par, input, size, weights)?,
        };
        ctx.set_output(0, bins);
        Ok(())
    }
}

impl DenseBincount {
    fn run<V: Name + std::fmt::Display>(
        &self,
        par: Parallel,
        input: &Tensor,
        size: usize,
        weights: &Tensor,
    ) -> Result<Tensor> {
        let values = input.values::<V>()?;
        if let Some(negative) = values.iter().find(|value| value.is_negative()) {
            return Err(if input.rank() == 2 {
                invalid_argument!(
                    "Input 'in' must be non-negative! Negative input value found: {negative}"
                )
            } else {
                invalid_argument!("Input arr must be non-negative!")
            });
        }
        let (shape, rows) = match input.dims() {
            [rows, _] => (Shape::new(&[*rows, size])?, *rows),
            _ => (Shape::new(&[size])?, 1),
        };
        dispatch_bins(par, shape, rows, values, weights, self.binary_output)
    }
}

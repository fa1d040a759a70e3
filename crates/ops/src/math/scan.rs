//! `Cumsum`, `Cumprod` and `CumulativeLogsumexp`: running totals along a dimension.

use std::fmt;
use std::marker::PhantomData;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::{rows, rows_mut};
use tensorfleet_tensor::{Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::dtypes::{INDICES, NUMBERS, REALS, T_NUMBER, T_REAL};
use tensorfleet_graph::Output;

/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 16 * 1024;
const EXCLUSIVE: &str = "exclusive: bool = false";
const REVERSE: &str = "reverse: bool = false";
const TIDX: &str = "Tidx: {int32, int64} = DT_INT32";

macro_rules! ops {
    ($($name:ident: $attr:expr, $types:expr, $gradient:path;)+) => {
        pub(super) const OPS: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["x: T", "axis: Tidx"],
            outputs: &["out: T"],
            attrs: &[EXCLUSIVE, REVERSE, $attr, TIDX],
            kernels: &[cpu::<Scan<$name>>().types("T", $types).types("Tidx", INDICES)],
            shape: Some(crate::shapes::unchanged),
            gradient: Some($gradient),
            ..Op::DEFAULT
        },)+];
    };
}

ops! {
    Cumprod: T_NUMBER, NUMBERS, product_gradient;
    Cumsum: T_NUMBER, NUMBERS, sum_gradient;
    CumulativeLogsumexp: T_REAL, REALS, log_sum_gradient;
}

/// Which total is kept.
trait Total: fmt::Debug + Send + Sync + 'static {
    fn scan(par: Parallel, x: &Tensor, order: Order) -> Result<Tensor>;
}

/// How a total of elements of one type is kept.
trait Running<T: Element> {
    /// The type of the total.
    type Acc: Copy + Send + Sync;
    /// The total of nothing.
    const EMPTY: Self::Acc;

    fn add(total: Self::Acc, value: T) -> Self::Acc;
    fn store(total: Self::Acc) -> T;
}

macro_rules! totals {
    ($($name:ident: [$($type:ty),+ $(,)?];)+) => {$(
        #[derive(Debug)]
        struct $name;

        impl Total for $name {
            fn scan(par: Parallel, x: &Tensor, order: Order) -> Result<Tensor> {
                dispatch!(
                    x.dtype(),
                    [$($type),+],
                    T => scan::<$name, T>(par, x, order),
                    else => Err(internal!("a scan was given a {} tensor", x.dtype()))
                )
            }
        }
    )+};
}

totals! {
    Cumprod: [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
    Cumsum: [
        f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
    ];
    CumulativeLogsumexp: [f32, f64, f16, bf16];
}

macro_rules! running {
    ($total:ident for $($type:ty as $acc:ty),+: $empty:expr,
     |$sum:ident, $value:ident| $add:expr, |$stored:ident| $store:expr) => {$(
        impl Running<$type> for $total {
            type Acc = $acc;
            const EMPTY: $acc = $empty;

            #[inline(always)]
            fn add($sum: $acc, $value: $type) -> $acc {
                $add
            }

            #[inline(always)]
            fn store($stored: $acc) -> $type {
                $store
            }
        }
    )+};
}

running!(Cumsum for f32 as f32, f64 as f64: 0.0, |sum, value| sum + value, |sum| sum);
running!(Cumsum for f16 as f32: 0.0, |sum, value| sum + value.to_f32(), |sum| f16::from_f32(sum));
running!(Cumsum for bf16 as f32: 0.0, |sum, value| sum + value.to_f32(), |sum| bf16::from_f32(sum));
running!(Cumsum for Complex<f32> as Complex<f32>, Complex<f64> as Complex<f64>:
    Complex::new(0.0, 0.0), |sum, value| sum + value, |sum| sum);
running!(Cumsum for i8 as i8, i16 as i16, i32 as i32, i64 as i64, u8 as u8, u16 as u16, u32 as u32,
    u64 as u64: 0, |sum, value| sum.wrapping_add(value), |sum| sum);

running!(Cumprod for f32 as f32, f64 as f64: 1.0, |product, value| product * value, |product| product);
running!(Cumprod for f16 as f32:
    1.0, |product, value| product * value.to_f32(), |product| f16::from_f32(product));
running!(Cumprod for bf16 as f32:
    1.0, |product, value| product * value.to_f32(), |product| bf16::from_f32(product));
running!(Cumprod for Complex<f32> as Complex<f32>, Complex<f64> as Complex<f64>:
    Complex::new(1.0, 0.0), |product, value| product * value, |product| product);
running!(Cumprod for i8 as i8, i16 as i16, i32 as i32, i64 as i64, u8 as u8, u16 as u16, u32 as u32,
    u64 as u64: 1, |product, value| product.wrapping_mul(value), |product| product);

running!(CumulativeLogsumexp for f32 as f32:
    f32::NEG_INFINITY, |sum, value| log_sum_exp(sum, value), |sum| sum);
running!(CumulativeLogsumexp for f64 as f64:
    f64::NEG_INFINITY, |sum, value| log_sum_exp(sum, value), |sum| sum);
running!(CumulativeLogsumexp for f16 as f32:
    f32::NEG_INFINITY, |sum, value| log_sum_exp(sum, value.to_f32()), |sum| f16::from_f32(sum));
running!(CumulativeLogsumexp for bf16 as f32:
    f32::NEG_INFINITY, |sum, value| log_sum_exp(sum, value.to_f32()), |sum| bf16::from_f32(sum));

/// `ln(e^a + e^b)` without overflow.
fn log_sum_exp<T: num_traits::Float>(a: T, b: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // Equal infinities have no difference.
    if low == high && high.is_infinite() {
        return high;
    }
    high + (low - high).exp().ln_1p()
}

/// Which elements a total covers, in a tensor seen as `outer x len x inner`.
#[derive(Clone, Copy, Debug)]
struct Order {
    dims: [usize; 3],
    /// Not the element at the total's own position.
    exclusive: bool,
    /// From the end.
    reverse: bool,
}

#[derive(Debug)]
struct Scan<K> {
    exclusive: bool,
    reverse: bool,
    total: PhantomData<K>,
}

impl<K: Total> Kernel for Scan<K> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        let (exclusive, reverse) = (attrs.bool("exclusive")?, attrs.bool("reverse")?);
        Ok(Scan { exclusive, reverse, total: PhantomData })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, axis) = (ctx.input(0)?, ctx.input(1)?);
        if !axis.shape().is_scalar() {
            return Err(invalid_argument!("ScanOp: axis must be a scalar, not {}", axis.shape()));
        }
        let rank = x.rank() as i64;
        let axis = axis.to_i64_vec()?[0];
        let index = if axis < 0 { axis.saturating_add(rank) } else { axis };
        if !(0..rank).contains(&index) {
            return Err(invalid_argument!(
                "ScanOp: Expected scan axis in the range [{}, {rank}), but got {axis}",
                -rank
            ));
        }
        let out = if x.num_elements() == 0 {
            x.clone()
        } else {
            let (before, rest) = x.dims().split_at(index as usize);
            let dims = [before.iter().product(), rest[0], rest[1..].iter().product()];
            K::scan(par, x, Order { dims, exclusive: self.exclusive, reverse: self.reverse })?
        };
        ctx.set_output(0, out);
        Ok(())
    }
}

fn scan<R: Running<T>, T: Element>(par: Parallel, x: &Tensor, order: Order) -> Result<Tensor> {
    let [outer, len, inner] = order.dims;
    let values = x.values::<T>()?;
    Tensor::build(x.shape().clone(), |out: &mut [T]| {
        let slab = len * inner;
        let work = (rows(values, outer), rows_mut(out, outer));
        par.for_each(work, MIN_PIECE.div_ceil(slab), |_, (x, out)| {
            let mut totals = vec![R::EMPTY; inner];
            for (x, out) in x.data.chunks_exact(slab).zip(out.data.chunks_exact_mut(slab)) {
                totals.fill(R::EMPTY);
                let lines = x.chunks_exact(inner).zip(out.chunks_exact_mut(inner));
                if order.reverse {
                    lines.rev().for_each(|(x, out)| line::<R, T>(&mut totals, x, out, order));
                } else {
                    lines.for_each(|(x, out)| line::<R, T>(&mut totals, x, out, order));
                }
            }
        });
    })
}

/// Brings the totals one position further.
fn line<R: Running<T>, T: Element>(totals: &mut [R::Acc], x: &[T], out: &mut [T], order: Order) {
    for ((total, &x), out) in totals.iter_mut().zip(x).zip(out) {
        let next = R::add(*total, x);
        *out = R::store(if order.exclusive { *total } else { next });
        *total = next;
    }
}

/// A running total of `x` in the opposite direction.
fn opposite(g: &GradientContext<'_>, op: &str, x: Output) -> Result<Output> {
    let attrs = g.attrs();
    let node = NewNode::new(op).input(x).input(g.input(1));
    let node = node.attr("exclusive", attrs.bool("exclusive")?);
    g.out(node.attr("reverse", !attrs.bool("reverse")?))
}

fn sum_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![Some(opposite(g, "Cumsum", g.grad(0)?)?.into()), None])
}

fn product_gradient(g: &GradientContext<'_>) -> InputGradients {
    let products = g.mul(g.conj(g.output(0))?, g.grad(0)?)?;
    let sums = opposite(g, "Cumsum", products)?;
    Ok(vec![Some(g.div(sums, g.conj(g.input(0))?)?.into()), None])
}

/// Works with logarithms of the positive and the negative gradients, which may be of any size.
fn log_sum_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (x, y, grad) = (g.input(0), g.output(0), g.grad(0)?);
    let zero = g.number_like(0.0, grad)?;
    let lowest = g.number_like(f64::from(f32::MIN) * 0.5, grad)?;
    let part = |comparison: &str, size: Output| {
        let chosen = g.call(comparison, [grad, zero])?;
        let log = g.call("Log", [g.call("SelectV2", [chosen, size, g.ones_like(grad)?])?])?;
        let log = g.call("SelectV2", [chosen, log, lowest])?;
        let sums = opposite(g, "CumulativeLogsumexp", g.sub(log, y)?)?;
        g.call("Exp", [g.add2(sums, x)?])
    };
    let positive = part("Greater", grad)?;
    let negative = part("Less", g.neg(grad)?)?;
    Ok(vec![Some(g.sub(positive, negative)?.into()), None])
}

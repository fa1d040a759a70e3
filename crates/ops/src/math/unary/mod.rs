//! Functions of one value, element by element.
//!
//! Every op is a row of a table: its name, its types, and for each kind of number the function. Real
//! functions are [`Unary`](elementwise::Unary) types of the kernels crate, computed in `f32` for
//! half precision; complex ones are computed in double precision.

pub(super) mod composition;
pub(super) mod elementary;
mod gradient;
pub(super) mod parts;
pub(super) mod predicates;
pub(super) mod signs;

use std::fmt;
use std::marker::PhantomData;

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Pointwise};
use tensorfleet_kernels::{Parallel, Real, elementwise};
use tensorfleet_tensor::{DType, Element, Error, Result, Tensor, internal};

/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 16 * 1024;
/// Elements copied aside at a time when the argument's storage is overwritten.
const BLOCK: usize = 512;

/// A function of one value that exists for several element types.
trait Function: fmt::Debug + Send + Sync + 'static {
    fn apply(par: Parallel, x: Tensor) -> Result<Tensor>;

    /// The function of slices, for the types that the executor can fuse.
    fn pointwise(_: DType) -> Option<Pointwise> {
        None
    }
}

/// The kernel of an elementwise op.
#[derive(Debug)]
struct Elementwise<F> {
    dtype: DType,
    function: PhantomData<F>,
}

impl<F: Function> Kernel for Elementwise<F> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Elementwise { dtype: attrs.dtype("T")?, function: PhantomData })
    }

    fn pointwise(&self) -> Option<Pointwise> {
        F::pointwise(self.dtype)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        ctx.set_output(0, F::apply(par, x)?);
        Ok(())
    }
}

/// Computes a run of results from a run of arguments.
pub(in crate::math) type SliceFn<'f, T, U> = &'f (dyn Fn(&[T], &mut [U]) + Sync);

/// Applies a function to every element, in place if nobody else holds the tensor.
pub(in crate::math) fn map_slices<T: Element>(
    par: Parallel,
    mut x: Tensor,
    f: SliceFn<'_, T, T>,
) -> Result<Tensor> {
    if !x.is_unique() {
        return map_slices_to(par, &x, f);
    }
    par.for_each(x.values_mut::<T>()?, MIN_PIECE, |_, x| {
        // Vector loops need input and output apart; the copy never leaves the nearest cache.
        let mut copy = [T::default(); BLOCK];
        for x in x.chunks_mut(BLOCK) {
            let copy = &mut copy[..x.len()];
            copy.copy_from_slice(x);
            f(copy, x);
        }
    });
    Ok(x)
}

/// Applies a function to every element, with results of another type.
pub(in crate::math) fn map_slices_to<T: Element, U: Element>(
    par: Parallel,
    x: &Tensor,
    f: SliceFn<'_, T, U>,
) -> Result<Tensor> {
    let values = x.values::<T>()?;
    Tensor::build(x.shape().clone(), |out: &mut [U]| {
        par.for_each((values, out), MIN_PIECE, |_, (x, out)| f(x, out));
    })
}

/// Applies a function of one value to every element.
pub(in crate::math) fn map<T: Element>(
    par: Parallel,
    x: Tensor,
    f: impl Fn(T) -> T + Sync,
) -> Result<Tensor> {
    map_slices(par, x, &|x, out| each(x, out, &f))
}

/// Applies a function of one value to every element, with results of another type.
pub(in crate::math) fn map_to<T: Element, U: Element>(
    par: Parallel,
    x: &Tensor,
    f: impl Fn(T) -> U + Sync,
) -> Result<Tensor> {
    map_slices_to(par, x, &|x, out| each(x, out, &f))
}

fn each<T: Copy, U>(x: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = f(x));
}

fn real<F: elementwise::Unary, T: Element + Real>(par: Parallel, x: Tensor) -> Result<Tensor> {
    map_slices::<T>(par, x, &T::apply::<F>)
}

fn complex(par: Parallel, x: Tensor, f: fn(Complex<f64>) -> Complex<f64>) -> Result<Tensor> {
    if x.values::<Complex<f64>>().is_ok() {
        return map(par, x, f);
    }
    map(par, x, |z: Complex<f32>| {
        let result = f(Complex::new(z.re.into(), z.im.into()));
        Complex::new(result.re as f32, result.im as f32)
    })
}

/// The registry lets no other types reach a kernel.
fn unsupported(x: &Tensor) -> Error {
    internal!("a function of one value was given a {} tensor", x.dtype())
}

/// Makes the ops of a table; a row is
/// `Name: definition of T, types => { kind(function) .. } gradient`.
macro_rules! table {
    ($($(#[$doc:meta])* $name:ident: $attr:expr, $types:expr => {
        $($kind:ident($($function:tt)+))+
    } $gradient:path;)+) => {
        pub(in crate::math) const OPS: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &["x: T"],
            outputs: &["y: T"],
            attrs: &[$attr],
            kernels: &[cpu::<super::Elementwise<$name>>().types("T", $types)],
            shape: Some(crate::shapes::unchanged),
            gradient: Some($gradient),
            ..Op::DEFAULT
        },)+];

        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(super) struct $name;

            impl super::Function for $name {
                fn apply(par: Parallel, x: Tensor) -> Result<Tensor> {
                    $(super::arm!(par, x, $kind($($function)+));)+
                    Err(super::unsupported(&x))
                }

                fn pointwise(
                    dtype: tensorfleet_tensor::DType,
                ) -> Option<tensorfleet_framework::Pointwise> {
                    $(super::fusible!(dtype, $kind($($function)+));)+
                    None
                }
            }
        )+
    };
}

/// Returns the result if the tensor holds numbers of the kind.
macro_rules! arm {
    ($par:ident, $x:ident, real($function:ty)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [f32, f64, half::f16, half::bf16],
            T => return super::real::<$function, T>($par, $x),
            else => {}
        );
    };
    ($par:ident, $x:ident, complex($function:expr)) => {
        if $x.dtype().is_complex() {
            return super::complex($par, $x, $function);
        }
    };
    ($par:ident, $x:ident, signed($function:expr)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [i8, i16, i32, i64],
            T => return super::map::<T>($par, $x, $function),
            else => {}
        );
    };
    ($par:ident, $x:ident, unsigned($function:expr)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [u8, u16, u32, u64],
            T => return super::map::<T>($par, $x, $function),
            else => {}
        );
    };
}

/// Returns the function of slices if there is one for numbers of the type.
macro_rules! fusible {
    ($dtype:ident, real($function:ty)) => {
        tensorfleet_tensor::dispatch!(
            $dtype,
            [f32, f64],
            T => {
                let apply = <T as tensorfleet_kernels::Real>::apply::<$function>;
                return Some(tensorfleet_framework::PointwiseFn::One(apply).into());
            },
            else => {}
        );
    };
    ($dtype:ident, signed($function:expr)) => {
        tensorfleet_tensor::dispatch!(
            $dtype,
            [i32, i64],
            T => {
                let one = tensorfleet_framework::PointwiseFn::One(|x: &[T], out: &mut [T]| {
                    super::each(x, out, $function);
                });
                return Some(one.into());
            },
            else => {}
        );
    };
    ($dtype:ident, unsigned($function:expr)) => {};
    ($dtype:ident, complex($function:expr)) => {};
}

use {arm, fusible, table};

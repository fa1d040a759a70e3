//! Functions of two values, element by element, with broadcasting.
//!
//! Every op is a row of a table: its name, its types, and for each kind of number the function.
//! Half-precision operands are computed in `f32`, a block at a time.

pub(super) mod arithmetic;
pub(super) mod bitwise;
pub(super) mod comparison;
pub(super) mod complex;
pub(super) mod division;
mod gradient;
pub(super) mod gradients;
pub(super) mod logical;

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Pointwise, Row};
use tensorfleet_kernels::elementwise::Binary;
use tensorfleet_kernels::{Parallel, Real};
use tensorfleet_tensor::{DType, Element, Error, Result, Tensor, internal};

use crate::broadcast::{RowFn, rows_of, zip_rows_reusing};

/// Elements converted, or copied aside, at a time.
const BLOCK: usize = 512;

/// A function of two values that exists for several element types.
trait Function: fmt::Debug + Send + Sync + 'static {
    fn apply(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor>;

    /// The function of rows, for the types that the executor can fuse.
    fn pointwise(_: DType) -> Option<Pointwise> {
        None
    }
}

/// The kernel of an elementwise op.
#[derive(Debug)]
struct Elementwise<F> {
    pointwise: Option<Pointwise>,
    function: PhantomData<F>,
}

impl<F: Function> Kernel for Elementwise<F> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        // The logical ops have but one type, and so no attribute for it.
        let pointwise = attrs.dtype("T").ok().and_then(F::pointwise);
        Ok(Elementwise { pointwise, function: PhantomData })
    }

    fn pointwise(&self) -> Option<Pointwise> {
        self.pointwise
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.take_input(0)?, ctx.take_input(1)?);
        ctx.set_output(0, F::apply(par, x, y)?);
        Ok(())
    }
}

/// Applies a function of two values of one type.
fn same<T: Element>(
    par: Parallel,
    x: Tensor,
    y: Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<Tensor> {
    zip_rows_reusing(par, x, y, &rows_of(f))
}

/// Applies a function of two values that some pairs do not have.
fn partial<T: Element>(
    par: Parallel,
    x: Tensor,
    y: Tensor,
    f: impl Fn(T, T) -> Option<T> + Sync,
    error: fn() -> Error,
) -> Result<Tensor> {
    let failed = AtomicBool::new(false);
    let result = same(par, x, y, |a, b| {
        f(a, b).unwrap_or_else(|| {
            failed.store(true, Ordering::Relaxed);
            T::default()
        })
    })?;
    if failed.into_inner() { Err(error()) } else { Ok(result) }
}

/// Applies a function of `f32` rows to a half-precision type.
fn widened<T: Element + Real<Wide = f32>>(
    par: Parallel,
    x: Tensor,
    y: Tensor,
    f: RowFn<'_, f32, f32, f32>,
) -> Result<Tensor> {
    zip_rows_reusing::<T>(par, x, y, &|a, b, out| {
        let mut blocks = [[0.0; BLOCK]; 3];
        let [wide_a, wide_b, wide_out] = &mut blocks;
        let mut at = 0;
        for out in out.chunks_mut(BLOCK) {
            let len = out.len();
            let a = widen(a, at, &mut wide_a[..len]);
            let b = widen(b, at, &mut wide_b[..len]);
            f(a, b, &mut wide_out[..len]);
            T::narrow_slice(&wide_out[..len], out);
            at += len;
        }
    })
}

/// The part of a row from `at` that fills `wide`, in `f32`.
fn widen<'a, T: Real<Wide = f32>>(row: Row<'_, T>, at: usize, wide: &'a mut [f32]) -> Row<'a, f32> {
    match row {
        Row::Value(value) => Row::Value(value.widen()),
        Row::Slice(values) => {
            T::widen_slice(&values[at..at + wide.len()], wide);
            Row::Slice(wide)
        }
    }
}

/// Applies a vectorised function.
fn vector<F: Binary, T: Element + Real>(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
    zip_rows_reusing::<T>(par, x, y, &vector_rows::<F, T>)
}

fn vector_rows<F: Binary, T: Element + Real>(a: Row<'_, T>, b: Row<'_, T>, out: &mut [T]) {
    match (a, b) {
        (Row::Slice(a), Row::Slice(b)) => T::apply2::<F>(a, b, out),
        (Row::Slice(a), Row::Value(b)) => {
            let b = [b; BLOCK];
            for (out, a) in out.chunks_mut(BLOCK).zip(a.chunks(BLOCK)) {
                T::apply2::<F>(a, &b[..a.len()], out);
            }
        }
        (Row::Value(a), Row::Slice(b)) => {
            let a = [a; BLOCK];
            for (out, b) in out.chunks_mut(BLOCK).zip(b.chunks(BLOCK)) {
                T::apply2::<F>(&a[..b.len()], b, out);
            }
        }
        (Row::Value(a), Row::Value(b)) => {
            let mut value = [a];
            T::apply2::<F>(&[a], &[b], &mut value);
            out.fill(value[0]);
        }
    }
}

/// The registry lets no other types reach a kernel.
fn unsupported(x: &Tensor) -> Error {
    internal!("a function of two values was given a {} tensor", x.dtype())
}

/// Makes the ops of a table; a row is
/// `Name(input names) properties: definition of T, types => { kind(function) .. } gradient;`.
macro_rules! table {
    ($($(#[$doc:meta])* $name:ident($x:literal, $y:literal) $($property:ident)*:
        $attr:expr, $types:expr => { $($kind:ident($($function:tt)+))+ } $gradient:path;
    )+) => {
        pub(in crate::math) const OPS: &[Op] = &[$(Op {
            name: stringify!($name),
            inputs: &[$x, $y],
            outputs: &["z: T"],
            attrs: &[$attr],
            $($property: true,)*
            kernels: &[cpu::<super::Elementwise<$name>>().types("T", $types)],
            shape: Some(crate::shapes::broadcasts),
            gradient: Some($gradient),
            ..Op::DEFAULT
        },)+];

        $(
            $(#[$doc])*
            #[derive(Debug)]
            struct $name;

            impl super::Function for $name {
                fn apply(par: Parallel, x: Tensor, y: Tensor) -> Result<Tensor> {
                    $(super::arm!(par, x, y, $kind($($function)+));)+
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

/// Returns the result if the tensors hold numbers of the kind.
macro_rules! arm {
    // A cheap function of real numbers, written so that it has both precisions.
    ($par:ident, $x:ident, $y:ident, real($function:expr)) => {
        match $x.dtype() {
            DType::Float => return super::same::<f32>($par, $x, $y, $function),
            DType::Double => return super::same::<f64>($par, $x, $y, $function),
            DType::Half => {
                let rows = crate::broadcast::rows_of::<f32, f32, f32>($function);
                return super::widened::<half::f16>($par, $x, $y, &rows);
            }
            DType::BFloat16 => {
                let rows = crate::broadcast::rows_of::<f32, f32, f32>($function);
                return super::widened::<half::bf16>($par, $x, $y, &rows);
            }
            _ => {}
        }
    };
    // A function of real numbers that the kernels crate has vector loops for.
    ($par:ident, $x:ident, $y:ident, vector($function:ty)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [f32, f64, half::f16, half::bf16],
            T => return super::vector::<$function, T>($par, $x, $y),
            else => {}
        );
    };
    ($par:ident, $x:ident, $y:ident, complex($function:expr)) => {
        match $x.dtype() {
            DType::Complex64 => return super::same::<Complex<f32>>($par, $x, $y, $function),
            DType::Complex128 => return super::same::<Complex<f64>>($par, $x, $y, $function),
            _ => {}
        }
    };
    ($par:ident, $x:ident, $y:ident, integer($function:expr)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [i8, i16, i32, i64, u8, u16, u32, u64],
            T => return super::same::<T>($par, $x, $y, $function),
            else => {}
        );
    };
    // A function that not all pairs of integers have, and the error for those.
    ($par:ident, $x:ident, $y:ident, partial($function:expr, $error:expr)) => {
        tensorfleet_tensor::dispatch!(
            $x.dtype(),
            [i8, i16, i32, i64, u8, u16, u32, u64],
            T => return super::partial::<T>($par, $x, $y, $function, $error),
            else => {}
        );
    };
}

/// Returns the function of rows if there is one for numbers of the type.
macro_rules! fusible {
    ($dtype:ident, real($function:expr)) => {
        super::fusible!($dtype, [f32, f64], $function);
    };
    ($dtype:ident, integer($function:expr)) => {
        super::fusible!($dtype, [i32, i64], $function);
    };
    ($dtype:ident, [$($element:ty),+], $function:expr) => {
        tensorfleet_tensor::dispatch!(
            $dtype,
            [$($element),+],
            T => {
                let two = tensorfleet_framework::PointwiseFn::<T>::Two(|a, b, out| {
                    crate::broadcast::rows_of::<T, T, T>($function)(a, b, out)
                });
                return Some(two.into());
            },
            else => {}
        );
    };
    ($dtype:ident, vector($function:ty)) => {
        tensorfleet_tensor::dispatch!(
            $dtype,
            [f32, f64],
            T => {
                let rows = super::vector_rows::<$function, T>;
                return Some(tensorfleet_framework::PointwiseFn::Two(rows).into());
            },
            else => {}
        );
    };
    ($dtype:ident, complex($function:expr)) => {};
    ($dtype:ident, partial($function:expr, $error:expr)) => {};
}

use {arm, fusible, table};

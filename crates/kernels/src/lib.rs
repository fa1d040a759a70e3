//! Fast mathematics on plain slices: what the op library calls when it has unpacked its tensors.
//!
//! Nothing here knows of tensors, dtypes at run time, or errors: functions take slices and sizes,
//! write to slices that the caller provides, and panic when lengths disagree, which is a bug of the
//! caller. The first argument of anything that can take long is a [`Parallel`], the number of threads
//! it may use.
//!
//! Inner loops for `f32` and `f64` are compiled for several instruction sets and chosen at run time
//! (see `simd`); half-precision types are computed in `f32`; other types use plain loops.

#![expect(unsafe_code, reason = "SIMD kernels, raw matrix views, and work that threads share")]

mod aligned;
#[cfg(target_arch = "x86_64")]
mod announced;
pub mod batch_norm;
pub mod conv;
pub mod convert;
mod denormals;
pub mod elementwise;
pub mod fourier;
pub mod gemm;
pub mod hash;
pub mod lrn;
pub mod math;
pub mod optimizers;
pub mod parallel;
pub mod peak;
pub mod pool;
pub mod random;
mod real;
pub mod reduce;
pub mod resize;
pub mod simd;
pub mod softmax;
#[cfg(test)]
mod testing;
pub mod top;
pub mod transpose;
pub mod vector;

pub use denormals::FlushDenormals;
pub use parallel::{Parallel, Threads};
pub use real::{Real, Wide};

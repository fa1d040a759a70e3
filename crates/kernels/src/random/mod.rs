//! Random numbers equal to those of TensorFlow's CPU kernels.
//!
//! A program that fixes its seeds sees the numbers TensorFlow would give it: bit for bit for the
//! uniform distributions and all choices made from them, and up to the last bit of the platform's
//! `ln`, `sin` and `cos` for the others. Two things make that work. [`Philox`] makes any block of
//! its stream directly. And every distribution says at which block each of its values starts, so a
//! slice can be filled in any order and by any number of threads.
//!
//! # From an op
//!
//! A seeded op owns a [`GuardedPhilox`] made of its attributes, and reserves a part of the stream
//! in each run:
//!
//! ```
//! use tensorfleet_kernels::Parallel;
//! use tensorfleet_kernels::random::{GuardedPhilox, TruncatedNormal, fill};
//!
//! let generator = GuardedPhilox::new(87654321, 1); // attributes `seed` and `seed2`
//! let mut out = [0f32; 6];
//! let philox = generator.reserve_outputs(out.len() as u64);
//! fill(Parallel::all(), &TruncatedNormal::<f32>::new(), philox, &mut out);
//! assert!(out.iter().all(|value| value.abs() < 2.0));
//! ```
//!
//! | Op | Reserves | Calls |
//! |---|---|---|
//! | `RandomUniform`, `RandomStandardNormal`, `TruncatedNormal`, `RandomUniformInt` | `reserve_outputs(values)` | [`fill()`] with [`Uniform`], [`Normal`], [`TruncatedNormal`], [`UniformInt`] |
//! | `RandomGamma` | `reserve_outputs(values)` | [`gamma()`] |
//! | `RandomPoisson`, `RandomPoissonV2` | `reserve_outputs(values)` | [`poisson()`] |
//! | `Multinomial` | `reserve_blocks(`[`multinomial_blocks`]`)` | [`multinomial()`] |
//! | `ParameterizedTruncatedNormal` | `reserve_blocks(`[`truncation_blocks`]`)` | [`truncated_normal_between`] |
//! | `RandomShuffle` | `reserve_words(`[`shuffle_words`]`)` | [`shuffle()`] |
//!
//! A stateless op of the first version starts from [`Philox::from_stateless_seed`];
//! `StatelessRandomGetKeyCounter` returns that generator's key and counter, and an op of the second
//! version starts from [`Philox::from_key_counter`]. TensorFlow's CPU kernels know only Philox:
//! algorithms 1 (Philox) and 3 (chosen by the system) are it, anything else is INVALID_ARGUMENT
//! `Unsupported algorithm id: 2`.
//!
//! An op on a `Generator`'s variable reads the int64 vector `[counter low, counter high, key]`, and
//! stores it back after skipping 256 blocks for each value of its output; `RngSkip` and
//! `RngReadAndSkip` skip 256 blocks for each unit of `delta`. `StatefulRandomBinomial` skips as if
//! its output had `batches * 200 * (samples + 3) / 4` values. Gamma, Poisson, binomial and
//! multinomial values come from the same functions for stateful and stateless ops.

mod between;
mod binomial;
mod bits;
mod each;
mod fill;
mod gamma;
mod guarded;
mod multinomial;
mod normal;
mod philox;
mod poisson;
mod shuffle;
mod uniform;

pub use between::{Truncation, TruncationError, truncated_normal_between, truncation_blocks};
pub use binomial::binomial;
pub use each::Number;
pub use fill::{Distribution, fill};
pub use gamma::gamma;
pub use guarded::{GuardedPhilox, entropy};
pub use multinomial::{multinomial, multinomial_blocks};
pub use normal::{Normal, TruncatedNormal};
pub use philox::{Philox, Words};
pub use poisson::poisson;
pub use shuffle::{shuffle, shuffle_words};
pub use uniform::{FullInt, Uniform, UniformInt};

#[cfg(test)]
mod golden;

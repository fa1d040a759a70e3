//! Input: examples from files and arrays, shuffled, batched and read ahead.
//!
//! A pipeline is an iterator of results, so all adaptors of the standard library work on it too;
//! [`Pipeline`] adds those that training needs.
//!
//! ```
//! use tensorfleet_client::data::{Pipeline, TensorRows};
//! use tensorfleet_client::IntoTensor;
//!
//! # fn main() -> tensorfleet_client::Result<()> {
//! let images = (0..100).map(|i| vec![i as f32; 4]).collect::<Vec<_>>().into_tensor()?;
//! let labels = (0..100i64).collect::<Vec<_>>().into_tensor()?;
//! let batches = TensorRows::new([images, labels])?.shuffle(100, 7).batch(32).prefetch(2);
//! let sizes: Vec<usize> =
//!     batches.map(|batch| Ok(batch?[0].dims()[0])).collect::<tensorfleet_client::Result<_>>()?;
//! assert_eq!(sizes, [32, 32, 32, 4]);
//! # Ok(())
//! # }
//! ```

mod adaptors;
mod sources;

pub use adaptors::{Batch, Pipeline, Prefetch, Shard, Shuffle};
pub use sources::{Csv, Records, TensorRows};

//! Adaptors of pipelines.

use std::fmt;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use tensorfleet_ops::rows;
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument};

/// What training does to the examples of an iterator.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::data::Pipeline;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// // Any iterator of results is a pipeline.
/// let numbers = (0..6).map(Ok);
/// let mine: Vec<i32> = numbers.shard(2, 1).prefetch(1).collect::<Result<_>>()?;
/// assert_eq!(mine, [1, 3, 5]);
/// # Ok(())
/// # }
/// ```
pub trait Pipeline<T>: Iterator<Item = Result<T>> + Sized {
    /// Returns elements in random order, drawn from a buffer of the next `buffer`; equal seeds give
    /// equal orders.
    ///
    /// ```
    /// use tensorfleet_client::Result;
    /// use tensorfleet_client::data::Pipeline;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let order = |seed| (0..100).map(Ok).shuffle(10, seed).collect::<Result<Vec<i32>>>();
    /// assert_eq!(order(1)?, order(1)?);
    /// assert_ne!(order(1)?, order(2)?);
    /// # Ok(())
    /// # }
    /// ```
    fn shuffle(self, buffer: usize, seed: u64) -> Shuffle<Self, T> {
        Shuffle { source: self, buffer: Vec::new(), size: buffer.max(1), state: seed }
    }

    /// Returns every `count`th element from the `index`th on: what worker `index` of `count` reads.
    ///
    /// ```
    /// use tensorfleet_client::Result;
    /// use tensorfleet_client::data::Pipeline;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let mine: Vec<i32> = (0..7).map(Ok).shard(3, 1).collect::<Result<_>>()?;
    /// assert_eq!(mine, [1, 4]);
    /// # Ok(())
    /// # }
    /// ```
    fn shard(self, count: usize, index: usize) -> Shard<Self> {
        Shard { source: self, count: count.max(1), index, is_first: true }
    }

    /// Computes up to `count` elements ahead, on a thread of its own.
    ///
    /// ```
    /// use tensorfleet_client::Result;
    /// use tensorfleet_client::data::Pipeline;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// // The next lines are split while this thread works on the ones before.
    /// let lines = ["a b", "c d e"].into_iter().map(|line| Ok(line.split(' ').count()));
    /// assert_eq!(lines.prefetch(1).collect::<Result<Vec<_>>>()?, [2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    fn prefetch(self, count: usize) -> Prefetch<T>
    where
        Self: Send + 'static,
        T: Send + 'static,
    {
        Prefetch::new(self, count)
    }

    /// Stacks up to `size` rows of tensors; the last batch may have fewer.
    ///
    /// ```
    /// use tensorfleet_client::data::Pipeline;
    /// use tensorfleet_client::{IntoTensor, Result, Tensor};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let rows = (0..5).map(|i| Ok(vec![[i as f32, 0.0].into_tensor()?, i.into_tensor()?]));
    /// let batches: Vec<Vec<Tensor>> = rows.batch(3).collect::<Result<_>>()?;
    /// assert_eq!(batches[0][0].dims(), [3, 2]);
    /// assert_eq!(batches[1][1].values::<i32>()?, [3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    fn batch(self, size: usize) -> Batch<Self>
    where
        T: Into<Vec<Tensor>>,
    {
        Batch { source: self, size: size.max(1) }
    }
}

impl<T, I: Iterator<Item = Result<T>>> Pipeline<T> for I {}

/// Elements in random order, made by [`Pipeline::shuffle`].
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::data::Pipeline;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let mut all: Vec<i32> = (0..9).map(Ok).shuffle(4, 7).collect::<Result<_>>()?;
/// all.sort_unstable();
/// assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Shuffle<I, T> {
    source: I,
    buffer: Vec<T>,
    size: usize,
    state: u64,
}

impl<I, T> Shuffle<I, T> {
    /// A number below `limit`, by the splitmix64 generator.
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * limit as u128) >> 64) as usize
    }
}

impl<T, I: Iterator<Item = Result<T>>> Iterator for Shuffle<I, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        while self.buffer.len() < self.size {
            match self.source.next() {
                Some(Ok(element)) => self.buffer.push(element),
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        if self.buffer.is_empty() {
            return None;
        }
        let at = self.below(self.buffer.len());
        Some(Ok(self.buffer.swap_remove(at)))
    }
}

/// Some of the elements, made by [`Pipeline::shard`].
///
/// ```
/// use tensorfleet_client::Error;
/// use tensorfleet_client::data::Pipeline;
///
/// let size = |worker| (0..10).map(Ok::<i32, Error>).shard(3, worker).count();
/// assert_eq!([size(0), size(1), size(2)], [4, 3, 3]);
/// ```
#[derive(Debug)]
pub struct Shard<I> {
    source: I,
    count: usize,
    index: usize,
    is_first: bool,
}

impl<I: Iterator> Iterator for Shard<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let skip = if self.is_first { self.index } else { self.count - 1 };
        self.is_first = false;
        self.source.nth(skip)
    }
}

/// Rows stacked to batches, made by [`Pipeline::batch`].
///
/// ```
/// use tensorfleet_client::data::{Pipeline, TensorRows};
/// use tensorfleet_client::{IntoTensor, Result};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let rows = TensorRows::new([vec![1.0f32, 2.0, 3.0].into_tensor()?])?;
/// let sizes: Vec<usize> = rows.batch(2).map(|b| Ok(b?[0].dims()[0])).collect::<Result<_>>()?;
/// assert_eq!(sizes, [2, 1]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Batch<I> {
    source: I,
    size: usize,
}

impl<T: Into<Vec<Tensor>>, I: Iterator<Item = Result<T>>> Iterator for Batch<I> {
    type Item = Result<Vec<Tensor>>;

    fn next(&mut self) -> Option<Result<Vec<Tensor>>> {
        let mut columns: Vec<Vec<Tensor>> = Vec::new();
        for number in 0..self.size {
            let row: Vec<Tensor> = match self.source.next() {
                Some(Ok(row)) => row.into(),
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            };
            if number == 0 {
                columns = row.iter().map(|_| Vec::with_capacity(self.size)).collect();
            }
            if row.len() != columns.len() {
                return Some(Err(invalid_argument!(
                    "a row has {} tensors, the one before it {}",
                    row.len(),
                    columns.len()
                )));
            }
            for (column, tensor) in columns.iter_mut().zip(row) {
                column.push(tensor);
            }
        }
        if columns.first().is_none_or(Vec::is_empty) {
            return None;
        }
        Some(columns.iter().map(|column| stacked(column)).collect())
    }
}

/// Tensors of one type and shape along a new first dimension.
fn stacked(parts: &[Tensor]) -> Result<Tensor> {
    let Some(first) = parts.first() else { return Err(invalid_argument!("nothing to stack")) };
    let differs = |part: &&Tensor| (part.dtype(), part.shape()) != (first.dtype(), first.shape());
    if let Some(other) = parts.iter().find(differs) {
        return Err(invalid_argument!(
            "rows of a batch must be alike, not {} {} and {} {}",
            first.dtype(),
            first.shape(),
            other.dtype(),
            other.shape()
        ));
    }
    rows::stack(first.dtype(), first.shape(), parts)
}

/// Elements computed ahead, made by [`Pipeline::prefetch`].
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::data::Pipeline;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let ahead = std::iter::repeat(1).map(Ok).prefetch(4);
/// // An endless source may be left at any time.
/// assert_eq!(ahead.take(3).sum::<Result<i32>>()?, 3);
/// # Ok(())
/// # }
/// ```
pub struct Prefetch<T> {
    receiver: Receiver<Result<T>>,
    failed: Option<Result<T>>,
}

impl<T> fmt::Debug for Prefetch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetch").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Prefetch<T> {
    fn new(source: impl Iterator<Item = Result<T>> + Send + 'static, count: usize) -> Prefetch<T> {
        let (sender, receiver) = sync_channel(count.max(1));
        let started =
            thread::Builder::new().name("tensorfleet-prefetch".to_owned()).spawn(move || {
                for element in source {
                    // Nobody reads any more.
                    if sender.send(element).is_err() {
                        break;
                    }
                }
            });
        let failed =
            started.err().map(|error| Err(internal!("a thread cannot be started: {error}")));
        Prefetch { receiver, failed }
    }
}

impl<T> Iterator for Prefetch<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        self.failed.take().or_else(|| self.receiver.recv().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorfleet_tensor::data_loss;

    fn numbers(count: i32) -> impl Iterator<Item = Result<i32>> + Send {
        (0..count).map(Ok)
    }

    fn all<T>(pipeline: impl Iterator<Item = Result<T>>) -> Vec<T> {
        pipeline.map(Result::unwrap).collect()
    }

    #[test]
    fn shuffling_loses_nothing_and_can_be_repeated() {
        let order = all(numbers(50).shuffle(10, 1));
        assert_eq!(order, all(numbers(50).shuffle(10, 1)));
        assert_ne!(order, all(numbers(50).shuffle(10, 2)));
        // An element comes at most a buffer's length too early.
        assert!(order.iter().enumerate().all(|(place, &number)| number as usize <= place + 9));
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, all(numbers(50)));
    }

    #[test]
    fn shards_share_the_elements() {
        assert_eq!(all(numbers(7).shard(3, 0)), [0, 3, 6]);
        assert_eq!(all(numbers(7).shard(3, 2)), [2, 5]);
    }

    #[test]
    fn prefetching_keeps_order_and_errors() {
        assert_eq!(all(numbers(100).prefetch(3)), all(numbers(100)));
        let broken = numbers(2).chain([Err(data_loss!("lost"))]).prefetch(1);
        let last = broken.last().unwrap();
        assert_eq!(last.unwrap_err().message(), "lost");
        // A reader may leave early.
        assert_eq!(numbers(1000).prefetch(1).next().unwrap().unwrap(), 0);
    }

    #[test]
    fn rows_must_fit() {
        let row = |values: &[f32]| Ok(vec![Tensor::vector(values).unwrap()]);
        let batch = vec![row(&[1.0, 2.0]), row(&[3.0, 4.0])].into_iter().batch(5).next().unwrap();
        assert_eq!(batch.unwrap()[0].dims(), [2, 2]);
        let uneven = vec![row(&[1.0, 2.0]), row(&[3.0])].into_iter().batch(5).next().unwrap();
        assert!(uneven.is_err());
    }
}

//! Accumulators: gradients of several workers, added up until enough are there.
//!
//! A gradient computed for an older global step than the accumulator's is stale and dropped. Taking
//! the sum begins the next step. Those who wait for it stand in line, as at a queue.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_channel::oneshot;
use tensorfleet_framework::{Durable, Kept, Measure, Resource, Telling, Unit};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, internal, invalid_argument};

use super::accumulator_kept::event;
use super::join::{row, stack, without_first};
use crate::sparse::number::{add_tensors, divide_tensor};

/// What an accumulator was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) sparse: bool,
    pub(super) dtype: DType,
    pub(super) shape: PartialShape,
    /// Whether the sum is divided by the number of gradients.
    pub(super) mean: bool,
}

/// Some rows of a gradient.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) indices: Vec<i64>,
    pub(super) values: Tensor,
}

#[derive(Clone, Debug)]
pub(super) enum Gradient {
    Dense(Tensor),
    Sparse(Rows),
}

#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) name: String,
    pub(super) signature: Signature,
    pub(super) kept: Kept,
    state: Mutex<State>,
}

impl Resource for Accumulator {
    const TYPE_NAME: &'static str = "N10tensorflow26ConditionalAccumulatorBaseE";

    fn durable(&self) -> Option<&dyn Durable> {
        Some(self)
    }

    fn measure(&self) -> Measure {
        let state = self.lock();
        Measure {
            dtype: self.signature.dtype.to_string(),
            entries: Some(state.count as u64),
            waiting: state.waiters.len() as u64,
            ..Measure::default()
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) global_step: i64,
    pub(super) count: usize,
    pub(super) sum: Option<Sum>,
    waiters: VecDeque<Waiting>,
    next_id: u64,
}

#[derive(Debug)]
pub(super) enum Sum {
    Dense(Tensor),
    Sparse { rows: Vec<SumRow>, row_shape: Shape },
}

/// A row of the sum, and how many rows of gradients were added up in it.
#[derive(Debug)]
pub(super) struct SumRow {
    index: i64,
    value: Tensor,
    count: usize,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    required: usize,
    /// In which step it waits, on a task with a journal.
    owner: Option<Arc<dyn Unit>>,
    done: oneshot::Sender<Result<Gradient>>,
}

impl Accumulator {
    pub(super) fn new(name: &str, signature: Signature) -> Accumulator {
        let (kept, state) = Default::default();
        Accumulator { name: name.to_owned(), signature, kept, state }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.lock().count
    }

    pub(super) fn set_global_step(&self, unit: Option<&dyn Unit>, step: i64) -> Result<()> {
        let telling = self.kept.enter(unit)?;
        let mut state = self.lock();
        state.global_step = step;
        telling.tell(unit, false, || event::set_step(step));
        Ok(())
    }

    /// Whether a gradient that was computed for global step `local_step` comes too late.
    pub(super) fn is_stale(&self, local_step: i64) -> bool {
        local_step < self.lock().global_step
    }

    /// Adds a gradient that was computed for global step `local_step`.
    pub(super) fn apply(
        &self,
        unit: Option<&dyn Unit>,
        local_step: i64,
        gradient: Gradient,
    ) -> Result<()> {
        let telling = self.kept.enter(unit)?;
        let mut state = self.lock();
        if local_step < state.global_step {
            return Ok(());
        }
        // Where nobody keeps it, the gradient's memory becomes that of the sum.
        let kept = self.kept.number().map(|_| gradient.clone());
        state.add(gradient)?;
        if let Some(gradient) = kept {
            telling.tell(unit, false, || event::added(&gradient));
        }
        let answers = self.serve(&mut state, &telling);
        drop(state);
        for (waiter, answer) in answers {
            // A waiter that is gone does not mind: what it would have taken is lost to it alone.
            let _ = waiter.send(answer);
        }
        Ok(())
    }

    /// Adds a gradient, whatever its step.
    pub(super) fn add(&self, gradient: Gradient) -> Result<()> {
        self.lock().add(gradient)
    }

    /// Takes the sum of `required` gradients or more.
    pub(super) fn take(
        self: &Arc<Self>,
        owner: Option<Arc<dyn Unit>>,
        required: usize,
    ) -> Result<Waiter> {
        let (done, answer) = oneshot::channel();
        let telling = self.kept.enter(owner.as_deref())?;
        let mut state = self.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.waiters.push_back(Waiting { id, required, owner: owner.clone(), done });
        let answers = self.serve(&mut state, &telling);
        drop(state);
        for (waiter, answer) in answers {
            let _ = waiter.send(answer);
        }
        Ok(Waiter { accumulator: Arc::clone(self), id, answer })
    }

    fn serve(
        &self,
        state: &mut State,
        telling: &Telling<'_>,
    ) -> Vec<(oneshot::Sender<Result<Gradient>>, Result<Gradient>)> {
        let mut answers = Vec::new();
        while state.waiters.front().is_some_and(|first| first.required <= state.count)
            && let Some(sum) = state.sum.take()
            && let Some(first) = state.waiters.pop_front()
        {
            let count = std::mem::take(&mut state.count);
            state.global_step += 1;
            telling.tell(first.owner.as_deref(), false, event::took);
            answers.push((first.done, sum.finish(self.signature.mean.then_some(count))));
        }
        answers
    }

    fn leave(&self, id: u64) {
        self.lock().waiters.retain(|waiter| waiter.id != id);
    }
}

impl State {
    fn add(&mut self, gradient: Gradient) -> Result<()> {
        match &mut self.sum {
            None => self.sum = Some(Sum::new(gradient)?),
            Some(sum) => sum.add(gradient)?,
        }
        self.count += 1;
        Ok(())
    }
}

impl Sum {
    /// The indices of rows, how many were added up in each, and their values.
    pub(super) fn rows(&self, dtype: DType) -> Result<(Vec<i64>, Vec<i64>, Tensor)> {
        let Sum::Sparse { rows, row_shape } = self else {
            return Err(internal!("a dense sum has no rows of its own"));
        };
        let parts: Vec<Tensor> = rows.iter().map(|row| row.value.clone()).collect();
        Ok((
            rows.iter().map(|row| row.index).collect(),
            rows.iter().map(|row| row.count as i64).collect(),
            stack(dtype, row_shape, &parts)?,
        ))
    }

    /// The sum that has these rows.
    pub(super) fn of_rows(indices: &[i64], counts: &[i64], values: &Tensor) -> Result<Sum> {
        if indices.len() != counts.len() || values.dims().first() != Some(&indices.len()) {
            return Err(invalid_argument!("a sum has as many indices as counts and rows"));
        }
        let row_shape = without_first(values.shape())?;
        let rows = indices.iter().zip(counts).enumerate().map(|(at, (&index, &count))| {
            Ok(SumRow { index, value: row(values, at)?, count: count.max(1) as usize })
        });
        Ok(Sum::Sparse { rows: rows.collect::<Result<_>>()?, row_shape })
    }

    fn new(gradient: Gradient) -> Result<Sum> {
        match gradient {
            Gradient::Dense(tensor) => Ok(Sum::Dense(tensor)),
            Gradient::Sparse(rows) => {
                let row_shape = without_first(rows.values.shape())?;
                Ok(Sum::Sparse { rows: sum_rows(&rows)?, row_shape })
            }
        }
    }

    fn add(&mut self, gradient: Gradient) -> Result<()> {
        match (self, gradient) {
            (Sum::Dense(sum), Gradient::Dense(tensor)) => {
                if sum.shape() != tensor.shape() {
                    return Err(invalid_argument!(
                        "Shape mismatch: expected {}, got {}",
                        sum.shape(),
                        tensor.shape()
                    ));
                }
                add_tensors(sum, &tensor)
            }
            (Sum::Sparse { rows, row_shape }, Gradient::Sparse(gradient)) => {
                check_row_shape(row_shape, gradient.values.shape())?;
                *rows = merge(std::mem::take(rows), sum_rows(&gradient)?)?;
                Ok(())
            }
            _ => Err(internal!("an accumulator is either dense or sparse")),
        }
    }

    /// The result: a mean if the number of gradients is given.
    fn finish(self, count: Option<usize>) -> Result<Gradient> {
        match self {
            Sum::Dense(mut sum) => {
                if let Some(count) = count {
                    divide_tensor(&mut sum, count)?;
                }
                Ok(Gradient::Dense(sum))
            }
            Sum::Sparse { rows, row_shape } => {
                let (mut indices, mut parts) = (Vec::new(), Vec::new());
                let mut dtype = DType::Float;
                for SumRow { index, mut value, count: own } in rows {
                    if count.is_some() {
                        divide_tensor(&mut value, own)?;
                    }
                    dtype = value.dtype();
                    indices.push(index);
                    parts.push(value);
                }
                Ok(Gradient::Sparse(Rows { indices, values: stack(dtype, &row_shape, &parts)? }))
            }
        }
    }
}

fn sum_rows(gradient: &Rows) -> Result<Vec<SumRow>> {
    let rows = gradient.indices.iter().enumerate();
    rows.map(|(position, &index)| {
        Ok(SumRow { index, value: row(&gradient.values, position)?, count: 1 })
    })
    .collect()
}

/// Adds rows to rows, both taken to be in order of their indices.
///
/// TensorFlow looks at no index twice either: rows of one gradient that are out of order or have the
/// same index stay apart, and that decides what a mean is divided by.
fn merge(sum: Vec<SumRow>, gradient: Vec<SumRow>) -> Result<Vec<SumRow>> {
    let mut merged = Vec::with_capacity(sum.len() + gradient.len());
    let (mut sum, mut gradient) = (sum.into_iter().peekable(), gradient.into_iter().peekable());
    while let (Some(have), Some(more)) = (sum.peek(), gradient.peek()) {
        match have.index.cmp(&more.index) {
            Ordering::Less => merged.extend(sum.next()),
            Ordering::Greater => merged.extend(gradient.next()),
            Ordering::Equal => {
                if let (Some(mut both), Some(more)) = (sum.next(), gradient.next()) {
                    add_tensors(&mut both.value, &more.value)?;
                    both.count += more.count;
                    merged.push(both);
                }
            }
        }
    }
    merged.extend(sum.chain(gradient));
    Ok(merged)
}

/// Checks that the rows of a gradient can be added to those of the sum.
fn check_row_shape(row: &Shape, values: &Shape) -> Result<()> {
    if values.rank() != row.rank() + 1 {
        return Err(invalid_argument!(
            "Shape mismatch: expected values rank {}, got {}",
            row.rank() + 1,
            values.rank()
        ));
    }
    let dims = row.dims().iter().zip(&values.dims()[1..]).enumerate();
    for (dim, (want, have)) in dims {
        if want != have {
            return Err(invalid_argument!(
                "Shape mismatch: expected values dim {} to be {want}, got {have}",
                dim + 1
            ));
        }
    }
    Ok(())
}

/// A place in the line of those who want to take.
#[derive(Debug)]
pub(super) struct Waiter {
    accumulator: Arc<Accumulator>,
    id: u64,
    answer: oneshot::Receiver<Result<Gradient>>,
}

impl Waiter {
    /// The answer, if it is there already.
    pub(super) fn now(&mut self) -> Result<Option<Gradient>> {
        match self.answer.try_recv() {
            Ok(Some(answer)) => answer.map(Some),
            Ok(None) => Ok(None),
            Err(_) => Err(internal!("an accumulator forgot who waits for it")),
        }
    }
}

impl Future for Waiter {
    type Output = Result<Gradient>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Gradient>> {
        Pin::new(&mut self.answer).poll(context).map(|answer| {
            answer.unwrap_or_else(|_| Err(internal!("an accumulator forgot who waits for it")))
        })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.accumulator.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accumulator(sparse: bool) -> Arc<Accumulator> {
        let signature =
            Signature { sparse, dtype: DType::Float, shape: PartialShape::UNKNOWN, mean: true };
        Arc::new(Accumulator::new("a", signature))
    }

    #[test]
    fn the_mean_is_taken_when_enough_are_there_and_stale_gradients_are_dropped() {
        let accumulator = accumulator(false);
        let mut waiter = accumulator.take(None, 2).unwrap();
        let mut next = accumulator.take(None, 1).unwrap();
        accumulator.apply(None, 0, Gradient::Dense(Tensor::scalar(1f32))).unwrap();
        assert!(waiter.now().unwrap().is_none());
        accumulator.apply(None, 0, Gradient::Dense(Tensor::scalar(3f32))).unwrap();
        let Some(Gradient::Dense(mean)) = waiter.now().unwrap() else { panic!("no gradient") };
        assert_eq!(mean.scalar_value::<f32>().unwrap(), 2.0);
        accumulator.apply(None, 0, Gradient::Dense(Tensor::scalar(9f32))).unwrap();
        assert!(next.now().unwrap().is_none());
        assert_eq!(accumulator.count(), 0);
        accumulator.apply(None, 1, Gradient::Dense(Tensor::scalar(9f32))).unwrap();
        assert!(next.now().unwrap().is_some());
    }

    #[test]
    fn rows_are_averaged_over_the_gradients_that_have_them() {
        let accumulator = accumulator(true);
        for (indices, values) in [(vec![1, 4], [1f32, 2.0]), (vec![0, 4], [5.0, 4.0])] {
            let values = Tensor::vector(&values).unwrap();
            accumulator.apply(None, 0, Gradient::Sparse(Rows { indices, values })).unwrap();
        }
        let taken = accumulator.take(None, 1).unwrap().now().unwrap();
        let Some(Gradient::Sparse(rows)) = taken else { panic!("no gradient") };
        assert_eq!(rows.indices, [0, 1, 4]);
        assert_eq!(rows.values.values::<f32>().unwrap(), [5.0, 1.0, 3.0]);
    }

    #[test]
    fn rows_of_one_gradient_stay_apart() {
        let accumulator = accumulator(true);
        let rows = |indices: &[i64], values: &[f32]| {
            let values = Tensor::vector(values).unwrap();
            Gradient::Sparse(Rows { indices: indices.to_vec(), values })
        };
        accumulator.apply(None, 0, rows(&[3, 3, 1], &[1.0, 2.0, 3.0])).unwrap();
        accumulator.apply(None, 0, rows(&[3, 4], &[5.0, 6.0])).unwrap();
        let taken = accumulator.take(None, 2).unwrap().now().unwrap();
        let Some(Gradient::Sparse(rows)) = taken else { panic!("no gradient") };
        assert_eq!(rows.indices, [3, 3, 1, 4]);
        assert_eq!(rows.values.values::<f32>().unwrap(), [3.0, 2.0, 3.0, 6.0]);
    }
}

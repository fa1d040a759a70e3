//! Elementwise functions of tensors of different shapes, by NumPy's rules.
//!
//! An op gives a function of two *rows*: runs along which an operand either advances or repeats one
//! value. The rest is shared by all ops of the same element types: lining up the shapes, threads, and
//! writing into the storage of an operand that nobody else holds. The row function is called through
//! a pointer, so that only its loops, and not this machinery, are compiled for every op.

use std::ops::Range;

use tensorfleet_framework::Row;
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::elementwise::Broadcast;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, invalid_argument};

/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 32 * 1024;
/// Elements copied aside at a time when an operand's storage is overwritten.
const BLOCK: usize = 512;

/// Computes a row of the output from rows of the operands.
pub(crate) type RowFn<'f, A, B, U> = &'f (dyn Fn(Row<'_, A>, Row<'_, B>, &mut [U]) + Sync);

/// How two operands map to the positions of their common shape.
#[derive(Debug)]
pub(crate) struct Alignment {
    shape: Shape,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Each operand advances with the output, or is a single value.
    Simple {
        advances: [bool; 2],
    },
    General(Broadcast<2>),
}

impl Alignment {
    /// Lines up two shapes; an error in TensorFlow's words if they do not fit.
    pub(crate) fn new(x: &Shape, y: &Shape) -> Result<Alignment> {
        Alignment::find(x, y)?.ok_or_else(|| invalid_argument!("Incompatible shapes: {x} vs. {y}"))
    }

    /// Lines up two shapes, if they fit. The only error is a common shape that is too large.
    pub(crate) fn find(x: &Shape, y: &Shape) -> Result<Option<Alignment>> {
        let simple = |shape: &Shape, advances| {
            Ok(Some(Alignment { shape: shape.clone(), kind: Kind::Simple { advances } }))
        };
        if x == y {
            return simple(x, [true, true]);
        }
        if y.num_elements() == 1 && y.rank() <= x.rank() {
            return simple(x, [true, false]);
        }
        if x.num_elements() == 1 && x.rank() <= y.rank() {
            return simple(y, [false, true]);
        }
        let Some(plan) = Broadcast::new([x.dims(), y.dims()]) else { return Ok(None) };
        Ok(Some(Alignment { shape: Shape::new(plan.shape())?, kind: Kind::General(plan) }))
    }

    /// The common shape.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// For each operand, whether it advances along a segment (or repeats one value).
    fn advances(&self) -> [bool; 2] {
        match &self.kind {
            Kind::Simple { advances } => *advances,
            Kind::General(plan) => plan.advances(),
        }
    }

    /// Calls `f` with pieces of the output range along which each operand advances or repeats, and
    /// where in each operand such a piece begins.
    pub(crate) fn segments(
        &self,
        range: Range<usize>,
        mut f: impl FnMut(Range<usize>, [usize; 2]),
    ) {
        match &self.kind {
            Kind::Simple { advances } => {
                let starts = advances.map(|advances| if advances { range.start } else { 0 });
                f(range, starts);
            }
            Kind::General(plan) => plan.segments(range, f),
        }
    }

    /// Calls `f` for every position of the output with the positions in the operands that belong to
    /// it; for elements that are not plain values.
    pub(crate) fn positions(&self, mut f: impl FnMut(usize, usize)) {
        let steps = self.advances().map(usize::from);
        self.segments(0..self.shape.num_elements(), |segment, [at_x, at_y]| {
            for i in 0..segment.len() {
                f(at_x + i * steps[0], at_y + i * steps[1]);
            }
        });
    }
}

/// `len` values of an operand from `at`, or the one there for all of them.
fn row<T: Copy>(values: &[T], at: usize, len: usize, advances: bool) -> Row<'_, T> {
    if advances { Row::Slice(&values[at..at + len]) } else { Row::Value(values[at]) }
}

/// Makes a row function of a function of two values.
pub(crate) fn rows_of<A: Copy, B: Copy, U: Copy>(
    f: impl Fn(A, B) -> U + Sync,
) -> impl Fn(Row<'_, A>, Row<'_, B>, &mut [U]) + Sync {
    move |a, b, out| match (a, b) {
        (Row::Slice(a), Row::Slice(b)) => {
            for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
                *out = f(a, b);
            }
        }
        (Row::Slice(a), Row::Value(b)) => {
            for (out, &a) in out.iter_mut().zip(a) {
                *out = f(a, b);
            }
        }
        (Row::Value(a), Row::Slice(b)) => {
            for (out, &b) in out.iter_mut().zip(b) {
                *out = f(a, b);
            }
        }
        (Row::Value(a), Row::Value(b)) => out.fill(f(a, b)),
    }
}

/// Applies a row function to two tensors.
pub(crate) fn zip_rows<A: Element, B: Element, U: Element>(
    par: Parallel,
    x: &Tensor,
    y: &Tensor,
    f: RowFn<'_, A, B, U>,
) -> Result<Tensor> {
    if x.shape().is_scalar() && y.shape().is_scalar() {
        return zip_scalars(x, y, f);
    }
    zip_aligned(par, &Alignment::new(x.shape(), y.shape())?, x, y, f)
}

/// Scalars are worth a way of their own: in a graph of many small steps they are all there is.
fn zip_scalars<A: Element, B: Element, U: Element>(
    x: &Tensor,
    y: &Tensor,
    f: RowFn<'_, A, B, U>,
) -> Result<Tensor> {
    let mut out = [U::default()];
    f(Row::Value(x.scalar_value()?), Row::Value(y.scalar_value()?), &mut out);
    Ok(Tensor::scalar(out[0]))
}

/// As [`zip_rows`] for shapes that were lined up before.
pub(crate) fn zip_aligned<A: Element, B: Element, U: Element>(
    par: Parallel,
    alignment: &Alignment,
    x: &Tensor,
    y: &Tensor,
    f: RowFn<'_, A, B, U>,
) -> Result<Tensor> {
    let (x, y) = (x.values::<A>()?, y.values::<B>()?);
    let [x_advances, y_advances] = alignment.advances();
    Tensor::build(alignment.shape().clone(), |out: &mut [U]| {
        par.for_each(out, MIN_PIECE, |range, out| {
            let first = range.start;
            alignment.segments(range, |segment, [at_x, at_y]| {
                let len = segment.len();
                let out = &mut out[segment.start - first..][..len];
                f(row(x, at_x, len, x_advances), row(y, at_y, len, y_advances), out);
            });
        });
    })
}

/// As [`zip_rows`] for operands and a result of one type: writes the result into the storage of an
/// operand if that has the result's shape and no other holder.
pub(crate) fn zip_rows_reusing<T: Element>(
    par: Parallel,
    x: Tensor,
    y: Tensor,
    f: RowFn<'_, T, T, T>,
) -> Result<Tensor> {
    if x.shape().is_scalar() && y.shape().is_scalar() {
        return zip_scalars(&x, &y, f);
    }
    let alignment = Alignment::new(x.shape(), y.shape())?;
    if x.shape() == alignment.shape() && x.is_unique() {
        overwrite(par, &alignment, 0, x, &y, f)
    } else if y.shape() == alignment.shape() && y.is_unique() {
        overwrite(par, &alignment, 1, y, &x, &|target, other, out| f(other, target, out))
    } else {
        zip_aligned(par, &alignment, &x, &y, f)
    }
}

/// Writes `f(target, other)` into `target`, operand number `which`, which has the common shape.
fn overwrite<T: Element>(
    par: Parallel,
    alignment: &Alignment,
    which: usize,
    mut target: Tensor,
    other: &Tensor,
    f: RowFn<'_, T, T, T>,
) -> Result<Tensor> {
    let other = other.values::<T>()?;
    let advances = alignment.advances()[1 - which];
    par.for_each(target.values_mut::<T>()?, MIN_PIECE, |range, target| {
        let first = range.start;
        // Row functions need operand and output apart; the copy never leaves the nearest cache.
        let mut copy = [T::default(); BLOCK];
        alignment.segments(range, |segment, starts| {
            let target = &mut target[segment.start - first..segment.end - first];
            let mut at = starts[1 - which];
            for target in target.chunks_mut(BLOCK) {
                let copy = &mut copy[..target.len()];
                copy.copy_from_slice(target);
                f(Row::Slice(copy), row(other, at, target.len(), advances), target);
                at += if advances { target.len() } else { 0 };
            }
        });
    });
    Ok(target)
}

/// Applies a function of two values to two tensors.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    par: Parallel,
    x: &Tensor,
    y: &Tensor,
    f: impl Fn(A, B) -> U + Sync,
) -> Result<Tensor> {
    zip_rows(par, x, y, &rows_of(f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[usize], first: i32) -> Tensor {
        let shape = Shape::new(dims).unwrap();
        let values: Vec<i32> = (first..).take(shape.num_elements()).collect();
        Tensor::from_slice(shape, &values).unwrap()
    }

    /// Computes `x - y` by every way and compares.
    fn check(x: &[usize], y: &[usize], want: &[i32]) {
        let (x, y) = (tensor(x, 10), tensor(y, 0));
        let minus = rows_of(|a: i32, b: i32| a - b);
        for (x, y) in [
            (x.clone(), y.clone()),
            (x.deep_copy().unwrap(), y.clone()),
            (x.clone(), y.deep_copy().unwrap()),
        ] {
            let out = zip_rows_reusing::<i32>(Parallel::new(2), x, y, &minus).unwrap();
            assert_eq!(out.values::<i32>().unwrap(), want);
        }
        let out = zip(Parallel::SERIAL, &x, &y, |a: i32, b: i32| a - b).unwrap();
        assert_eq!(out.values::<i32>().unwrap(), want);
    }

    #[test]
    fn operands_repeat_along_dimensions_of_one() {
        check(&[2, 3], &[2, 3], &[10; 6]);
        check(&[2, 3], &[], &[10, 11, 12, 13, 14, 15]);
        check(&[1], &[2, 2], &[10, 9, 8, 7]);
        check(&[2, 3], &[3], &[10, 10, 10, 13, 13, 13]);
        check(&[2, 1], &[1, 3], &[10, 9, 8, 11, 10, 9]);
        check(&[0, 3], &[1, 3], &[]);
    }

    #[test]
    fn large_operands_are_overwritten_in_blocks() {
        let len = 3 * MIN_PIECE + BLOCK + 1;
        let x = Tensor::from_slice(Shape::from([2, len]), &vec![5i32; 2 * len]).unwrap();
        let y = tensor(&[len], 0);
        let minus = rows_of(|a: i32, b: i32| a - b);
        let out = zip_rows_reusing::<i32>(Parallel::new(2), x, y, &minus).unwrap();
        let right = |(i, &v): (usize, &i32)| v == 5 - (i % len) as i32;
        assert!(out.values::<i32>().unwrap().iter().enumerate().all(right));
    }

    #[test]
    fn misfits_are_told_in_tensorflows_words() {
        let error = Alignment::new(&Shape::from([2]), &Shape::from([3])).unwrap_err();
        assert_eq!(error.message(), "Incompatible shapes: [2] vs. [3]");
    }
}

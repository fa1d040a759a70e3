//! Operands of different shapes, lined up by NumPy's rules.
//!
//! A [`Broadcast`] is made once for a set of shapes: dimensions over which every operand advances
//! alike are merged, so that what is left is an inner row, along which an operand is either adjacent
//! or a single repeated value, and few outer dimensions.

use std::ops::Range;

use super::MIN_CHEAP;
use crate::Parallel;

/// How `N` operands map to the positions of their common shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast<const N: usize> {
    shape: Vec<usize>,
    /// Merged dimensions, outermost first; never empty.
    dims: Vec<Dim<N>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim<const N: usize> {
    len: usize,
    strides: [usize; N],
}

impl<const N: usize> Broadcast<N> {
    /// Lines up the shapes, or finds that they do not fit.
    pub fn new(shapes: [&[usize]; N]) -> Option<Self> {
        let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
        let mut shape = vec![1; rank];
        for operand in shapes {
            for (out, &len) in shape[rank - operand.len()..].iter_mut().zip(operand) {
                match (*out, len) {
                    (_, 1) => {}
                    (1, _) => *out = len,
                    (out, len) if out == len => {}
                    _ => return None,
                }
            }
        }
        let mut dims: Vec<Dim<N>> = Vec::new();
        let mut sizes = [1; N];
        for (axis, &len) in shape.iter().enumerate().rev() {
            let strides = std::array::from_fn(|operand| {
                let missing = rank - shapes[operand].len();
                let own = if axis < missing { 1 } else { shapes[operand][axis - missing] };
                let stride = if own == 1 { 0 } else { sizes[operand] };
                sizes[operand] *= own;
                stride
            });
            if len == 1 {
                continue;
            }
            match dims.last_mut() {
                Some(inner) if (0..N).all(|i| strides[i] == inner.strides[i] * inner.len) => {
                    inner.len *= len;
                }
                _ => dims.push(Dim { len, strides }),
            }
        }
        if dims.is_empty() {
            dims.push(Dim { len: 1, strides: [0; N] });
        }
        dims.reverse();
        Some(Self { shape, dims })
    }

    /// The common shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1, |len, &dim| len.saturating_mul(dim))
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For each operand, whether it advances along a segment (or repeats one value).
    pub fn advances(&self) -> [bool; N] {
        self.inner().strides.map(|stride| stride == 1)
    }

    fn inner(&self) -> &Dim<N> {
        self.dims.last().expect("a plan has at least one dimension")
    }

    /// Calls `f` with pieces of the output range that lie in one inner row, and where in each operand
    /// such a piece begins.
    pub fn segments(&self, range: Range<usize>, mut f: impl FnMut(Range<usize>, [usize; N])) {
        if range.is_empty() {
            return;
        }
        let inner = self.inner();
        let outer = &self.dims[..self.dims.len() - 1];
        let mut start = range.start;
        // The position in the outer dimensions, and the operands' offsets there.
        let mut row = start / inner.len;
        let mut index: Vec<usize> = outer.iter().map(|dim| dim.len).collect();
        let mut offsets = [0; N];
        for (dim, index) in outer.iter().zip(&mut index).rev() {
            *index = row % dim.len;
            row /= dim.len;
            (0..N).for_each(|i| offsets[i] += *index * dim.strides[i]);
        }
        while start < range.end {
            let col = start % inner.len;
            let end = range.end.min(start + inner.len - col);
            f(start..end, std::array::from_fn(|i| offsets[i] + col * inner.strides[i]));
            start = end;
            for (dim, index) in outer.iter().zip(&mut index).rev() {
                *index += 1;
                (0..N).for_each(|i| offsets[i] += dim.strides[i]);
                if *index < dim.len {
                    break;
                }
                *index = 0;
                (0..N).for_each(|i| offsets[i] -= dim.len * dim.strides[i]);
            }
        }
    }
}

/// `out = f(a, b)` over the common shape of a plan.
///
/// # Panics
/// If `out` does not have the plan's length or an operand is shorter than its shape.
pub fn zip_broadcast<A, B, U>(
    par: Parallel,
    plan: &Broadcast<2>,
    a: &[A],
    b: &[B],
    out: &mut [U],
    f: impl Fn(A, B) -> U + Sync,
) where
    A: Copy + Sync,
    B: Copy + Sync,
    U: Send,
{
    assert_eq!(out.len(), plan.len(), "the output has not the common shape");
    let advances = plan.advances();
    par.for_each(out, MIN_CHEAP, |range, out| {
        let first = range.start;
        plan.segments(range, |segment, [at_a, at_b]| {
            let len = segment.len();
            let out = &mut out[segment.start - first..segment.end - first];
            match advances {
                [true, true] => {
                    let operands = a[at_a..][..len].iter().zip(&b[at_b..][..len]);
                    out.iter_mut().zip(operands).for_each(|(out, (&a, &b))| *out = f(a, b));
                }
                [true, false] => {
                    let b = b[at_b];
                    let a = &a[at_a..][..len];
                    out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(a, b));
                }
                [false, true] => {
                    let a = a[at_a];
                    let b = &b[at_b..][..len];
                    out.iter_mut().zip(b).for_each(|(out, &b)| *out = f(a, b));
                }
                [false, false] => {
                    let (a, b) = (a[at_a], b[at_b]);
                    out.iter_mut().for_each(|out| *out = f(a, b));
                }
            }
        });
    });
}

/// `out = f(a, b, c)` over the common shape of a plan.
///
/// # Panics
/// If `out` does not have the plan's length or an operand is shorter than its shape.
pub fn zip3_broadcast<A, B, C, U>(
    par: Parallel,
    plan: &Broadcast<3>,
    (a, b, c): (&[A], &[B], &[C]),
    out: &mut [U],
    f: impl Fn(A, B, C) -> U + Sync,
) where
    A: Copy + Sync,
    B: Copy + Sync,
    C: Copy + Sync,
    U: Send,
{
    assert_eq!(out.len(), plan.len(), "the output has not the common shape");
    let steps = plan.advances().map(usize::from);
    par.for_each(out, MIN_CHEAP, |range, out| {
        let first = range.start;
        plan.segments(range, |segment, [at_a, at_b, at_c]| {
            let out = &mut out[segment.start - first..segment.end - first];
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(a[at_a + i * steps[0]], b[at_b + i * steps[1]], c[at_c + i * steps[2]]);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flat index in an operand of `shape` for a position of the common shape.
    fn index(shape: &[usize], position: &[usize]) -> usize {
        let skip = position.len() - shape.len();
        shape
            .iter()
            .zip(&position[skip..])
            .fold(0, |flat, (&len, &at)| flat * len + if len == 1 { 0 } else { at })
    }

    fn check(a_shape: &[usize], b_shape: &[usize], common: &[usize], dims: usize) {
        let plan = Broadcast::new([a_shape, b_shape]).unwrap();
        assert_eq!(plan.shape(), common);
        assert_eq!(plan.dims.len(), dims, "{plan:?}");
        let a: Vec<usize> = (0..a_shape.iter().product()).collect();
        let b: Vec<usize> = (0..b_shape.iter().product()).map(|b: usize| b * 1_000_000).collect();
        let third = Broadcast::new([a_shape, b_shape, &[]]).unwrap();
        for par in [Parallel::SERIAL, Parallel::new(5)] {
            let mut out = vec![0; plan.len()];
            zip_broadcast(par, &plan, &a, &b, &mut out, |a, b| a + b);
            let mut position = vec![0; common.len()];
            for &out in &out {
                let expected = a[index(a_shape, &position)] + b[index(b_shape, &position)];
                assert_eq!(out, expected, "{a_shape:?} {b_shape:?} at {position:?}");
                for axis in (0..common.len()).rev() {
                    position[axis] += 1;
                    if position[axis] < common[axis] {
                        break;
                    }
                    position[axis] = 0;
                }
            }
            let mut three = vec![0; plan.len()];
            zip3_broadcast(par, &third, (&a, &b, &[7usize]), &mut three, |a, b, c| a + b + c);
            assert!(out.iter().zip(&three).all(|(out, three)| out + 7 == *three));
        }
    }

    #[test]
    fn shapes_line_up_from_the_right() {
        check(&[], &[], &[], 1);
        check(&[3, 4], &[3, 4], &[3, 4], 1);
        check(&[3, 4], &[], &[3, 4], 1);
        check(&[1], &[2, 3], &[2, 3], 1);
        check(&[5, 3, 4], &[4], &[5, 3, 4], 2);
        check(&[5, 3, 4], &[3, 4], &[5, 3, 4], 2);
        check(&[5, 3, 4], &[3, 1], &[5, 3, 4], 3);
        check(&[5, 1, 4], &[1, 3, 1], &[5, 3, 4], 3);
        check(&[2, 1, 3, 1], &[4, 1, 5], &[2, 4, 3, 5], 4);
        check(&[0, 3], &[1, 3], &[0, 3], 2);
        check(&[2, 40_000], &[40_000], &[2, 40_000], 2);
        check(&[300, 400], &[300, 1], &[300, 400], 2);
    }

    #[test]
    fn misfits_are_found() {
        assert_eq!(Broadcast::new([&[2, 3], &[2]]), None);
        assert_eq!(Broadcast::new([&[0], &[2]]), None);
        assert_eq!(Broadcast::new([&[4, 3], &[2, 3]]), None);
    }
}

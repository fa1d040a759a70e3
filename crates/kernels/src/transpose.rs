//! Permutations of dimensions.
//!
//! Dimensions that stay neighbours are merged first. If the last one stays last, whole rows are
//! copied. Otherwise the dimension that is last in the input and the one that is last in the output
//! form matrices, which are transposed in small square tiles, so that both sides are touched in
//! whole cache lines.

use crate::Parallel;

/// Rows and columns of a tile: a cache line of four-byte elements.
const TILE: usize = 16;
/// Elements below which another thread is not worth waking.
const MIN_ELEMENTS: usize = 32 * 1024;

/// A dimension of the output: its length and the distance of neighbours in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    len: usize,
    stride: usize,
}

/// Writes `x`, of the given shape, with its dimensions in another order: dimension `i` of the output
/// is dimension `perm[i]` of the input.
///
/// Only the size of an element matters; any `Copy` type of that size will do.
///
/// # Panics
/// If `perm` is not a permutation of the dimensions or a slice has not the length that they say.
pub fn transpose<T: Copy + Send + Sync>(
    par: Parallel,
    x: &[T],
    shape: &[usize],
    perm: &[usize],
    out: &mut [T],
) {
    let len: usize = shape.iter().product();
    assert_eq!((x.len(), out.len()), (len, len), "elements of a transposed tensor");
    let dims = merged(shape, perm);
    if x.is_empty() {
        return;
    }
    // The leading dimensions, and part of the next, are cut into pieces of the output.
    let wanted = (len / MIN_ELEMENTS).clamp(1, 4 * par.threads());
    let mut lead = 1;
    let mut depth = 0;
    while depth + 1 < dims.len() && lead * dims[depth].len <= wanted {
        lead *= dims[depth].len;
        depth += 1;
    }
    if par == Parallel::SERIAL || wanted == 1 || depth == dims.len() {
        return permute(x, 0, &dims, out);
    }
    let split = dims[depth];
    let chunk = split.len.div_ceil(wanted.div_ceil(lead)).next_multiple_of(TILE).min(split.len);
    let mut pieces = Vec::new();
    let mut rest = out;
    for index in 0..lead {
        let (mut start, mut row) = (0, index);
        for dim in dims[..depth].iter().rev() {
            start += row % dim.len * dim.stride;
            row /= dim.len;
        }
        for first in (0..split.len).step_by(chunk) {
            let count = chunk.min(split.len - first);
            let inner: usize = dims[depth + 1..].iter().map(|dim| dim.len).product();
            let (piece, after) = rest.split_at_mut(count * inner);
            rest = after;
            pieces.push((start + first * split.stride, count, piece));
        }
    }
    par.for_each_item(pieces, |(start, count, piece)| {
        let mut dims = dims[depth..].to_vec();
        dims[0].len = count;
        permute(x, start, &dims, piece);
    });
}

/// The output's dimensions without those of length one, merged where the input's are adjacent.
fn merged(shape: &[usize], perm: &[usize]) -> Vec<Dim> {
    assert_eq!(perm.len(), shape.len(), "a permutation of {} dimensions", shape.len());
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let mut seen = vec![false; shape.len()];
    let mut dims: Vec<Dim> = Vec::new();
    for &axis in perm {
        assert!(!std::mem::replace(&mut seen[axis], true), "dimension {axis} comes twice");
        let dim = Dim { len: shape[axis], stride: strides[axis] };
        match dims.last_mut() {
            _ if dim.len == 1 => {}
            Some(last) if last.stride == dim.stride * dim.len => {
                *last = Dim { len: last.len * dim.len, stride: dim.stride };
            }
            _ => dims.push(dim),
        }
    }
    dims
}

/// Fills `out`, of dimensions `dims`, from the input at `start`.
fn permute<T: Copy>(x: &[T], start: usize, dims: &[Dim], out: &mut [T]) {
    match dims {
        [] => out.copy_from_slice(&x[start..start + out.len()]),
        [Dim { stride: 1, .. }] => out.copy_from_slice(&x[start..start + out.len()]),
        [dim] => {
            let source = x[start..].iter().step_by(dim.stride);
            out.iter_mut().zip(source).for_each(|(out, &x)| *out = x);
        }
        [.., Dim { stride: 1, len }] => rows(x, start, &dims[..dims.len() - 1], *len, out),
        _ => matrices(x, start, dims, out),
    }
}

/// Copies rows of `len` adjacent elements.
fn rows<T: Copy>(x: &[T], start: usize, outer: &[Dim], len: usize, out: &mut [T]) {
    let mut out = out.chunks_exact_mut(len);
    for_each_offset(start, outer, |at| {
        let out = out.next().expect("the output has a row for each position");
        // Short rows are copied without a call.
        if len < 16 {
            out.iter_mut().zip(&x[at..at + len]).for_each(|(out, &x)| *out = x);
        } else {
            out.copy_from_slice(&x[at..at + len]);
        }
    });
}

/// Transposes the matrices formed by the last dimension of the output and that of the input.
fn matrices<T: Copy>(x: &[T], start: usize, dims: &[Dim], out: &mut [T]) {
    let last = dims.len() - 1;
    // A piece of a larger tensor may lack the input's last dimension; the nearest serves as well.
    let nearest = (0..last).min_by_key(|&i| dims[i].stride).expect("two dimensions at least");
    let (row, col) = (dims[nearest], dims[last]);
    let row_step: usize = dims[nearest + 1..].iter().map(|dim| dim.len).product();
    let outer: Vec<Dim> = (0..last).filter(|&i| i != nearest).map(|i| dims[i]).collect();
    // Where each matrix begins in the output.
    let mut steps = vec![1; dims.len()];
    for i in (0..last).rev() {
        steps[i] = steps[i + 1] * dims[i + 1].len;
    }
    let out_outer: Vec<Dim> = (0..last)
        .filter(|&i| i != nearest)
        .map(|i| Dim { len: dims[i].len, stride: steps[i] })
        .collect();
    let mut starts = Vec::with_capacity(out_outer.iter().map(|dim| dim.len).product());
    for_each_offset(0, &out_outer, |at| starts.push(at));
    let mut starts = starts.into_iter();
    for_each_offset(start, &outer, |from| {
        let to = starts.next().expect("as many matrices in the output");
        for top in (0..row.len).step_by(TILE) {
            let bottom = row.len.min(top + TILE);
            for left in (0..col.len).step_by(TILE) {
                let right = col.len.min(left + TILE);
                let from = from + top * row.stride + left * col.stride;
                let to = to + top * row_step + left;
                if row.stride == 1 && bottom - top == TILE && right - left == TILE {
                    whole_tile(&x[from..], col.stride, &mut out[to..], row_step);
                } else {
                    for i in 0..bottom - top {
                        let out = &mut out[to + i * row_step..][..right - left];
                        for (j, out) in out.iter_mut().enumerate() {
                            *out = x[from + i * row.stride + j * col.stride];
                        }
                    }
                }
            }
        }
    });
}

/// Transposes a full tile whose input rows are adjacent elements.
#[inline]
fn whole_tile<T: Copy>(x: &[T], x_step: usize, out: &mut [T], out_step: usize) {
    let tile: [&[T; TILE]; TILE] = std::array::from_fn(|j| {
        x[j * x_step..].first_chunk().expect("a whole tile lies in the input")
    });
    for i in 0..TILE {
        let row: &mut [T; TILE] =
            out[i * out_step..].first_chunk_mut().expect("a whole tile lies in the output");
        for j in 0..TILE {
            row[j] = tile[j][i];
        }
    }
}

/// Calls `f` with the offset of every position, last dimension fastest.
fn for_each_offset(start: usize, dims: &[Dim], mut f: impl FnMut(usize)) {
    let mut index = vec![0; dims.len()];
    let mut at = start;
    loop {
        f(at);
        let mut axis = dims.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            at += dims[axis].stride;
            if index[axis] < dims[axis].len {
                break;
            }
            index[axis] = 0;
            at -= dims[axis].len * dims[axis].stride;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: &[usize], perm: &[usize], par: Parallel) {
        let len: usize = shape.iter().product();
        let x: Vec<usize> = (0..len).collect();
        let mut out = vec![usize::MAX; len];
        transpose(par, &x, shape, perm, &mut out);
        let out_shape: Vec<usize> = perm.iter().map(|&axis| shape[axis]).collect();
        for (flat, &found) in out.iter().enumerate() {
            let mut rest = flat;
            let mut index = vec![0; shape.len()];
            for (i, &len) in out_shape.iter().enumerate().rev() {
                index[perm[i]] = rest % len;
                rest /= len;
            }
            let expected = index.iter().zip(shape).fold(0, |at, (i, len)| at * len + i);
            assert_eq!(found, expected, "{shape:?} by {perm:?} at {flat}");
        }
    }

    #[test]
    fn every_order_of_small_shapes() {
        fn orders(rank: usize) -> Vec<Vec<usize>> {
            if rank == 0 {
                return vec![vec![]];
            }
            let shorter = orders(rank - 1);
            let insert = |order: &Vec<usize>, at: usize| {
                let mut order = order.clone();
                order.insert(at, rank - 1);
                order
            };
            shorter.iter().flat_map(|order| (0..rank).map(move |at| insert(order, at))).collect()
        }
        for shape in
            [&[][..], &[5], &[2, 3], &[17, 33], &[4, 1, 3], &[2, 3, 4, 5], &[3, 20, 2, 18], &[0, 3]]
        {
            for perm in orders(shape.len()) {
                check(shape, &perm, Parallel::SERIAL);
                check(shape, &perm, Parallel::new(3));
            }
        }
    }

    #[test]
    fn large_shapes_are_shared() {
        for par in [Parallel::SERIAL, Parallel::new(3)] {
            check(&[300, 500], &[1, 0], par);
            check(&[4, 200, 300, 3], &[0, 3, 1, 2], par);
            check(&[4, 3, 200, 300], &[0, 2, 3, 1], par);
            check(&[7, 40, 50, 64], &[2, 0, 1, 3], par);
            check(&[2, 33, 40, 7, 20], &[4, 1, 3, 0, 2], par);
        }
    }

    #[test]
    fn any_element_size_moves() {
        let bytes: Vec<u8> = (0..200).collect();
        let mut out = vec![0; 200];
        transpose(Parallel::SERIAL, &bytes, &[20, 10], &[1, 0], &mut out);
        assert_eq!(out[..3], [0, 10, 20]);
        let wide: Vec<u128> = (0..400).collect();
        let mut out = vec![0; 400];
        transpose(Parallel::SERIAL, &wide, &[20, 20], &[1, 0], &mut out);
        assert_eq!(out[..3], [0, 20, 40]);
    }
}

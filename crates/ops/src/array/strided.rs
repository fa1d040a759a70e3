//! The loops under all data movement: copies elements between two strided arrangements.

use smallvec::SmallVec;
use tensorfleet_kernels::Parallel;

use super::view::View;

/// Work below this many bytes is not worth another thread.
const MIN_BYTES: usize = 128 << 10;

/// Nested loops over corresponding elements, the longest steps of the target outermost.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    from: isize,
    to: isize,
    loops: SmallVec<[Loop; 6]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    len: usize,
    from: isize,
    /// Never negative.
    to: isize,
}

impl Nest {
    /// Pairs two views of the same lengths in as few loops as possible; none if they are empty.
    pub(super) fn new(read: &View, write: &View) -> Option<Nest> {
        let (mut from, mut to) = (read.offset, write.offset);
        let mut loops: SmallVec<[Loop; 6]> = SmallVec::new();
        debug_assert_eq!(read.dims(), write.dims(), "both sides of a copy have one shape");
        for (read, write) in read.axes.iter().zip(&write.axes) {
            let last = match read.len {
                0 => return None,
                1 => continue,
                len => len as isize - 1,
            };
            if write.stride < 0 {
                from += last * read.stride;
                to += last * write.stride;
                loops.push(Loop { len: read.len, from: -read.stride, to: -write.stride });
            } else {
                loops.push(Loop { len: read.len, from: read.stride, to: write.stride });
            }
        }
        loops.sort_by_key(|l| -l.to);
        let mut merged: SmallVec<[Loop; 6]> = SmallVec::new();
        for inner in loops {
            match merged.last_mut() {
                Some(outer)
                    if outer.from == inner.from * inner.len as isize
                        && outer.to == inner.to * inner.len as isize =>
                {
                    *outer = Loop { len: outer.len * inner.len, ..inner };
                }
                _ => merged.push(inner),
            }
        }
        Some(Nest { from, to, loops: merged })
    }

    fn elements(&self) -> usize {
        self.loops.iter().map(|l| l.len).product()
    }

    /// One more than the distance between the first and the last element of the target.
    fn span(&self) -> usize {
        self.loops.iter().map(|l| (l.len - 1) * l.to as usize).sum::<usize>() + 1
    }
}

/// Copies every element that `nest` visits.
///
/// # Panics
/// If the views that `nest` was made of do not fit the slices.
pub(super) fn copy<E: Copy + Send + Sync>(
    nest: &Nest,
    from: &[E],
    to: &mut [E],
    parallel: Parallel,
) {
    let bytes = nest.elements() * size_of::<E>();
    let pieces = (bytes / MIN_BYTES).min(parallel.threads() * 4);
    let to = &mut to[nest.to as usize..][..nest.span()];
    let Some((outer, inner)) = nest.loops.split_first() else {
        to[0] = from[nest.from as usize];
        return;
    };
    let inner_span: usize = inner.iter().map(|l| (l.len - 1) * l.to as usize).sum::<usize>() + 1;
    if pieces < 2 || parallel.threads() < 2 || inner_span > outer.to as usize {
        return run(&nest.loops, from, nest.from, to);
    }
    let step = outer.len.div_ceil(pieces);
    let parts: Vec<_> = to.chunks_mut(step * outer.to as usize).enumerate().collect();
    parallel.for_each_item(parts, |(number, part)| {
        let start = number * step;
        let mut loops = nest.loops.clone();
        loops[0].len = step.min(outer.len - start);
        run(&loops, from, nest.from + start as isize * outer.from, part);
    });
}

/// Runs the two innermost loops in one function, and the others around it.
fn run<E: Copy>(loops: &[Loop], from: &[E], start: isize, to: &mut [E]) {
    let mut loops: SmallVec<[Loop; 6]> = loops.into();
    let single = Loop { len: 1, from: 0, to: 0 };
    if loops.len() == 1 {
        loops.insert(0, single);
    }
    let count = loops.len();
    // A transposition reads neighbours in one loop and writes neighbours in another: bring them
    // together, so that a plane of the two goes through the cache in tiles.
    if loops[count - 1].from != 1
        && let Some(reads) = loops[..count - 1].iter().position(|l| l.from == 1)
    {
        loops[reads..count - 1].rotate_left(1);
    }
    let (outer, plane) = loops.split_at(count - 2);
    let [rows, columns] = [plane[0], plane[1]];
    let mut index: SmallVec<[usize; 6]> = smallvec::smallvec![0; outer.len()];
    let (mut at_from, mut at_to) = (start, 0isize);
    loop {
        copy_plane(rows, columns, from, at_from, &mut to[at_to as usize..]);
        let mut level = outer.len();
        loop {
            if level == 0 {
                return;
            }
            level -= 1;
            let l = outer[level];
            index[level] += 1;
            at_from += l.from;
            at_to += l.to;
            if index[level] < l.len {
                break;
            }
            index[level] = 0;
            at_from -= l.from * l.len as isize;
            at_to -= l.to * l.len as isize;
        }
    }
}

fn copy_plane<E: Copy>(rows: Loop, columns: Loop, from: &[E], start: isize, to: &mut [E]) {
    match (columns.len, columns.from, columns.to) {
        (2, 1, 1) => return copy_short_rows::<E, 2>(rows, from, start, to),
        (3, 1, 1) => return copy_short_rows::<E, 3>(rows, from, start, to),
        (4, 1, 1) => return copy_short_rows::<E, 4>(rows, from, start, to),
        (_, _, 1)
            if rows.from == 1 && rows.len >= TILE && columns.len >= TILE && columns.from > 0 =>
        {
            return transpose(rows, columns, from, start, to);
        }
        _ => {}
    }
    let (mut at_from, mut at_to) = (start, 0);
    for _ in 0..rows.len {
        copy_row(columns, from, at_from, &mut to[at_to..]);
        at_from += rows.from;
        at_to += rows.to as usize;
    }
}

/// Rows whose length is known to the compiler need no call to copy them.
fn copy_short_rows<E: Copy, const N: usize>(rows: Loop, from: &[E], start: isize, to: &mut [E]) {
    let (mut at_from, mut at_to) = (start, 0);
    for _ in 0..rows.len {
        let source: [E; N] = from[at_from as usize..][..N].try_into().expect("N elements");
        to[at_to..][..N].copy_from_slice(&source);
        at_from += rows.from;
        at_to += rows.to as usize;
    }
}

fn copy_row<E: Copy>(row: Loop, from: &[E], start: isize, to: &mut [E]) {
    let Loop { len, from: step, to: to_step } = row;
    let start_index = start as usize;
    if to_step == 1 {
        let to = &mut to[..len];
        match step {
            0 => to.fill(from[start_index]),
            1 => to.copy_from_slice(&from[start_index..][..len]),
            -1 => {
                let source = &from[start_index + 1 - len..=start_index];
                to.iter_mut().zip(source.iter().rev()).for_each(|(to, from)| *to = *from);
            }
            2.. => {
                let source = from[start_index..].iter().step_by(step as usize);
                to.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
            }
            _ => {
                let mut at = start;
                for to in to {
                    *to = from[at as usize];
                    at += step;
                }
            }
        }
        return;
    }
    let (mut at_from, mut at_to) = (start, 0);
    for _ in 0..len {
        to[at_to] = from[at_from as usize];
        at_from += step;
        at_to += to_step as usize;
    }
}

/// The side of the square tiles in which a plane is transposed: a cache line of 4-byte elements.
const TILE: usize = 16;

/// Copies a plane that is contiguous along `rows` in the source and along `columns` in the target.
fn transpose<E: Copy>(rows: Loop, columns: Loop, from: &[E], start: isize, to: &mut [E]) {
    let (from_step, to_step) = (columns.from as usize, rows.to as usize);
    let from = &from[start as usize..];
    for first_row in (0..rows.len).step_by(TILE) {
        let tile_rows = TILE.min(rows.len - first_row);
        for first_column in (0..columns.len).step_by(TILE) {
            let tile_columns = TILE.min(columns.len - first_column);
            let from = &from[first_column * from_step + first_row..];
            let to = &mut to[first_row * to_step + first_column..];
            if tile_rows == TILE && tile_columns == TILE {
                let mut tile = [[from[0]; TILE]; TILE];
                for (column, line) in tile.iter_mut().enumerate() {
                    line.copy_from_slice(&from[column * from_step..][..TILE]);
                }
                for row in 0..TILE {
                    let line: [E; TILE] = std::array::from_fn(|column| tile[column][row]);
                    to[row * to_step..][..TILE].copy_from_slice(&line);
                }
            } else {
                for row in 0..tile_rows {
                    for column in 0..tile_columns {
                        to[row * to_step + column] = from[column * from_step + row];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies a view of `0..len` to a row-major target and compares with visiting each element.
    fn check(len: usize, read: View) {
        let from: Vec<u32> = (0..len as u32).collect();
        let mut want = vec![read.offset];
        for axis in &read.axes {
            want = want
                .iter()
                .flat_map(|&at| (0..axis.len as isize).map(move |i| at + i * axis.stride))
                .collect();
        }
        let want: Vec<u32> = want.into_iter().map(|at| from[at as usize]).collect();
        let write = View::of(&read.dims());
        for threads in [1, 3] {
            let mut to = vec![u32::MAX; want.len()];
            if let Some(nest) = Nest::new(&read, &write) {
                copy(&nest, &from, &mut to, Parallel::new(threads));
            }
            assert!(to == want, "{read:?} with {threads} threads");
        }
    }

    #[test]
    fn every_arrangement_is_copied() {
        for dims in [[5, 3, 4, 2], [2, 33, 18, 40], [1, 70, 1, 35], [40, 2, 65, 17], [3, 0, 2, 2]] {
            let all = || View::of(&dims);
            let len = dims.iter().product();
            check(len, all());
            for order in [[3, 2, 1, 0], [0, 2, 1, 3], [0, 3, 1, 2], [1, 0, 3, 2], [2, 3, 0, 1]] {
                check(len, all().permuted(&order));
                check(len, all().permuted(&order).reversed(1).reversed(3));
                check(len, all().permuted(&order).inserted(2, 3).inserted(5, 2));
            }
            if len > 0 {
                check(len, all().stepped(1, 0, 2, dims[1].div_ceil(2)).at(3, 1));
                check(len, all().stepped(1, dims[1] - 1, -2, dims[1].div_ceil(2)));
            }
        }
        check(1, View::of(&[]));
        check(1, View::repeated(&[3, 2]));
    }

    #[test]
    fn a_part_of_the_target_is_written() {
        let from = [1, 2, 3, 4];
        let mut to = [0; 12];
        let write = View::of(&[3, 4]).slice(0, 1, 2).slice(1, 1, 2);
        let nest = Nest::new(&View::of(&[2, 2]), &write).unwrap();
        copy(&nest, &from, &mut to, Parallel::SERIAL);
        assert_eq!(to, [0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0]);
        let nest = Nest::new(&View::of(&[2, 2]), &write.reversed(0).reversed(1)).unwrap();
        copy(&nest, &from, &mut to, Parallel::SERIAL);
        assert_eq!(to, [0, 0, 0, 0, 0, 4, 3, 0, 0, 2, 1, 0]);
    }
}

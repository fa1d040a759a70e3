//! `SparseMatrixOrderingAMD`: an order of rows in which the factors of a sparse matrix stay sparse.
//!
//! The next row is one with few neighbours among those left. A row that is done is kept as the set of the
//! neighbours that it joins, which takes in the sets that it touches, so the graph never grows.

use std::collections::BTreeSet;

use num_complex::Complex;
use rustc_hash::FxHashSet;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, dispatch};

use super::super::scalar::Scalar;
use super::{SparseMatrix, check_square, matrix_input, unsupported};

pub(super) const OPS: &[Op] = &[Op {
    name: "SparseMatrixOrderingAMD",
    inputs: &["input: variant"],
    outputs: &["output: int32"],
    kernels: &[cpu::<Ordering>()],
    differs: "Another order as good: rows that are equal otherwise come in the order of their numbers.",
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Ordering;

impl Kernel for Ordering {
    fn new(_: &Attrs<'_>) -> Result<Ordering> {
        Ok(Ordering)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let matrix = matrix_input(ctx, 0)?;
        check_square(matrix)?;
        let order = dispatch!(
            matrix.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => orders::<S>(matrix),
            else => Err(unsupported(matrix.dtype()))
        )?;
        let dims: Vec<usize> = matrix.batches.into_iter().chain([matrix.rows]).collect();
        ctx.set_output(0, Tensor::from_vec(Shape::new(&dims)?, order)?);
        Ok(())
    }
}

fn orders<S: Scalar>(matrix: &SparseMatrix) -> Result<Vec<i32>> {
    let mut out = Vec::with_capacity(matrix.count() * matrix.rows);
    for part in matrix.parts::<S>()? {
        let mut graph = Graph::new(matrix.rows);
        for (row, column, _) in part.entries().filter(|(row, column, _)| row != column) {
            graph.rows[row].insert(column);
            graph.rows[column].insert(row);
        }
        out.extend(graph.order().map(|row| row as i32));
    }
    Ok(out)
}

/// What is left of a matrix.
#[derive(Debug)]
struct Graph {
    /// The neighbours of each row, as far as no set joins them.
    rows: Vec<FxHashSet<usize>>,
    /// The sets that each row is in.
    sets_of: Vec<Vec<usize>>,
    /// The set that each row became when it was done.
    sets: Vec<Vec<usize>>,
}

impl Graph {
    fn new(size: usize) -> Graph {
        Graph {
            rows: vec![FxHashSet::default(); size],
            sets_of: vec![Vec::new(); size],
            sets: vec![Vec::new(); size],
        }
    }

    /// At least as many neighbours as a row has.
    fn degree(&self, row: usize) -> usize {
        let joined: usize = self.sets_of[row].iter().map(|&set| self.sets[set].len() - 1).sum();
        self.rows[row].len() + joined
    }

    fn order(mut self) -> impl Iterator<Item = usize> {
        let size = self.rows.len();
        let mut degrees: Vec<usize> = (0..size).map(|row| self.degree(row)).collect();
        let mut queue: BTreeSet<(usize, usize)> = degrees.iter().copied().zip(0..).collect();
        let mut order = Vec::with_capacity(size);
        while let Some((_, row)) = queue.pop_first() {
            order.push(row);
            for neighbour in self.eliminate(row) {
                queue.remove(&(degrees[neighbour], neighbour));
                degrees[neighbour] = self.degree(neighbour);
                queue.insert((degrees[neighbour], neighbour));
            }
        }
        order.into_iter()
    }

    /// Takes a row out and joins its neighbours; returns them.
    fn eliminate(&mut self, row: usize) -> Vec<usize> {
        let mut neighbours: BTreeSet<usize> =
            std::mem::take(&mut self.rows[row]).into_iter().collect();
        let absorbed = std::mem::take(&mut self.sets_of[row]);
        for &set in &absorbed {
            neighbours.extend(std::mem::take(&mut self.sets[set]));
        }
        neighbours.remove(&row);
        for &neighbour in &neighbours {
            let own = &mut self.rows[neighbour];
            own.remove(&row);
            // The new set says that they are neighbours.
            own.retain(|other| !neighbours.contains(other));
            self.sets_of[neighbour].retain(|set| !absorbed.contains(set));
            self.sets_of[neighbour].push(row);
        }
        let neighbours: Vec<usize> = neighbours.into_iter().collect();
        self.sets[row].clone_from(&neighbours);
        neighbours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(size: usize, edges: &[(usize, usize)]) -> Vec<usize> {
        let mut graph = Graph::new(size);
        for &(a, b) in edges {
            graph.rows[a].insert(b);
            graph.rows[b].insert(a);
        }
        graph.order().collect()
    }

    #[test]
    fn the_middle_of_a_star_is_among_the_last() {
        let edges: Vec<_> = (1..6).map(|leaf| (0, leaf)).collect();
        let order = order(6, &edges);
        assert!(order[..4].iter().all(|&row| row != 0), "{order:?}");
    }

    #[test]
    fn a_ring_and_loose_rows_are_all_there_once() {
        let edges: Vec<_> = (0..8).map(|row| (row, (row + 1) % 8)).collect();
        let mut order = order(10, &edges);
        assert_eq!(order[..2], [8, 9]);
        order.sort_unstable();
        assert_eq!(order, Vec::from_iter(0..10));
    }
}

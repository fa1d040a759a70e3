//! Clusters of points: the nearest centres of each, and the choice of centres to begin with.

use std::collections::BTreeSet;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_kernels::random::{Philox, Words};
use tensorfleet_tensor::{Element, Error, Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "KMC2ChainInitialization",
        inputs: &["distances: float", "seed: int64"],
        outputs: &["index: int64"],
        kernels: &[cpu::<Chain>()],
        ..Op::DEFAULT
    },
    Op {
        name: "KmeansPlusPlusInitialization",
        inputs: &[
            "points: float",
            "num_to_sample: int64",
            "seed: int64",
            "num_retries_per_sample: int64",
        ],
        outputs: &["samples: float"],
        kernels: &[cpu::<PlusPlus>()],
        differs: "No more retries than there are points.",
        ..Op::DEFAULT
    },
    Op {
        name: "NearestNeighbors",
        inputs: &["points: float", "centers: float", "k: int64"],
        outputs: &["nearest_center_indices: int64", "nearest_center_distances: float"],
        kernels: &[cpu::<Nearest>()],
        ..Op::DEFAULT
    },
];

/// How many distances are held at once.
const BLOCK: usize = 1 << 16;

/// How often a point that was chosen before may be drawn again before any other is taken.
const MOST_REDRAWS: usize = 1000;

fn scalar<T: Element>(tensor: &Tensor, name: &str) -> Result<T> {
    if tensor.rank() != 0 {
        return Err(invalid_argument!("Input {name} should be a scalar."));
    }
    tensor.scalar_value()
}

fn matrix<'a>(tensor: &'a Tensor, name: &str) -> Result<Mat<'a, f32>> {
    match *tensor.dims() {
        [rows, columns] => Ok(Mat::new(tensor.values()?, rows, columns)),
        _ => Err(invalid_argument!("Input {name} should be a matrix.")),
    }
}

fn no_points() -> Error {
    invalid_argument!("Expected points.rows() > 0.")
}

/// Half of the squared norm of each row.
fn half_norms(values: &[f32], columns: usize, rows: usize) -> Vec<f32> {
    if columns == 0 {
        return vec![0.0; rows];
    }
    values.chunks(columns).map(|row| 0.5 * row.iter().map(|x| x * x).sum::<f32>()).collect()
}

#[derive(Debug)]
struct Nearest;

impl Kernel for Nearest {
    fn new(_: &Attrs<'_>) -> Result<Nearest> {
        Ok(Nearest)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (points, centers) = (ctx.input(0)?, ctx.input(1)?);
        matrix(points, "points")?;
        let every_center = matrix(centers, "centers")?;
        let k: i64 = scalar(ctx.input(2)?, "k")?;
        let ([rows, columns], [count, center_columns]) = (points.dims(), centers.dims()) else {
            return Err(no_points());
        };
        let (rows, columns, count) = (*rows, *columns, *count);
        if rows == 0 {
            return Err(no_points());
        }
        if columns != *center_columns {
            return Err(invalid_argument!(
                "Expected point_dimensions == center_dimensions: {columns} vs {center_columns}."
            ));
        }
        let k = usize::try_from(k).map_err(|_| invalid_argument!("Expected k >= 0."))?.min(count);
        let shape = Shape::new(&[rows, k])?;
        let mut indices = Tensor::zeros(i64::DTYPE, shape.clone())?;
        let mut distances = Tensor::zeros(f32::DTYPE, shape)?;
        if k > 0 {
            let par = Parallel::new(ctx.parallelism());
            let centers_norms = half_norms(centers.values()?, columns, count);
            let points_norms = half_norms(points.values()?, columns, rows);
            let (indices, distances) =
                (indices.values_mut::<i64>()?, distances.values_mut::<f32>()?);
            let block = (BLOCK / count).max(1);
            let mut products = vec![0.0f32; block.min(rows) * count];
            for first in (0..rows).step_by(block) {
                let len = block.min(rows - first);
                let some = &points.values::<f32>()?[first * columns..(first + len) * columns];
                let products = &mut products[..len * count];
                matmul(par, Mat::new(some, len, columns), every_center.t(), products);
                let out = first * k..(first + len) * k;
                let out = indices[out.clone()].chunks_mut(k).zip(distances[out].chunks_mut(k));
                let rows = products.chunks(count).zip(&points_norms[first..]).zip(out);
                for ((products, norm), (indices, distances)) in rows {
                    nearest(products, &centers_norms, *norm, indices, distances);
                }
            }
        }
        ctx.set_output(0, indices);
        ctx.set_output(1, distances);
        Ok(())
    }

    fn cost(&self, inputs: &[tensorfleet_framework::Value]) -> u64 {
        let elements = |index: usize| match inputs.get(index) {
            Some(tensorfleet_framework::Value::Tensor(tensor)) => tensor.num_elements() as u64,
            _ => 0,
        };
        let columns = match inputs.first() {
            Some(tensorfleet_framework::Value::Tensor(tensor)) => tensor.dims().last().copied(),
            _ => None,
        };
        elements(0) * elements(1) / columns.unwrap_or(1).max(1) as u64
    }
}

/// The nearest centres of one point, by its products with all.
fn nearest(
    products: &[f32],
    center_norms: &[f32],
    norm: f32,
    indices: &mut [i64],
    distances: &mut [f32],
) {
    let mut found: Vec<(f32, usize)> = center_norms
        .iter()
        .zip(products)
        .enumerate()
        .map(|(index, (center, product))| (center - product, index))
        .collect();
    let order = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let k = indices.len();
    if k < found.len() {
        found.select_nth_unstable_by(k - 1, order);
        found.truncate(k);
    }
    found.sort_unstable_by(order);
    for ((partial, index), (out, distance)) in found.iter().zip(indices.iter_mut().zip(distances)) {
        (*out, *distance) = (*index as i64, 2.0 * (norm + partial));
    }
}

#[derive(Debug)]
struct PlusPlus;

impl Kernel for PlusPlus {
    fn new(_: &Attrs<'_>) -> Result<PlusPlus> {
        Ok(PlusPlus)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let points = ctx.input(0)?;
        matrix(points, "points")?;
        let count: i64 = scalar(ctx.input(1)?, "num_to_sample")?;
        let seed: i64 = scalar(ctx.input(2)?, "seed")?;
        let retries: i64 = scalar(ctx.input(3)?, "num_retries_per_sample")?;
        let (rows, columns) = (points.dims()[0], points.dims()[1]);
        if rows == 0 {
            return Err(no_points());
        }
        if count <= 0 {
            return Err(invalid_argument!("Expected num_to_sample > 0."));
        }
        if count > rows as i64 {
            return Err(invalid_argument!(
                "Expected num_to_sample <= points.rows(). {count} vs {rows}."
            ));
        }
        // A few more tries the more points there are to choose, if the caller does not say.
        let retries = if retries < 0 { 2 + (count as f64).ln() as i64 } else { retries };
        // There is nothing new to find after that, and a step must end.
        let retries = retries.min(rows as i64);
        let values = points.values::<f32>()?;
        let mut chooser = Chooser::new(values, rows, columns, seed);
        let mut out = Vec::with_capacity(count as usize * columns);
        for _ in 0..count {
            let index = chooser.choose(retries);
            out.extend_from_slice(&values[index * columns..(index + 1) * columns]);
        }
        ctx.set_output(0, Tensor::from_vec(Shape::new(&[count as usize, columns])?, out)?);
        Ok(())
    }
}

/// Chooses points one after the other, those far from all chosen ones rather than those near.
struct Chooser<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    half_norms: Vec<f32>,
    random: Words,
    chosen: BTreeSet<usize>,
    /// Half of the squared distance of every point to the nearest chosen one.
    distances: Vec<f32>,
}

impl Chooser<'_> {
    fn new(values: &[f32], rows: usize, columns: usize, seed: i64) -> Chooser<'_> {
        Chooser {
            values,
            rows,
            columns,
            half_norms: half_norms(values, columns, rows),
            random: Philox::new(seed as u64, 0).words(),
            chosen: BTreeSet::new(),
            distances: vec![f32::INFINITY; rows],
        }
    }

    /// Chooses a point: of `retries` and one more that are drawn the one that leaves the smallest distances.
    fn choose(&mut self, retries: i64) -> usize {
        let mut sum = 0.0;
        let sums: Vec<f32> = self
            .distances
            .iter()
            .map(|distance| {
                sum += distance;
                sum
            })
            .collect();
        let (mut best, mut best_total) = (0, f32::INFINITY);
        let mut best_distances = None;
        for _ in 0..=retries {
            let index = self.draw(&sums);
            let distances = self.with(index);
            let total: f32 = distances.iter().sum();
            if retries == 0 || total < best_total {
                (best, best_total, best_distances) = (index, total, Some(distances));
            }
        }
        if let Some(distances) = best_distances {
            self.distances = distances;
        }
        self.chosen.insert(best);
        best
    }

    fn draw(&mut self, sums: &[f32]) -> usize {
        if self.chosen.is_empty() {
            return self.random.below_u64(self.rows as u64) as usize;
        }
        let total = sums.last().copied().unwrap_or_default();
        for _ in 0..MOST_REDRAWS {
            let index = if total > 0.0 {
                let at = self.random.next_f32() * total;
                sums.partition_point(|sum| *sum <= at).min(self.rows - 1)
            } else {
                self.random.below_u64(self.rows as u64) as usize
            };
            if !self.chosen.contains(&index) {
                return index;
            }
        }
        // Where the distances leave nothing but chosen points, all others are as good as each other.
        (0..self.rows).find(|index| !self.chosen.contains(index)).unwrap_or_default()
    }

    /// The distances if a point were chosen too.
    fn with(&self, index: usize) -> Vec<f32> {
        let row = |index: usize| &self.values[index * self.columns..(index + 1) * self.columns];
        let (new, norm) = (row(index), self.half_norms[index]);
        (0..self.rows)
            .map(|other| {
                let product: f32 = row(other).iter().zip(new).map(|(a, b)| a * b).sum();
                self.distances[other].min(self.half_norms[other] - product + norm)
            })
            .collect()
    }
}

#[derive(Debug)]
struct Chain;

impl Kernel for Chain {
    fn new(_: &Attrs<'_>) -> Result<Chain> {
        Ok(Chain)
    }

    /// Goes through the points and moves to one with the probability of its distance by that of the last.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let distances = ctx.input(0)?;
        if distances.rank() != 1 {
            return Err(invalid_argument!("Input distances should be a vector."));
        }
        let seed: i64 = scalar(ctx.input(1)?, "seed")?;
        let distances = distances.values::<f32>()?;
        let Some(&first) = distances.first() else {
            return Err(invalid_argument!("Expected distances_tensor.size() > 0."));
        };
        let mut random = Philox::new(seed as u64, 0).words();
        let mut chosen = (0, first);
        for (index, &distance) in distances.iter().enumerate().skip(1) {
            if distance > random.next_f32() * chosen.1 {
                chosen = (index, distance);
            }
        }
        ctx.set_output(0, Tensor::scalar(chosen.0 as i64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_are_all_chosen_once() {
        let values = [1.5f32; 12];
        let mut chooser = Chooser::new(&values, 6, 2, 7);
        let mut chosen: Vec<usize> = (0..6).map(|_| chooser.choose(1)).collect();
        chosen.sort_unstable();
        assert_eq!(chosen, [0, 1, 2, 3, 4, 5]);
    }
}

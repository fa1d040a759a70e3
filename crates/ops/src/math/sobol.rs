//! `SobolSample`: points that fill a cube more evenly than random ones.
//!
//! Each dimension has a direction number for every binary digit. The point of a number is the
//! combination (by exclusive or) of those whose digits are set in its Gray code, so that one point
//! differs from the next by a single direction.

use std::sync::LazyLock;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, unimplemented_error};

pub(super) const OPS: &[Op] = &[Op {
    name: "SobolSample",
    inputs: &["dim: int32", "num_results: int32", "skip: int32"],
    outputs: &["samples: dtype"],
    attrs: &["dtype: {float, double} = DT_FLOAT"],
    kernels: &[cpu::<SobolSample>()],
    differs: "Only the first 400 of TensorFlow's 21200 dimensions are there.",
    ..Op::DEFAULT
}];

/// Binary digits of the number of a point.
const DIGITS: usize = 31;
/// Dimensions that TensorFlow has.
const MOST_DIMENSIONS: i32 = 21200;

/// The direction numbers of every dimension; digit `k` of one has `k + 1` bits.
static DIRECTIONS: LazyLock<Vec<[u32; DIGITS]>> = LazyLock::new(|| {
    let lines = include_str!("sobol.txt").lines().filter(|line| !line.starts_with('#'));
    std::iter::once([1; DIGITS]).chain(lines.map(directions)).collect()
});

/// Continues the direction numbers of a dimension by its recurrence.
fn directions(line: &str) -> [u32; DIGITS] {
    let numbers: Vec<u32> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [degree, inner, ref first @ ..] = numbers[..] else { return [1; DIGITS] };
    let degree = degree as usize;
    let mut all = [0; DIGITS];
    all[..first.len()].copy_from_slice(first);
    for k in first.len()..DIGITS {
        all[k] = all[k - degree] ^ (all[k - degree] << degree);
        for back in 1..degree {
            if inner >> (degree - 1 - back) & 1 == 1 {
                all[k] ^= all[k - back] << back;
            }
        }
    }
    all
}

#[derive(Debug)]
struct SobolSample {
    dtype: DType,
}

impl Kernel for SobolSample {
    fn new(attrs: &Attrs<'_>) -> Result<SobolSample> {
        Ok(SobolSample { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let scalar = |index, name: &str| match ctx.input(index)? {
            value if value.rank() == 0 => value.scalar_value::<i32>(),
            _ => Err(invalid_argument!("{name} must be a scalar")),
        };
        let dimensions = scalar(0, "dim")?;
        let (count, skip) = (scalar(1, "num_results")?, scalar(2, "skip")?);
        if dimensions < 1 {
            return Err(invalid_argument!("dim must be at least one"));
        }
        if dimensions > MOST_DIMENSIONS {
            return Err(invalid_argument!("dim must be at most {MOST_DIMENSIONS}"));
        }
        if count < 1 {
            return Err(invalid_argument!("num_results must be at least one"));
        }
        if skip < 0 {
            return Err(invalid_argument!("skip must be non-negative"));
        }
        if count >= i32::MAX - skip {
            return Err(invalid_argument!("num_results+skip must be less than {}", i32::MAX));
        }
        let Some(directions) = DIRECTIONS.get(..dimensions as usize) else {
            return Err(unimplemented_error!(
                "Sobol points have at most {} dimensions here, not {dimensions}",
                DIRECTIONS.len()
            ));
        };
        let shape = Shape::new(&[count as usize, directions.len()])?;
        let output = if self.dtype == DType::Double {
            Tensor::build(shape, |out: &mut [f64]| fill(directions, skip, out, |value| value))
        } else {
            Tensor::build(shape, |out: &mut [f32]| {
                fill(directions, skip, out, |value| value as f32)
            })
        }?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Writes points after so many, each a row of `out`.
fn fill<T>(directions: &[[u32; DIGITS]], skip: i32, out: &mut [T], to: impl Fn(f64) -> T) {
    // Directions and points as fractions of 2^32.
    let direction = |all: &[u32; DIGITS], digit: usize| all[digit] << (DIGITS - digit);
    let first = skip as u32 + 1;
    let gray = first ^ (first >> 1);
    let mut point: Vec<u32> = directions
        .iter()
        .map(|all| {
            let set = (0..DIGITS).filter(|digit| gray >> digit & 1 == 1);
            set.fold(0, |point, digit| point ^ direction(all, digit))
        })
        .collect();
    for (number, row) in (first..).zip(out.chunks_exact_mut(directions.len())) {
        if number > first {
            let changed = (number - 1).trailing_ones() as usize;
            for (point, all) in point.iter_mut().zip(directions) {
                *point ^= direction(all, changed);
            }
        }
        for (out, &point) in row.iter_mut().zip(&point) {
            *out = to(f64::from(point) / 4294967296.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_do_not_depend_on_where_they_start() {
        let directions = &DIRECTIONS[..7];
        let mut all = vec![0.0; 7 * 40];
        fill(directions, 0, &mut all, |value| value);
        let mut later = vec![0.0; 7 * 27];
        fill(directions, 13, &mut later, |value| value);
        assert_eq!(all[7 * 13..], later);
        assert_eq!(all[..7], [0.5; 7]);
    }

    #[test]
    fn every_dimension_visits_every_interval_once() {
        // Of 256 points, with the origin for the one before the first, each has a place of its own.
        let mut points = vec![0.0; DIRECTIONS.len() * 255];
        fill(&DIRECTIONS, 0, &mut points, |value| value);
        for dimension in 0..DIRECTIONS.len() {
            let column = points[dimension..].iter().step_by(DIRECTIONS.len());
            let mut places: Vec<usize> = column.map(|x| (x * 256.0) as usize).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(1..256), "dimension {dimension}");
        }
    }
}

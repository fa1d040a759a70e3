//! Reductions against plain folds, over layouts, types and threads.

use half::{bf16, f16};
use num_complex::Complex64;

use super::*;
use crate::simd::tests::at_every_level;
use crate::testing::Rng;

/// Shapes and the axes reduced.
const CASES: &[(&[usize], &[usize])] = &[
    (&[], &[]),
    (&[5], &[]),
    (&[7], &[0]),
    (&[1000], &[0]),
    (&[3, 70], &[1]),
    (&[70, 3], &[0]),
    (&[300, 5], &[0]),
    (&[4, 9, 5], &[1]),
    (&[4, 9, 5], &[0, 2]),
    (&[2, 3, 4, 5], &[1, 3]),
    (&[2, 3, 4, 5, 6], &[0, 2, 4]),
    (&[3, 1, 4], &[1]),
    (&[0, 3], &[0]),
    (&[3, 0], &[0]),
];

/// Larger than the thresholds for threads, in each of the ways work is cut.
const LARGE: &[(&[usize], &[usize])] = &[
    (&[200_001], &[0]),
    (&[70, 3001], &[1]),
    (&[2, 100_003], &[1]),
    (&[50_000, 7], &[0]),
    (&[40, 9000], &[0]),
    (&[2, 50, 4000], &[1]),
];

fn check<R, T>(make: impl Fn(&mut Rng) -> T, close: impl Fn(T, &[T]) -> bool)
where
    R: Reduction<T>,
    T: Copy + Send + Sync + std::fmt::Debug + Default,
{
    let run = |shape: &[usize], axes: &[usize], par: Parallel| {
        let rng = &mut Rng::new(shape.len() as u64);
        let x: Vec<T> = (0..shape.iter().product()).map(|_| make(rng)).collect();
        let plan = Axes::new(shape, |axis| axes.contains(&axis));
        let mut gathered = vec![Vec::new(); plan.outputs()];
        for (flat, &x) in x.iter().enumerate() {
            let (mut rest, mut at, mut scale) = (flat, 0, 1);
            for (axis, &len) in shape.iter().enumerate().rev() {
                if !axes.contains(&axis) {
                    at += rest % len * scale;
                    scale *= len;
                }
                rest /= len;
            }
            gathered[at].push(x);
        }
        let mut out = vec![T::default(); plan.outputs()];
        reduce::<R, T>(par, &x, &plan, &mut out);
        for (out, gathered) in out.iter().zip(&gathered) {
            assert!(close(*out, gathered), "{shape:?} {axes:?}: {out:?}");
        }
    };
    at_every_level(|| CASES.iter().for_each(|(shape, axes)| run(shape, axes, Parallel::SERIAL)));
    for (shape, axes) in LARGE {
        run(shape, axes, Parallel::SERIAL);
        run(shape, axes, Parallel::new(4));
    }
}

fn total(values: &[f32]) -> f64 {
    values.iter().map(|&x| f64::from(x)).sum()
}

#[test]
fn float_reductions() {
    let near = |found: f32, exact: f64| {
        (f64::from(found) - exact).abs() <= 2e-6 * exact.abs().max(1.0) || exact.is_nan()
    };
    let unit = |rng: &mut Rng| rng.uniform(0.0, 1.0) as f32;
    check::<Sum, f32>(unit, |out, x| near(out, total(x)));
    check::<Mean, f32>(unit, |out, x| near(out, total(x) / x.len() as f64));
    let sign = |rng: &mut Rng| if rng.next().is_multiple_of(2) { 1.0 } else { -1.0 };
    check::<Prod, f32>(sign, |out, x| out == x.iter().product());
    check::<Max, f32>(unit, |out, x| out == x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    check::<Min, f64>(
        |rng| rng.uniform(-1.0, 1.0),
        |out, x| out == x.iter().copied().fold(f64::INFINITY, f64::min),
    );
}

#[test]
fn half_precision_is_summed_in_single() {
    let make = |rng: &mut Rng| bf16::from_f64(rng.uniform(0.0, 0.01));
    check::<Sum, bf16>(make, |out, x| {
        let exact: f64 = x.iter().map(|x| x.to_f64()).sum();
        (out.to_f64() - exact).abs() <= exact * 4e-3
    });
    check::<Max, f16>(
        |rng| f16::from_f64(rng.uniform(-1.0, 1.0)),
        |out, x| out == x.iter().copied().fold(f16::NEG_INFINITY, f16::max),
    );
}

#[test]
fn other_types() {
    check::<Sum, i32>(
        |rng| rng.next() as i32,
        |out, x| out == x.iter().fold(0i32, |a, b| a.wrapping_add(*b)),
    );
    check::<Mean, u8>(
        |rng| rng.next() as u8,
        |out, x| {
            let sum: u64 = x.iter().map(|&x| u64::from(x)).sum();
            u64::from(out) == sum.checked_div(x.len() as u64).unwrap_or(0)
        },
    );
    check::<Max, i64>(
        |rng| rng.next() as i64,
        |out, x| out == x.iter().copied().max().unwrap_or(i64::MIN),
    );
    check::<Sum, Complex64>(
        |rng| Complex64::new(rng.uniform(0.0, 1.0), 1.0),
        |out, x| (out - x.iter().sum::<Complex64>()).norm() < 1e-6,
    );
    check::<All, bool>(|rng| rng.next() % 8 != 0, |out, x| out == x.iter().all(|x| *x));
    check::<Any, bool>(|rng| rng.next() % 8 == 0, |out, x| out == x.iter().any(|x| *x));
}

#[test]
fn not_a_number_wins() {
    for position in [0, 5, 40, 99] {
        let mut x = [1.0f32; 100];
        x[position] = f32::NAN;
        let mut out = [0.0];
        reduce::<Max, f32>(Parallel::SERIAL, &x, &Axes::all(100), &mut out);
        assert!(out[0].is_nan());
        reduce::<Min, f32>(Parallel::SERIAL, &x, &Axes::middle(1, 100, 1), &mut out);
        assert!(out[0].is_nan());
    }
}

#[test]
fn long_sums_stay_accurate() {
    let x = vec![0.1f32; 5_000_000];
    let exact = 5_000_000.0 * f64::from(0.1f32);
    for par in [Parallel::SERIAL, Parallel::new(2)] {
        let mut out = [0.0];
        reduce::<Sum, f32>(par, &x, &Axes::all(x.len()), &mut out);
        assert!((f64::from(out[0]) - exact).abs() < 1e-6 * exact, "{}", out[0]);
        let mut out = [0.0; 2];
        reduce::<Sum, f32>(par, &x, &Axes::middle(1, x.len() / 2, 2), &mut out);
        assert!((f64::from(out[0]) - exact / 2.0).abs() < 1e-6 * exact, "{}", out[0]);
    }
    assert!((f64::from(l2_loss(Parallel::SERIAL, &x)) - exact * 0.05).abs() < 1e-6 * exact);
}

#[test]
fn extremes_are_found_where_they_come_first() {
    let nan = f32::NAN;
    let x = [1.0, nan, 3.0, nan, 3.0, -1.0];
    let mut out = [9i64];
    argmax(Parallel::SERIAL, &x, [1, 6, 1], &mut out);
    assert_eq!(out, [2]);
    argmin(Parallel::SERIAL, &x, [1, 6, 1], &mut out);
    assert_eq!(out, [5]);
    argmax(Parallel::SERIAL, &[nan, nan], [1, 2, 1], &mut out);
    assert_eq!(out, [0]);
    let mut out = [9i32; 6];
    argmax(Parallel::new(2), &[1, 5, 3, 4, 5, 0, 7, 7, 7, 8, 1, 9], [2, 2, 3], &mut out);
    assert_eq!(out, [1, 0, 0, 1, 0, 1]);
    argmin(Parallel::SERIAL, &[true, false, true, false], [2, 2, 1], &mut out[..2]);
    assert_eq!(out[..2], [1, 1]);
}

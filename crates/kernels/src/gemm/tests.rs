//! Products against the definition, over element types, shapes, strides and levels.

use ::half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::*;
use crate::simd::tests::at_every_level;
use crate::testing::Rng;

/// A type that the tests can make and compare.
trait Sample: Element + std::fmt::Debug {
    fn sample(rng: &mut Rng) -> Self;
    /// The largest difference allowed after `depth` additions of terms around one.
    fn distance(self, other: Self) -> f64;
    fn tolerance(depth: usize) -> f64;
}

macro_rules! sample {
    ($($type:ty: |$rng:ident| $sample:expr, |$a:ident, $b:ident| $distance:expr, $unit:expr;)+) => {$(
        impl Sample for $type {
            fn sample($rng: &mut Rng) -> Self {
                $sample
            }

            fn distance(self, other: Self) -> f64 {
                let ($a, $b) = (self, other);
                $distance
            }

            fn tolerance(depth: usize) -> f64 {
                $unit * (depth as f64 + 4.0)
            }
        }
    )+};
}

sample! {
    f32: |rng| rng.uniform(-1.0, 1.0) as f32, |a, b| f64::from((a - b).abs()), 2.4e-7;
    f64: |rng| rng.uniform(-1.0, 1.0), |a, b| (a - b).abs(), 4.4e-16;
    Complex32: |rng| Complex32::new(f32::sample(rng), f32::sample(rng)),
        |a, b| f64::from((a - b).norm()), 4.8e-7;
    Complex64: |rng| Complex64::new(f64::sample(rng), f64::sample(rng)),
        |a, b| (a - b).norm(), 8.8e-16;
    f16: |rng| f16::from_f64(rng.uniform(-1.0, 1.0)),
        |a, b| (a.to_f64() - b.to_f64()).abs(), 4e-3;
    bf16: |rng| bf16::from_f64(rng.uniform(-1.0, 1.0)),
        |a, b| (a.to_f64() - b.to_f64()).abs(), 3e-2;
    i8: |rng| rng.next() as i8, |a, b| f64::from(u8::from(a != b)), 0.0;
    u16: |rng| rng.next() as u16, |a, b| f64::from(u8::from(a != b)), 0.0;
    i32: |rng| rng.next() as i32, |a, b| f64::from(u8::from(a != b)), 0.0;
    u64: |rng| rng.next(), |a, b| f64::from(u8::from(a != b)), 0.0;
}

fn samples<T: Sample>(rng: &mut Rng, len: usize) -> Vec<T> {
    (0..len).map(|_| T::sample(rng)).collect()
}

/// A view of `rows x cols` over random data in one of the storage orders.
fn view<T: Copy>(
    data: &[T],
    rows: usize,
    cols: usize,
    transposed: bool,
    conjugate: bool,
) -> Mat<'_, T> {
    let mat = if transposed { Mat::new(data, cols, rows).t() } else { Mat::new(data, rows, cols) };
    if conjugate { mat.conj() } else { mat }
}

fn value<T: Element>(mat: Mat<'_, T>, i: usize, j: usize) -> T {
    let value = mat.at(i, j);
    if mat.is_conjugate() { value.conjugate() } else { value }
}

fn check<T: Sample>(m: usize, n: usize, k: usize, par: Parallel) {
    let rng = &mut Rng::new((m * 1_000_003 + n * 1009 + k) as u64);
    let (a, b, old) =
        (samples::<T>(rng, m * k), samples::<T>(rng, k * n), samples::<T>(rng, m * (n + 3)));
    let two = T::ONE.mul_acc(T::ONE, T::ONE);
    // Large products are slow to check: there every third case, which still has each flag both ways.
    for case in (0..16).step_by(if m * n * k > 1 << 20 { 3 } else { 1 }) {
        let a = view(&a, m, k, case & 1 != 0, case & 4 != 0);
        let b = view(&b, k, n, case & 2 != 0, case & 8 != 0);
        let (alpha, beta) = match case % 5 {
            0 => (T::ONE, T::ZERO),
            1 => (two, T::ONE),
            2 => (T::ONE, two),
            3 => (two, T::ZERO),
            _ => (T::ONE, T::ONE),
        };
        let mut c = old.clone();
        gemm(par, alpha, a, b, beta, MatMut::with_stride(&mut c, m, n, n + 3));
        for i in 0..m {
            for j in 0..n + 3 {
                let old = old[i * (n + 3) + j];
                let found = c[i * (n + 3) + j];
                if j >= n {
                    assert_eq!(found, old, "wrote past the row");
                    continue;
                }
                let sum = (0..k).fold(T::ZERO, |s, p| s.mul_acc(value(a, i, p), value(b, p, j)));
                let expected = T::ZERO.mul_acc(beta, old).mul_acc(alpha, sum);
                let tolerance = 3.0 * T::tolerance(k);
                assert!(
                    found.distance(expected) <= tolerance,
                    "{m}x{n}x{k} case {case} at ({i}, {j}): {found:?} for {expected:?}"
                );
            }
        }
    }
}

const SHAPES: &[(usize, usize, usize)] =
    &[(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (1, 37, 19), (41, 1, 23), (1, 9, 70), (7, 5, 3)];

fn check_type<T: Sample>() {
    at_every_level(|| {
        for &(m, n, k) in SHAPES.iter().chain(&[(13, 33, 17), (70, 100, 50)]) {
            check::<T>(m, n, k, Parallel::SERIAL);
        }
    });
}

#[test]
fn floats_match_the_definition() {
    check_type::<f32>();
    check_type::<f64>();
    at_every_level(|| {
        // Deeper and wider than any packing block.
        check::<f32>(97, 131, 1100, Parallel::SERIAL);
        check::<f64>(65, 530, 300, Parallel::SERIAL);
        // Flat, over a large matrix.
        check::<f32>(5, 700, 400, Parallel::SERIAL);
    });
}

#[test]
fn complex_numbers_match_the_definition() {
    check_type::<Complex32>();
    check_type::<Complex64>();
    // Deep enough for a transposed matrix to be turned first.
    check::<Complex32>(5, 130, 260, Parallel::SERIAL);
}

#[test]
fn half_precision_matches_the_definition() {
    check_type::<f16>();
    check_type::<bf16>();
    check::<bf16>(150, 20, 30, Parallel::SERIAL);
}

#[test]
fn integers_wrap() {
    check_type::<i8>();
    check_type::<u16>();
    check_type::<i32>();
    check_type::<u64>();
    check::<i32>(70, 520, 260, Parallel::SERIAL);
}

#[test]
fn threads_share_the_product() {
    let par = Parallel::new(3);
    check::<f32>(150, 210, 110, par);
    check::<f32>(1, 900, 1300, par);
    check::<f32>(1300, 1, 900, par);
    check::<f64>(8, 700, 400, par);
    check::<i32>(500, 3, 1100, par);
}

#[test]
fn old_values_are_not_read_without_beta() {
    at_every_level(|| {
        for (m, n) in [(1, 5), (5, 1), (4, 6)] {
            let (a, b) = (vec![1.0f32; m * 2], vec![1.0f32; 2 * n]);
            let mut c = vec![f32::NAN; m * n];
            matmul(Parallel::SERIAL, Mat::new(&a, m, 2), Mat::new(&b, 2, n), &mut c);
            assert_eq!(c, vec![2.0; m * n]);
        }
    });
}

#[test]
fn not_a_number_spreads_through_the_product() {
    at_every_level(|| {
        let a = [1.0f32, f32::NAN, 0.0, 0.0];
        let b = [0.0f32, 1.0, 0.0, f32::INFINITY];
        let mut c = [0.0; 4];
        matmul(Parallel::SERIAL, Mat::new(&a, 2, 2), Mat::new(&b, 2, 2), &mut c);
        assert!(c[0].is_nan() && c[1].is_nan() && c[2] == 0.0 && c[3].is_nan());
    });
}

#[test]
fn batches_multiply_pair_by_pair() {
    let rng = &mut Rng::new(5);
    for (par, m) in [(Parallel::SERIAL, 3), (Parallel::new(2), 3), (Parallel::new(8), 120)] {
        let (n, k, batch) = (4 * m, 3 * m, 5);
        let (a, b) = (samples::<f32>(rng, batch * m * k), samples::<f32>(rng, k * n));
        let mut c = vec![0.0; batch * m * n];
        let b = Mat::new(&b, k, n);
        batch_matmul(par, |i| (Mat::new(&a[i * m * k..], m, k), b), batch, &mut c);
        for (i, c) in c.chunks_exact(m * n).enumerate() {
            let mut expected = vec![0.0; m * n];
            matmul(Parallel::SERIAL, Mat::new(&a[i * m * k..], m, k), b, &mut expected);
            assert!(c.iter().zip(&expected).all(|(c, e)| (c - e).abs() < 1e-4));
        }
    }
}

//! Prints the speed of the kernels on this machine, on one thread.
//!
//! `cargo run --release -p tensorfleet-kernels --example bench [name]`

use std::hint::black_box;
use std::time::Instant;

use tensorfleet_kernels::elementwise::{self as el, Unary, unary};
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_kernels::{Parallel, Real};

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let sections: &[(&str, fn())] = &[("gemm", gemm), ("elementwise", elementwise)];
    for (name, section) in sections {
        if name.contains(&only) {
            section();
        }
    }
}

fn gemm() {
    for (m, k, n) in [
        (128, 784, 512),
        (256, 256, 256),
        (1024, 1024, 1024),
        (1, 1024, 1024),
        (1024, 1024, 1),
        (4, 1024, 1024),
        (32, 1024, 1024),
        (16, 16, 16),
        (64, 64, 64),
    ] {
        let (a, b) = (noise(m * k), noise(k * n));
        let mut c = vec![0.0; m * n];
        for (label, transposed) in [("", false), (" B^T", true)] {
            let b = if transposed { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
            let seconds =
                time(|| matmul(Parallel::SERIAL, Mat::new(&a, m, k), b, black_box(&mut c)));
            let rate = 2.0 * (m * n * k) as f64 / seconds / 1e9;
            report(&format!("gemm {m}x{k}x{n}{label}"), seconds, &format!("{rate:6.1} GFLOP/s"));
        }
    }
}

fn elementwise() {
    fn run<F: Unary, T: Real>(x: &[T]) {
        let mut out = x.to_vec();
        let seconds = time(|| unary::<F, T>(Parallel::SERIAL, x, black_box(&mut out)));
        let name = std::any::type_name::<F>().rsplit("::").next().unwrap_or_default();
        let rate = format!("{:6.3} ns/element", seconds / x.len() as f64 * 1e9);
        report(&format!("{name} {}", std::any::type_name::<T>()), seconds, &rate);
    }
    let x = noise(64 * 1024);
    run::<el::Relu, f32>(&x);
    run::<el::Exp, f32>(&x);
    run::<el::Expm1, f32>(&x);
    run::<el::Log, f32>(&x);
    run::<el::Log1p, f32>(&x);
    run::<el::Tanh, f32>(&x);
    run::<el::Sigmoid, f32>(&x);
    run::<el::Softplus, f32>(&x);
    run::<el::Sin, f32>(&x);
    run::<el::Erf, f32>(&x);
    run::<el::Erfc, f32>(&x);
    run::<el::Rsqrt, f32>(&x);
    run::<el::Floor, f32>(&x);
    let x: Vec<f64> = x.into_iter().map(f64::from).collect();
    run::<el::Exp, f64>(&x);
    run::<el::Log, f64>(&x);
    run::<el::Tanh, f64>(&x);
    run::<el::Erf, f64>(&x);
    run::<el::Sin, f64>(&x);
    let x: Vec<half::bf16> = x.into_iter().map(half::bf16::from_f64).collect();
    run::<el::Tanh, half::bf16>(&x);
    let (a, b) = (noise(64 * 1024), noise(64 * 1024));
    let mut out = noise(64 * 1024);
    let seconds =
        time(|| el::binary::<el::Pow, f32>(Parallel::SERIAL, &a, &b, black_box(&mut out)));
    report("Pow (half of it negative)", seconds, "");
    let seconds = time(|| el::zip(Parallel::SERIAL, &a, &b, black_box(&mut out), |a, b| a + b));
    report("zip add", seconds, "");
}

fn noise(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i.wrapping_mul(2_654_435_761) % 1024) as f32 / 512.0 - 1.0).collect()
}

/// The least time of one call, over half a second of calls. Descheduled time counts, so that a quiet
/// machine is needed; the least of many short calls is little disturbed.
fn time(mut f: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed().as_secs_f64() < 0.5 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

#[expect(clippy::print_stdout, reason = "printing is what this program does")]
fn report(name: &str, seconds: f64, rate: &str) {
    println!("{name:32} {:10.2} us  {rate}", seconds * 1e6);
}

//! Prints the speed of the kernels on this machine, on one thread.
//!
//! `cargo run --release -p tensorfleet-kernels --example bench [name]`

use std::hint::black_box;
use std::time::Instant;

use tensorfleet_kernels::conv::{self, Axis, Conv};
use tensorfleet_kernels::elementwise::{self as el, Unary, unary};
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_kernels::transpose::transpose;
use tensorfleet_kernels::{Parallel, Real};

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let sections: &[(&str, fn())] = &[
        ("gemm", gemm),
        ("elementwise", elementwise),
        ("conv", convolutions),
        ("transpose", transposes),
    ];
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
        let (a, b, c) = (noise(m * k), noise(k * n), noise(m * n));
        for (label, transposed) in [("", false), (" B^T", true)] {
            let b = if transposed { Mat::new(b, n, k).t() } else { Mat::new(b, k, n) };
            let seconds = time(|| matmul(Parallel::SERIAL, Mat::new(a, m, k), b, black_box(c)));
            report(&format!("gemm {m}x{k}x{n}{label}"), seconds, &gflops(2 * m * n * k, seconds));
        }
    }
}

fn convolutions() {
    let par = Parallel::SERIAL;
    for (batch, size, inputs, filter, stride, outputs) in [
        (32, 28, 1, 5, 1, 32),
        (32, 14, 32, 5, 1, 64),
        (8, 56, 64, 3, 1, 64),
        (8, 56, 64, 1, 1, 256),
        (8, 14, 256, 3, 1, 256),
        (8, 7, 512, 3, 1, 512),
        (1, 224, 3, 7, 2, 64),
    ] {
        let axis = Axis::same(size, filter, stride, 1);
        let shape = Conv::images(batch, [axis, axis], inputs, outputs);
        let (x, f, y) = (shape.input_len(), shape.filter_len(), shape.output_len());
        let (x, dx, f, df, y) = (noise(x), noise(x), noise(f), noise(f), noise(y));
        let work = 2 * y.len() * inputs * filter * filter;
        let line = |what: &str, seconds: f64| {
            let name =
                format!("{what} N{batch} {size}x{size}x{inputs} k{filter}s{stride} o{outputs}");
            report(&name, seconds, &gflops(work, seconds));
        };
        line("conv", time(|| conv::conv(par, &shape, x, f, black_box(y))));
        line("  by input", time(|| conv::conv_backprop_input(par, &shape, f, y, black_box(dx))));
        line("  by filter", time(|| conv::conv_backprop_filter(par, &shape, x, y, black_box(df))));
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
    const LEN: usize = 64 * 1024;
    let x = noise(LEN);
    run::<el::Relu, f32>(x);
    run::<el::Exp, f32>(x);
    run::<el::Expm1, f32>(x);
    run::<el::Log, f32>(x);
    run::<el::Log1p, f32>(x);
    run::<el::Tanh, f32>(x);
    run::<el::Sigmoid, f32>(x);
    run::<el::Softplus, f32>(x);
    run::<el::Sin, f32>(x);
    run::<el::Erf, f32>(x);
    run::<el::Erfc, f32>(x);
    run::<el::Rsqrt, f32>(x);
    run::<el::Floor, f32>(x);
    let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
    run::<el::Exp, f64>(&x);
    run::<el::Log, f64>(&x);
    run::<el::Tanh, f64>(&x);
    run::<el::Erf, f64>(&x);
    run::<el::Sin, f64>(&x);
    let x: Vec<half::bf16> = x.into_iter().map(half::bf16::from_f64).collect();
    run::<el::Tanh, half::bf16>(&x);
    let (a, b, out) = (noise(LEN), noise(LEN), noise(LEN));
    let seconds = time(|| el::binary::<el::Pow, f32>(Parallel::SERIAL, a, b, black_box(out)));
    report("Pow (half of it negative)", seconds, "");
    let seconds = time(|| el::zip(Parallel::SERIAL, a, b, black_box(out), |a, b| a + b));
    report("zip add", seconds, "");
}

fn transposes() {
    for (shape, perm) in [
        (&[1000, 1000][..], &[1, 0][..]),
        (&[8, 56, 56, 64], &[0, 3, 1, 2]),
        (&[8, 64, 56, 56], &[0, 2, 3, 1]),
        (&[8, 224, 224, 3], &[0, 3, 1, 2]),
        (&[32, 128, 8, 64], &[0, 2, 1, 3]),
    ] {
        let len = shape.iter().product();
        let (x, out) = (noise(len), noise(len));
        let seconds = time(|| transpose(Parallel::SERIAL, x, shape, perm, black_box(out)));
        let rate = format!("{:6.2} GB/s read", len as f64 * 4.0 / seconds / 1e9);
        report(&format!("transpose {shape:?} {perm:?}"), seconds, &rate);
    }
}

/// Values that begin on a cache line, as tensors do; never freed.
fn noise(len: usize) -> &'static mut [f32] {
    let values = (0..len + 16).map(|i| (i * 2_654_435_761 % 1024) as f32 / 512.0 - 1.0);
    let values = values.collect::<Vec<_>>().leak();
    let start = values.as_ptr().align_offset(64);
    &mut values[start..start + len]
}

/// The CPU time of one call, over half a second of them. It leaves out when this thread had to wait
/// for a core, so that a busy machine disturbs it less.
fn time(mut f: impl FnMut()) -> f64 {
    f();
    let (begin, start) = (Instant::now(), cpu_seconds());
    let mut calls = 0;
    while begin.elapsed().as_secs_f64() < 0.5 {
        f();
        calls += 1;
    }
    match (start, cpu_seconds()) {
        (Some(start), Some(end)) => (end - start) / f64::from(calls),
        _ => begin.elapsed().as_secs_f64() / f64::from(calls),
    }
}

/// What Linux says that this thread has used of a core so far.
fn cpu_seconds() -> Option<f64> {
    // Yielding makes the kernel bring its account up to date.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(stat.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

fn gflops(work: usize, seconds: f64) -> String {
    format!("{:6.1} GFLOP/s", work as f64 / seconds / 1e9)
}

#[expect(clippy::print_stdout, reason = "printing is what this program does")]
fn report(name: &str, seconds: f64, rate: &str) {
    println!("{name:40} {:10.2} us  {rate}", seconds * 1e6);
}

//! The kernels that training spends its time in, on one thread.
//!
//! `cargo bench -p tensorfleet-kernels -- conv`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::{self, Axis, Conv};
use tensorfleet_kernels::elementwise::{self as el, Unary, unary};
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_kernels::optimizers::{self, GradientDescent};
use tensorfleet_kernels::pool::{self, Pool, Ties};
use tensorfleet_kernels::reduce::{self, Axes, Sum};
use tensorfleet_kernels::softmax::softmax;
use tensorfleet_kernels::transpose::transpose;

const ONE: Parallel = Parallel::SERIAL;

criterion_group!(kernels, gemm, convolutions, pooling, elementwise, passes);
criterion_main!(kernels);

fn gemm(c: &mut Criterion) {
    let mut group = c.benchmark_group("gemm");
    for (m, k, n) in [(64, 64, 64), (128, 784, 512), (1024, 1024, 1024), (1, 1024, 1024)] {
        let (a, b, out) = (noise(m * k), noise(k * n), noise(m * n));
        group.throughput(Throughput::Elements((2 * m * k * n) as u64));
        group.bench_function(format!("{m}x{k}x{n}"), |bencher| {
            bencher.iter(|| matmul(ONE, Mat::new(a, m, k), Mat::new(b, k, n), black_box(out)));
        });
    }
}

fn convolutions(c: &mut Criterion) {
    let mut group = c.benchmark_group("conv");
    for (batch, size, inputs, filter, outputs) in
        [(32, 28, 1, 5, 32), (32, 14, 32, 5, 64), (32, 28, 32, 3, 64), (8, 14, 256, 3, 256)]
    {
        let axis = Axis::same(size, filter, 1, 1);
        let shape = Conv::images(batch, [axis, axis], inputs, outputs);
        let (x, by_x) = (noise(shape.input_len()), noise(shape.input_len()));
        let (f, by_f) = (noise(shape.filter_len()), noise(shape.filter_len()));
        let y = noise(shape.output_len());
        let name = format!("{size}x{size}x{inputs} by {filter}x{filter} to {outputs}");
        group.throughput(Throughput::Elements((2 * y.len() * inputs * filter * filter) as u64));
        group.bench_function(format!("{name}, forward"), |bencher| {
            bencher.iter(|| conv::conv(ONE, &shape, x, f, black_box(y)));
        });
        group.bench_function(format!("{name}, by input"), |bencher| {
            bencher.iter(|| conv::conv_backprop_input(ONE, &shape, f, y, black_box(by_x)));
        });
        group.bench_function(format!("{name}, by filter"), |bencher| {
            bencher.iter(|| conv::conv_backprop_filter(ONE, &shape, x, y, black_box(by_f)));
        });
    }
}

fn pooling(c: &mut Criterion) {
    let mut group = c.benchmark_group("pool");
    let axis = Axis::same(28, 2, 2, 1);
    let shape = Pool::images(32, [axis, axis], 32);
    let (x, by_x) = (noise(shape.input_len()), noise(shape.input_len()));
    let y = noise(shape.output_len());
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function("max", |bencher| {
        bencher.iter(|| pool::max_pool(ONE, &shape, x, black_box(y)));
    });
    group.bench_function("max, gradient", |bencher| {
        bencher.iter(|| pool::max_pool_grad(ONE, &shape, Ties::First, x, y, black_box(by_x)));
    });
}

fn elementwise(c: &mut Criterion) {
    fn run<F: Unary>(c: &mut Criterion, name: &str) {
        let (x, out) = (noise(64 * 1024), noise(64 * 1024));
        let mut group = c.benchmark_group("elementwise");
        group.throughput(Throughput::Elements(x.len() as u64));
        group.bench_function(name, |b| b.iter(|| unary::<F, f32>(ONE, x, black_box(out))));
    }
    run::<el::Exp>(c, "exp");
    run::<el::Tanh>(c, "tanh");
    run::<el::Log>(c, "log");
    let (x, y, out) = (noise(64 * 1024), noise(64 * 1024), noise(64 * 1024));
    let mut group = c.benchmark_group("elementwise");
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function("pow", |bencher| {
        bencher.iter(|| el::binary::<el::Pow, f32>(ONE, x, y, black_box(out)));
    });
    y.fill(3.0);
    group.bench_function("cube", |bencher| {
        bencher.iter(|| el::binary::<el::Pow, f32>(ONE, x, y, black_box(out)));
    });
}

/// What is bound by memory more than by arithmetic.
fn passes(c: &mut Criterion) {
    let (rows, cols) = (1024, 1000);
    let (x, out) = (noise(rows * cols), noise(rows * cols));
    let mut group = c.benchmark_group("pass");
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function("softmax", |b| b.iter(|| softmax(ONE, x, cols, black_box(out))));
    for (name, reduced) in [("sum of columns", 0), ("sum of rows", 1)] {
        let axes = Axes::new(&[rows, cols], |axis| axis == reduced);
        let sums = noise(axes.outputs());
        group.bench_function(name, |bencher| {
            bencher.iter(|| reduce::reduce::<Sum, f32>(ONE, x, &axes, black_box(sums)));
        });
    }
    group.bench_function("transpose", |bencher| {
        bencher.iter(|| transpose(ONE, x, &[rows, cols], &[1, 0], black_box(out)));
    });
    group.bench_function("gradient descent", |bencher| {
        let rule = GradientDescent { lr: 1e-9 };
        bencher.iter(|| optimizers::dense(ONE, [black_box(&mut *out)], x, rule));
    });
}

/// Values that begin on a cache line, as tensors do; never freed.
fn noise(len: usize) -> &'static mut [f32] {
    let values = (0..len + 16).map(|i| (i * 2_654_435_761 % 1024) as f32 / 512.0 - 1.0);
    let values = values.collect::<Vec<_>>().leak();
    let start = values.as_ptr().align_offset(64);
    &mut values[start..start + len]
}

//! `FFT`, `FFT2D`, `FFT3D` and their inverses.

use num_complex::Complex;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::fourier::{Direction, Plans, Real, columns, rows_into};
use tensorfleet_tensor::{DType, Element, Result, Tensor, internal, invalid_argument};

const KERNELS: &[KernelDef] = &[cpu::<Fft>()];

const fn complex(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: Tcomplex"],
        outputs: &["output: Tcomplex"],
        attrs: &["Tcomplex: {complex64, complex128} = DT_COMPLEX64"],
        kernels: KERNELS,
        gradient: Some(gradient),
        ..Op::DEFAULT
    }
}

/// The names of graphs made before there was double precision.
const fn old(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: complex64"],
        outputs: &["output: complex64"],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    old("BatchFFT"),
    old("BatchFFT2D"),
    old("BatchFFT3D"),
    old("BatchIFFT"),
    old("BatchIFFT2D"),
    old("BatchIFFT3D"),
    complex("FFT"),
    complex("FFT2D"),
    complex("FFT3D"),
    complex("IFFT"),
    complex("IFFT2D"),
    complex("IFFT3D"),
];

/// The number of axes that an op transforms.
pub(super) fn rank_of(op: &str) -> usize {
    match op.strip_suffix('D').and_then(|name| name.chars().last()) {
        Some('2') => 2,
        Some('3') => 3,
        _ => 1,
    }
}

pub(super) fn check_rank(input: &Tensor, rank: usize) -> Result<()> {
    if input.rank() < rank {
        return Err(invalid_argument!(
            "Input must have rank of at least {rank} but got: {}",
            input.shape()
        ));
    }
    Ok(())
}

/// About how long transforms take, in nanoseconds.
pub(super) fn cost(inputs: &[Value]) -> u64 {
    let Some(Value::Tensor(input)) = inputs.first() else { return 0 };
    let elements = input.num_elements() as u64;
    elements * u64::from(elements.max(1).ilog2() + 1) * 2
}

#[derive(Debug)]
struct Fft {
    rank: usize,
    direction: Direction,
    single: Plans<f32>,
    double: Plans<f64>,
}

impl Kernel for Fft {
    fn new(attrs: &Attrs<'_>) -> Result<Fft> {
        let inverse = attrs.op().contains("IFFT");
        Ok(Fft {
            rank: rank_of(attrs.op()),
            direction: if inverse { Direction::Inverse } else { Direction::Forward },
            single: Plans::default(),
            double: Plans::default(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.take_input(0)?;
        check_rank(&input, self.rank)?;
        let output = match input.dtype() {
            DType::Complex64 => self.run(par, &self.single, input)?,
            _ => self.run(par, &self.double, input)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

impl Fft {
    fn run<R: Real>(&self, par: Parallel, plans: &Plans<R>, input: Tensor) -> Result<Tensor>
    where
        Complex<R>: Element,
    {
        if input.num_elements() == 0 {
            return Ok(input);
        }
        let dims = input.dims().to_vec();
        let lengths = dims.iter().rev().take(self.rank);
        let plan = |len| plans.complex(len, self.direction);
        // What others still read is not copied first: its rows are transformed from there.
        let (mut values, rest) = match lengths.clone().next() {
            Some(&len) if !input.is_unique() => {
                let from = input.values::<Complex<R>>()?;
                let fill = |to: &mut [_]| rows_into(par, &plan(len), from, to);
                (Tensor::build(input.shape().clone(), fill)?, 1)
            }
            _ => (input, 0),
        };
        let mut stride = 1;
        let inner = values.values_mut::<Complex<R>>()?;
        for (axis, &len) in lengths.enumerate() {
            if axis >= rest && len > 1 {
                columns(par, &plan(len), inner, stride);
            }
            stride *= len;
        }
        Ok(values)
    }
}

/// The transform and its inverse are each other's gradient, but for the number of elements.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (op, grad) = (&*g.node().op, g.grad(0)?);
    let (axes, other, is_forward) = match op {
        "FFT" => (1, "IFFT", true),
        "FFT2D" => (2, "IFFT2D", true),
        "FFT3D" => (3, "IFFT3D", true),
        "IFFT" => (1, "FFT", false),
        "IFFT2D" => (2, "FFT2D", false),
        "IFFT3D" => (3, "FFT3D", false),
        _ => return Err(internal!("{op} is not a Fourier transform")),
    };
    let bounds = [g.vector(&[-axes])?, g.vector(&[i32::MAX])?, g.vector(&[1i32])?];
    let sizes = g.call("StridedSlice", [g.shape_tensor(grad)?, bounds[0], bounds[1], bounds[2]])?;
    let count = g.call("Prod", [sizes, g.scalar(0i32)?])?;
    let count = g.cast(count, g.dtype(grad))?;
    let transformed = g.call(other, [grad])?;
    only(if is_forward { g.mul(transformed, count)? } else { g.div(transformed, count)? })
}

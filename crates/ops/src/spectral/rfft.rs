//! `RFFT`, `IRFFT` and those of more axes: transforms of real numbers, of which half tells all.

use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, Value,
    cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::fourier::{Direction, Plans, Real, analyze, columns, synthesize};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, invalid_argument};

use super::corner::copy_corner;
use super::fft::{check_rank, cost, rank_of};

const ATTRS: &[&str] =
    &["Treal: {float, double} = DT_FLOAT", "Tcomplex: {complex64, complex128} = DT_COMPLEX64"];
const FORWARD: &[KernelDef] = &[cpu::<RealFft>()];
const INVERSE: &[KernelDef] = &[cpu::<InverseRealFft>()];

const fn forward(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: Treal", "fft_length: int32"],
        outputs: &["output: Tcomplex"],
        attrs: ATTRS,
        kernels: FORWARD,
        ..Op::DEFAULT
    }
}

const fn inverse(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["input: Tcomplex", "fft_length: int32"],
        outputs: &["output: Treal"],
        attrs: ATTRS,
        kernels: INVERSE,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    inverse("IRFFT").with_gradient(inverse_gradient),
    inverse("IRFFT2D").with_gradient(inverse_gradient),
    inverse("IRFFT3D").with_gradient(inverse_gradient),
    forward("RFFT").with_gradient(forward_gradient),
    forward("RFFT2D").with_gradient(forward_gradient),
    forward("RFFT3D").with_gradient(forward_gradient),
];

/// The lengths of the transform along the last axes, of which the input must have enough.
fn lengths(input: &Tensor, lengths: &Tensor, rank: usize, inverse: bool) -> Result<Vec<usize>> {
    check_rank(input, rank)?;
    if lengths.dims() != [rank] {
        return Err(invalid_argument!("fft_length must have shape [{rank}]"));
    }
    let dims = &input.dims()[input.rank() - rank..];
    let mut result = Vec::with_capacity(rank);
    for (i, (&length, &have)) in lengths.values::<i32>()?.iter().zip(dims).enumerate() {
        if length < 0 {
            return Err(invalid_argument!("fft_length[{i}] must >= 0, but got: {length}"));
        }
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length > 0)
            .ok_or_else(|| invalid_argument!("fft_length[{i}] must be positive, got: {length}"))?;
        let needed = if inverse && i + 1 == rank { length / 2 + 1 } else { length };
        if input.num_elements() > 0 && have < needed {
            return Err(invalid_argument!(
                "Input dimension {} must have length of at least {needed} but got: {have}",
                input.rank() - rank + i
            ));
        }
        result.push(length);
    }
    Ok(result)
}

/// The dimensions of the input with other lengths at the end.
fn with_lengths(input: &Tensor, lengths: &[usize]) -> Result<Shape> {
    Shape::new(&[&input.dims()[..input.rank() - lengths.len()], lengths].concat())
}

fn halved(lengths: &[usize]) -> Vec<usize> {
    let mut halved = lengths.to_vec();
    if let Some(last) = halved.last_mut() {
        *last = *last / 2 + 1;
    }
    halved
}

#[derive(Debug)]
struct RealFft {
    rank: usize,
    single: Plans<f32>,
    double: Plans<f64>,
}

impl Kernel for RealFft {
    fn new(attrs: &Attrs<'_>) -> Result<RealFft> {
        let (real, complex) = (attrs.dtype("Treal")?, attrs.dtype("Tcomplex")?);
        check_types("forward", real, complex, real, complex)?;
        Ok(RealFft {
            rank: rank_of(attrs.op()),
            single: Plans::default(),
            double: Plans::default(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let lengths = lengths(input, ctx.input(1)?, self.rank, false)?;
        let output = match input.dtype() {
            DType::Float => forward_of(par, &self.single, input, &lengths)?,
            _ => forward_of(par, &self.double, input, &lengths)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

fn check_types(what: &str, real: DType, complex: DType, from: DType, to: DType) -> Result<()> {
    if (real == DType::Float) != (complex == DType::Complex64) {
        return Err(invalid_argument!(
            "Wrong types for {what} real FFT: in={} out={}",
            from as u8,
            to as u8
        ));
    }
    Ok(())
}

fn forward_of<R: Real + Element>(
    par: Parallel,
    plans: &Plans<R>,
    input: &Tensor,
    lengths: &[usize],
) -> Result<Tensor>
where
    Complex<R>: Element,
{
    let halves = halved(lengths);
    let shape = with_lengths(input, &halves)?;
    if shape.num_elements() == 0 || input.num_elements() == 0 {
        return Tensor::zeros(Complex::<R>::DTYPE, shape);
    }
    let (outer, last) = (input.rank() - lengths.len(), lengths.len() - 1);
    let dims = &input.dims()[outer..];
    let values = input.values::<R>()?;
    // Rows may be too long, but there must not be too many of them.
    let cropped = (dims[..last] != lengths[..last]).then(|| {
        let count: usize = input.dims()[..outer].iter().product();
        let from = [&[count], dims].concat();
        let to = [&[count], &lengths[..last], &dims[last..]].concat();
        let mut cropped = vec![R::zero(); to.iter().product()];
        copy_corner((values, &from), (&mut cropped, &to), &|value| value);
        cropped
    });
    Tensor::build(shape, |spectra: &mut [Complex<R>]| {
        let plan = plans.real(lengths[last], Direction::Forward);
        analyze(par, &plan, cropped.as_deref().unwrap_or(values), spectra);
        transform_outer(par, plans, spectra, &halves, Direction::Forward);
    })
}

/// Transforms along all of the last axes but the very last.
fn transform_outer<R: Real>(
    par: Parallel,
    plans: &Plans<R>,
    values: &mut [Complex<R>],
    lengths: &[usize],
    direction: Direction,
) {
    let mut stride = lengths[lengths.len() - 1];
    for &len in lengths.iter().rev().skip(1) {
        if len > 1 {
            columns(par, &plans.complex(len, direction), values, stride);
        }
        stride *= len;
    }
}

#[derive(Debug)]
struct InverseRealFft {
    rank: usize,
    single: Plans<f32>,
    double: Plans<f64>,
}

impl Kernel for InverseRealFft {
    fn new(attrs: &Attrs<'_>) -> Result<InverseRealFft> {
        let (real, complex) = (attrs.dtype("Treal")?, attrs.dtype("Tcomplex")?);
        check_types("backward", real, complex, complex, real)?;
        Ok(InverseRealFft {
            rank: rank_of(attrs.op()),
            single: Plans::default(),
            double: Plans::default(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let lengths = lengths(input, ctx.input(1)?, self.rank, true)?;
        let output = match input.dtype() {
            DType::Complex64 => inverse_of(par, &self.single, input, &lengths)?,
            _ => inverse_of(par, &self.double, input, &lengths)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

fn inverse_of<R: Real + Element>(
    par: Parallel,
    plans: &Plans<R>,
    input: &Tensor,
    lengths: &[usize],
) -> Result<Tensor>
where
    Complex<R>: Element,
{
    let shape = with_lengths(input, lengths)?;
    if input.num_elements() == 0 {
        return Tensor::zeros(R::DTYPE, shape);
    }
    let halves = halved(lengths);
    let (outer, last) = (input.rank() - lengths.len(), lengths[lengths.len() - 1]);
    let values = input.values::<Complex<R>>()?;
    let is_whole = input.dims()[outer..] == halves[..];
    let mut own = Vec::new();
    // Other axes are transformed in place, so on a copy.
    if !is_whole || lengths.len() > 1 {
        let count: usize = input.dims()[..outer].iter().product();
        let from = [&[count], &input.dims()[outer..]].concat();
        let to = [&[count], &halves[..]].concat();
        own.resize(to.iter().product(), Complex::new(R::zero(), R::zero()));
        copy_corner((values, &from), (&mut own, &to), &|value| value);
        transform_outer(par, plans, &mut own, &halves, Direction::Inverse);
    }
    let spectra = if own.is_empty() { values } else { &own };
    Tensor::build(shape, |out: &mut [R]| {
        synthesize(par, &plans.real(last, Direction::Inverse), spectra, out);
    })
}

/// The real part of the transform back of the half spectrum, which is real by itself only for a
/// spectrum of real numbers.
fn forward_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, lengths, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let rank = rank_of(&g.node().op);
    let whole = pad_to(g, grad, rank, lengths)?;
    let op = if rank == 1 { "IFFT".to_owned() } else { format!("IFFT{rank}D") };
    let real = NewNode::new("Real").input(g.call(&op, [whole])?);
    let real = g.out(real.attr("Tout", g.dtype(input)))?;
    let count = g.cast(count_of(g, lengths)?, g.dtype(input))?;
    let gradient = pad_to(g, g.mul(real, count)?, rank, last_dims(g, input, rank)?)?;
    Ok(vec![Some(gradient.into()), None])
}

/// The transform forward. All but the first number of a row, and the last of an even one, stand for
/// two of the whole spectrum.
fn inverse_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, lengths, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (rank, complex) = (rank_of(&g.node().op), g.dtype(input));
    let op = g.node().op.trim_start_matches('I').to_owned();
    let node = NewNode::new(&op).input(grad).input(lengths);
    let spectrum = g.out(node.attr("Treal", g.dtype(grad)).attr("Tcomplex", complex))?;
    let (zero, one, two) = (g.scalar(0i32)?, g.scalar(1i32)?, g.scalar(2i32)?);
    let length = g.call("GatherV2", [lengths, g.scalar(rank as i32 - 1)?, zero])?;
    let end = g.add2(g.call("FloorDiv", [length, two])?, one)?;
    let place = g.call("Range", [zero, end, one])?;
    let is_first = g.call("Equal", [place, zero])?;
    let is_middle = g.call("Equal", [g.mul(place, two)?, length])?;
    let is_alone = g.cast(g.call("LogicalOr", [is_first, is_middle])?, DType::Int32)?;
    let weights = g.cast(g.sub(two, is_alone)?, complex)?;
    let count = g.cast(count_of(g, lengths)?, complex)?;
    let gradient = g.div(g.mul(spectrum, weights)?, count)?;
    Ok(vec![Some(pad_to(g, gradient, rank, last_dims(g, input, rank)?)?.into()), None])
}

/// The number of elements of a whole transform.
fn count_of(g: &GradientContext<'_>, lengths: Output) -> Result<Output> {
    g.call("Prod", [lengths, g.vector(&[0i32])?])
}

/// The lengths of the last axes.
fn last_dims(g: &GradientContext<'_>, of: Output, rank: usize) -> Result<Output> {
    let shape = g.shape_tensor(of)?;
    let begin = g.sub(g.rank_tensor(of)?, g.scalar(rank as i32)?)?;
    let begin = g.reshape(begin, g.vector(&[1i32])?)?;
    g.call("Slice", [shape, begin, g.vector(&[-1i32])?])
}

/// Zeros added at the ends of the last axes, up to the given lengths.
fn pad_to(g: &GradientContext<'_>, x: Output, rank: usize, lengths: Output) -> Result<Output> {
    let missing = g.sub(lengths, last_dims(g, x, rank)?)?;
    let ends = NewNode::new("Pack").list(&[g.zeros_like(missing)?, missing]);
    let ends = g.out(ends.attr("axis", 1i64))?;
    let outer = g.sub(g.rank_tensor(x)?, g.scalar(rank as i32)?)?;
    let outer = g.out(NewNode::new("Pack").list(&[outer, g.scalar(2i32)?]))?;
    let none = g.call("Fill", [outer, g.scalar(0i32)?])?;
    let paddings = NewNode::new("ConcatV2").list(&[none, ends]).input(g.scalar(0i32)?);
    g.call("Pad", [x, g.out(paddings)?])
}

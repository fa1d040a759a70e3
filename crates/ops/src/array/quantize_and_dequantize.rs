//! `QuantizeAndDequantize` and its versions: numbers rounded to those that a quantised tensor holds.

use num_traits::Float;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

const TYPES: &[DType] = &[DType::Float, DType::Double];
const ROUNDED: &[&str] = &[
    "signed_input: bool = true",
    "num_bits: int = 8",
    "range_given: bool = false",
    "T: {bfloat16, half, float, double}",
    "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'",
    "narrow_range: bool = false",
    "axis: int = -1",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QuantizeAndDequantize",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "signed_input: bool = true",
            "num_bits: int = 8",
            "range_given: bool = false",
            "input_min: float = 0.0",
            "input_max: float = 0.0",
            "T: {bfloat16, half, float, double}",
        ],
        kernels: &[cpu::<RoundTrip>().types("T", TYPES)],
        gradient: Some(straight_through),
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizeAndDequantizeV2",
        inputs: &["input: T", "input_min: T", "input_max: T"],
        outputs: &["output: T"],
        attrs: ROUNDED,
        kernels: &[cpu::<RoundTrip>().types("T", TYPES)],
        gradient: Some(straight_through),
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizeAndDequantizeV3",
        inputs: &["input: T", "input_min: T", "input_max: T", "num_bits: int32"],
        outputs: &["output: T"],
        attrs: &[
            "signed_input: bool = true",
            "range_given: bool = true",
            "T: {bfloat16, half, float, double}",
            "narrow_range: bool = false",
            "axis: int = -1",
        ],
        kernels: &[cpu::<RoundTrip>().types("T", TYPES)],
        gradient: Some(straight_through),
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizeAndDequantizeV4",
        inputs: &["input: T", "input_min: T", "input_max: T"],
        outputs: &["output: T"],
        attrs: ROUNDED,
        kernels: &[cpu::<RoundTrip>().types("T", TYPES)],
        gradient: Some(range_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizeAndDequantizeV4Grad",
        inputs: &["gradients: T", "input: T", "input_min: T", "input_max: T"],
        outputs: &["input_backprop: T", "input_min_backprop: T", "input_max_backprop: T"],
        attrs: &["T: {bfloat16, half, float, double}", "axis: int = -1"],
        kernels: &[cpu::<Gradient>().types("T", TYPES)],
        ..Op::DEFAULT
    },
];

/// The axis along which every position has a range of its own; none for one range for all.
fn axis(attrs: &Attrs<'_>) -> Result<Option<usize>> {
    let axis = if attrs.get("axis").is_some() { attrs.int("axis")? } else { -1 };
    if axis < -1 {
        return Err(invalid_argument!("Axis must be at least -1. Found {axis}"));
    }
    Ok(usize::try_from(axis).ok())
}

/// The sizes before, along and after an axis: each row of the last belongs to one range.
fn split(dims: &[usize], axis: Option<usize>) -> Result<(usize, usize)> {
    match axis {
        None => Ok((1, dims.iter().product())),
        Some(axis) if axis < dims.len() => Ok((dims[axis], dims[axis + 1..].iter().product())),
        Some(axis) => Err(invalid_argument!(
            "Axis requested is larger than input dimensions. Axis: {axis} Input Dimensions: {}",
            dims.len()
        )),
    }
}

#[derive(Debug)]
struct RoundTrip {
    is_signed: bool,
    range_given: bool,
    /// None when an input says it.
    bits: Option<i64>,
    /// The range of the first version, which has no inputs for it.
    range: Option<(f32, f32)>,
    half_up: bool,
    narrow: bool,
    axis: Option<usize>,
}

impl Kernel for RoundTrip {
    fn new(attrs: &Attrs<'_>) -> Result<RoundTrip> {
        let has = |name: &str| attrs.get(name).is_some();
        let kernel = RoundTrip {
            is_signed: attrs.bool("signed_input")?,
            range_given: attrs.bool("range_given")?,
            bits: has("num_bits").then(|| attrs.int("num_bits")).transpose()?,
            range: if has("input_min") {
                Some((attrs.float("input_min")?, attrs.float("input_max")?))
            } else {
                None
            },
            half_up: has("round_mode") && attrs.string("round_mode")? == "HALF_UP",
            narrow: has("narrow_range") && attrs.bool("narrow_range")?,
            axis: axis(attrs)?,
        };
        if let Some(bits) = kernel.bits {
            kernel.check_bits(bits, "signed_input_")?;
        }
        Ok(kernel)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = dispatch!(
            ctx.input(0)?.dtype(),
            [f32, f64],
            T => self.round_trip::<T>(ctx)?,
            else => return Err(internal!("quantization of type {}", ctx.input(0)?.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

impl RoundTrip {
    fn check_bits(&self, bits: i64, name: &str) -> Result<()> {
        if bits > 0 && bits < if self.is_signed { 62 } else { 63 } {
            return Ok(());
        }
        let signed = i32::from(self.is_signed);
        Err(invalid_argument!("num_bits is out of range: {bits} with {name} {signed}"))
    }

    fn round_trip<T: Element + Float>(&self, ctx: &mut KernelContext<'_>) -> Result<Tensor> {
        let bits = match self.bits {
            Some(bits) => bits,
            None => {
                let bits = ctx.input(3)?;
                if bits.rank() != 0 {
                    return Err(invalid_argument!(
                        "Invalid shape. The `num_bits` tensor should be a scalar. Got dimensions: {}",
                        bits.rank()
                    ));
                }
                let bits = i64::from(bits.scalar_value::<i32>()?);
                self.check_bits(bits, "`signed_input_`")?;
                if ctx.input(0)?.rank() == 0 {
                    return Err(invalid_argument!(
                        "Axis requested is larger than input dimensions. Axis: -1 Input Dimensions: 0"
                    ));
                }
                bits
            }
        };
        let (depth, inner) = split(ctx.input(0)?.dims(), self.axis)?;
        let ranges = self.ranges::<T>(ctx, depth, inner)?;
        let mut output = ctx.take_input(0)?;
        if output.num_elements() == 0 {
            return Ok(output);
        }
        let rows = output.values_mut::<T>()?.chunks_exact_mut(inner);
        for (row, &range) in rows.zip(ranges.iter().cycle()) {
            let Grid { min, max, scale, inverse } = self.grid(bits, range);
            for x in row {
                let clamped = if self.range_given { clamp(*x, min, max) } else { *x };
                let scaled = clamped * scale;
                *x = self.round(scaled) * inverse;
            }
        }
        Ok(output)
    }

    fn round<T: Float>(&self, x: T) -> T {
        let (half, floor) = (T::one() / (T::one() + T::one()), x.floor());
        if self.half_up {
            return (x + half).floor();
        }
        let (rest, two) = (x - floor, T::one() + T::one());
        if rest < half || (rest == half && (floor / two).floor() * two == floor) {
            floor
        } else {
            floor + T::one()
        }
    }

    /// The range of each position along the axis: what the inputs say, or what is there.
    fn ranges<T: Element + Float>(
        &self,
        ctx: &KernelContext<'_>,
        depth: usize,
        inner: usize,
    ) -> Result<Vec<(T, T)>> {
        let from = |value: f32| T::from(value).unwrap_or_else(T::nan);
        let given = match self.range {
            Some((min, max)) if self.range_given => vec![(from(min), from(max))],
            None if self.range_given => {
                let (min, max) = (ctx.input(1)?, ctx.input(2)?);
                // Only the third version takes a range for each position along the axis.
                if self.bits.is_some() && min.rank() != 0 {
                    return Err(invalid_argument!("input_min must be a scalar."));
                }
                check_range(ctx.input(0)?, min, "input_min_tensor", self.axis, depth)?;
                check_range(ctx.input(0)?, max, "input_max_tensor", self.axis, depth)?;
                min.values::<T>()?.iter().copied().zip(max.values::<T>()?.iter().copied()).collect()
            }
            _ => {
                let mut ranges = vec![(T::infinity(), T::neg_infinity()); depth];
                let values = ctx.input(0)?.values::<T>()?;
                for (i, row) in values.chunks_exact(inner.max(1)).enumerate() {
                    let (min, max) = &mut ranges[i % depth];
                    for &x in row {
                        (*min, *max) = (min.min(x), max.max(x));
                    }
                }
                return Ok(ranges);
            }
        };
        for (min, max) in &given {
            if min > max {
                let show = |value: &T| value.to_f64().unwrap_or(f64::NAN);
                return Err(invalid_argument!(
                    "Invalid range: input_min {} > input_max {}",
                    show(min),
                    show(max)
                ));
            }
        }
        Ok(given)
    }

    /// The numbers that quantised values in a range stand for.
    fn grid<T: Float>(&self, bits: i64, (min, max): (T, T)) -> Grid<T> {
        let number = |value: i64| T::from(value).unwrap_or_else(T::nan);
        let (lowest, highest) = if self.is_signed {
            let half = 1i64 << (bits - 1);
            (number(if self.narrow { 1 - half } else { -half }), number(half - 1))
        } else {
            (T::zero(), number(((1u64 << bits) - 1) as i64))
        };
        // The side on which the numbers lie further apart decides for both.
        let side = |level: T, end: T| {
            if level * end > T::zero() { level / end } else { T::max_value() }
        };
        let (from_min, from_max) = (side(lowest, min), side(highest, max));
        if from_min < from_max {
            let inverse = min / lowest;
            Grid { min, max: highest * inverse, scale: from_min, inverse }
        } else {
            let inverse = max / highest;
            Grid { min: lowest * inverse, max, scale: from_max, inverse }
        }
    }
}

/// The nearest number of a range; NaN stays.
fn clamp<T: Float>(x: T, min: T, max: T) -> T {
    let x = if x > max { max } else { x };
    if x < min { min } else { x }
}

#[derive(Clone, Copy, Debug)]
struct Grid<T> {
    min: T,
    max: T,
    scale: T,
    inverse: T,
}

fn check_range(
    input: &Tensor,
    range: &Tensor,
    name: &str,
    axis: Option<usize>,
    depth: usize,
) -> Result<()> {
    let short = name.trim_end_matches("_tensor");
    match axis {
        None if range.rank() != 0 => Err(invalid_argument!("{short} must be a scalar.")),
        Some(_) if range.rank() != 1 => {
            Err(invalid_argument!("Shape must be rank 1 for {name} when the axis is specified"))
        }
        Some(axis) if range.dims()[0] != depth => Err(invalid_argument!(
            "{name} has incorrect size, was {} expected {} to match dim {axis} of the input {}",
            range.dims()[0],
            input.dims()[axis],
            range.shape()
        )),
        _ => Ok(()),
    }
}

/// Passes gradients of what is inside of the range; its ends get none.
#[derive(Debug)]
struct Gradient {
    axis: Option<usize>,
}

impl Kernel for Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        Ok(Gradient { axis: axis(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        if ctx.input(0)?.shape() != ctx.input(1)?.shape() {
            return Err(invalid_argument!("gradient and input must be the same size"));
        }
        let (depth, inner) = split(ctx.input(1)?.dims(), self.axis)?;
        for (index, name) in [(2, "input_min"), (3, "input_max")] {
            let range = ctx.input(index)?;
            match self.axis {
                None if range.rank() != 0 => {
                    return Err(invalid_argument!(
                        "{name} must be a scalar if axis is unspecified"
                    ));
                }
                Some(_) if range.dims() != [depth] => {
                    return Err(invalid_argument!(
                        "{name} has incorrect size, was {} expected {depth}",
                        range.num_elements()
                    ));
                }
                _ => {}
            }
        }
        let mut gradients = ctx.take_input(0)?;
        dispatch!(
            gradients.dtype(),
            [f32, f64],
            T => mask::<T>(ctx, &mut gradients, inner)?,
            else => return Err(internal!("quantization of type {}", gradients.dtype()))
        );
        let shape = if self.axis.is_some() { Shape::vector(depth) } else { Shape::SCALAR };
        let zeros = Tensor::zeros(gradients.dtype(), shape)?;
        ctx.set_output(0, gradients);
        ctx.set_output(1, zeros.clone());
        ctx.set_output(2, zeros);
        Ok(())
    }
}

fn mask<T: Element + Float>(
    ctx: &KernelContext<'_>,
    gradients: &mut Tensor,
    inner: usize,
) -> Result<()> {
    if gradients.num_elements() == 0 {
        return Ok(());
    }
    let (min, max) = (ctx.input(2)?.values::<T>()?, ctx.input(3)?.values::<T>()?);
    let inputs = ctx.input(1)?.values::<T>()?.chunks_exact(inner);
    let rows = gradients.values_mut::<T>()?.chunks_exact_mut(inner).zip(inputs);
    for ((gradients, inputs), (&min, &max)) in rows.zip(min.iter().zip(max).cycle()) {
        for (gradient, &x) in gradients.iter_mut().zip(inputs) {
            // A product, so that what is not finite shows.
            let mask = if x >= min && x <= max { T::one() } else { T::zero() };
            *gradient = *gradient * mask;
        }
    }
    Ok(())
}

/// Rounding has no gradient of use: what comes back goes through as if nothing had been rounded.
fn straight_through(g: &GradientContext<'_>) -> InputGradients {
    let mut gradients = only(g.grad(0)?)?;
    gradients.resize(g.num_inputs(), None);
    Ok(gradients)
}

/// Numbers beyond the range move its ends.
fn range_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("QuantizeAndDequantizeV4Grad").input(g.grad(0)?);
    let node = g.inputs(0..3).iter().fold(node, |node, input| node.input(*input));
    let gradients: [_; 3] = g.outs(g.with_attrs_of(node)?)?;
    Ok(gradients.into_iter().map(|gradient| Some(gradient.into())).collect())
}

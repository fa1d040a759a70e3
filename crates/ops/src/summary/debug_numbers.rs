//! What a debugger wants to know of a tensor's numbers, and `DebugNumericSummaryV2`, which tells it in many ways.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument, unimplemented_error};

use super::numbers::numbers;

/// The types that [`numbers`] reads.
const REAL: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Half,
    DType::BFloat16,
    DType::Bool,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

pub(super) const OPS: &[Op] = &[Op {
    name: "DebugNumericSummaryV2",
    inputs: &["input: T"],
    outputs: &["output: output_dtype"],
    attrs: &[
        "output_dtype: {float, double} = DT_FLOAT",
        "T: type",
        "tensor_debug_mode: int = -1",
        "tensor_id: int = -1",
    ],
    kernels: &[cpu::<Tell>().types("T", REAL)],
    ..Op::DEFAULT
}];

/// How many of a tensor's numbers are of which kind.
#[derive(Debug, Default)]
pub(super) struct Health {
    pub(super) nan: usize,
    /// Infinite, or at or beyond a bound.
    below: usize,
    above: usize,
    negative: usize,
    zero: usize,
    positive: usize,
    /// Of the finite ones.
    min: f64,
    max: f64,
    mean: f64,
    variance: f64,
}

impl Health {
    pub(super) fn of(tensor: &Tensor, lower: f64, upper: f64) -> Result<Health> {
        let numbers = numbers(tensor)?;
        let mut health = Health { min: f64::INFINITY, max: f64::NEG_INFINITY, ..Health::default() };
        let (mut finite, mut sum) = (0usize, 0.0);
        for &x in &numbers {
            let kind = match x {
                x if x.is_nan() => &mut health.nan,
                x if x == f64::NEG_INFINITY => &mut health.below,
                x if x == f64::INFINITY => &mut health.above,
                x if x <= lower => &mut health.below,
                x if x >= upper => &mut health.above,
                x if x < 0.0 => &mut health.negative,
                x if x > 0.0 => &mut health.positive,
                _ => &mut health.zero,
            };
            *kind += 1;
            if x.is_finite() {
                finite += 1;
                sum += x;
                (health.min, health.max) = (health.min.min(x), health.max.max(x));
            }
        }
        health.mean = sum / finite as f64;
        let squares = numbers.iter().filter(|x| x.is_finite()).map(|x| (x - health.mean).powi(2));
        health.variance = squares.sum::<f64>() / finite as f64;
        Ok(health)
    }

    pub(super) fn is_good(&self) -> bool {
        self.nan == 0 && self.below == 0 && self.above == 0
    }

    /// All of it in the order of `DebugNumericSummary`, with the type and the shape.
    pub(super) fn summary(&self, tensor: &Tensor) -> Vec<f64> {
        let counts = [self.nan, self.below, self.negative, self.zero, self.positive, self.above];
        let mut out = vec![1.0, tensor.num_elements() as f64];
        out.extend(counts.map(|count| count as f64));
        out.extend([self.min, self.max, self.mean, self.variance]);
        out.extend([f64::from(tensor.dtype() as u8), tensor.rank() as f64]);
        out.extend(tensor.dims().iter().map(|&dim| dim as f64));
        out
    }
}

/// How much to tell; the numbers are those of TensorFlow's modes.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Whether anything is not finite.
    Curt = 2,
    /// How many are not finite.
    Concise = 3,
    /// How many are of which kind.
    Full = 4,
    /// The shape.
    Shape = 5,
    /// The kinds that are not finite, one place for each.
    ThreeSlots = 8,
}

impl Mode {
    fn from_number(number: i64) -> Result<Mode> {
        [Mode::Curt, Mode::Concise, Mode::Full, Mode::Shape, Mode::ThreeSlots]
            .into_iter()
            .find(|&mode| mode as i64 == number)
            .ok_or_else(|| unimplemented_error!("Unimplemented tensor debug mode: {number}"))
    }
}

/// How many dimensions `Mode::Shape` tells, the last ones.
const DIMS: usize = 6;

#[derive(Debug)]
struct Tell {
    mode: i64,
    id: i64,
    output: DType,
}

impl Kernel for Tell {
    fn new(attrs: &Attrs<'_>) -> Result<Tell> {
        Ok(Tell {
            mode: attrs.int("tensor_debug_mode")?,
            id: attrs.int("tensor_id")?,
            output: attrs.dtype("output_dtype")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // The number must be one that the type of the output holds.
        let bits = if self.output == DType::Float { 24 } else { 53 };
        if self.id > 1 << bits {
            return Err(invalid_argument!(
                "DebugNumericSummaryV2Op requires tensor_id to be less than or equal to (2^{bits}). \
                 Given tensor_id:{}",
                self.id
            ));
        }
        let told = tell(Mode::from_number(self.mode)?, self.id, ctx.input(0)?)?;
        let output = match self.output {
            DType::Float => Tensor::vector(&told.iter().map(|&x| x as f32).collect::<Vec<_>>())?,
            _ => Tensor::vector(&told)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

fn tell(mode: Mode, id: i64, tensor: &Tensor) -> Result<Vec<f64>> {
    let health = Health::of(tensor, f64::NEG_INFINITY, f64::INFINITY)?;
    let (id, size) = (id as f64, tensor.num_elements() as f64);
    let (dtype, rank) = (f64::from(tensor.dtype() as u8), tensor.rank() as f64);
    let broken = [health.below, health.above, health.nan];
    Ok(match mode {
        Mode::Curt => vec![id, if health.is_good() { 0.0 } else { 1.0 }],
        Mode::Concise => [id, size].into_iter().chain(broken.map(|count| count as f64)).collect(),
        Mode::Full => {
            let kinds = [health.negative, health.zero, health.positive];
            let counts = broken.into_iter().chain(kinds).map(|count| count as f64);
            // The place of the device's number, which only its client knows.
            [id, -1.0, dtype, rank, size].into_iter().chain(counts).collect()
        }
        Mode::Shape => {
            let dims = tensor.dims();
            let dims = dims[dims.len().saturating_sub(DIMS)..].iter().map(|&dim| dim as f64);
            let mut out: Vec<f64> = [id, dtype, rank, size].into_iter().chain(dims).collect();
            out.resize(4 + DIMS, 0.0);
            out
        }
        Mode::ThreeSlots => broken
            .iter()
            .zip([f64::NEG_INFINITY, f64::INFINITY, f64::NAN])
            .map(|(&count, mark)| if count > 0 { mark } else { 0.0 })
            .collect(),
    })
}

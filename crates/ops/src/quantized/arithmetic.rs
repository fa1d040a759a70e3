//! `QuantizedAdd` and `QuantizedMul`: sums and products of bytes with ranges of their own.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, QInt32, QUInt8, Result, Tensor, invalid_argument};

use super::convert::{number, quantized, unclamped};
use super::range::{Quantized, Range};
use crate::broadcast::{rows_of, zip_rows};

const INPUTS: &[&str] =
    &["x: T1", "y: T2", "min_x: float", "max_x: float", "min_y: float", "max_y: float"];
const OUTPUTS: &[&str] = &["z: Toutput", "min_z: float", "max_z: float"];
const TYPES: &[&str] = &[
    "T1: {qint8, quint8, qint32, qint16, quint16}",
    "T2: {qint8, quint8, qint32, qint16, quint16}",
    "Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
];
const DIFFERS: &str = "Any shapes that fit are broadcast; TensorFlow takes other elements where a \
                       column is broadcast, and refuses more dimensions.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QuantizedAdd",
        inputs: INPUTS,
        outputs: OUTPUTS,
        attrs: TYPES,
        kernels: &[cpu::<Add>()
            .types("T1", &[DType::QUInt8])
            .types("T2", &[DType::QUInt8])
            .types("Toutput", &[DType::QInt32])],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizedMul",
        inputs: INPUTS,
        outputs: OUTPUTS,
        attrs: TYPES,
        kernels: &[cpu::<Mul>()
            .types("T1", &[DType::QUInt8])
            .types("T2", &[DType::QUInt8])
            .types("Toutput", &[DType::QInt32])],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Add;

impl Kernel for Add {
    fn new(_: &Attrs<'_>) -> Result<Add> {
        Ok(Add)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        let of_x = Range::of(ctx, 2, ["`min_x`", "`max_x`"])?;
        let of_y = Range::of(ctx, 4, ["`min_y`", "`max_y`"])?;
        of_x.check("max_x must be larger than min_x.")?;
        of_y.check("max_y must be larger than min_y.")?;
        // Symmetric, so that zero is zero, and with room for many further sums.
        let reach = of_x.low.min(of_y.low).abs().max(of_x.high.max(of_y.high).abs());
        let to = Range { low: -reach * ROOM, high: reach * ROOM };
        // A single value is converted exactly, many by one step for all.
        let is_scalar = |tensor: &Tensor, other: &Tensor| {
            tensor.num_elements() == 1 && tensor.rank() <= other.rank()
        };
        let xs = if is_scalar(x, y) { exact(of_x, to) } else { by_steps(of_x, to) };
        let alone = is_scalar(y, x) && !is_scalar(x, y);
        let ys = if alone { exact(of_y, to) } else { by_steps(of_y, to) };
        let sum = rows_of(|x: QUInt8, y: QUInt8| {
            QInt32(xs[usize::from(x.0)].wrapping_add(ys[usize::from(y.0)]))
        });
        let output = zip_rows(Parallel::new(ctx.parallelism()), x, y, &sum)?;
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}

/// How much wider the range of sums is than that of what is added.
const ROOM: f32 = 16384.0;

/// What each byte is in another range.
type Table = [i32; 256];

fn exact(from: Range, to: Range) -> Table {
    std::array::from_fn(|byte| quantized::<QInt32>(number(QUInt8(byte as u8), from), to).0)
}

fn by_steps(from: Range, to: Range) -> Table {
    let [zero, one] = [0, 1].map(|byte| unclamped::<QInt32>(number(QUInt8(byte), from), to));
    let step = i64::from(one.wrapping_sub(zero) as i32);
    std::array::from_fn(|byte| QInt32::clamped(zero.saturating_add(byte as i64 * step)).0)
}

#[derive(Debug)]
struct Mul;

impl Kernel for Mul {
    fn new(_: &Attrs<'_>) -> Result<Mul> {
        Ok(Mul)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = |index, name: &str| match ctx.input(index)? {
            end if end.rank() == 0 => end.scalar_value(),
            _ => Err(invalid_argument!("{name} must be a scalar")),
        };
        let of_x = Range { low: end(2, "min_x")?, high: end(3, "max_x")? };
        let of_y = Range { low: end(4, "min_y")?, high: end(5, "max_y")? };
        of_x.check("max_x must be larger than min_a.")?;
        of_y.check("max_x must be larger than min_b.")?;
        let [zero_x, zero_y] = [of_x, of_y].map(|range| unclamped::<QUInt8>(0.0, range) as i32);
        let product = rows_of(|x: QUInt8, y: QUInt8| {
            let (x, y) = (i32::from(x.0), i32::from(y.0));
            QInt32(x.wrapping_sub(zero_x).wrapping_mul(y.wrapping_sub(zero_y)))
        });
        let par = Parallel::new(ctx.parallelism());
        let output = zip_rows(par, ctx.input(0)?, ctx.input(1)?, &product)?;
        ctx.set_output(0, output);
        Range::of_products::<QUInt8, QUInt8>(of_x, of_y).output(ctx, 1);
        Ok(())
    }
}

//! `AsString`: values as text, as C's `printf` would write them.

use bytes::Bytes;
use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Result, Tensor, dispatch, invalid_argument, unimplemented_error,
};

use super::printf::{Directive, Flag, Notation};
use super::texts::{Made, make_texts};

pub(super) const OPS: &[Op] = &[Op {
    name: "AsString",
    inputs: &["input: T"],
    outputs: &["output: string"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, complex64, complex128, bool, variant, string}",
        "precision: int = -1",
        "scientific: bool = false",
        "shortest: bool = false",
        "width: int = -1",
        "fill: string = ''",
    ],
    kernels: &[cpu::<AsString>()],
    ..Op::DEFAULT
}];

/// Wider fields are a mistake, and each element would cost as much.
const WIDEST: i64 = 1 << 20;

#[derive(Debug)]
struct AsString {
    directive: Directive,
}

impl Kernel for AsString {
    fn new(attrs: &Attrs<'_>) -> Result<AsString> {
        let dtype = attrs.dtype("T")?;
        let (precision, width) = (attrs.int("precision")?, attrs.int("width")?);
        let (scientific, shortest) = (attrs.bool("scientific")?, attrs.bool("shortest")?);
        let has_digits = dtype.is_floating() || dtype.is_complex() || dtype == DType::String;
        if !has_digits && dtype != DType::Variant {
            if scientific || shortest {
                return Err(invalid_argument!(
                    "scientific and shortest format not supported for datatype {dtype}"
                ));
            }
            if precision >= 0 {
                return Err(invalid_argument!("precision not supported for datatype {dtype}"));
            }
        }
        if scientific && shortest {
            return Err(invalid_argument!("Cannot select both scientific and shortest notation"));
        }
        let fill = attrs.string("fill")?;
        let flag = match fill.as_bytes() {
            [] => Flag::None,
            [b' '] => Flag::Blank,
            [b'+'] => Flag::Plus,
            [b'-'] => Flag::Left,
            [b'0'] => Flag::Zeros,
            [b'#'] => Flag::Point,
            [_] => return Err(invalid_argument!("Fill argument not supported: \"{fill}\"")),
            _ => return Err(invalid_argument!("Fill string must be one or fewer characters")),
        };
        if width > WIDEST || precision > WIDEST {
            return Err(invalid_argument!("width {width} or precision {precision} is too large"));
        }
        let notation = match (scientific, shortest) {
            (true, _) => Notation::Scientific,
            (_, true) => Notation::General,
            _ => Notation::Fixed,
        };
        Ok(AsString {
            directive: Directive {
                flag,
                width: usize::try_from(width).unwrap_or(0),
                precision: usize::try_from(precision).ok(),
                notation,
            },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let texts = self.texts(par, input)?;
        let output = Tensor::from_strings(input.shape().clone(), texts)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(x), ..] => x.num_elements() as u64 * 40,
            _ => 0,
        }
    }
}

impl AsString {
    fn texts(&self, par: Parallel, input: &Tensor) -> Result<Vec<Bytes>> {
        let directive = &self.directive;
        Ok(match input.dtype() {
            DType::Float => each(par, input, |v: f32, out| directive.float_to(v.into(), out))?,
            DType::Double => each(par, input, |v: f64, out| directive.float_to(v, out))?,
            DType::Half => each(par, input, |v: f16, out| directive.float_to(v.to_f64(), out))?,
            DType::BFloat16 => {
                each(par, input, |v: bf16, out| directive.float_to(v.to_f64(), out))?
            }
            DType::Complex64 => each(par, input, |v: Complex<f32>, out| {
                self.complex(v.re.into(), v.im.into(), out);
            })?,
            DType::Complex128 => {
                each(par, input, |v: Complex<f64>, out| self.complex(v.re, v.im, out))?
            }
            DType::Bool => input
                .values::<bool>()?
                .iter()
                .map(|&v| Bytes::from_static(if v { b"true" } else { b"false" }))
                .collect(),
            DType::String => {
                input.strings()?.iter().map(|text| directive.text(text).into()).collect()
            }
            dtype => {
                let signed =
                    matches!(dtype, DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64);
                dispatch!(
                    dtype,
                    [i8, i16, i32, i64, u8, u16, u32, u64],
                    T => each(par, input, |v: T, out| directive.integer_to(v.into(), signed, out))?,
                    else => return Err(unimplemented_error!("AsString of {dtype}"))
                )
            }
        })
    }

    fn complex(&self, re: f64, im: f64, out: &mut Vec<u8>) {
        out.push(b'(');
        self.directive.float_to(re, out);
        out.push(b',');
        self.directive.float_to(im, out);
        out.push(b')');
    }
}

/// The texts of all elements.
fn each<T: Element>(
    par: Parallel,
    input: &Tensor,
    write: impl Fn(T, &mut Vec<u8>) + Sync,
) -> Result<Vec<Bytes>> {
    let values = input.values::<T>()?;
    Ok(make_texts(par, values.len(), |i, page| {
        write(values[i], page);
        Made::Written
    }))
}

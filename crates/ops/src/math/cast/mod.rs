//! `Cast`: numbers of one type as numbers of another.
//!
//! Conversions are C++'s: integers wrap, reals are truncated towards zero, and reals out of range
//! become what x86's conversion instructions make of them. Frequent pairs of types have loops of
//! their own. The others go through a block of the widest type that holds the source exactly, which
//! needs a loop for each type instead of one for each pair.

mod block;
mod narrow;
mod truncate;

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_kernels::{Parallel, convert};
use tensorfleet_tensor::{DType, Element, Result, Tensor, unimplemented_error};

use super::unary::{SliceFn, map_slices_to};
use block::Target;
use tensorfleet_framework::gradient::only;

// A constant, because a `const fn` cannot return a reference to what it makes.
const KERNELS: &[KernelDef] = &[cpu::<Cast>()];

const fn cast_op(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["x: SrcT"],
        outputs: &["y: DstT"],
        attrs: &["SrcT: type", "DstT: type", "Truncate: bool = false"],
        kernels: KERNELS,
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[cast_op("Cast"), cast_op("_HostCast")];

#[derive(Debug)]
struct Cast {
    from: DType,
    to: DType,
    truncate: bool,
}

impl Kernel for Cast {
    fn new(attrs: &Attrs<'_>) -> Result<Cast> {
        let (from, to) = (attrs.dtype("SrcT")?, attrs.dtype("DstT")?);
        let truncate = attrs.bool("Truncate")?;
        if from != to && !is_supported(plain(from), plain(to)) {
            return Err(unimplemented_error!("Cast {from} to {to} is not supported"));
        }
        Ok(Cast { from, to, truncate })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let x = ctx.take_input(0)?;
        let y = if self.from == self.to {
            x
        } else {
            let (from, to) = (plain(self.from), plain(self.to));
            let x = narrow::widen(&reinterpret(&x, from)?)?;
            let y = cast(par, &x, narrow::wide(from, to), self.truncate)?;
            reinterpret(&narrow::narrow(y, to)?, self.to)?
        };
        ctx.set_output(0, y);
        Ok(())
    }
}

/// Whether one type's numbers can become the other's.
fn is_supported(from: DType, to: DType) -> bool {
    use narrow::{is_float8, is_nibble};
    match (from, to) {
        _ if is_nibble(from) => to.is_integer() || is_nibble(to),
        _ if is_nibble(to) => from.is_integer(),
        _ if is_float8(to) => is_float8(from) || from.is_floating(),
        _ => (is_float8(from) || block::is_number(from)) && block::is_number(to),
    }
}

/// The type whose numbers a quantised type stores.
fn plain(dtype: DType) -> DType {
    match dtype {
        DType::QInt8 => DType::Int8,
        DType::QUInt8 => DType::UInt8,
        DType::QInt16 => DType::Int16,
        DType::QUInt16 => DType::UInt16,
        DType::QInt32 => DType::Int32,
        other => other,
    }
}

fn reinterpret(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { x.reinterpret(dtype, x.shape().clone()) }
}

/// Converts a tensor of numbers. `truncate` cuts bits of reals off instead of rounding.
pub(crate) fn cast(par: Parallel, x: &Tensor, to: DType, truncate: bool) -> Result<Tensor> {
    use DType::{BFloat16, Bool, Double, Float, Half, Int32, Int64, UInt8};
    if x.dtype() == to {
        return Ok(x.clone());
    }
    if truncate && let Some(result) = truncate::cast(par, x, to) {
        return result;
    }
    match (x.dtype(), to) {
        (Half, Float) => slices(par, x, &convert::f16_to_f32),
        (Float, Half) => slices(par, x, &convert::f32_to_f16),
        (BFloat16, Float) => slices(par, x, &convert::bf16_to_f32),
        (Float, BFloat16) => slices(par, x, &convert::f32_to_bf16),
        (Float, Double) => each::<f32, f64>(par, x),
        (Double, Float) => each::<f64, f32>(par, x),
        (Float, Int32) => slices(par, x, &convert::f32_to_i32),
        (Float, Int64) => each::<f32, i64>(par, x),
        (Int32, Float) => each::<i32, f32>(par, x),
        (Int64, Float) => each::<i64, f32>(par, x),
        (UInt8, Float) => each::<u8, f32>(par, x),
        (Bool, Float) => each::<bool, f32>(par, x),
        (Int32, Int64) => each::<i32, i64>(par, x),
        (Int64, Int32) => each::<i64, i32>(par, x),
        (Bool, Int32) => each::<bool, i32>(par, x),
        (Bool, Int64) => each::<bool, i64>(par, x),
        _ => block::cast(par, x, to),
    }
}

fn slices<S: Element, D: Element>(
    par: Parallel,
    x: &Tensor,
    f: SliceFn<'_, S, D>,
) -> Result<Tensor> {
    map_slices_to(par, x, f)
}

fn each<S: Element + block::Source, D: Element + Target>(
    par: Parallel,
    x: &Tensor,
) -> Result<Tensor> {
    map_slices_to(par, x, &|x: &[S], out: &mut [D]| {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = x.to());
    })
}

/// Rounding to integers has no gradient.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (from, to) = (g.attrs().dtype("SrcT")?, g.attrs().dtype("DstT")?);
    let is_continuous = |dtype: DType| dtype.is_floating() || dtype.is_complex();
    if !(is_continuous(from) && is_continuous(to)) {
        return Ok(vec![None]);
    }
    let grad = g.grad(0)?;
    if to.is_complex() && !from.is_complex() {
        let part = NewNode::new("Real").input(grad);
        let real = if to == DType::Complex128 { DType::Double } else { DType::Float };
        return only(g.cast(g.out(part.attr("Tout", real))?, from)?);
    }
    only(g.cast(grad, from)?)
}

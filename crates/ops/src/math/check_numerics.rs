//! `CheckNumerics` and `CheckNumericsV2`: an error where a number is not finite.

use std::sync::atomic::{AtomicU8, Ordering};

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Nature, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor, dispatch, internal, invalid_argument};

use super::dtypes::{REALS, T_REAL};
use tensorfleet_framework::gradient::only;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CheckNumerics",
        inputs: &["tensor: T"],
        outputs: &["output: T"],
        attrs: &[T_REAL, "message: string"],
        stateful: true,
        kernels: &[cpu::<CheckNumerics>().types("T", REALS)],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        nature: Nature::CHECK,
        ..Op::DEFAULT
    },
    Op {
        name: "CheckNumericsV2",
        gradient: Some(gradient),
        inputs: &["tensor: T"],
        outputs: &["output: T"],
        attrs: &[T_REAL, "message: string"],
        stateful: true,
        kernels: &[cpu::<CheckNumerics>().types("T", REALS)],
        nature: Nature::CHECK,
        ..Op::DEFAULT
    },
];

const NAN: u8 = 1;
const PLUS_INF: u8 = 2;
const MINUS_INF: u8 = 4;
/// Elements looked at before the next look at whether to go on.
const BLOCK: usize = 1024;
const MIN_PIECE: usize = 32 * 1024;

#[derive(Debug)]
struct CheckNumerics {
    message: String,
    /// The newer op tells infinities of both signs apart.
    tells_signs: bool,
}

impl Kernel for CheckNumerics {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        let tells_signs = attrs.op() == "CheckNumericsV2";
        Ok(CheckNumerics { message: attrs.string("message")?.into_owned(), tells_signs })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let tensor = ctx.input(0)?.clone();
        let found = abnormalities(par, &tensor)?;
        if found != 0 {
            let what = if self.tells_signs { signed(found) } else { unsigned(found).to_owned() };
            return Err(invalid_argument!("{} : Tensor had {what} values", self.message));
        }
        ctx.set_output(0, tensor);
        Ok(())
    }
}

fn unsigned(found: u8) -> &'static str {
    match (found & NAN != 0, found & !NAN != 0) {
        (true, true) => "Inf and NaN",
        (true, false) => "NaN",
        _ => "Inf",
    }
}

fn signed(found: u8) -> String {
    let names = [(MINUS_INF, "-Inf"), (PLUS_INF, "+Inf"), (NAN, "NaN")];
    let names: Vec<_> =
        names.iter().filter(|(bit, _)| found & bit != 0).map(|(_, name)| *name).collect();
    match names[..] {
        [a, b, c] => format!("{a}, {b}, and {c}"),
        _ => names.join(" and "),
    }
}

/// Which kinds of numbers that are not finite a tensor has.
fn abnormalities(par: Parallel, tensor: &Tensor) -> Result<u8> {
    let found = AtomicU8::new(0);
    dispatch!(
        tensor.dtype(),
        [f32, f64, f16, bf16],
        T => {
            par.for_each(tensor.values::<T>()?, MIN_PIECE, |_, values| {
                for values in values.chunks(BLOCK) {
                    // The usual answer, by a loop without branches.
                    if values.iter().fold(true, |all, x| all & x.is_finite()) {
                        continue;
                    }
                    for x in values.iter().filter(|x| !x.is_finite()) {
                        let kind = if x.is_nan() {
                            NAN
                        } else if x.is_sign_positive() {
                            PLUS_INF
                        } else {
                            MINUS_INF
                        };
                        found.fetch_or(kind, Ordering::Relaxed);
                    }
                }
            });
        },
        else => return Err(internal!("CheckNumerics was given a {} tensor", tensor.dtype()))
    );
    Ok(found.into_inner())
}

/// The gradient must be a number too.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let text = "Not a number (NaN) or infinity (Inf) values detected in gradient.";
    let node = NewNode::new("CheckNumerics").input(g.grad(0)?).attr("message", text);
    only(g.out(node)?)
}

//! `_FusedMatMul`: a product, a bias and an activation that TensorFlow's graph optimiser made one
//! node of.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::elementwise::{self as fast, Unary};
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_kernels::{Parallel, Real};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::plain::MatMul;
use super::product_cost;

/// Elements finished at a time, in the nearest cache.
const BLOCK: usize = 512;
/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 16 * 1024;
const TYPES: &[DType] = &[DType::BFloat16, DType::Half, DType::Float];

pub(in crate::math) const OPS: &[Op] = &[Op {
    name: "_FusedMatMul",
    inputs: &["a: T", "b: T", "args: num_args * T"],
    outputs: &["product: T"],
    attrs: &[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "T: {bfloat16, half, float}",
        "num_args: int >= 0",
        "fused_ops: list(string) = []",
        "epsilon: float = 1e-04",
        "leakyrelu_alpha: float = 0.2",
    ],
    kernels: &[cpu::<FusedMatMul>().types("T", TYPES)],
    ..Op::DEFAULT
}];

/// What follows the product and its bias.
#[derive(Clone, Copy, Debug)]
enum Activation {
    None,
    /// Adds another matrix.
    Add,
    Function(fn(&[f32], &mut [f32])),
    LeakyRelu(f32),
}

#[derive(Debug)]
struct FusedMatMul {
    matmul: MatMul,
    activation: Activation,
}

impl Kernel for FusedMatMul {
    fn new(attrs: &Attrs<'_>) -> Result<FusedMatMul> {
        let names: Vec<_> =
            attrs.strings("fused_ops")?.iter().map(|name| String::from_utf8_lossy(name)).collect();
        let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
        let activation = match names[..] {
            ["BiasAdd"] => Activation::None,
            ["BiasAdd", "Add" | "AddV2"] => Activation::Add,
            ["BiasAdd", "Elu"] => Activation::Function(fast::Elu::single),
            ["BiasAdd", "GeluApproximate"] => Activation::Function(gelu_approximate),
            ["BiasAdd", "GeluExact"] => Activation::Function(gelu_exact),
            ["BiasAdd", "LeakyRelu"] => Activation::LeakyRelu(attrs.float("leakyrelu_alpha")?),
            ["BiasAdd", "Relu"] => Activation::Function(fast::Relu::single),
            ["BiasAdd", "Relu6"] => Activation::Function(fast::Relu6::single),
            ["BiasAdd", "Sigmoid"] => Activation::Function(fast::Sigmoid::single),
            ["BiasAdd", "Tanh"] => Activation::Function(fast::Tanh::single),
            _ => {
                return Err(invalid_argument!(
                    "Unsupported fusion in _FusedMatMul: [{}]",
                    names.join(",")
                ));
            }
        };
        let wanted = if matches!(activation, Activation::Add) { 2 } else { 1 };
        if attrs.int("num_args")? != wanted {
            return Err(invalid_argument!(
                "Fused MatMul with [{}] must have {wanted} extra argument{}",
                names.join(","),
                if wanted == 1 { "" } else { "s" }
            ));
        }
        Ok(FusedMatMul { matmul: MatMul::new(attrs)?, activation })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let mut product = self.matmul.multiply(par, ctx.input(0)?, ctx.input(1)?)?;
        let bias = ctx.input(2)?;
        let columns = product.dims()[1];
        if bias.num_elements() != columns {
            return Err(invalid_argument!(
                "Must provide as many biases as the last dimension of the product: {} vs. {}",
                bias.shape(),
                product.shape()
            ));
        }
        let addend = match self.activation {
            Activation::Add => Some(ctx.input(3)?),
            _ => None,
        };
        if let Some(addend) = addend
            && addend.shape() != product.shape()
        {
            return Err(invalid_argument!(
                "Incompatible shapes: {} vs. {}",
                product.shape(),
                addend.shape()
            ));
        }
        dispatch!(
            product.dtype(),
            [f32, f16, bf16],
            T => self.finish::<T>(par, &mut product, bias, addend)?,
            else => return Err(internal!("_FusedMatMul was given {} tensors", product.dtype()))
        );
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        product_cost(inputs)
    }
}

impl FusedMatMul {
    /// Adds the bias to each row and applies the activation, a block at a time.
    fn finish<T: Element + Real<Wide = f32>>(
        &self,
        par: Parallel,
        product: &mut Tensor,
        bias: &Tensor,
        addend: Option<&Tensor>,
    ) -> Result<()> {
        let (rows, columns) = (product.dims()[0], product.dims()[1]);
        if rows * columns == 0 {
            return Ok(());
        }
        let mut wide_bias = vec![0.0; columns];
        T::widen_slice(bias.values::<T>()?, &mut wide_bias);
        let addend = addend.map(|addend| addend.values::<T>()).transpose()?;
        let product = rows_mut(product.values_mut::<T>()?, rows);
        par.for_each(product, MIN_PIECE.div_ceil(columns), |range, product| {
            let mut blocks = [[0.0; BLOCK]; 2];
            for (row, values) in range.zip(product.data.chunks_exact_mut(columns)) {
                for (i, values) in values.chunks_mut(BLOCK).enumerate() {
                    let at = i * BLOCK;
                    let [from, to] = blocks.each_mut().map(|block| &mut block[..values.len()]);
                    T::widen_slice(values, from);
                    from.iter_mut().zip(&wide_bias[at..]).for_each(|(x, bias)| *x += bias);
                    let addend = addend.map(|addend| &addend[row * columns + at..]);
                    let result = self.activate::<T>(from, to, addend);
                    T::narrow_slice(result, values);
                }
            }
        });
        Ok(())
    }

    /// The activation of `from`, in either of the two blocks.
    fn activate<'a, T: Real<Wide = f32>>(
        &self,
        from: &'a mut [f32],
        to: &'a mut [f32],
        addend: Option<&[T]>,
    ) -> &'a [f32] {
        match self.activation {
            Activation::None => from,
            Activation::Add => {
                let addend = addend.unwrap_or_default();
                from.iter_mut().zip(addend).for_each(|(x, addend)| *x += addend.widen());
                from
            }
            Activation::Function(function) => {
                function(from, to);
                to
            }
            Activation::LeakyRelu(alpha) => {
                from.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { alpha * *x });
                from
            }
        }
    }
}

/// `x / 2 (1 + erf(x / sqrt 2))`.
fn gelu_exact(x: &[f32], out: &mut [f32]) {
    let mut scaled = [0.0; BLOCK];
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let scaled = &mut scaled[..x.len()];
        scaled.iter_mut().zip(x).for_each(|(s, x)| *s = x * std::f32::consts::FRAC_1_SQRT_2);
        fast::Erf::single(scaled, out);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = 0.5 * x * (1.0 + *out));
    }
}

/// `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
fn gelu_approximate(x: &[f32], out: &mut [f32]) {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    let mut inner = [0.0; BLOCK];
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let inner = &mut inner[..x.len()];
        let argument = |x: f32| SQRT_2_OVER_PI * (x + 0.044_715 * x * x * x);
        inner.iter_mut().zip(x).for_each(|(inner, &x)| *inner = argument(x));
        fast::Tanh::single(inner, out);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = 0.5 * x * (1.0 + *out));
    }
}

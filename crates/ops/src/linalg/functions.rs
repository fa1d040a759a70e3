//! `MatrixLogarithm` and `MatrixSquareRoot`: functions of matrices by way of the Schur form.

use num_complex::Complex;
use num_traits::Zero;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Element, Result, Tensor, internal};

use super::batch::{count, cubic_cost, for_each_matrix, matrix_at, matrix_size, square};
use super::factors::Factors;
use super::gradient::{adjoint, identity};
use super::matrix::Matrix;
use super::schur::Schur;

use DType::{Complex64, Complex128, Double, Float};

type C = Complex<f64>;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MatrixLogarithm",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: {complex64, complex128}"],
        kernels: &[cpu::<Function>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MatrixSquareRoot",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &["T: {double, float, half, complex64, complex128}"],
        kernels: &[cpu::<Function>().types("T", &[Double, Float, Complex64, Complex128])],
        gradient: Some(root_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Function {
    function: fn(&Matrix<C>) -> Matrix<C>,
}

impl Kernel for Function {
    fn new(attrs: &Attrs<'_>) -> Result<Function> {
        let is_logarithm = attrs.op() == "MatrixLogarithm";
        Ok(Function { function: if is_logarithm { triangular_logarithm } else { triangular_root } })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        square(input)?;
        let output = match input.dtype() {
            Float => self.apply(par, input, |v: f32| C::new(v.into(), 0.0), |v| real(v) as f32)?,
            Double => self.apply(par, input, |v: f64| C::new(v, 0.0), real)?,
            Complex64 => self.apply(
                par,
                input,
                |v: Complex<f32>| C::new(v.re.into(), v.im.into()),
                |v| Complex::new(v.re as f32, v.im as f32),
            )?,
            Complex128 => self.apply(par, input, |v: C| v, |v| v)?,
            other => return Err(internal!("a function of {other} matrices")),
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 40
    }
}

/// A function of a real matrix is real, or there is none: a negative eigenvalue has no real root.
fn real(value: C) -> f64 {
    if value.im.abs() > 1e-9 * value.norm().max(1.0) { f64::NAN } else { value.re }
}

impl Function {
    fn apply<T: Element>(
        &self,
        par: Parallel,
        input: &Tensor,
        widen: impl Fn(T) -> C + Sync,
        narrow: impl Fn(C) -> T + Sync,
    ) -> Result<Tensor> {
        let size = matrix_size(input);
        let values = input.values::<T>()?;
        Tensor::try_build(input.shape().clone(), |out: &mut [T]| {
            for_each_matrix(par, count(input), [out], |index, [out]| {
                let entries = matrix_at(values, size, index).iter().map(|&value| widen(value));
                let matrix = Matrix { rows: size.0, columns: size.1, values: entries.collect() };
                let result = match Schur::new(matrix) {
                    Some(schur) => {
                        let inner = (self.function)(&schur.t);
                        schur.u.product(&inner).product(&schur.u.adjoint()).values
                    }
                    None => vec![C::new(f64::NAN, f64::NAN); size.0 * size.1],
                };
                // One value that is not there spoils all of a matrix.
                let spoilt = result.iter().any(|value| value.re.is_nan() || value.im.is_nan());
                for (out, value) in out.iter_mut().zip(result) {
                    *out = narrow(if spoilt { C::new(f64::NAN, f64::NAN) } else { value });
                }
                Ok(())
            })
        })
    }
}

/// The square root of a triangular matrix, from the diagonal outwards.
fn triangular_root(t: &Matrix<C>) -> Matrix<C> {
    let n = t.rows;
    let mut root = Matrix::zeros(n, n);
    for j in 0..n {
        root[(j, j)] = t[(j, j)].sqrt();
        for i in (0..j).rev() {
            let sum = (i + 1..j).fold(C::zero(), |sum, k| sum + root[(i, k)] * root[(k, j)]);
            root[(i, j)] = (t[(i, j)] - sum) / (root[(i, i)] + root[(j, j)]);
        }
    }
    root
}

/// Nodes and weights of Gauss and Legendre's quadrature on [0, 1] with seven points: the integral
/// is a partial fraction of the logarithm.
const QUADRATURE: [(f64, f64); 7] = [
    (0.025_446_043_828_620_737, 0.064_742_483_084_434_85),
    (0.129_234_407_200_302_78, 0.139_852_695_744_638_34),
    (0.297_077_424_311_301_4, 0.190_915_025_252_559_47),
    (0.5, 0.208_979_591_836_734_7),
    (0.702_922_575_688_698_6, 0.190_915_025_252_559_47),
    (0.870_765_592_799_697_2, 0.139_852_695_744_638_34),
    (0.974_553_956_171_379_3, 0.064_742_483_084_434_85),
];

/// The logarithm of a triangular matrix: roots are taken until it is near to one, where a rational
/// approximation is exact to the last digit, and the result is doubled as often.
fn triangular_logarithm(t: &Matrix<C>) -> Matrix<C> {
    let n = t.rows;
    let mut root = t.clone();
    let mut roots = 0;
    let distance = |matrix: &Matrix<C>| {
        (0..n * n).fold(0.0f64, |sum, at| {
            let one = if at / n == at % n { 1.0 } else { 0.0 };
            sum + (matrix.values[at] - one).norm()
        })
    };
    while distance(&root) > 0.2 && roots < 100 {
        root = triangular_root(&root);
        roots += 1;
    }
    let mut logarithm = Matrix::zeros(n, n);
    let mut x = root;
    for i in 0..n {
        x[(i, i)] -= 1.0;
    }
    for (node, weight) in QUADRATURE {
        let mut denominator = x.clone();
        denominator.values.iter_mut().for_each(|value| *value *= node);
        for i in 0..n {
            denominator[(i, i)] += 1.0;
        }
        let part = Factors::new(Parallel::SERIAL, denominator).solve(Parallel::SERIAL, &x);
        for (sum, part) in logarithm.values.iter_mut().zip(&part.values) {
            *sum += part * weight;
        }
    }
    // The imaginary parts of the diagonal are those of the principal logarithm.
    let scale = 2.0f64.powi(roots);
    logarithm.values.iter_mut().for_each(|value| *value *= scale);
    for i in 0..n {
        logarithm[(i, i)] = t[(i, i)].ln();
    }
    if t.values.iter().any(|value| value.is_nan()) || (0..n).any(|i| t[(i, i)].is_zero()) {
        logarithm.values.fill(C::new(f64::NAN, f64::NAN));
    }
    logarithm
}

/// The gradient `X` solves `S* X + X S* = G`, which is a system of equations for its elements.
fn root_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (root, grad) = (g.output(0), g.grad(0)?);
    let expand = |x: Output, axis: i32| g.call("ExpandDims", [x, g.scalar(axis)?]);
    let one = identity(g, root)?;
    // Element (i, j) of the left term takes from (k, j), that of the right one from (i, l).
    let columns = |x: Output| expand(expand(x, -2)?, -1);
    let rows = |x: Output| expand(expand(x, -3)?, -2);
    let left = g.mul(columns(adjoint(g, root)?)?, rows(one)?)?;
    let right = g.mul(columns(one)?, rows(g.conj(root)?)?)?;
    let shape = g.shape_tensor(root)?;
    let batch = g.sub(g.rank_tensor(root)?, g.scalar(2i32)?)?;
    let batch = g.reshape(batch, g.vector(&[1i32])?)?;
    let outer = g.call("Slice", [shape, g.vector(&[0i32])?, batch])?;
    let size = g.call(
        "Prod",
        [g.call("Slice", [shape, batch, g.vector(&[-1i32])?])?, g.vector(&[0i32])?],
    )?;
    let with = |rows: Output, columns: Output| {
        let inner = g.out(NewNode::new("Pack").list(&[rows, columns]))?;
        g.out(NewNode::new("ConcatV2").list(&[outer, inner]).input(g.scalar(0i32)?))
    };
    let system = g.reshape(g.add2(left, right)?, with(size, size)?)?;
    let values = g.reshape(grad, with(size, g.scalar(1i32)?)?)?;
    only(g.reshape(g.call("MatrixSolve", [system, values])?, shape)?)
}

//! `Eig`: eigenvalues and eigenvectors of any square matrices.

use num_complex::Complex;
use num_traits::Float as _;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal, invalid_argument};

use super::batch::{
    batch_shape, count, cubic_cost, for_each_matrix, matrix_at, matrix_size, square,
};
use super::gradient::Factor::{Adjoint, Plain};
use super::gradient::{adjoint, diagonal, product, reciprocal_gaps};
use super::matrix::Matrix;
use super::scalar::Scalar;
use super::{real_eigen, schur};

use DType::{Complex64, Complex128, Double, Float};

pub(super) const OPS: &[Op] = &[Op {
    name: "Eig",
    inputs: &["input: T"],
    outputs: &["e: Tout", "v: Tout"],
    attrs: &[
        "compute_v: bool = true",
        "T: {float, double, complex64, complex128}",
        "Tout: {complex64, complex128}",
    ],
    kernels: &[cpu::<Eig>()],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Eig {
    compute_v: bool,
    output: DType,
}

impl Kernel for Eig {
    fn new(attrs: &Attrs<'_>) -> Result<Eig> {
        Ok(Eig { compute_v: attrs.bool("compute_v")?, output: attrs.dtype("Tout")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let expected =
            if matches!(input.dtype(), Float | Complex64) { Complex64 } else { Complex128 };
        if self.output != expected {
            return Err(invalid_argument!(
                "Invalid output dtype {} vs {}",
                self.output as u8,
                expected as u8
            ));
        }
        square(input)?;
        let [e, v] = match input.dtype() {
            Float => self.decompose::<Complex<f32>, f32>(par, input, real_eigen::eigen)?,
            Double => self.decompose::<Complex<f64>, f64>(par, input, real_eigen::eigen)?,
            Complex64 => self.decompose::<Complex<f32>, Complex<f32>>(par, input, schur::eigen)?,
            Complex128 => self.decompose::<Complex<f64>, Complex<f64>>(par, input, schur::eigen)?,
            other => return Err(internal!("eigenvalues of {other}")),
        };
        ctx.set_output(0, e);
        ctx.set_output(1, v);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cubic_cost(inputs) * 25
    }
}

/// Eigenvalues, and eigenvectors as columns.
type Eigen<C> = Option<(Vec<C>, Matrix<C>)>;

impl Eig {
    fn decompose<C, S>(
        &self,
        par: Parallel,
        input: &Tensor,
        eigen: impl Fn(Matrix<S>) -> Eigen<C> + Sync,
    ) -> Result<[Tensor; 2]>
    where
        C: Scalar,
        S: Scalar,
    {
        let size = matrix_size(input);
        let values = input.values::<S>()?;
        let mut e = Tensor::for_overwrite::<C>(batch_shape(input, &[size.0])?)?;
        let v_shape = if self.compute_v { input.shape().clone() } else { Shape::SCALAR };
        let mut v = Tensor::zeros(self.output, v_shape)?;
        let vectors: &mut [C] = if self.compute_v { v.values_mut()? } else { &mut [] };
        for_each_matrix(par, count(input), [e.values_mut()?, vectors], |index, [e, v]| {
            let matrix = Matrix::from_slice(size, matrix_at(values, size, index));
            let finite = |(values, _): &(Vec<C>, _)| {
                values.iter().all(|value| value.re().is_finite() && value.im().is_finite())
            };
            let (eigenvalues, vectors) = eigen(matrix).filter(finite).ok_or_else(|| {
                invalid_argument!(
                    "Eigen decomposition was not successful. The input might not be valid."
                )
            })?;
            e.copy_from_slice(&eigenvalues);
            if self.compute_v {
                v.copy_from_slice(&vectors.values);
            }
            Ok(())
        })?;
        Ok([e, v])
    }
}

/// The gradient in the basis of the eigenvectors: values along the diagonal, and vectors by how far
/// apart the values are.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, of_values) = (g.input(0), g.grad(0)?);
    let mut inner = diagonal(g, of_values)?;
    let vectors = if g.attrs().bool("compute_v")? {
        let vectors = g.output(1);
        let turned = product(g, Adjoint(vectors), Plain(g.grad(1)?))?;
        // A vector's length is always one, so that its own direction does not count.
        let complex = g.dtype(turned);
        let real_type = if complex == Complex128 { Double } else { Float };
        let real = g.out(NewNode::new("Real").input(turned).attr("Tout", real_type))?;
        let real = diagonal(g, g.call("MatrixDiagPart", [g.cast(real, complex)?])?)?;
        let lengths = product(g, Adjoint(vectors), Plain(vectors))?;
        let rest = g.sub(turned, product(g, Plain(lengths), Plain(real))?)?;
        let gaps = g.conj(reciprocal_gaps(g, g.output(0))?)?;
        let off_diagonal = g.mul(gaps, rest)?;
        inner = g.add2(inner, off_diagonal)?;
        vectors
    } else {
        let node = NewNode::new("Eig").input(input).attr("compute_v", true);
        let [_, vectors] = g.outs(node.attr("Tout", g.dtype(g.output(0))))?;
        vectors
    };
    let turned_back = product(g, Plain(inner), Adjoint(vectors))?;
    let whole = g.call("MatrixSolve", [adjoint(g, vectors)?, turned_back])?;
    only(g.cast(whole, g.dtype(input))?)
}

//! What all optimisers have in common: finding their variables, checking shapes, running the rule.
//!
//! Every op has its variables first, then scalars with the gradient among them, and a sparse op has
//! the rows right after the gradient. By reference or by handle makes no difference but for the
//! output.

use std::fmt;
use std::sync::Arc;

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, Value, Variable};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::optimizers::{self, Rule, Scalar as _, Stored};
use tensorfleet_tensor::{
    DType, Element, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

pub(super) use crate::state::T;

/// The types of rules that need neither an order nor real numbers.
pub(super) const FIELDS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Complex64,
    DType::BFloat16,
    DType::Complex128,
    DType::Half,
];
/// As [`FIELDS`], for sparse updates that TensorFlow lacks in `bfloat16`.
pub(super) const SPARSE_FIELDS: &[DType] =
    &[DType::Float, DType::Double, DType::Complex64, DType::Complex128, DType::Half];
pub(super) const REALS: &[DType] = &[DType::Float, DType::Double, DType::BFloat16, DType::Half];
pub(super) const WIDE: &[DType] = &[DType::Float, DType::Double];

/// An optimiser that keeps `N - 1` slots for a variable.
pub(super) trait Optimizer<const N: usize>:
    fmt::Debug + Send + Sync + Sized + 'static
{
    /// How errors call the gradient of a dense update.
    const GRAD: &'static str = "grad";

    /// Reads the attributes.
    fn new(attrs: &Attrs<'_>) -> Result<Self>;

    /// How errors call the variable and its slots.
    fn state(sparse: bool) -> [&'static str; N];

    /// The scalars before the gradient and those after it.
    fn scalars(sparse: bool) -> [&'static [Scalar]; 2];

    /// Makes the rule from the scalars and runs it; see [`for_field`] and [`for_real`].
    fn apply(&self, update: Update<'_, N>) -> Result<()>;

    /// The error for a row that is not in the variable.
    fn out_of_range(index: i64, offset: usize, _rows: usize) -> Error {
        invalid_argument!("Index {index} at offset {offset} in indices is out of range")
    }
}

/// A scalar input, and what must hold for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    /// How errors call it.
    pub(super) name: &'static str,
    /// What errors say that it is not.
    pub(super) wanted: &'static str,
    pub(super) is_valid: fn(f64) -> bool,
}

impl Scalar {
    pub(super) const fn any(name: &'static str) -> Scalar {
        Scalar { name, wanted: "a scalar", is_valid: |_| true }
    }

    pub(super) const fn positive(name: &'static str) -> Scalar {
        Scalar { name, wanted: "a positive scalar", is_valid: |value| value > 0.0 }
    }

    pub(super) const fn not_negative(name: &'static str) -> Scalar {
        Scalar { name, wanted: "a non-negative scalar", is_valid: |value| value >= 0.0 }
    }

    pub(super) const fn not_positive(name: &'static str) -> Scalar {
        Scalar { name, wanted: "a non-positive scalar", is_valid: |value| value <= 0.0 }
    }

    fn check(&self, value: &Tensor) -> Result<()> {
        if value.shape().is_scalar() && (self.is_valid)(real(value)?) {
            return Ok(());
        }
        Err(invalid_argument!("{} is not {}: {}", self.name, self.wanted, value.shape()))
    }
}

/// The value of a real scalar; complex ones are not looked into.
fn real(scalar: &Tensor) -> Result<f64> {
    dispatch!(
        scalar.dtype(),
        [f32, half::f16, half::bf16],
        T => Ok(scalar.scalar_value::<T>()?.into()),
        else => Ok(scalar.scalar_value::<f64>().unwrap_or(f64::NAN))
    )
}

/// The kernel of an optimiser's ops.
#[derive(Debug)]
pub(super) struct Apply<O, const N: usize, const SPARSE: bool>(O, Changer);

impl<O: Optimizer<N>, const N: usize, const SPARSE: bool> Kernel for Apply<O, N, SPARSE> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(Apply(O::new(attrs)?, attrs.changer()))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variables = variables::<N>(ctx)?;
        let [before, after] = O::scalars(SPARSE);
        let grad_at = N + before.len();
        let after_at = grad_at + if SPARSE { 2 } else { 1 };
        let mut scalars = ctx.input_list(N..grad_at)?;
        scalars.extend(ctx.input_list(after_at..after_at + after.len())?);
        for (scalar, value) in before.iter().chain(after).zip(&scalars) {
            scalar.check(value)?;
        }
        let grad = ctx.input(grad_at)?;
        let indices = if SPARSE { Some(ctx.input(grad_at + 1)?) } else { None };
        let par = Parallel::new(ctx.parallelism());
        Variable::update_all(variables.each_ref(), &ctx.change(&self.1), |state| {
            check_state(O::state(SPARSE), &state)?;
            let var = state[0].shape();
            let rows = match indices {
                None => {
                    check_dense(var, grad, O::GRAD)?;
                    None
                }
                Some(indices) => Some(check_sparse(var, grad, indices, O::out_of_range)?),
            };
            self.0.apply(Update { state, scalars, grad, rows, par })
        })?;
        if matches!(ctx.value(0)?, Value::Ref(_)) {
            ctx.set_output_ref(0, Arc::clone(&variables[0]));
        }
        Ok(())
    }

    /// The gradient is read once, each part of the state is read and written.
    fn cost(&self, inputs: &[Value]) -> u64 {
        let bytes: usize = inputs
            .iter()
            .map(|input| match input {
                Value::Tensor(tensor) if tensor.dtype() != DType::Resource => tensor.byte_len(),
                _ => 0,
            })
            .sum();
        (bytes * N / 2) as u64
    }
}

fn variables<const N: usize>(ctx: &KernelContext<'_>) -> Result<[Arc<Variable>; N]> {
    let found: Result<Vec<_>> = (0..N)
        .map(|index| match ctx.value(index)? {
            Value::Ref(variable) => Ok(Arc::clone(variable)),
            Value::Tensor(_) | Value::Empty => {
                ctx.resource(index).map_err(|_| internal!("Invalid variable reference."))
            }
        })
        .collect();
    found?.try_into().map_err(|_| internal!("an optimiser lost a variable"))
}

fn check_state<const N: usize>(names: [&str; N], state: &[&mut Tensor; N]) -> Result<()> {
    for (name, slot) in names.iter().zip(state) {
        if slot.shape() != state[0].shape() {
            return Err(invalid_argument!(
                "{} and {name} do not have the same shape{} {}",
                names[0],
                state[0].shape(),
                slot.shape()
            ));
        }
    }
    Ok(())
}

fn check_dense(var: &Shape, grad: &Tensor, name: &str) -> Result<()> {
    if var == grad.shape() {
        return Ok(());
    }
    Err(invalid_argument!("var and {name} do not have the same shape{var} {}", grad.shape()))
}

/// Checks a sparse gradient and returns the rows that it is for.
fn check_sparse(
    var: &Shape,
    grad: &Tensor,
    indices: &Tensor,
    out_of_range: fn(i64, usize, usize) -> Error,
) -> Result<Vec<usize>> {
    let Some((&rows, inner)) = var.dims().split_first() else {
        return Err(invalid_argument!("var must be at least 1 dimensional"));
    };
    if indices.rank() != 1 {
        return Err(invalid_argument!("indices must be one-dimensional"));
    }
    let Some((&updates, grad_inner)) =
        grad.dims().split_first().filter(|_| grad.rank() == var.rank())
    else {
        return Err(invalid_argument!("grad must have the same number of dimensions as var"));
    };
    if let Some(dim) = (0..inner.len()).find(|&dim| inner[dim] != grad_inner[dim]) {
        return Err(invalid_argument!("var and grad must match in dimension {}", dim + 1));
    }
    if updates != indices.num_elements() {
        return Err(invalid_argument!(
            "grad must be the same size as indices in the first dimension."
        ));
    }
    let row = |(offset, index): (usize, i64)| {
        usize::try_from(index)
            .ok()
            .filter(|&row| row < rows)
            .ok_or_else(|| out_of_range(index, offset, rows))
    };
    indices.to_i64_vec()?.into_iter().enumerate().map(row).collect()
}

/// One checked update, its variables locked.
#[derive(Debug)]
pub(super) struct Update<'a, const N: usize> {
    state: [&'a mut Tensor; N],
    scalars: Vec<&'a Tensor>,
    grad: &'a Tensor,
    /// The rows that the gradient is for; all elements without.
    rows: Option<Vec<usize>>,
    par: Parallel,
}

impl<const N: usize> Update<'_, N> {
    pub(super) fn dtype(&self) -> DType {
        self.grad.dtype()
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.rows.is_some()
    }

    /// The value of a real scalar.
    pub(super) fn scalar(&self, index: usize) -> Result<f64> {
        real(self.scalars[index])
    }

    /// The scalars in the precision that the rule computes in.
    pub(super) fn scalars<T: Stored + Element, const K: usize>(&self) -> Result<[T::Wide; K]> {
        let value = |tensor: &&Tensor| match tensor.dtype() {
            // A step counter, which TensorFlow rounds like this.
            DType::Int64 => Ok(T::Wide::of((tensor.scalar_value::<i64>()? as f32).into())),
            _ => Ok(tensor.scalar_value::<T>()?.widen()),
        };
        let values = self.scalars.iter().map(value).collect::<Result<Vec<_>>>()?;
        values.try_into().map_err(|_| internal!("an optimiser lost a scalar"))
    }

    pub(super) fn run<T: Stored + Element, R: Rule<T::Wide, N>>(self, rule: R) -> Result<()> {
        let count = self.state[0].dims().first().copied().unwrap_or(1);
        let grad = self.grad.values::<T>()?;
        let mut slices = Vec::with_capacity(N);
        for tensor in self.state {
            slices.push(tensor.values_mut::<T>()?);
        }
        let Ok(state) = <[&mut [T]; N]>::try_from(slices) else {
            return Err(internal!("an optimiser lost a slot"));
        };
        match self.rows {
            None => optimizers::dense(self.par, state, grad, rule),
            Some(rows) => optimizers::sparse(self.par, state, count, grad, &rows, rule),
        }
        Ok(())
    }
}

/// `for_types!([f32], update, [lr, rho] => Rule { lr, rho })` runs an update with the rule made from
/// its scalars.
macro_rules! for_types {
    ([$($type:ty),*], $update:expr, [$($scalar:ident),*] => $rule:expr) => {{
        let update = $update;
        tensorfleet_tensor::dispatch!(
            update.dtype(),
            [$($type),*],
            T => {
                let [$($scalar),*] = update.scalars::<T, _>()?;
                update.run::<T, _>($rule)
            },
            else => Err(tensorfleet_tensor::internal!("no update of type {}", update.dtype()))
        )
    }};
}

/// Runs a rule on any type of [`FIELDS`].
macro_rules! for_field {
    ($($call:tt)*) => {{
        use half::{bf16, f16};
        use num_complex::Complex;
        $crate::training::apply::for_types!(
            [f32, f64, f16, bf16, Complex<f32>, Complex<f64>],
            $($call)*
        )
    }};
}

/// Runs a rule on any type of [`REALS`].
macro_rules! for_real {
    ($($call:tt)*) => {
        $crate::training::apply::for_types!([f32, f64, half::f16, half::bf16], $($call)*)
    };
}

/// Runs a rule on any type of [`WIDE`].
macro_rules! for_wide {
    ($($call:tt)*) => {
        $crate::training::apply::for_types!([f32, f64], $($call)*)
    };
}

pub(super) use {for_field, for_real, for_types, for_wide};

//! `Einsum`: products of tensors summed over the labels that the result lacks.
//!
//! Labels of one operand that appear nowhere else are summed first. Two operands are then a batch of
//! matrix products: labels of both and the result count the batch, labels of both alone are
//! contracted, and labels of one are the rows or columns. Operands are copied only where labels of
//! one kind do not lie evenly in memory.

mod equation;
mod gradient;
mod view;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, ShapeContext, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{self, Mat};
use tensorfleet_kernels::reduce::{Axes, Reduction, Sum, reduce};
use tensorfleet_tensor::{
    DType, Element, PartialShape, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use equation::{Equation, Label};
use view::{Dim, View, len, merged, offsets, walk, wrong_size};

const TYPES: &[DType] = &[
    DType::BFloat16,
    DType::Half,
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Int64,
    DType::Complex64,
    DType::Complex128,
];

pub(super) const OPS: &[Op] = &[Op {
    name: "Einsum",
    inputs: &["inputs: N * T"],
    outputs: &["output: T"],
    attrs: &["equation: string", "N: int >= 1", "T: type"],
    kernels: &[cpu::<Einsum>().types("T", TYPES)],
    shape: Some(shape),
    gradient: Some(gradient::gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Einsum {
    equation: Equation,
}

impl Kernel for Einsum {
    fn new(attrs: &Attrs<'_>) -> Result<Einsum> {
        let equation = Equation::parse(&attrs.string("equation")?)?;
        let inputs = attrs.int("N")?;
        if inputs != equation.num_inputs() as i64 {
            return Err(invalid_argument!(
                "Expected {} inputs but got: {inputs}",
                equation.num_inputs()
            ));
        }
        Ok(Einsum { equation })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let inputs = ctx.input_list(0..ctx.num_inputs())?;
        let output = dispatch!(
            inputs[0].dtype(),
            [f32, f64, f16, bf16, i32, i64, Complex<f32>, Complex<f64>],
            T => self.einsum::<T>(par, &inputs)?,
            else => return Err(internal!("Einsum was given {} tensors", inputs[0].dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        // Two operands are multiplied; how much work that is depends on the labels.
        let elements = |value: &Value| match value {
            Value::Tensor(tensor) => tensor.num_elements() as u64,
            Value::Ref(_) | Value::Empty => 0,
        };
        let largest = inputs.iter().map(elements).max().unwrap_or(0);
        largest.saturating_mul(if inputs.len() == 2 { 16 } else { 1 })
    }
}

impl Einsum {
    fn einsum<T>(&self, par: Parallel, inputs: &[&Tensor]) -> Result<Tensor>
    where
        T: Element + gemm::Element,
        Sum: Reduction<T>,
    {
        let mut views = Vec::with_capacity(inputs.len());
        for (number, input) in inputs.iter().enumerate() {
            views.push(View::new(input, &self.equation.input_labels(number, input.rank())?)?);
        }
        let is_broadcast = |dim: &&Dim| matches!(dim.label, Label::Broadcast(_));
        let broadcast = views.iter().map(|view| view.dims.iter().filter(is_broadcast).count());
        let output = self.equation.output_labels(broadcast.max().unwrap_or(0))?;
        if let [x, y] = &mut views[..] {
            check_sizes(x, y)?;
            drop_ones(x, y);
        }
        let size = |label: &Label| views.iter().find_map(|view| view.size(*label)).unwrap_or(1);
        let shape = Shape::new(&output.iter().map(size).collect::<Vec<_>>())?;
        let result = match &views[..] {
            [x, y] => contract::<T>(par, x, y, &output)?,
            [x, ..] => sum_out::<T>(par, x.clone(), &output)?,
            [] => return Err(internal!("an equation has operands")),
        };
        place::<T>(result, &output, shape)
    }
}

/// Checks that a label has one size in both operands; under an ellipsis, ones are stretched.
fn check_sizes(x: &View, y: &View) -> Result<()> {
    for dim in &x.dims {
        let Some(other) = y.size(dim.label) else { continue };
        let stretched = matches!(dim.label, Label::Broadcast(_)) && (dim.size == 1 || other == 1);
        if dim.size != other && !stretched {
            let axis = y.dims.iter().position(|d| d.label == dim.label).unwrap_or_default();
            return Err(wrong_size(dim.size, axis, &y.tensor));
        }
    }
    Ok(())
}

/// Forgets dimensions of one that the other operand stretches.
fn drop_ones(x: &mut View, y: &mut View) {
    let stretched = |dim: &Dim, other: &View| {
        dim.size == 1 && other.size(dim.label).is_some_and(|size| size != 1)
    };
    let mut x_dims = x.dims.clone();
    x_dims.retain(|dim| !stretched(dim, y));
    y.dims.retain(|dim| !stretched(dim, x));
    x.dims = x_dims;
}

fn unique(labels: &[Label]) -> Vec<Label> {
    let mut unique = Vec::new();
    for label in labels {
        if !unique.contains(label) {
            unique.push(*label);
        }
    }
    unique
}

/// Sums over the labels that are not kept.
fn sum_out<T: Element>(par: Parallel, x: View, kept: &[Label]) -> Result<View>
where
    Sum: Reduction<T>,
{
    let (kept, summed): (Vec<_>, Vec<_>) =
        x.labels().into_iter().partition(|label| kept.contains(label));
    if summed.is_empty() {
        return Ok(x);
    }
    let dense = x.dense::<T>(&[&kept[..], &summed].concat())?;
    let dims = dense.pick(&kept);
    let shape = Shape::new(&dims.iter().map(|dim| dim.size).collect::<Vec<_>>())?;
    let count = len(&dense.pick(&summed));
    let values = dense.tensor.values::<T>()?;
    let sums = Tensor::build(Shape::vector(shape.num_elements()), |out: &mut [T]| {
        if !out.is_empty() {
            reduce::<Sum, T>(par, values, &Axes::middle(out.len(), count, 1), out);
        }
    })?;
    Ok(View::packed(sums, &dims))
}

/// Multiplies two operands and sums over what the result lacks.
fn contract<T>(par: Parallel, x: &View, y: &View, output: &[Label]) -> Result<View>
where
    T: Element + gemm::Element,
    Sum: Reduction<T>,
{
    let x = sum_out::<T>(par, x.clone(), &[output, &y.labels()].concat())?;
    let y = sum_out::<T>(par, y.clone(), &[output, &x.labels()].concat())?;
    let (in_x, in_y) = (x.labels(), y.labels());
    // Labels in the order of the result, so that it rarely has to be rearranged.
    let of = |x: bool, y: bool| -> Vec<Label> {
        let mut labels = unique(output);
        labels.retain(|label| (in_x.contains(label), in_y.contains(label)) == (x, y));
        labels
    };
    let kinds = Kinds {
        batch: of(true, true),
        rows: of(true, false),
        columns: of(false, true),
        inner: in_x.iter().filter(|label| !output.contains(label)).copied().collect(),
    };
    let x = arrange::<T>(x, &kinds.batch, &kinds.rows, &kinds.inner)?;
    let y = arrange::<T>(y, &kinds.batch, &kinds.columns, &kinds.inner)?;
    let dims = [x.pick(&kinds.batch), x.pick(&kinds.rows), y.pick(&kinds.columns)].concat();
    let product = multiply::<T>(par, &x, &y, &kinds, &dims)?;
    Ok(View::packed(product, &dims))
}

/// What the labels of two operands do in their product.
struct Kinds {
    batch: Vec<Label>,
    rows: Vec<Label>,
    columns: Vec<Label>,
    inner: Vec<Label>,
}

/// Copies the operand if its rows or its inner labels are no single dimension in memory.
fn arrange<T: Element>(
    view: View,
    batch: &[Label],
    rows: &[Label],
    inner: &[Label],
) -> Result<View> {
    let even = merged(&view.pick(rows)).is_some() && merged(&view.pick(inner)).is_some();
    if even { Ok(view) } else { view.dense::<T>(&[batch, rows, inner].concat()) }
}

/// The products, in the order of batch, rows, columns.
fn multiply<T: Element + gemm::Element>(
    par: Parallel,
    x: &View,
    y: &View,
    kinds: &Kinds,
    dims: &[Dim],
) -> Result<Tensor> {
    let shape = Shape::new(&dims.iter().map(|dim| dim.size).collect::<Vec<_>>())?;
    let shape = Shape::vector(shape.num_elements());
    if shape.num_elements() == 0 || len(&x.pick(&kinds.inner)) == 0 {
        return Tensor::zeros(T::DTYPE, shape);
    }
    let (x_values, y_values) = (x.tensor.values::<T>()?, y.tensor.values::<T>()?);
    let (x_batch, y_batch) = (offsets(&x.pick(&kinds.batch)), offsets(&y.pick(&kinds.batch)));
    if kinds.inner.is_empty() && (kinds.rows.is_empty() || kinds.columns.is_empty()) {
        // No sums: each entry of the batch times a row.
        let (rows, columns) = (offsets(&x.pick(&kinds.rows)), offsets(&y.pick(&kinds.columns)));
        return Tensor::build(shape, |out: &mut [T]| {
            let mut out = out.iter_mut();
            for (at_x, at_y) in x_batch.iter().zip(&y_batch) {
                for i in &rows {
                    let a = x_values[at_x + i];
                    for (j, out) in columns.iter().zip(&mut out) {
                        *out = T::ZERO.mul_acc(a, y_values[at_y + j]);
                    }
                }
            }
        });
    }
    let single = |view: &View, labels: &[Label]| {
        merged(&view.pick(labels)).ok_or_else(|| internal!("an operand was not arranged"))
    };
    let ((m, x_row), (k, x_inner)) = (single(x, &kinds.rows)?, single(x, &kinds.inner)?);
    let ((n, y_row), (_, y_inner)) = (single(y, &kinds.columns)?, single(y, &kinds.inner)?);
    let operands = |index: usize| {
        let a = Mat::with_strides(&x_values[x_batch[index]..], m, k, x_row, x_inner);
        let b = Mat::with_strides(&y_values[y_batch[index]..], n, k, y_row, y_inner);
        (a, b.t())
    };
    Tensor::build(shape, |out: &mut [T]| {
        gemm::batch_matmul(par, operands, x_batch.len(), out);
    })
}

/// Brings the result into the order of the output, repeated labels along diagonals.
fn place<T: Element>(result: View, output: &[Label], shape: Shape) -> Result<Tensor> {
    let unique = unique(output);
    let dense = result.dense::<T>(&unique)?;
    if unique.len() == output.len() {
        return dense.tensor.into_shape(shape);
    }
    let mut dims = dense.dims.clone();
    dims.iter_mut().for_each(|dim| dim.stride = 0);
    let mut stride: usize = 1;
    for (label, &size) in output.iter().zip(shape.dims()).rev() {
        if let Some(dim) = dims.iter_mut().find(|dim| dim.label == *label) {
            dim.stride = dim.stride.wrapping_add(stride);
        }
        stride = stride.wrapping_mul(size);
    }
    let mut values = dense.tensor.values::<T>()?.iter();
    Tensor::build(shape, |out: &mut [T]| {
        out.fill(T::default());
        walk(&dims, &mut |start, size, stride| {
            for (i, value) in values.by_ref().take(size).enumerate() {
                out[start + i * stride] = *value;
            }
        });
    })
}

/// Every label has the size that an operand knows for it.
fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let equation = Equation::parse(&c.attrs().string("equation")?)?;
    let mut sizes: Vec<(Label, Option<usize>)> = Vec::new();
    for number in 0..c.num_inputs().min(equation.num_inputs()) {
        let Some(dims) = &c.input(number).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
        let labels = equation.input_labels(number, dims.len())?;
        sizes.extend(labels.into_iter().zip(dims.iter().copied()));
    }
    let broadcast = sizes.iter().filter_map(|(label, _)| match label {
        Label::Broadcast(number) => Some(number + 1),
        Label::Named(_) => None,
    });
    let output = equation.output_labels(broadcast.max().unwrap_or(0))?;
    let size = |label: &Label| {
        let known = || sizes.iter().filter(|(other, _)| other == label).map(|(_, size)| *size);
        // A dimension of one is stretched to another; whether one that is not known is, is open.
        known().flatten().find(|&size| size != 1).or_else(|| known().min().flatten())
    };
    Ok(vec![PartialShape::known(output.iter().map(size))])
}

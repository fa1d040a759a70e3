//! Transposes of sparse matrices, and their products with sparse and with dense ones.

use std::borrow::Cow;
use std::collections::BTreeMap;

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::scalar::Scalar;
use super::gradient;
use super::{SparseMatrix, check_type, matrix_input, set_matrix, sizes, unsupported};

const TYPES: &[DType] = &[DType::Float, DType::Double, DType::Complex64, DType::Complex128];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseMatrixMatMul",
        inputs: &["a: variant", "b: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "transpose_a: bool = false",
            "transpose_b: bool = false",
            "adjoint_a: bool = false",
            "adjoint_b: bool = false",
            "transpose_output: bool = false",
            "conjugate_output: bool = false",
        ],
        kernels: &[cpu::<DenseProduct>().types("T", TYPES)],
        gradient: Some(gradient::dense_product),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseMatrixSparseMatMul",
        inputs: &["a: variant", "b: variant"],
        outputs: &["c: variant"],
        attrs: &[
            "type: {float, double, complex64, complex128}",
            "transpose_a: bool = false",
            "transpose_b: bool = false",
            "adjoint_a: bool = false",
            "adjoint_b: bool = false",
        ],
        kernels: &[cpu::<SparseProduct>()],
        gradient: Some(gradient::sparse_product),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseMatrixTranspose",
        inputs: &["input: variant"],
        outputs: &["output: variant"],
        attrs: &["conjugate: bool = false", "type: {float, double, complex64, complex128}"],
        kernels: &[cpu::<Transpose>()],
        gradient: Some(gradient::transpose),
        ..Op::DEFAULT
    },
];

/// What is done to a factor before it is multiplied.
#[derive(Clone, Copy, Debug)]
struct Turn {
    transpose: bool,
    conjugate: bool,
}

impl Turn {
    fn new(attrs: &Attrs<'_>, factor: &str) -> Result<Turn> {
        let transpose = attrs.bool(&format!("transpose_{factor}"))?;
        let adjoint = attrs.bool(&format!("adjoint_{factor}"))?;
        if transpose && adjoint {
            return Err(invalid_argument!(
                "Only one of adjoint_{factor} and transpose_{factor} may be true."
            ));
        }
        Ok(Turn { transpose: transpose || adjoint, conjugate: adjoint })
    }

    fn apply(self, matrix: &SparseMatrix) -> Result<Cow<'_, SparseMatrix>> {
        if self.transpose {
            return matrix.transposed(self.conjugate).map(Cow::Owned);
        }
        Ok(Cow::Borrowed(matrix))
    }
}

#[derive(Debug)]
struct Transpose {
    conjugate: bool,
    dtype: DType,
}

impl Kernel for Transpose {
    fn new(attrs: &Attrs<'_>) -> Result<Transpose> {
        Ok(Transpose { conjugate: attrs.bool("conjugate")?, dtype: attrs.dtype("type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let matrix = matrix_input(ctx, 0)?;
        check_type(matrix, self.dtype)?;
        let transposed = matrix.transposed(self.conjugate)?;
        set_matrix(ctx, transposed)
    }
}

#[derive(Debug)]
struct SparseProduct {
    dtype: DType,
    turns: [Turn; 2],
}

impl Kernel for SparseProduct {
    fn new(attrs: &Attrs<'_>) -> Result<SparseProduct> {
        let turns = [Turn::new(attrs, "a")?, Turn::new(attrs, "b")?];
        Ok(SparseProduct { dtype: attrs.dtype("type")?, turns })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (matrix_input(ctx, 0)?, matrix_input(ctx, 1)?);
        check_type(a, self.dtype)?;
        check_type(b, self.dtype)?;
        let (a, b) = (self.turns[0].apply(a)?, self.turns[1].apply(b)?);
        if a.batches != b.batches {
            return Err(invalid_argument!(
                "Batch sizes of A and B do not agree: {} vs. {}",
                a.count(),
                b.count()
            ));
        }
        check_inner(a.columns, b.rows)?;
        let product = dispatch!(
            self.dtype,
            [f32, f64, Complex<f32>, Complex<f64>],
            S => multiply::<S>(&a, &b),
            else => Err(unsupported(self.dtype))
        )?;
        set_matrix(ctx, product)
    }
}

fn check_inner(columns: usize, rows: usize) -> Result<()> {
    if columns == rows {
        return Ok(());
    }
    Err(invalid_argument!(
        "Inner product dimensions of A and B do not agree.  Shapes are: {columns} vs. {rows}"
    ))
}

/// Multiplies row by row: the rows of `b` that the entries of a row of `a` name, weighted.
fn multiply<S: Scalar>(a: &SparseMatrix, b: &SparseMatrix) -> Result<SparseMatrix> {
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (batch, (a_part, b_part)) in a.parts::<S>()?.into_iter().zip(b.parts::<S>()?).enumerate() {
        let mut sums: BTreeMap<(usize, i32), S> = BTreeMap::new();
        for (row, column, weight) in a_part.entries() {
            let named = b_part.row_starts[column] as usize..b_part.row_starts[column + 1] as usize;
            for at in named {
                let sum = sums.entry((row, b_part.entry_columns[at])).or_insert_with(S::zero);
                *sum += weight * b_part.values[at];
            }
        }
        for ((row, column), sum) in sums {
            indices.extend(a.batches.map(|_| batch as i64));
            indices.extend([row as i64, i64::from(column)]);
            values.push(sum);
        }
    }
    let dims: Vec<usize> = a.batches.into_iter().chain([a.rows, b.columns]).collect();
    SparseMatrix::from_entries(&dims, &indices, Tensor::vector(&values)?)
}

#[derive(Debug)]
struct DenseProduct {
    turns: [Turn; 2],
    transpose_output: bool,
    conjugate_output: bool,
}

impl Kernel for DenseProduct {
    fn new(attrs: &Attrs<'_>) -> Result<DenseProduct> {
        Ok(DenseProduct {
            turns: [Turn::new(attrs, "a")?, Turn::new(attrs, "b")?],
            transpose_output: attrs.bool("transpose_output")?,
            conjugate_output: attrs.bool("conjugate_output")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (matrix_input(ctx, 0)?, ctx.input(1)?);
        if a.dtype() != b.dtype() {
            return Err(invalid_argument!(
                "Input types don't match.  a.dtype == {} vs. b.dtype == {}",
                a.dtype(),
                b.dtype()
            ));
        }
        if a.dims().len() != b.rank() {
            return Err(invalid_argument!(
                "Ranks of a and b must match, saw: {} vs. {}.",
                a.dims().len(),
                b.rank()
            ));
        }
        let output = dispatch!(
            b.dtype(),
            [f32, f64, Complex<f32>, Complex<f64>],
            S => self.multiply::<S>(a, b),
            else => Err(unsupported(b.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl DenseProduct {
    fn multiply<S: Scalar>(&self, a: &SparseMatrix, b: &Tensor) -> Result<Tensor> {
        let (batches, rows, columns) = sizes(b.dims())?;
        if a.batches != batches {
            return Err(invalid_argument!(
                "Batch dimensions of a and b must match, saw: {} vs. {}",
                a.count(),
                batches.unwrap_or(1)
            ));
        }
        let [turn_a, turn_b] = self.turns;
        let a = turn_a.apply(a)?;
        let (inner, width) = if turn_b.transpose { (columns, rows) } else { (rows, columns) };
        check_inner(a.columns, inner)?;
        // Where the value of a row and a column of a factor or the result is.
        let place = |transposed: bool, height: usize, width: usize| {
            move |row: usize, column: usize| {
                if transposed { column * height + row } else { row * width + column }
            }
        };
        let (from, to) =
            (place(turn_b.transpose, inner, width), place(self.transpose_output, a.rows, width));
        let (height, size) = (a.rows, a.rows * width);
        let matrix = if self.transpose_output { [width, height] } else { [height, width] };
        let dims: Vec<usize> = batches.into_iter().chain(matrix).collect();
        let (parts, values) = (a.parts::<S>()?, b.values::<S>()?);
        Tensor::build(Shape::new(&dims)?, |out: &mut [S]| {
            out.fill(S::zero());
            let outs = out.chunks_exact_mut(size.max(1));
            let values = values.chunks_exact((inner * width).max(1));
            for ((part, out), values) in parts.iter().zip(outs).zip(values) {
                for (row, inner, weight) in part.entries() {
                    for column in 0..width {
                        let value = values[from(inner, column)];
                        let value = if turn_b.conjugate { value.conjugate() } else { value };
                        out[to(row, column)] += weight * value;
                    }
                }
            }
            if self.conjugate_output {
                out.iter_mut().for_each(|value| *value = value.conjugate());
            }
        })
    }
}

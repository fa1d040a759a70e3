//! `EditDistance`: how many edits turn each sequence of one sparse tensor into that of another.

use std::collections::BTreeMap;

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, internal, invalid_argument};

use super::arguments::requested_shape;
use super::types;

pub(super) const OPS: &[Op] = &[Op {
    name: "EditDistance",
    inputs: &[
        "hypothesis_indices: int64",
        "hypothesis_values: T",
        "hypothesis_shape: int64",
        "truth_indices: int64",
        "truth_values: T",
        "truth_shape: int64",
    ],
    outputs: &["output: float"],
    attrs: &["normalize: bool = true", "T: type"],
    kernels: &[cpu::<EditDistance>().types("T", types::BASIC)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct EditDistance {
    normalize: bool,
}

impl Kernel for EditDistance {
    fn new(attrs: &Attrs<'_>) -> Result<EditDistance> {
        Ok(EditDistance { normalize: attrs.bool("normalize")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let hypothesis = Sparse::new(ctx, 0, "hypothesis")?;
        let truth = Sparse::new(ctx, 3, "truth")?;
        if truth.shape.len() < 2 {
            return Err(invalid_argument!(
                "Input SparseTensors must have rank at least 2, but truth_shape rank is: {}",
                truth.shape.len()
            ));
        }
        if truth.shape.len() != hypothesis.shape.len() {
            return Err(invalid_argument!(
                "Expected truth and hypothesis to have matching ranks, but got {} and {}",
                truth.shape.len(),
                hypothesis.shape.len()
            ));
        }
        let dims: Vec<i64> = truth
            .shape
            .iter()
            .zip(&hypothesis.shape)
            .take(truth.shape.len() - 1)
            .map(|(&a, &b)| a.max(b))
            .collect();
        let shape = requested_shape(&dims)?;
        let hypotheses = hypothesis.sequences(&shape)?;
        let truths = truth.sequences(&shape)?;
        let mut output = Tensor::zeros(DType::Float, shape)?;
        let distances = output.values_mut::<f32>()?;
        let none = Vec::new();
        for &place in hypotheses.keys().chain(truths.keys()) {
            let (ours, theirs) =
                (hypotheses.get(&place).unwrap_or(&none), truths.get(&place).unwrap_or(&none));
            let edits = distance(hypothesis.values, ours, truth.values, theirs)? as f32;
            distances[place] = match (self.normalize, theirs.len()) {
                (false, _) => edits,
                (true, 0) if ours.is_empty() => 0.0,
                (true, 0) => f32::INFINITY,
                (true, len) => edits / len as f32,
            };
        }
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [_, Value::Tensor(a), _, _, Value::Tensor(b), _] => {
                (a.num_elements().min(b.num_elements()) as u64).saturating_mul(50)
            }
            _ => 0,
        }
    }
}

/// The three inputs that are a sparse tensor.
struct Sparse<'a> {
    indices: &'a Tensor,
    values: &'a Tensor,
    shape: Vec<i64>,
}

impl<'a> Sparse<'a> {
    fn new(ctx: &'a KernelContext<'_>, first: usize, name: &str) -> Result<Sparse<'a>> {
        let (indices, values, shape) =
            (ctx.input(first)?, ctx.input(first + 1)?, ctx.input(first + 2)?);
        let &[rows, columns] = indices.dims() else {
            return Err(invalid_argument!(
                "{name}_indices should be a matrix, but got shape: {}",
                indices.shape()
            ));
        };
        for (part, tensor) in [("values", values), ("shape", shape)] {
            if tensor.rank() != 1 {
                return Err(invalid_argument!(
                    "{name}_{part} should be a vector, but got shape: {}",
                    tensor.shape()
                ));
            }
        }
        if values.num_elements() != rows {
            return Err(invalid_argument!(
                "Expected {name}_values.NumElements == #rows({name}_indices), their shapes are: {} \
                 and {}",
                values.shape(),
                indices.shape()
            ));
        }
        if shape.num_elements() != columns {
            return Err(invalid_argument!(
                "Expected {name}_shape.NumElements == #cols({name}_indices), their shapes are: {} \
                 and {}",
                shape.shape(),
                indices.shape()
            ));
        }
        Ok(Sparse { indices, values, shape: shape.to_i64_vec()? })
    }

    /// For each place of the result, the positions of the values of its sequence.
    fn sequences(&self, shape: &Shape) -> Result<BTreeMap<usize, Vec<usize>>> {
        let columns = self.shape.len();
        let mut sequences: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, index) in self.indices.values::<i64>()?.chunks_exact(columns).enumerate() {
            let place = index.iter().zip(shape.dims()).fold(0i64, |place, (&index, &dim)| {
                place.wrapping_mul(dim as i64).wrapping_add(index)
            });
            let inside = usize::try_from(place).ok().filter(|&p| p < shape.num_elements());
            let Some(inside) = inside else {
                return Err(internal!(
                    "Got an inner product {place} which would require writing to outside of the \
                     buffer for the output tensor (max elements {})",
                    shape.num_elements()
                ));
            };
            sequences.entry(inside).or_default().push(at);
        }
        Ok(sequences)
    }
}

/// The number of edits between two sequences, given as positions of their values.
fn distance(a: &Tensor, a_at: &[usize], b: &Tensor, b_at: &[usize]) -> Result<usize> {
    if let (Ok(a), Ok(b)) = (a.strings(), b.strings()) {
        return Ok(levenshtein(a_at.len(), b_at.len(), |i, j| a[a_at[i]] == b[b_at[j]]));
    }
    dispatch!(
        a.dtype(),
        [
            bool, f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>,
            Complex<f64>
        ],
        T => {
            let (a, b) = (a.values::<T>()?, b.values::<T>()?);
            Ok(levenshtein(a_at.len(), b_at.len(), |i, j| a[a_at[i]] == b[b_at[j]]))
        },
        else => Err(internal!("edit distance of type {}", a.dtype()))
    )
}

/// The number of insertions, deletions and replacements between sequences of two lengths.
fn levenshtein(a: usize, b: usize, equal: impl Fn(usize, usize) -> bool) -> usize {
    let mut row: Vec<usize> = (0..=b).collect();
    for i in 0..a {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b {
            let replaced = diagonal + usize::from(!equal(i, j));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b]
}

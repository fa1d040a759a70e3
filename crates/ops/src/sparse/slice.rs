//! `SparseSlice` and its gradient.

use rustc_hash::FxHashMap;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::number::NUMBERS;
use super::parts::Sparse;
use super::rearrange::{index_matrix, pick};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseSlice",
        inputs: &["indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"],
        outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
        attrs: &["T: type"],
        kernels: &[cpu::<Slice>()],
        gradient: Some(gradient_of_slice),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSliceGrad",
        inputs: &[
            "backprop_val_grad: T",
            "input_indices: int64",
            "input_start: int64",
            "output_indices: int64",
        ],
        outputs: &["val_grad: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        ],
        kernels: &[cpu::<SliceGrad>().types("T", NUMBERS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Slice;

impl Kernel for Slice {
    fn new(_: &Attrs<'_>) -> Result<Slice> {
        Ok(Slice)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = Sparse::input(ctx, 0)?;
        let (start, size) = (ctx.input(3)?, ctx.input(4)?);
        for (what, part) in [("start", start), ("size", size)] {
            if part.rank() != 1 {
                return Err(invalid_argument!(
                    "Input {what} should be a vector but received shape {}",
                    part.shape()
                ));
            }
            if part.num_elements() != input.rank() {
                return Err(invalid_argument!(
                    "Expected {what} to be a vector of length {} but got length {}",
                    input.rank(),
                    part.num_elements()
                ));
            }
        }
        let (start, size) = (start.values::<i64>()?, size.values::<i64>()?);
        let mut dims = Vec::with_capacity(size.len());
        for ((&start, &size), &dim) in start.iter().zip(size).zip(input.dims) {
            if size < 0 {
                return Err(invalid_argument!("Expected a non-negative size, got {size}"));
            }
            dims.push(size.min(dim.saturating_sub(start)).max(0));
        }
        let end: Vec<i64> = start.iter().zip(size).map(|(&a, &b)| a.saturating_add(b)).collect();
        let inside = |at: &usize| {
            let bounds = input.index(*at).iter().zip(start.iter().zip(&end));
            bounds.into_iter().all(|(index, (start, end))| start <= index && index < end)
        };
        let places: Vec<usize> = (0..input.len()).filter(inside).collect();
        let entries = places.iter().flat_map(|&at| input.index(at).iter().zip(start));
        let indices: Vec<i64> = entries.map(|(index, start)| index.wrapping_sub(*start)).collect();
        let outputs = [
            index_matrix(&indices, input.rank(), places.len())?,
            pick(input.values, &places)?,
            Tensor::vector(&dims)?,
        ];
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct SliceGrad;

impl Kernel for SliceGrad {
    fn new(_: &Attrs<'_>) -> Result<SliceGrad> {
        Ok(SliceGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (gradient, input) = (ctx.input(0)?, ctx.input(1)?);
        let (start, output) = (ctx.input(2)?, ctx.input(3)?);
        for (what, part) in [("input_indices", input), ("output_indices", output)] {
            if part.rank() != 2 {
                return Err(invalid_argument!(
                    "Input {what} should be a matrix but received shape {}",
                    part.shape()
                ));
            }
        }
        for (what, part) in [("backprop_val_grad", gradient), ("input_start", start)] {
            if part.rank() != 1 {
                return Err(invalid_argument!(
                    "Input {what} should be a vector but received shape {}",
                    part.shape()
                ));
            }
        }
        let rank = input.dims()[1];
        if output.dims()[1] != rank {
            return Err(invalid_argument!(
                "The input and output should have the same ndims: got: {rank} and {}",
                output.dims()[1]
            ));
        }
        if output.dims()[0] > input.dims()[0] {
            return Err(invalid_argument!(
                "# rows of output_indices should be not greater than of input_indices, got {} \
                 and {}",
                output.dims()[0],
                input.dims()[0]
            ));
        }
        if gradient.num_elements() != output.dims()[0] {
            return Err(invalid_argument!(
                "# elements of backprop_val_grad and # rows of output_indices should match (#nnz \
                 of sum): got {} and {}",
                gradient.num_elements(),
                output.dims()[0]
            ));
        }
        if start.num_elements() != rank {
            return Err(invalid_argument!(
                "Expected input_start to be a vector of length {rank} but got length {}",
                start.num_elements()
            ));
        }
        let (start, step) = (start.values::<i64>()?, rank.max(1));
        let outputs = output.values::<i64>()?.chunks_exact(step).enumerate();
        let by_index: FxHashMap<Vec<i64>, usize> = outputs
            .map(|(at, index)| {
                (index.iter().zip(start).map(|(a, b)| a.wrapping_add(*b)).collect(), at)
            })
            .collect();
        // What was not in the slice gets the zero behind the last gradient.
        let zero = Tensor::zeros(gradient.dtype(), Shape::vector(1))?;
        let shape = Shape::vector(gradient.num_elements() + 1);
        let pool =
            crate::data_flow::join::join(gradient.dtype(), shape, &[gradient.clone(), zero])?;
        let entries = input.values::<i64>()?.chunks_exact(step);
        let missing = gradient.num_elements();
        let places: Vec<usize> =
            entries.map(|index| by_index.get(index).copied().unwrap_or(missing)).collect();
        let result = pick(&pool, &places)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn gradient_of_slice(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.grad(1)?, g.input(0), g.input(3), g.output(0)];
    let values = g.call("SparseSliceGrad", inputs)?;
    Ok(vec![None, Some(values.into()), None, None, None])
}

//! `ReduceJoin`: strings joined along dimensions.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, out_of_range};

pub(super) const OPS: &[Op] = &[Op {
    name: "ReduceJoin",
    inputs: &["inputs: string", "reduction_indices: int32"],
    outputs: &["output: string"],
    attrs: &["keep_dims: bool = false", "separator: string = ''"],
    kernels: &[cpu::<ReduceJoin>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ReduceJoin {
    keep_dims: bool,
    separator: Bytes,
}

impl Kernel for ReduceJoin {
    fn new(attrs: &Attrs<'_>) -> Result<ReduceJoin> {
        Ok(ReduceJoin {
            keep_dims: attrs.bool("keep_dims")?,
            separator: attrs.bytes("separator")?.clone(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, indices) = (ctx.input(0)?, ctx.input(1)?);
        let axes = axes(indices.values::<i32>()?, input.rank())?;
        if axes.is_empty() {
            let output = ctx.take_input(0)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let dims = input.dims();
        let kept: Vec<usize> = (0..dims.len()).filter(|axis| !axes.contains(axis)).collect();
        // The axis that is named first is joined first, so it is the innermost.
        let reduced: Vec<usize> = axes.iter().rev().copied().collect();
        let texts = input.strings()?;
        let inner = offsets(dims, &reduced);
        let joined: Vec<Bytes> = offsets(dims, &kept)
            .into_iter()
            .map(|start| {
                let mut joined = Vec::new();
                for (n, offset) in inner.iter().enumerate() {
                    if n > 0 {
                        joined.extend_from_slice(&self.separator);
                    }
                    joined.extend_from_slice(&texts[start + offset]);
                }
                joined.into()
            })
            .collect();
        let shape: Vec<usize> = (0..dims.len())
            .filter(|axis| self.keep_dims || !axes.contains(axis))
            .map(|axis| if axes.contains(&axis) { 1 } else { dims[axis] })
            .collect();
        ctx.set_output(0, Tensor::from_strings(Shape::new(&shape)?, joined)?);
        Ok(())
    }
}

fn axes(indices: &[i32], rank: usize) -> Result<Vec<usize>> {
    let mut axes = Vec::with_capacity(indices.len());
    for &index in indices {
        let from_end = i64::from(index) + if index < 0 { rank as i64 } else { 0 };
        let axis = usize::try_from(from_end).ok().filter(|&axis| axis < rank).ok_or_else(|| {
            out_of_range!("Invalid reduction dimension {index} for input with {rank} dimension(s)")
        })?;
        if axes.contains(&axis) {
            return Err(invalid_argument!("Duplicate reduction dimension {index}"));
        }
        axes.push(axis);
    }
    Ok(axes)
}

/// The places of all elements that vary in `axes` only, the last axis fastest.
fn offsets(dims: &[usize], axes: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for &axis in axes {
        let stride: usize = dims[axis + 1..].iter().product();
        offsets = offsets
            .iter()
            .flat_map(|start| (0..dims[axis]).map(move |i| start + i * stride))
            .collect();
    }
    offsets
}

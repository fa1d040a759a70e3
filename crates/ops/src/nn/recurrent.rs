//! Recurrent cells as single ops: `LSTMBlockCell`, `BlockLSTM`, `GRUBlockCell` and their gradients.

use std::borrow::Cow;

use half::f16;
use tensorfleet_framework::{KernelContext, Op};
use tensorfleet_kernels::convert;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

mod gru;
mod lstm;
mod lstm_cell;

pub(super) const GRU: &[Op] = gru::OPS;
pub(super) const LSTM: &[Op] = lstm::OPS;

/// The values of a tensor in single precision, in which the cells compute.
fn read<'a>(ctx: &'a KernelContext<'_>, index: usize) -> Result<Cow<'a, [f32]>> {
    let tensor = ctx.input(index)?;
    if tensor.dtype() == DType::Float {
        return Ok(Cow::Borrowed(tensor.values()?));
    }
    let halves = tensor.values::<f16>()?;
    let mut wide = vec![0.0; halves.len()];
    convert::f16_to_f32(halves, &mut wide);
    Ok(Cow::Owned(wide))
}

/// A tensor of the given type from values in single precision.
fn write(dtype: DType, dims: &[usize], values: &[f32]) -> Result<Tensor> {
    let shape = Shape::new(dims)?;
    if dtype == DType::Float {
        return Tensor::from_slice(shape, values);
    }
    Tensor::build(shape, |out| convert::f32_to_f16(values, out))
}

/// Refuses an input whose dimensions are not the wanted ones, which have names.
fn expect(
    ctx: &KernelContext<'_>,
    index: usize,
    name: &str,
    wanted: &[(&str, usize)],
) -> Result<()> {
    let tensor = ctx.input(index)?;
    if tensor.rank() != wanted.len() {
        // The words are TensorFlow's, for whom these have another name here.
        let (name, end) = match name {
            "wci" | "wcf" | "wco" => (format!("{name}_tensor"), "."),
            _ => (name.to_owned(), ""),
        };
        return Err(invalid_argument!(
            "{name} must be rank {} but is rank {}{end}",
            wanted.len(),
            tensor.rank()
        ));
    }
    for (axis, (&have, &(label, want))) in tensor.dims().iter().zip(wanted).enumerate() {
        if have != want {
            let size = if name.ends_with("_prev") { "dims" } else { "dim_size" };
            return Err(invalid_argument!("{name}.{size}({axis}) != {label}: {have} vs. {want}"));
        }
    }
    Ok(())
}

/// Puts two matrices side by side.
fn side_by_side(rows: usize, left: &[f32], right: &[f32]) -> Vec<f32> {
    if rows == 0 {
        return Vec::new();
    }
    let (wide, narrow) = (left.len() / rows, right.len() / rows);
    let mut both = Vec::with_capacity(left.len() + right.len());
    for row in 0..rows {
        both.extend_from_slice(&left[row * wide..][..wide]);
        both.extend_from_slice(&right[row * narrow..][..narrow]);
    }
    both
}

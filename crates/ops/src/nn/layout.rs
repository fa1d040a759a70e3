//! Moves channels to the end and back: kernels compute with channels last.

use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::transpose::transpose;
use tensorfleet_tensor::{Result, Shape, Tensor, internal};

use super::window::Layout;

/// The tensor with its channels last.
pub(super) fn channels_last(par: Parallel, tensor: &Tensor, layout: Layout) -> Result<Tensor> {
    if !layout.channels_first {
        return Ok(tensor.clone());
    }
    let (batch, rest) = split(tensor)?;
    let (&channels, space) = rest.split_first().ok_or_else(|| too_few(tensor))?;
    let dims = [&[batch], space, &[channels]].concat();
    turn(par, tensor, [batch, channels, space.iter().product()], &dims)
}

/// The tensor, whose channels are last, in the layout.
pub(super) fn from_channels_last(par: Parallel, tensor: Tensor, layout: Layout) -> Result<Tensor> {
    if !layout.channels_first {
        return Ok(tensor);
    }
    let (batch, rest) = split(&tensor)?;
    let (&channels, space) = rest.split_last().ok_or_else(|| too_few(&tensor))?;
    let dims = [&[batch, channels], space].concat();
    turn(par, &tensor, [batch, space.iter().product(), channels], &dims)
}

fn split(tensor: &Tensor) -> Result<(usize, &[usize])> {
    let (&batch, rest) = tensor.dims().split_first().ok_or_else(|| too_few(tensor))?;
    Ok((batch, rest))
}

fn too_few(tensor: &Tensor) -> tensorfleet_tensor::Error {
    internal!("a tensor of shape {} has no batch and channels", tensor.shape())
}

/// Turns each matrix of a batch round.
fn turn(par: Parallel, tensor: &Tensor, sizes: [usize; 3], dims: &[usize]) -> Result<Tensor> {
    let source = tensor.raw();
    Tensor::build_raw(tensor.dtype(), Shape::new(dims)?, |out| {
        match tensor.dtype().size() {
            1 => turn_elements::<1>(par, source, sizes, out),
            2 => turn_elements::<2>(par, source, sizes, out),
            4 => turn_elements::<4>(par, source, sizes, out),
            8 => turn_elements::<8>(par, source, sizes, out),
            other => return Err(internal!("no layouts for elements of {other} bytes")),
        }
        Ok(())
    })
}

fn turn_elements<const SIZE: usize>(
    par: Parallel,
    source: &[u8],
    sizes: [usize; 3],
    out: &mut [u8],
) {
    let (source, _) = source.as_chunks::<SIZE>();
    let (out, _) = out.as_chunks_mut::<SIZE>();
    transpose(par, source, &sizes, &[0, 2, 1], out);
}

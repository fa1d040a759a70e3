//! Moves elements from one view to another, whatever their type.
//!
//! Plain elements are moved as blocks of bytes of their width. Strings, handles and variants are
//! moved by moving their positions first and cloning each element once.

use smallvec::SmallVec;
use tensorfleet_framework::KernelContext;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use super::strided::{self, Nest};
use super::view::View;

/// Elements of a tensor and where in the result they go.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) source: &'a Tensor,
    pub(crate) read: View,
    /// As many axes as `read`, of the same lengths.
    pub(crate) write: View,
}

/// The threads that a kernel may use.
pub(crate) fn parallel(ctx: &KernelContext<'_>) -> Parallel {
    Parallel::new(ctx.parallelism())
}

/// Results below this size are copied even where they could share storage: a small result should
/// not keep a large input alive.
const SHARED_FROM: usize = 1 << 10;

/// Makes a tensor of the elements in a view. It shares the storage of `source` where it can.
pub(crate) fn materialize(source: &Tensor, read: View, parallel: Parallel) -> Result<Tensor> {
    let dims = read.dims();
    if let Some(elements) = read.contiguous()
        && elements.len() * source.dtype().size() >= SHARED_FROM
    {
        let flat = source.reshape(Shape::vector(source.num_elements()))?;
        return flat.rows(elements)?.into_shape(Shape::new(&dims)?);
    }
    let write = View::of(&dims);
    assemble(source.dtype(), Shape::new(&dims)?, &[Piece { source, read, write }], parallel)
}

/// Makes a tensor of pieces, which must cover it.
pub(crate) fn assemble(
    dtype: DType,
    shape: Shape,
    pieces: &[Piece<'_>],
    parallel: Parallel,
) -> Result<Tensor> {
    if dtype.is_plain() {
        return Tensor::build_raw(dtype, shape, |bytes| {
            write_bytes(bytes, dtype.size(), pieces, parallel);
            Ok(())
        });
    }
    let positions = positions(shape.num_elements(), pieces);
    let covered = || internal!("the pieces of a result do not cover it");
    macro_rules! collect {
        ($elements:ident, $make:ident) => {{
            let sources =
                pieces.iter().map(|p| p.source.$elements()).collect::<Result<Vec<_>>>()?;
            let pick = |&(piece, at): &(usize, usize)| sources.get(piece)?.get(at).cloned();
            let values = positions.iter().map(|p| pick(p).ok_or_else(covered));
            Tensor::$make(shape, values.collect::<Result<_>>()?)
        }};
    }
    match dtype {
        DType::String => collect!(strings, from_strings),
        DType::Resource => collect!(resources, from_resources),
        _ => collect!(variants, from_variants),
    }
}

/// Writes pieces over parts of a tensor; later ones win.
pub(crate) fn overwrite(
    target: &mut Tensor,
    pieces: &[Piece<'_>],
    parallel: Parallel,
) -> Result<()> {
    let size = target.dtype().size();
    if size > 0 {
        return target.write_raw(|bytes| {
            write_bytes(bytes, size, pieces, parallel);
            Ok(())
        });
    }
    let old = target.clone();
    let whole = Piece { source: &old, read: View::of(old.dims()), write: View::of(old.dims()) };
    let mut all = vec![whole];
    all.extend(pieces.iter().map(|piece| Piece {
        source: piece.source,
        read: piece.read.clone(),
        write: piece.write.clone(),
    }));
    *target = assemble(old.dtype(), old.shape().clone(), &all, parallel)?;
    Ok(())
}

fn write_bytes(to: &mut [u8], width: usize, pieces: &[Piece<'_>], parallel: Parallel) {
    for piece in pieces {
        let Some(nest) = Nest::new(&piece.read, &piece.write) else { continue };
        let from = piece.source.raw();
        match width {
            1 => strided::copy(&nest, from, to, parallel),
            2 => strided::copy(&nest, units::<2>(from), units_mut::<2>(to), parallel),
            4 => strided::copy(&nest, units::<4>(from), units_mut::<4>(to), parallel),
            8 => strided::copy(&nest, units::<8>(from), units_mut::<8>(to), parallel),
            _ => strided::copy(&nest, units::<16>(from), units_mut::<16>(to), parallel),
        }
    }
}

/// For each element of the result, which piece it comes from and from where in that.
fn positions(len: usize, pieces: &[Piece<'_>]) -> Vec<(usize, usize)> {
    let mut positions = vec![(usize::MAX, 0); len];
    for (number, piece) in pieces.iter().enumerate() {
        let Some(nest) = Nest::new(&piece.read, &piece.write) else { continue };
        let from: Vec<_> = (0..piece.source.num_elements()).map(|at| (number, at)).collect();
        strided::copy(&nest, &from, &mut positions, Parallel::SERIAL);
    }
    positions
}

/// Views bytes as elements of `N` bytes.
pub(crate) fn units<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks().0
}

/// Views bytes as writable elements of `N` bytes.
pub(crate) fn units_mut<const N: usize>(bytes: &mut [u8]) -> &mut [[u8; N]] {
    bytes.as_chunks_mut().0
}

/// The dimensions of a tensor, to be changed.
pub(crate) fn dims_of(tensor: &Tensor) -> SmallVec<[usize; 6]> {
    tensor.dims().into()
}

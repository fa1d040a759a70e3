//! Rows picked by number: what gathering, stitching, partitioning and finding duplicates share.

use bytes::Bytes;
use tensorfleet_kernels::{Parallel, parallel};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, try_vec};

use super::arguments::check_size;
use super::copy::{units, units_mut};

/// Rows with fewer bytes together are not worth another thread.
const MIN_BYTES: usize = 64 << 10;

/// Where a row of a result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A row of one of the sources.
    Of { source: usize, row: usize },
    /// A row of zeros or empty strings.
    Zero,
}

/// Makes a tensor of `shape` from rows of `len` elements: row `k` is the one that `pick(k)` names.
///
/// # Panics
/// If `pick` names a row that is not there.
pub(super) fn take(
    sources: &[&Tensor],
    shape: Shape,
    len: usize,
    parallel: Parallel,
    pick: impl Fn(usize) -> Row + Sync,
) -> Result<Tensor> {
    let dtype = sources[0].dtype();
    check_size(dtype, &shape)?;
    if shape.num_elements() == 0 {
        return Tensor::zeros(dtype, shape);
    }
    let count = shape.num_elements() / len;
    let no_zero = || invalid_argument!("a tensor of type {dtype} has no zero value");
    macro_rules! cloned {
        ($elements:ident, $make:ident, $zero:expr) => {{
            let sources = sources.iter().map(|s| s.$elements()).collect::<Result<Vec<_>>>()?;
            let mut values = try_vec(shape.num_elements())?;
            for k in 0..count {
                match pick(k) {
                    Row::Of { source, row } => {
                        values.extend_from_slice(&sources[source][row * len..][..len]);
                    }
                    Row::Zero => {
                        let zero = $zero.ok_or_else(no_zero)?;
                        values.resize(values.len() + len, zero);
                    }
                }
            }
            Tensor::$make(shape, values)
        }};
    }
    match dtype {
        DType::String => cloned!(strings, from_strings, Some(Bytes::new())),
        DType::Resource => cloned!(resources, from_resources, None),
        DType::Variant => cloned!(variants, from_variants, None),
        _ => Tensor::build_raw(dtype, shape, |to| {
            match dtype.size() {
                1 => take_units::<1>(sources, units_mut(to), len, parallel, pick),
                2 => take_units::<2>(sources, units_mut(to), len, parallel, pick),
                4 => take_units::<4>(sources, units_mut(to), len, parallel, pick),
                8 => take_units::<8>(sources, units_mut(to), len, parallel, pick),
                _ => take_units::<16>(sources, units_mut(to), len, parallel, pick),
            }
            Ok(())
        }),
    }
}

fn take_units<const N: usize>(
    sources: &[&Tensor],
    to: &mut [[u8; N]],
    len: usize,
    parallel: Parallel,
    pick: impl Fn(usize) -> Row + Sync,
) {
    let sources: Vec<&[[u8; N]]> = sources.iter().map(|source| units(source.raw())).collect();
    let count = to.len() / len;
    let min_rows = MIN_BYTES / (len * N) + 1;
    parallel.for_each(parallel::rows_mut(to, count), min_rows, |range, to| {
        if len == 1 {
            for (k, to) in range.zip(to.data) {
                *to = match pick(k) {
                    Row::Of { source, row } => sources[source][row],
                    Row::Zero => [0; N],
                };
            }
            return;
        }
        for (k, to) in range.zip(to.data.chunks_exact_mut(len)) {
            match pick(k) {
                Row::Of { source, row } => to.copy_from_slice(&sources[source][row * len..][..len]),
                Row::Zero => to.fill([0; N]),
            }
        }
    });
}

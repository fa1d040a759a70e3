//! A tensor put together from stored slices.

use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use crate::slice::{Region, TensorSlice};

/// What is known of a tensor stored in slices.
#[derive(Debug)]
pub(crate) struct Sliced<T> {
    pub(crate) dtype: DType,
    /// The shape of the whole tensor.
    pub(crate) shape: Shape,
    /// The stored slices, each with where it is.
    pub(crate) slices: Vec<(TensorSlice, T)>,
}

impl<T> Sliced<T> {
    /// Reads the part `wanted` of the tensor; `None` if the stored slices do not cover it.
    pub(crate) fn read(
        &self,
        wanted: &TensorSlice,
        read: impl Fn(&TensorSlice, &T) -> Result<Tensor>,
    ) -> Result<Option<Tensor>> {
        let wanted = wanted.region(&self.shape)?;
        let mut parts: Vec<Part<'_, T>> = Vec::new();
        let mut covered = 0;
        for (slice, place) in &self.slices {
            let region = slice.region(&self.shape)?;
            if region == wanted {
                return read(slice, place).map(Some);
            }
            let Some(common) = region.intersection(&wanted) else { continue };
            // Slices that overlap could cover less than the sum of their sizes.
            if let Some(other) =
                parts.iter().find(|part| part.common.intersection(&common).is_some())
            {
                return Err(internal!(
                    "Overlapping slices: existing slice = {}, new slice = {slice}",
                    other.slice
                ));
            }
            covered += common.len();
            parts.push(Part { slice, place, region, common });
        }
        if covered != wanted.len() {
            return Ok(None);
        }
        let read = |part: &Part<'_, T>| {
            let tensor = read(part.slice, part.place)?;
            if tensor.dtype() == self.dtype && *tensor.shape() == part.region.shape() {
                return Ok(tensor);
            }
            Err(tensorfleet_tensor::data_loss!(
                "slice {} of a {} tensor is stored as {} of shape {}",
                part.slice,
                self.dtype,
                tensor.dtype(),
                tensor.shape()
            ))
        };
        match self.dtype {
            DType::String => gather_strings(&wanted, &parts, read),
            _ => gather_plain(self.dtype, &wanted, &parts, read),
        }
        .map(Some)
    }
}

struct Part<'a, T> {
    slice: &'a TensorSlice,
    place: &'a T,
    region: Region,
    /// What the slice has of the wanted region.
    common: Region,
}

fn gather_strings<T>(
    wanted: &Region,
    parts: &[Part<'_, T>],
    read: impl Fn(&Part<'_, T>) -> Result<Tensor>,
) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(DType::String, wanted.shape())?;
    for part in parts {
        let source = read(part)?;
        let out = tensor.strings_mut()?;
        part.region.copy_to(source.strings()?, wanted, out, &part.common, 1);
    }
    Ok(tensor)
}

fn gather_plain<T>(
    dtype: DType,
    wanted: &Region,
    parts: &[Part<'_, T>],
    read: impl Fn(&Part<'_, T>) -> Result<Tensor>,
) -> Result<Tensor> {
    Tensor::build_raw(dtype, wanted.shape(), |out| {
        for part in parts {
            let source = read(part)?;
            part.region.copy_to(source.raw(), wanted, out, &part.common, dtype.size());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a 4x2 matrix of their own numbers.
    fn sliced(slices: &[&str]) -> Sliced<()> {
        let slices = slices.iter().map(|slice| (TensorSlice::parse(slice).unwrap(), ())).collect();
        Sliced { dtype: DType::Int32, shape: Shape::from([4, 2]), slices }
    }

    fn read(sliced: &Sliced<()>, wanted: &str) -> Result<Option<Vec<i32>>> {
        let wanted = TensorSlice::parse(wanted).unwrap();
        let tensor = sliced.read(&wanted, |slice, ()| {
            let region = slice.region(&sliced.shape)?;
            let whole = TensorSlice::full(2).region(&sliced.shape)?;
            Tensor::build(region.shape(), |out: &mut [i32]| {
                whole.copy_to(&[0, 1, 2, 3, 4, 5, 6, 7], &region, out, &region, 1);
            })
        })?;
        tensor.map(|tensor| Ok(tensor.values()?.to_vec())).transpose()
    }

    #[test]
    fn slices_are_joined_and_cut() {
        let rows = sliced(&["0,1:-", "1,3:-"]);
        assert_eq!(read(&rows, "-:-").unwrap().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(read(&rows, "0,2:1,1").unwrap().unwrap(), [1, 3]);
        assert_eq!(read(&rows, "1,3:-").unwrap().unwrap(), [2, 3, 4, 5, 6, 7]);
        let columns = sliced(&["-:1,1", "-:0,1"]);
        assert_eq!(read(&columns, "2,2:-").unwrap().unwrap(), [4, 5, 6, 7]);
    }

    #[test]
    fn gaps_and_overlaps_are_noticed() {
        assert_eq!(read(&sliced(&["0,1:-", "2,2:-"]), "-:-").unwrap(), None);
        assert_eq!(read(&sliced(&["0,1:-", "2,2:-"]), "2,1:-").unwrap().unwrap(), [4, 5]);
        let error = read(&sliced(&["0,3:-", "2,2:-"]), "-:-").unwrap_err();
        assert_eq!(
            error.message(),
            "Overlapping slices: existing slice = 0,3:-, new slice = 2,2:-"
        );
    }
}

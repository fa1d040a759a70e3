//! Arrays of the crate `ndarray` as tensors, and tensors as arrays. With the feature `ndarray`.
//!
//! An array that owns its elements in row-major order becomes a tensor without a copy, and
//! [`AsArray`] looks at a tensor as an array without one. Other layouts are put in order first.

use ndarray::{Array, ArrayBase, ArrayView, ArrayViewD, Data, Dimension, IxDyn, ShapeError};
use tensorfleet_tensor::{Error, Result, Shape, Tensor, invalid_argument};

use crate::convert::{FromTensor, IntoTensor, Number};

impl<T: Number, D: Dimension> IntoTensor for Array<T, D> {
    fn into_tensor(self) -> Result<Tensor> {
        let shape = Shape::new(self.shape())?;
        if !self.is_standard_layout() {
            return self.view().into_tensor();
        }
        let (mut values, first) = self.into_raw_vec_and_offset();
        // An array may be a part of its memory, as after slicing it in place.
        values.truncate(first.unwrap_or(0) + shape.num_elements());
        values.drain(..first.unwrap_or(0));
        Tensor::from_vec(shape, values)
    }
}

impl<T: Number, S: Data<Elem = T>, D: Dimension> IntoTensor for &ArrayBase<S, D> {
    fn into_tensor(self) -> Result<Tensor> {
        self.view().into_tensor()
    }
}

impl<T: Number, D: Dimension> IntoTensor for ArrayView<'_, T, D> {
    fn into_tensor(self) -> Result<Tensor> {
        let shape = Shape::new(self.shape())?;
        match self.as_slice() {
            Some(values) => Tensor::from_slice(shape, values),
            None => Tensor::from_vec(shape, self.iter().copied().collect()),
        }
    }
}

impl<T: Number, D: Dimension> FromTensor for Array<T, D> {
    fn from_tensor(tensor: Tensor) -> Result<Array<T, D>> {
        let array = tensor.as_array::<T>()?.to_owned();
        array.into_dimensionality().map_err(|error| mismatch(&tensor, &error))
    }
}

/// A tensor as an array.
///
/// ```
/// use ndarray::array;
/// use tensorfleet_client::{AsArray, IntoTensor};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let tensor = array![[1.0f32, 2.0], [3.0, 4.0]].into_tensor()?;
/// assert_eq!(tensor.as_array::<f32>()?[[1, 0]], 3.0);
/// # Ok(())
/// # }
/// ```
pub trait AsArray {
    /// Looks at the elements as an array of any number of dimensions, without a copy.
    fn as_array<T: Number>(&self) -> Result<ArrayViewD<'_, T>>;
}

impl AsArray for Tensor {
    fn as_array<T: Number>(&self) -> Result<ArrayViewD<'_, T>> {
        ArrayView::from_shape(IxDyn(self.dims()), self.values::<T>()?)
            .map_err(|error| mismatch(self, &error))
    }
}

fn mismatch(tensor: &Tensor, error: &ShapeError) -> Error {
    invalid_argument!("a tensor of shape {} is not such an array: {error}", tensor.shape())
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, Array3, ArrayD, Axis, array, s};

    use super::*;
    use crate::{Graph, Session};

    #[test]
    fn an_owned_array_is_not_copied() {
        let array = Array2::from_shape_fn((30, 40), |(i, j)| (i * 40 + j) as f32);
        let start = array.as_ptr();
        let tensor = array.into_tensor().unwrap();
        assert_eq!(tensor.dims(), [30, 40]);
        assert_eq!(tensor.values::<f32>().unwrap()[41], 41.0);
        if start.addr().is_multiple_of(16) {
            assert_eq!(tensor.values::<f32>().unwrap().as_ptr(), start);
        }
        assert_eq!(tensor.as_array::<f32>().unwrap().as_ptr(), tensor.values().unwrap().as_ptr());
    }

    #[test]
    fn every_layout_gives_the_elements_in_order() {
        let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i64);
        let check = |tensor: Result<Tensor>, expected: ArrayD<i64>| {
            assert_eq!(tensor.unwrap().as_array::<i64>().unwrap(), expected);
        };
        let turned = array.clone().reversed_axes();
        check((&turned).into_tensor(), turned.clone().into_dyn());
        check(turned.clone().into_tensor(), turned.into_dyn());
        let part = array.slice(s![1.., ..;2, 1..3]);
        check(part.into_tensor(), part.to_owned().into_dyn());
        let mut rest = array.clone();
        rest.slice_axis_inplace(Axis(0), (1..).into());
        check(rest.clone().into_tensor(), rest.into_dyn());
        let mut flipped = array;
        flipped.invert_axis(Axis(2));
        check(flipped.clone().into_tensor(), flipped.into_dyn());
    }

    #[test]
    fn sessions_take_and_return_arrays() {
        let graph = Graph::new();
        let x = graph.placeholder::<f64>([None, Some(2)]);
        let (doubled, total) = (&x * 2.0, x.sum_along(0, false));
        let session = Session::new(&graph).unwrap();
        let fetches = (doubled.value::<Array2<f64>>(), total.value::<Array1<f64>>());
        let fed = array![[1.0, 2.0], [3.0, 4.0]];
        let (doubled, total) = session.run((&x, &fed), fetches).unwrap();
        assert_eq!(doubled, array![[2.0, 4.0], [6.0, 8.0]]);
        assert_eq!(total, array![4.0, 6.0]);
    }

    #[test]
    fn the_number_of_dimensions_and_the_type_are_checked() {
        let tensor = array![[1.0f32, 2.0]].into_tensor().unwrap();
        let error = Array1::<f32>::from_tensor(tensor.clone()).unwrap_err();
        assert!(error.to_string().contains("shape [1,2]"), "{error}");
        assert!(ArrayD::<i32>::from_tensor(tensor).is_err());
        let empty = Array2::<f32>::zeros((0, 3)).into_tensor().unwrap();
        assert_eq!(Array2::<f32>::from_tensor(empty).unwrap().dim(), (0, 3));
    }
}

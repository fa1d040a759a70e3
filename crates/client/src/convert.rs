//! Tensors from Rust values, and Rust values from tensors.

use bytes::Bytes;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, invalid_argument};

/// A Rust value that can become a tensor: numbers, strings, arrays, vectors, slices.
///
/// ```
/// use tensorfleet_client::IntoTensor;
///
/// let tensor = [[1.0f32, 2.0], [3.0, 4.0]].into_tensor().unwrap();
/// assert_eq!(tensor.dims(), [2, 2]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot become a tensor",
    label = "not a value of a tensor",
    note = "tensors are made of numbers, booleans, strings, and arrays, slices and vectors of them",
    note = "a shape with its elements in one vector is a tensor too: `([2, 3], values)`"
)]
pub trait IntoTensor {
    /// Makes the tensor.
    fn into_tensor(self) -> Result<Tensor>;
}

impl IntoTensor for Tensor {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(self)
    }
}

impl IntoTensor for &Tensor {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(self.clone())
    }
}

/// A number that can be an element of an array.
///
/// ```
/// use tensorfleet_client::{DType, Element, Graph, IntoTensor, Output};
///
/// // A function over arrays of whatever numbers.
/// fn row<T: Element>(graph: &Graph, values: Vec<T>) -> Output
/// where
///     Vec<T>: IntoTensor,
/// {
///     graph.constant(values)
/// }
/// let graph = Graph::new();
/// assert_eq!(row(&graph, vec![1u8, 2]).dtype(), DType::UInt8);
/// assert_eq!(row(&graph, vec![1.0f64]).dtype(), DType::Double);
/// ```
pub trait Number: Element {}

macro_rules! numbers {
    ($($number:ty)+) => {$(
        impl Number for $number {}

        impl IntoTensor for $number {
            fn into_tensor(self) -> Result<Tensor> {
                Ok(Tensor::scalar(self))
            }
        }
    )+};
}

numbers! {
    f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool half::f16 half::bf16
    num_complex::Complex<f32> num_complex::Complex<f64>
}

/// The memory of the vector becomes that of the tensor.
impl<T: Number> IntoTensor for Vec<T> {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_vec(Shape::vector(self.len()), self)
    }
}

impl<T: Number> IntoTensor for &Vec<T> {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::vector(self)
    }
}

impl<T: Number> IntoTensor for &[T] {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::vector(self)
    }
}

impl<T: Number, const N: usize> IntoTensor for [T; N] {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::vector(&self)
    }
}

impl<T: Number, const N: usize> IntoTensor for &[T; N] {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::vector(self)
    }
}

impl<T: Number, const M: usize, const N: usize> IntoTensor for [[T; N]; M] {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_slice(Shape::new(&[M, N])?, self.as_flattened())
    }
}

impl<T: Number, const L: usize, const M: usize, const N: usize> IntoTensor for [[[T; N]; M]; L] {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_slice(Shape::new(&[L, M, N])?, self.as_flattened().as_flattened())
    }
}

impl<T: Number, const K: usize, const L: usize, const M: usize, const N: usize> IntoTensor
    for [[[[T; N]; M]; L]; K]
{
    fn into_tensor(self) -> Result<Tensor> {
        let values = self.as_flattened().as_flattened().as_flattened();
        Tensor::from_slice(Shape::new(&[K, L, M, N])?, values)
    }
}

impl<T: Number, const N: usize> IntoTensor for Vec<[T; N]> {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_vec(Shape::new(&[self.len(), N])?, self.into_flattened())
    }
}

impl<T: Number> IntoTensor for Vec<Vec<T>> {
    fn into_tensor(self) -> Result<Tensor> {
        let columns = self.first().map_or(0, Vec::len);
        if let Some(odd) = self.iter().find(|row| row.len() != columns) {
            return Err(invalid_argument!(
                "rows of {columns} and of {} values do not make a matrix",
                odd.len()
            ));
        }
        Tensor::from_vec(Shape::new(&[self.len(), columns])?, self.concat())
    }
}

impl<T: Number> IntoTensor for Vec<Vec<Vec<T>>> {
    fn into_tensor(self) -> Result<Tensor> {
        let rows = self.first().map_or(0, Vec::len);
        if let Some(odd) = self.iter().find(|matrix| matrix.len() != rows) {
            return Err(invalid_argument!(
                "matrices of {rows} and of {} rows do not make a tensor",
                odd.len()
            ));
        }
        let count = self.len();
        let flat = self.concat().into_tensor()?;
        let columns = flat.dims()[1];
        flat.into_shape(Shape::new(&[count, rows, columns])?)
    }
}

/// A shape with its elements in row-major order.
impl<T: Number, const R: usize> IntoTensor for ([usize; R], Vec<T>) {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_vec(Shape::new(&self.0)?, self.1)
    }
}

/// A shape whose rank is known at run time only, with its elements in row-major order.
impl<T: Number> IntoTensor for (Vec<usize>, Vec<T>) {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_vec(Shape::new(&self.0)?, self.1)
    }
}

/// A shape with its elements in row-major order.
impl<T: Number, const R: usize> IntoTensor for ([usize; R], &[T]) {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_slice(Shape::new(&self.0)?, self.1)
    }
}

impl IntoTensor for &str {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(Tensor::string(self.to_owned()))
    }
}

impl IntoTensor for String {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(Tensor::string(self))
    }
}

/// The bytes are shared, not copied.
impl IntoTensor for Bytes {
    fn into_tensor(self) -> Result<Tensor> {
        Ok(Tensor::string(self))
    }
}

/// The bytes are shared, not copied.
impl IntoTensor for Vec<Bytes> {
    fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_strings(Shape::vector(self.len()), self)
    }
}

impl IntoTensor for Vec<String> {
    fn into_tensor(self) -> Result<Tensor> {
        let strings: Vec<Bytes> = self.into_iter().map(Bytes::from).collect();
        Tensor::from_strings(Shape::vector(strings.len()), strings)
    }
}

impl IntoTensor for Vec<&str> {
    fn into_tensor(self) -> Result<Tensor> {
        self.as_slice().into_tensor()
    }
}

impl IntoTensor for &[&str] {
    fn into_tensor(self) -> Result<Tensor> {
        let strings = self.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        Tensor::from_strings(Shape::vector(self.len()), strings)
    }
}

impl<const N: usize> IntoTensor for [&str; N] {
    fn into_tensor(self) -> Result<Tensor> {
        self.as_slice().into_tensor()
    }
}

/// A Rust value that a tensor can become.
///
/// ```
/// use tensorfleet_client::{FromTensor, Graph, Result, Session, Tensor, invalid_argument};
///
/// /// A colour of three parts.
/// #[derive(Debug, PartialEq)]
/// struct Colour([u8; 3]);
///
/// impl FromTensor for Colour {
///     fn from_tensor(tensor: Tensor) -> Result<Colour> {
///         let parts = tensor.values::<u8>()?.try_into();
///         parts.map(Colour).map_err(|_| invalid_argument!("a colour has three parts"))
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let colour = graph.constant([255u8, 127, 0]);
/// let colour = Session::new(&graph)?.run((), colour.value::<Colour>())?;
/// assert_eq!(colour, Colour([255, 127, 0]));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor cannot become `{Self}`",
    label = "not a value that a tensor can become",
    note = "fetch a number, a string, or a `Vec`, `Vec<Vec>` or `Vec<Vec<Vec>>` of them",
    note = "fetch the output itself, without `value`, to have the tensor"
)]
pub trait FromTensor: Sized {
    /// Reads the tensor, which must hold elements of the right type.
    fn from_tensor(tensor: Tensor) -> Result<Self>;
}

impl FromTensor for Tensor {
    fn from_tensor(tensor: Tensor) -> Result<Tensor> {
        Ok(tensor)
    }
}

macro_rules! from_numbers {
    ($($number:ty)+) => {$(
        impl FromTensor for $number {
            fn from_tensor(tensor: Tensor) -> Result<$number> {
                match tensor.values::<$number>()? {
                    [value] => Ok(*value),
                    _ => Err(invalid_argument!(
                        "a tensor of shape {} is not a single number",
                        tensor.shape()
                    )),
                }
            }
        }
    )+};
}

from_numbers! {
    f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool half::f16 half::bf16
    num_complex::Complex<f32> num_complex::Complex<f64>
}

impl<T: Number> FromTensor for Vec<T> {
    fn from_tensor(tensor: Tensor) -> Result<Vec<T>> {
        Ok(tensor.values::<T>()?.to_vec())
    }
}

impl<T: Number> FromTensor for Vec<Vec<T>> {
    fn from_tensor(tensor: Tensor) -> Result<Vec<Vec<T>>> {
        let &[rows, columns] = tensor.dims() else {
            return Err(invalid_argument!("a tensor of shape {} is not a matrix", tensor.shape()));
        };
        let values = tensor.values::<T>()?;
        Ok((0..rows).map(|row| values[row * columns..(row + 1) * columns].to_vec()).collect())
    }
}

impl<T: Number> FromTensor for Vec<Vec<Vec<T>>> {
    fn from_tensor(tensor: Tensor) -> Result<Vec<Vec<Vec<T>>>> {
        let &[count, rows, columns] = tensor.dims() else {
            let shape = tensor.shape();
            return Err(invalid_argument!("a tensor of shape {shape} is no list of matrices"));
        };
        let values = tensor.values::<T>()?;
        let row = |number: usize| values[number * columns..(number + 1) * columns].to_vec();
        let matrix = |number: usize| (number * rows..(number + 1) * rows).map(row).collect();
        Ok((0..count).map(matrix).collect())
    }
}

fn text(bytes: &Bytes) -> Result<String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| invalid_argument!("a string is not valid UTF-8"))
}

/// The bytes of a string, which need not be UTF-8, are shared, not copied.
impl FromTensor for Bytes {
    fn from_tensor(tensor: Tensor) -> Result<Bytes> {
        match tensor.strings()? {
            [value] => Ok(value.clone()),
            _ => Err(invalid_argument!(
                "a tensor of shape {} is not a single string",
                tensor.shape()
            )),
        }
    }
}

impl FromTensor for Vec<Bytes> {
    fn from_tensor(tensor: Tensor) -> Result<Vec<Bytes>> {
        Ok(tensor.strings()?.to_vec())
    }
}

impl FromTensor for String {
    fn from_tensor(tensor: Tensor) -> Result<String> {
        text(&Bytes::from_tensor(tensor)?)
    }
}

impl FromTensor for Vec<String> {
    fn from_tensor(tensor: Tensor) -> Result<Vec<String>> {
        tensor.strings()?.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_keep_their_shape() {
        let dims = |tensor: Result<Tensor>| tensor.unwrap().dims().to_vec();
        assert_eq!(dims([[[1i32; 4]; 3]; 2].into_tensor()), [2, 3, 4]);
        assert_eq!(dims(vec![vec![1f32; 2]; 3].into_tensor()), [3, 2]);
        assert_eq!(dims(([2, 1], vec![1f32, 2.0]).into_tensor()), [2, 1]);
        assert!(vec![vec![1f32], vec![]].into_tensor().is_err());
    }

    #[test]
    fn values_come_back() {
        let matrix = [[1i64, 2], [3, 4]].into_tensor().unwrap();
        assert_eq!(Vec::<Vec<i64>>::from_tensor(matrix.clone()).unwrap(), [[1, 2], [3, 4]]);
        assert!(i64::from_tensor(matrix.clone()).is_err());
        assert!(Vec::<f32>::from_tensor(matrix).is_err());
        let names = ["a", "b"].into_tensor().unwrap();
        assert_eq!(Vec::<String>::from_tensor(names).unwrap(), ["a", "b"]);
    }
}

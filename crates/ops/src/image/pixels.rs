//! What image ops share: the four dimensions of a batch of images, and pixels as numbers.

use std::borrow::Cow;
use std::ops::AddAssign;

use half::{bf16, f16};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument, try_vec,
};

/// The dimensions of a batch of images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Images {
    pub(super) batch: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
}

impl Images {
    /// Reads the dimensions of a tensor that must be a batch of images.
    pub(super) fn of(tensor: &Tensor, what: &str) -> Result<Images> {
        match *tensor.dims() {
            [batch, height, width, channels] => Ok(Images { batch, height, width, channels }),
            _ => Err(invalid_argument!("{what} must be 4-dimensional{}", tensor.shape())),
        }
    }

    pub(super) fn shape(self) -> Result<Shape> {
        Shape::new(&[self.batch, self.height, self.width, self.channels])
    }

    /// The number of elements of one image.
    pub(super) fn image_len(self) -> usize {
        self.height * self.width * self.channels
    }

    /// The number of elements of one row.
    pub(super) fn row_len(self) -> usize {
        self.width * self.channels
    }

    /// Where the pixel at a place begins.
    pub(super) fn offset(self, image: usize, y: usize, x: usize) -> usize {
        ((image * self.height + y) * self.width + x) * self.channels
    }
}

/// The dimensions of images and of what they are resized to, checked as all resizing ops do.
pub(super) fn resized(images: &Tensor, size: &Tensor) -> Result<(Images, Images)> {
    let from = Images::of(images, "input")?;
    let (height, width) = two_sizes(size, "shape_t")?;
    if height <= 0 || width <= 0 {
        return Err(invalid_argument!("output dimensions must be positive"));
    }
    if from.channels == 0 {
        return Err(invalid_argument!("image must have at least one channel"));
    }
    if from.height == 0 || from.width == 0 {
        return Err(invalid_argument!("input image must be of non-zero size"));
    }
    let to = Images { height: height as usize, width: width as usize, ..from };
    // Kernels keep for each row and each column where it comes from.
    let _room_for_places: Vec<Place> = try_vec(to.height.max(to.width))?;
    Ok((from, to))
}

/// As large as what any of the ops keeps for a row or a column.
type Place = [usize; 8];

/// Two integers in a vector.
pub(super) fn two_sizes(size: &Tensor, what: &str) -> Result<(i32, i32)> {
    if size.rank() != 1 {
        return Err(invalid_argument!("{what} must be 1-dimensional{}", size.shape()));
    }
    match *size.values::<i32>()? {
        [first, second] => Ok((first, second)),
        _ => Err(invalid_argument!("{what} must have two elements{}", size.shape())),
    }
}

/// The numbers of a tensor in single precision.
pub(super) fn floats(tensor: &Tensor) -> Result<Cow<'_, [f32]>> {
    fn converted<T: Element + Into<f32>>(tensor: &Tensor) -> Result<Vec<f32>> {
        Ok(tensor.values::<T>()?.iter().map(|&value| value.into()).collect())
    }
    Ok(Cow::Owned(dispatch!(
        tensor.dtype(),
        [i8, u8, i16, u16, f16, bf16],
        T => converted::<T>(tensor)?,
        else => match tensor.dtype() {
            DType::Float => return Ok(Cow::Borrowed(tensor.values::<f32>()?)),
            DType::Double => tensor.values::<f64>()?.iter().map(|&value| value as f32).collect(),
            DType::Int32 => tensor.values::<i32>()?.iter().map(|&value| value as f32).collect(),
            DType::Int64 => tensor.values::<i64>()?.iter().map(|&value| value as f32).collect(),
            other => return Err(internal!("images of {other}")),
        }
    )))
}

/// A type in which gradients of images are summed.
pub(super) trait Gradient: Element + AddAssign {
    fn from_f32(value: f32) -> Self;
}

impl Gradient for f32 {
    fn from_f32(value: f32) -> f32 {
        value
    }
}

impl Gradient for f64 {
    fn from_f32(value: f32) -> f64 {
        value.into()
    }
}

impl Gradient for f16 {
    fn from_f32(value: f32) -> f16 {
        f16::from_f32(value)
    }
}

impl Gradient for bf16 {
    fn from_f32(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
}

//! Shapes of tensors, and shapes that are only partly known.

use std::fmt;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use crate::Result;

/// The largest rank that TensorFlow can represent.
pub const MAX_RANK: usize = 254;

/// The dimensions of a tensor. The number of elements always fits in an `i64`.
#[derive(Clone)]
pub struct Shape {
    dims: Dims,
}

/// Few dimensions are stored in place, so that copying a shape is copying bytes.
#[derive(Clone)]
enum Dims {
    Inline { rank: u8, sizes: [usize; INLINE_RANK] },
    Boxed(Box<[usize]>),
}

const INLINE_RANK: usize = 4;

impl Dims {
    fn new(dims: &[usize]) -> Dims {
        if dims.len() > INLINE_RANK {
            return Dims::Boxed(dims.into());
        }
        let mut sizes = [0; INLINE_RANK];
        sizes[..dims.len()].copy_from_slice(dims);
        Dims::Inline { rank: dims.len() as u8, sizes }
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        self.dims() == other.dims()
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dims().hash(state);
    }
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::SCALAR
    }
}

impl Shape {
    /// The shape of a scalar.
    pub const SCALAR: Shape = Shape { dims: Dims::Inline { rank: 0, sizes: [0; INLINE_RANK] } };

    /// Makes a shape, refusing sizes whose number of elements overflows.
    pub fn new(dims: &[usize]) -> Result<Shape> {
        if dims.len() > MAX_RANK {
            return Err(invalid_argument!(
                "a tensor has at most {MAX_RANK} dimensions, got {}",
                dims.len()
            ));
        }
        let mut elements: usize = 1;
        let mut overflow = false;
        for &dim in dims {
            match elements.checked_mul(dim) {
                Some(product) if i64::try_from(product).is_ok() => elements = product,
                _ => overflow = true,
            }
        }
        // A zero anywhere makes the tensor empty, but TensorFlow still multiplies in order.
        if overflow && !dims.contains(&0) {
            return Err(invalid_argument!(
                "Shape {} results in overflow when computing number of elements",
                DisplayDims(dims)
            ));
        }
        if overflow && dims.iter().any(|&dim| i64::try_from(dim).is_err()) {
            return Err(invalid_argument!("dimension of shape {} is too large", DisplayDims(dims)));
        }
        Ok(Shape { dims: Dims::new(dims) })
    }

    /// Makes a shape of signed sizes, as they stand on the wire or in an integer tensor.
    pub fn from_signed(dims: &[i64]) -> Result<Shape> {
        let mut sizes = SmallVec::<[usize; 8]>::with_capacity(dims.len());
        for &dim in dims {
            sizes.push(
                usize::try_from(dim)
                    .map_err(|_| invalid_argument!("Dimension {dim} must be >= 0"))?,
            );
        }
        Shape::new(&sizes)
    }

    /// Makes a one-dimensional shape.
    pub fn vector(len: usize) -> Shape {
        Shape { dims: Dims::new(&[len]) }
    }

    /// Makes a two-dimensional shape. The caller knows that the product is small enough.
    pub fn matrix(rows: usize, columns: usize) -> Shape {
        Shape { dims: Dims::new(&[rows, columns]) }
    }

    /// The sizes of all dimensions.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        match &self.dims {
            Dims::Inline { rank, sizes } => &sizes[..usize::from(*rank)],
            Dims::Boxed(sizes) => sizes,
        }
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    /// The number of elements.
    #[inline]
    pub fn num_elements(&self) -> usize {
        // Only an empty shape can have an overflowing prefix, and its product is zero either way.
        self.dims().iter().fold(1, |product: usize, &dim| product.wrapping_mul(dim))
    }

    /// Whether there are no dimensions.
    #[inline]
    pub fn is_scalar(&self) -> bool {
        self.dims().is_empty()
    }

    /// The sizes as signed integers, as `Shape` returns them.
    pub fn signed(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        self.dims().iter().map(|&dim| dim as i64)
    }
}

/// Panics when the number of elements overflows: for sizes that the program itself states.
impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Shape {
        Shape::new(&dims).expect("a literal shape has a sensible number of elements")
    }
}

struct DisplayDims<'a>(&'a [usize]);

impl fmt::Display for DisplayDims<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayDims(self.dims()).fmt(f)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A shape of which the rank or single dimensions may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct PartialShape {
    /// The dimensions, `None` where unknown; absent when the rank is unknown.
    pub dims: Option<Vec<Option<usize>>>,
}

impl PartialShape {
    /// The shape of which nothing is known.
    pub const UNKNOWN: PartialShape = PartialShape { dims: None };

    /// The shape of a scalar.
    pub fn scalar() -> PartialShape {
        PartialShape { dims: Some(Vec::new()) }
    }

    /// A shape of known rank and unknown sizes.
    pub fn of_rank(rank: usize) -> PartialShape {
        PartialShape { dims: Some(vec![None; rank]) }
    }

    /// A shape of known rank.
    pub fn known(dims: impl IntoIterator<Item = Option<usize>>) -> PartialShape {
        PartialShape { dims: Some(dims.into_iter().collect()) }
    }

    /// The number of dimensions, if known.
    pub fn rank(&self) -> Option<usize> {
        self.dims.as_ref().map(Vec::len)
    }

    /// The full shape, if every dimension is known.
    pub fn to_shape(&self) -> Option<Shape> {
        let dims: Option<Vec<usize>> = self.dims.as_ref()?.iter().copied().collect();
        Shape::new(&dims?).ok()
    }

    /// Whether a tensor of `shape` fits.
    pub fn is_compatible_with(&self, shape: &Shape) -> bool {
        match &self.dims {
            None => true,
            Some(dims) => {
                dims.len() == shape.rank()
                    && dims
                        .iter()
                        .zip(shape.dims())
                        .all(|(want, have)| want.is_none_or(|w| w == *have))
            }
        }
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> PartialShape {
        PartialShape::known(shape.dims().iter().map(|&dim| Some(dim)))
    }
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = &self.dims else { return f.write_str("<unknown>") };
        f.write_str("[")?;
        for (i, dim) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match dim {
                Some(dim) => write!(f, "{dim}")?,
                None => f.write_str("?")?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_shapes_are_refused() {
        assert!(Shape::new(&[1 << 40, 1 << 40]).is_err());
        assert!(Shape::from_signed(&[2, -1]).is_err());
        assert_eq!(Shape::new(&[1 << 40, 0, 1 << 40]).unwrap().num_elements(), 0);
    }

    #[test]
    fn shapes_print_as_tensorflow_prints_them() {
        assert_eq!(Shape::from([2, 3]).to_string(), "[2,3]");
        assert_eq!(Shape::SCALAR.to_string(), "[]");
        assert_eq!(PartialShape::known([Some(2), None]).to_string(), "[2,?]");
        assert_eq!(PartialShape::UNKNOWN.to_string(), "<unknown>");
    }
}

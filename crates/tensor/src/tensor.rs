//! The tensor: a type, a shape and shared storage.
//!
//! Cloning shares the storage. Writing goes through [`Tensor::values_mut`], which writes in place
//! when nobody else holds the storage and copies it otherwise; that one rule gives variables cheap
//! snapshots and kernels their buffer reuse. Up to 16 bytes are stored in the tensor itself, so
//! that scalars cost no allocation.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::account;
use crate::buffer::{self, Buffer, Contents};
use crate::dtype::Element;
use crate::memory::try_repeat;
use crate::{DType, ResourceHandle, Result, Shape, Variant};

const INLINE: usize = 16;

/// An immutable-until-unique array of elements.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    storage: Storage,
}

#[derive(Clone)]
enum Storage {
    Inline(InlineBytes),
    Shared { buffer: Arc<Buffer>, offset: usize },
    Strings(Arc<Vec<Bytes>>),
    Resources(Arc<Vec<ResourceHandle>>),
    Variants(Arc<Vec<Variant>>),
}

/// The alignment is that of the elements which need most.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct InlineBytes([u8; INLINE]);

impl Tensor {
    /// Makes a tensor of zeros, false, empty strings; resources and variants have no zero.
    pub fn zeros(dtype: DType, shape: Shape) -> Result<Tensor> {
        match dtype {
            DType::String => {
                let values = try_repeat(Bytes::new(), shape.num_elements())?;
                Tensor::from_strings(shape, values)
            }
            DType::Resource | DType::Variant => {
                if shape.num_elements() == 0 {
                    return Ok(match dtype {
                        DType::Resource => {
                            Tensor { dtype, shape, storage: Storage::Resources(Arc::default()) }
                        }
                        _ => Tensor { dtype, shape, storage: Storage::Variants(Arc::default()) },
                    });
                }
                Err(invalid_argument!("a tensor of type {dtype} has no zero value"))
            }
            _ => Tensor::allocate(dtype, shape, Contents::Zeroed),
        }
    }

    /// Makes a tensor by filling its elements in. They start as arbitrary valid values, so `fill`
    /// must write all of them.
    pub fn build<T: Element>(shape: Shape, fill: impl FnOnce(&mut [T])) -> Result<Tensor> {
        let mut tensor = Tensor::for_overwrite::<T>(shape)?;
        fill(tensor.unique_values_mut());
        Ok(tensor)
    }

    /// As [`Tensor::build`] for a computation that may fail.
    pub fn try_build<T: Element>(
        shape: Shape,
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<Tensor> {
        let mut tensor = Tensor::for_overwrite::<T>(shape)?;
        fill(tensor.unique_values_mut())?;
        Ok(tensor)
    }

    /// Makes a tensor whose elements are arbitrary valid values until written.
    pub fn for_overwrite<T: Element>(shape: Shape) -> Result<Tensor> {
        // Recycled memory may hold bytes that are no `bool`.
        let contents = if T::DTYPE == DType::Bool { Contents::Zeroed } else { Contents::Arbitrary };
        Tensor::allocate(T::DTYPE, shape, contents)
    }

    /// Makes a scalar.
    #[inline]
    pub fn scalar<T: Element>(value: T) -> Tensor {
        let mut bytes = InlineBytes([0; INLINE]);
        bytes.0[..size_of::<T>()].copy_from_slice(buffer::bytes_of(std::slice::from_ref(&value)));
        Tensor { dtype: T::DTYPE, shape: Shape::SCALAR, storage: Storage::Inline(bytes) }
    }

    /// Makes a tensor of the given elements in row-major order.
    pub fn from_slice<T: Element>(shape: Shape, values: &[T]) -> Result<Tensor> {
        if values.len() != shape.num_elements() {
            return Err(invalid_argument!("{} values do not fill shape {shape}", values.len()));
        }
        Tensor::build(shape, |out: &mut [T]| out.copy_from_slice(values))
    }

    /// Makes a tensor of the given elements in row-major order, which are not copied if their memory
    /// is aligned well enough.
    ///
    /// ```
    /// use tensorfleet_tensor::{Shape, Tensor};
    ///
    /// let tensor = Tensor::from_vec(Shape::matrix(2, 3), vec![1.0f32; 6])?;
    /// assert_eq!(tensor.values::<f32>()?, [1.0; 6]);
    /// # Ok::<_, tensorfleet_tensor::Error>(())
    /// ```
    pub fn from_vec<T: Element>(shape: Shape, values: Vec<T>) -> Result<Tensor> {
        if values.len() != shape.num_elements() || size_of_val(values.as_slice()) <= INLINE {
            return Tensor::from_slice(shape, &values);
        }
        match Buffer::from_vec(values) {
            Ok(buffer) => {
                let storage = Storage::Shared { buffer: Arc::new(buffer), offset: 0 };
                Ok(Tensor { dtype: T::DTYPE, shape, storage })
            }
            Err(values) => Tensor::from_slice(shape, &values),
        }
    }

    /// Charges whoever works on this thread for the tensor's memory, if nobody is: for tensors that come
    /// from elsewhere.
    pub fn adopt(&self) {
        if let Storage::Shared { buffer, .. } = &self.storage {
            buffer.adopt();
        }
    }

    /// About how many bytes keeping it costs, besides memory that is charged anyway.
    pub(crate) fn kept_bytes(&self) -> usize {
        let is_charged =
            matches!(&self.storage, Storage::Shared { buffer, .. } if buffer.is_charged());
        account::kept_bytes(self.byte_len(), is_charged)
    }

    /// Makes a vector.
    pub fn vector<T: Element>(values: &[T]) -> Result<Tensor> {
        Tensor::from_slice(Shape::vector(values.len()), values)
    }

    /// Makes a scalar string.
    pub fn string(value: impl Into<Bytes>) -> Tensor {
        Tensor {
            dtype: DType::String,
            shape: Shape::SCALAR,
            storage: Storage::Strings(Arc::new(vec![value.into()])),
        }
    }

    /// Makes a tensor of strings.
    pub fn from_strings(shape: Shape, values: Vec<Bytes>) -> Result<Tensor> {
        check_len(&shape, values.len())?;
        Ok(Tensor { dtype: DType::String, shape, storage: Storage::Strings(Arc::new(values)) })
    }

    /// Makes a scalar resource handle.
    pub fn resource(handle: ResourceHandle) -> Tensor {
        Tensor {
            dtype: DType::Resource,
            shape: Shape::SCALAR,
            storage: Storage::Resources(Arc::new(vec![handle])),
        }
    }

    /// Makes a tensor of resource handles.
    pub fn from_resources(shape: Shape, values: Vec<ResourceHandle>) -> Result<Tensor> {
        check_len(&shape, values.len())?;
        Ok(Tensor { dtype: DType::Resource, shape, storage: Storage::Resources(Arc::new(values)) })
    }

    /// Makes a scalar variant.
    pub fn variant(value: Variant) -> Tensor {
        Tensor {
            dtype: DType::Variant,
            shape: Shape::SCALAR,
            storage: Storage::Variants(Arc::new(vec![value])),
        }
    }

    /// Makes a tensor of variants.
    pub fn from_variants(shape: Shape, values: Vec<Variant>) -> Result<Tensor> {
        check_len(&shape, values.len())?;
        Ok(Tensor { dtype: DType::Variant, shape, storage: Storage::Variants(Arc::new(values)) })
    }

    /// Makes a tensor of a plain type from its little-endian bytes.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Tensor> {
        // Compared before allocating: a short message must not claim a huge tensor.
        if shape.num_elements().checked_mul(dtype.size()) != Some(bytes.len()) {
            return Err(invalid_argument!(
                "{} bytes do not hold a {dtype} tensor of shape {shape}",
                bytes.len()
            ));
        }
        Tensor::build_raw(dtype, shape, |out| {
            out.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn allocate(dtype: DType, shape: Shape, contents: Contents) -> Result<Tensor> {
        if !dtype.is_plain() {
            return Err(internal!("a {dtype} tensor is not made of plain bytes"));
        }
        let too_large =
            || resource_exhausted!("OOM when allocating tensor with shape{shape} and type {dtype}");
        let len = shape.num_elements().checked_mul(dtype.size()).ok_or_else(too_large)?;
        let storage = if len <= INLINE {
            Storage::Inline(InlineBytes([0; INLINE]))
        } else {
            let buffer = Buffer::new(len, contents).map_err(|error| {
                // Where somebody is at a limit, it is said whose and who holds what.
                match error.message().strip_prefix(account::MORE) {
                    Some(why) => resource_exhausted!("{}; {why}", too_large().message()),
                    None => too_large(),
                }
            })?;
            Storage::Shared { buffer: Arc::new(buffer), offset: 0 }
        };
        Ok(Tensor { dtype, shape, storage })
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sizes of all dimensions.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The number of elements.
    pub fn num_elements(&self) -> usize {
        self.shape.num_elements()
    }

    /// Bytes of the elements of a plain tensor; for others, what their contents occupy about.
    #[inline]
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Inline(_) | Storage::Shared { .. } => self.plain_len(),
            Storage::Strings(values) => values.iter().map(|v| v.len() + size_of::<Bytes>()).sum(),
            Storage::Resources(values) => values.len() * size_of::<ResourceHandle>(),
            Storage::Variants(values) => values.len() * size_of::<Variant>(),
        }
    }

    /// Bytes of the elements of a plain tensor.
    #[inline]
    fn plain_len(&self) -> usize {
        self.num_elements() * self.dtype.size()
    }

    /// The elements, if `T` is their type.
    #[inline]
    pub fn values<T: Element>(&self) -> Result<&[T]> {
        self.expect_dtype(T::DTYPE)?;
        Ok(buffer::cast(self.raw()))
    }

    /// The elements for writing, if `T` is their type. Copies the storage first when it is shared.
    pub fn values_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        self.expect_dtype(T::DTYPE)?;
        self.make_unique()?;
        Ok(self.unique_values_mut())
    }

    fn unique_values_mut<T: Element>(&mut self) -> &mut [T] {
        buffer::cast_mut(self.raw_mut())
    }

    /// The only element of a tensor with exactly one.
    #[inline]
    pub fn scalar_value<T: Element>(&self) -> Result<T> {
        match self.values::<T>()? {
            [value] => Ok(*value),
            _ => Err(invalid_argument!("expected a scalar, got shape {}", self.shape)),
        }
    }

    /// The integers of an `int32` or `int64` tensor, widened.
    pub fn to_i64_vec(&self) -> Result<Vec<i64>> {
        match self.dtype {
            DType::Int32 => Ok(self.values::<i32>()?.iter().map(|&v| v.into()).collect()),
            DType::Int64 => Ok(self.values::<i64>()?.to_vec()),
            DType::Int16 => Ok(self.values::<i16>()?.iter().map(|&v| v.into()).collect()),
            other => Err(invalid_argument!("expected integers, got a {other} tensor")),
        }
    }

    /// The strings.
    pub fn strings(&self) -> Result<&[Bytes]> {
        match &self.storage {
            Storage::Strings(values) => Ok(values),
            _ => Err(self.wrong_dtype(DType::String)),
        }
    }

    /// The strings for writing.
    pub fn strings_mut(&mut self) -> Result<&mut [Bytes]> {
        self.expect_dtype(DType::String)?;
        match &mut self.storage {
            Storage::Strings(values) => Ok(Arc::make_mut(values).as_mut_slice()),
            _ => Ok(&mut []),
        }
    }

    /// The resource handles.
    pub fn resources(&self) -> Result<&[ResourceHandle]> {
        match &self.storage {
            Storage::Resources(values) => Ok(values),
            _ => Err(self.wrong_dtype(DType::Resource)),
        }
    }

    /// The variants.
    pub fn variants(&self) -> Result<&[Variant]> {
        match &self.storage {
            Storage::Variants(values) => Ok(values),
            _ => Err(self.wrong_dtype(DType::Variant)),
        }
    }

    /// The variants for writing.
    pub fn variants_mut(&mut self) -> Result<&mut [Variant]> {
        self.expect_dtype(DType::Variant)?;
        match &mut self.storage {
            Storage::Variants(values) => Ok(Arc::make_mut(values).as_mut_slice()),
            _ => Ok(&mut []),
        }
    }

    /// The bytes of a plain tensor; empty for strings, resources and variants.
    #[inline]
    pub fn raw(&self) -> &[u8] {
        match &self.storage {
            Storage::Inline(bytes) => &bytes.0[..self.plain_len()],
            Storage::Shared { buffer, offset } => {
                &buffer.bytes()[*offset..*offset + self.plain_len()]
            }
            _ => &[],
        }
    }

    /// The bytes of unique storage for writing. Bytes of a `bool` tensor must stay 0 or 1.
    fn raw_mut(&mut self) -> &mut [u8] {
        let len = self.plain_len();
        match &mut self.storage {
            Storage::Inline(bytes) => &mut bytes.0[..len],
            Storage::Shared { buffer, offset } => {
                let buffer = Arc::get_mut(buffer).expect("only called on unique storage");
                &mut buffer.bytes_mut()[*offset..*offset + len]
            }
            _ => &mut [],
        }
    }

    /// Makes a plain tensor by moving bytes into it, whatever its element type: `fill` gets all
    /// bytes and must write all of them.
    pub fn build_raw(
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Tensor> {
        let mut tensor = Tensor::allocate(dtype, shape, Contents::Arbitrary)?;
        tensor.write_raw(fill)?;
        Ok(tensor)
    }

    /// Lets `write` change the bytes of a plain tensor. Copies shared storage first.
    pub fn write_raw(&mut self, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        /// Restores the invariant of `bool` storage, also when `write` panics.
        struct Normalise<'a>(&'a mut [u8], bool);
        impl Drop for Normalise<'_> {
            fn drop(&mut self) {
                if self.1 {
                    self.0.iter_mut().for_each(|byte| *byte = (*byte != 0).into());
                }
            }
        }
        self.make_unique()?;
        let is_bool = self.dtype == DType::Bool;
        write(Normalise(self.raw_mut(), is_bool).0)
    }

    /// The bytes of a plain tensor as a reference-counted slice that keeps the storage alive.
    pub fn shared_bytes(&self) -> Bytes {
        match &self.storage {
            Storage::Inline(_) => Bytes::copy_from_slice(self.raw()),
            Storage::Shared { buffer, offset } => {
                struct Owner(Arc<Buffer>);
                impl AsRef<[u8]> for Owner {
                    fn as_ref(&self) -> &[u8] {
                        self.0.bytes()
                    }
                }
                Bytes::from_owner(Owner(Arc::clone(buffer)))
                    .slice(*offset..*offset + self.plain_len())
            }
            _ => Bytes::new(),
        }
    }

    /// Whether writing needs no copy because nobody else holds the storage.
    pub fn is_unique(&self) -> bool {
        match &self.storage {
            Storage::Inline(_) => true,
            Storage::Shared { buffer, .. } => Arc::strong_count(buffer) == 1,
            Storage::Strings(values) => Arc::strong_count(values) == 1,
            Storage::Resources(values) => Arc::strong_count(values) == 1,
            Storage::Variants(values) => Arc::strong_count(values) == 1,
        }
    }

    fn make_unique(&mut self) -> Result<()> {
        let len = self.plain_len();
        if let Storage::Shared { buffer, offset } = &mut self.storage
            && Arc::get_mut(buffer).is_none()
        {
            let mut copy = Buffer::new(len, Contents::Arbitrary)?;
            copy.bytes_mut().copy_from_slice(&buffer.bytes()[*offset..*offset + len]);
            (*buffer, *offset) = (Arc::new(copy), 0);
        }
        Ok(())
    }

    /// A copy that shares no storage with this tensor.
    pub fn deep_copy(&self) -> Result<Tensor> {
        let mut copy = self.clone();
        copy.make_unique()?;
        Ok(copy)
    }

    /// The same elements under another shape of the same size.
    pub fn reshape(&self, shape: Shape) -> Result<Tensor> {
        self.clone().into_shape(shape)
    }

    /// The same storage under another shape of the same size.
    pub fn into_shape(mut self, shape: Shape) -> Result<Tensor> {
        if shape.num_elements() != self.num_elements() {
            return Err(invalid_argument!(
                "Input to reshape is a tensor with {} values, but the requested shape has {}",
                self.num_elements(),
                shape.num_elements()
            ));
        }
        self.shape = shape;
        Ok(self)
    }

    /// The same bytes under another type and shape, for `Bitcast`.
    pub fn reinterpret(&self, dtype: DType, shape: Shape) -> Result<Tensor> {
        if !dtype.is_plain() || shape.num_elements() * dtype.size() != self.byte_len() {
            return Err(invalid_argument!(
                "Cannot bitcast {} of shape {} to {dtype} of shape {shape}",
                self.dtype,
                self.shape
            ));
        }
        if dtype == DType::Bool {
            return Tensor::from_bytes(dtype, shape, self.raw());
        }
        Ok(Tensor { dtype, shape, storage: self.storage.clone() })
    }

    /// Rows of the first dimension, sharing the storage where that is possible.
    pub fn rows(&self, rows: Range<usize>) -> Result<Tensor> {
        let Some((&count, inner)) = self.dims().split_first() else {
            return Err(invalid_argument!("cannot take rows of a scalar"));
        };
        if rows.start > rows.end || rows.end > count {
            return Err(invalid_argument!(
                "rows {rows:?} are out of range for shape {}",
                self.shape
            ));
        }
        let row = inner.iter().product::<usize>();
        let mut dims: smallvec::SmallVec<[usize; 4]> = self.dims().into();
        dims[0] = rows.len();
        let shape = Shape::new(&dims)?;
        let elements = rows.start * row..rows.end * row;
        let storage = match &self.storage {
            Storage::Inline(_) => {
                let size = self.dtype.size();
                let bytes = &self.raw()[elements.start * size..elements.end * size];
                return Tensor::from_bytes(self.dtype, shape, bytes);
            }
            Storage::Shared { buffer, offset } => {
                let size = self.dtype.size();
                let len = elements.len() * size;
                if len <= INLINE {
                    let start = elements.start * size;
                    return Tensor::from_bytes(self.dtype, shape, &self.raw()[start..start + len]);
                }
                Storage::Shared {
                    buffer: Arc::clone(buffer),
                    offset: offset + elements.start * size,
                }
            }
            Storage::Strings(values) => Storage::Strings(Arc::new(values[elements].to_vec())),
            Storage::Resources(values) => Storage::Resources(Arc::new(values[elements].to_vec())),
            Storage::Variants(values) => Storage::Variants(Arc::new(values[elements].to_vec())),
        };
        Ok(Tensor { dtype: self.dtype, shape, storage })
    }

    fn expect_dtype(&self, want: DType) -> Result<()> {
        if self.dtype == want { Ok(()) } else { Err(self.wrong_dtype(want)) }
    }

    fn wrong_dtype(&self, want: DType) -> crate::Error {
        invalid_argument!(
            "expected a {want} tensor, got a {} tensor of shape {}",
            self.dtype,
            self.shape
        )
    }
}

fn check_len(shape: &Shape, len: usize) -> Result<()> {
    if len == shape.num_elements() {
        Ok(())
    } else {
        Err(invalid_argument!("{len} values do not fill shape {shape}"))
    }
}

/// Shows the first elements. The alternate form, `{:#?}`, tells tensors apart by all of them.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)?;
        if f.alternate() {
            return match &self.storage {
                Storage::Strings(values) => write!(f, " {values:?}"),
                Storage::Variants(values) => write!(f, " {values:#?}"),
                _ if self.dtype.is_plain() => {
                    let mut hasher = DefaultHasher::new();
                    hasher.write(self.raw());
                    write!(f, " #{:x}", hasher.finish())
                }
                _ => Ok(()),
            };
        }
        if let Storage::Strings(values) = &self.storage {
            return write!(f, " {:?}", &values[..values.len().min(8)]);
        }
        crate::dispatch!(
            self.dtype,
            [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool],
            T => match self.values::<T>() {
                Ok(values) => write!(f, " {:?}", &values[..values.len().min(8)]),
                Err(_) => Ok(()),
            },
            else => Ok(())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_form_sees_every_element() {
        let [a, b] = [8f32, 9.0].map(|last| {
            let mut values = [0f32; 20];
            values[19] = last;
            Tensor::vector(&values).unwrap()
        });
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        assert_ne!(format!("{a:#?}"), format!("{b:#?}"));
    }

    #[test]
    fn writing_shared_storage_copies_it() {
        let mut a = Tensor::vector(&[1.0f32; 10]).unwrap();
        let b = a.clone();
        assert!(!a.is_unique());
        a.values_mut::<f32>().unwrap()[0] = 5.0;
        assert_eq!((a.values::<f32>().unwrap()[0], b.values::<f32>().unwrap()[0]), (5.0, 1.0));
        assert!(a.is_unique() && b.is_unique());
    }

    #[test]
    fn rows_share_the_storage() {
        let all = Tensor::from_slice(Shape::from([4, 8]), &(0..32).collect::<Vec<i32>>()).unwrap();
        let rows = all.rows(1..3).unwrap();
        assert_eq!(rows.dims(), [2, 8]);
        assert_eq!(rows.values::<i32>().unwrap()[0], 8);
        assert!(!all.is_unique());
        assert!(all.rows(3..5).is_err());
    }

    #[test]
    fn bytes_that_are_no_bool_become_true() {
        let t = Tensor::from_bytes(DType::Bool, Shape::vector(3), &[0, 1, 200]).unwrap();
        assert_eq!(t.values::<bool>().unwrap(), [false, true, true]);
    }

    #[test]
    fn the_wrong_type_is_an_error() {
        assert!(Tensor::scalar(1i32).values::<f32>().is_err());
        assert!(Tensor::scalar(1i32).strings().is_err());
    }
}

//! The tensor array: a resource of one step whose elements are written once and read later.
//!
//! Its gradient is another array in which several writes to one index add up, and where an element
//! that nobody wrote reads as zeros.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tensorfleet_framework::Resource;
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::join::merge;
use crate::sparse::number::add_tensors;

/// What an array is told when it is made.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) element_shape: PartialShape,
    pub(super) dynamic_size: bool,
    pub(super) clear_after_read: bool,
    pub(super) identical_element_shapes: bool,
    /// Whether this is a gradient, whose elements are sums of all writes.
    pub(super) aggregates: bool,
}

#[derive(Debug)]
pub(super) struct TensorArray {
    name: String,
    dtype: DType,
    clear_after_read: bool,
    identical_element_shapes: bool,
    aggregates: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    closed: bool,
    dynamic_size: bool,
    element_shape: PartialShape,
    size: usize,
    /// Only those that were touched: a size is cheap to claim.
    elements: FxHashMap<usize, Element>,
}

#[derive(Clone, Debug, Default)]
struct Element {
    value: Option<Tensor>,
    /// The shape of what was written; for a gradient, of what the forward array held.
    shape: Option<Shape>,
    written: bool,
    read: bool,
    cleared: bool,
}

impl Resource for TensorArray {
    const TYPE_NAME: &'static str = "N10tensorflow11TensorArrayE";
}

impl TensorArray {
    pub(super) fn new(options: Options, size: usize) -> TensorArray {
        TensorArray {
            name: options.name,
            dtype: options.dtype,
            clear_after_read: options.clear_after_read,
            identical_element_shapes: options.identical_element_shapes,
            aggregates: options.aggregates,
            state: Mutex::new(State {
                closed: false,
                dynamic_size: options.dynamic_size,
                element_shape: options.element_shape,
                size,
                elements: FxHashMap::default(),
            }),
        }
    }

    /// The array of gradients of this one, whose elements' shapes are `prefix` before those here.
    pub(super) fn gradient(&self, name: String, prefix: Option<&Shape>) -> Result<TensorArray> {
        let mut state = self.lock()?;
        if self.aggregates {
            return Err(invalid_argument!(
                "Unable to create a gradients TensorArray for {}.  Perhaps you used the \
                 multiple_writes_aggregate flag on a previous write?  Gradient calculation is \
                 impossible when multiple writes are performed to the same index.",
                self.name
            ));
        }
        // From now on its size is what the gradient's is.
        state.dynamic_size = false;
        let prefix = prefix.map_or(&[][..], Shape::dims);
        let element_shape = PartialShape {
            dims: state.element_shape.dims.as_ref().map(|dims| {
                prefix.iter().map(|&dim| Some(dim)).chain(dims.iter().copied()).collect()
            }),
        };
        let options = Options {
            name,
            dtype: self.dtype,
            element_shape,
            dynamic_size: false,
            clear_after_read: true,
            identical_element_shapes: self.identical_element_shapes,
            aggregates: true,
        };
        let gradient = TensorArray::new(options, state.size);
        let mut filled = gradient.lock()?;
        for (&index, element) in &state.elements {
            if let Some(shape) = &element.shape {
                let shape = Some(Shape::new(&[prefix, shape.dims()].concat())?);
                filled
                    .elements
                    .insert(index, Element { shape, written: true, ..Element::default() });
            }
        }
        drop(filled);
        Ok(gradient)
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(invalid_argument!("TensorArray {} has already been closed.", self.name));
        }
        Ok(state)
    }

    /// Checks that the type of the elements is what an op brings.
    pub(super) fn check_written_dtype(&self, written: DType) -> Result<()> {
        if self.dtype != written {
            return Err(invalid_argument!(
                "TensorArray dtype is {} but Op is trying to write dtype {written}.",
                self.dtype
            ));
        }
        Ok(())
    }

    /// Checks that the type of the elements is what an op expects.
    pub(super) fn check_dtype(&self, requested: DType) -> Result<()> {
        if self.dtype != requested {
            return Err(invalid_argument!(
                "TensorArray dtype is {} but Op requested dtype {requested}.",
                self.dtype
            ));
        }
        Ok(())
    }

    pub(super) fn size(&self) -> Result<usize> {
        Ok(self.lock()?.size)
    }

    pub(super) fn is_dynamic(&self) -> Result<bool> {
        Ok(self.lock()?.dynamic_size)
    }

    pub(super) fn element_shape(&self) -> Result<PartialShape> {
        Ok(self.lock()?.element_shape.clone())
    }

    /// Learns more about the shape of the elements.
    pub(super) fn narrow_element_shape(&self, shape: &PartialShape) -> Result<()> {
        let mut state = self.lock()?;
        state.element_shape = merge(&state.element_shape, shape)?;
        Ok(())
    }

    /// Forgets all elements; nothing but another close may follow.
    pub(super) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.elements = FxHashMap::default();
    }

    pub(super) fn write(&self, index: i64, value: Tensor) -> Result<()> {
        let mut state = self.lock()?;
        let state = &mut *state;
        let size = state.size;
        let position = usize::try_from(index).ok().filter(|&i| i < size || state.dynamic_size);
        let Some(position) = position else {
            return Err(invalid_argument!(
                "TensorArray {}: Tried to write to index {index} but array is not resizeable and \
                 size is: {size}",
                self.name
            ));
        };
        state.size = size.max(position + 1);
        let refuse = |why: String| {
            invalid_argument!(
                "TensorArray {}: Could not write to TensorArray index {index} because {why}",
                self.name
            )
        };
        if value.dtype() != self.dtype {
            return Err(refuse(format!(
                "the value dtype is {} but TensorArray dtype is {}.",
                value.dtype(),
                self.dtype
            )));
        }
        if !state.element_shape.is_compatible_with(value.shape()) {
            return Err(refuse(format!(
                "the value shape is {} which is incompatible with the TensorArray's inferred \
                 element shape: {} (consider setting infer_shape=False).",
                value.shape(),
                state.element_shape
            )));
        }
        if self.identical_element_shapes && state.element_shape.to_shape().is_none() {
            state.element_shape = value.shape().into();
        }
        let element = state.elements.entry(position).or_default();
        if element.read {
            return Err(refuse("it has already been read.".into()));
        }
        if element.written && !self.aggregates {
            return Err(refuse("it has already been written to.".into()));
        }
        match (&element.shape, &mut element.value) {
            (Some(shape), _) if shape != value.shape() => {
                return Err(invalid_argument!(
                    "TensorArray {}: Could not aggregate to TensorArray index {index} because the \
                     existing shape is {shape} but the new input shape is {}.",
                    self.name,
                    value.shape()
                ));
            }
            (Some(_), Some(sum)) => add_tensors(sum, &value)?,
            _ => {
                element.shape = Some(value.shape().clone());
                element.value = Some(value);
            }
        }
        element.written = true;
        Ok(())
    }

    pub(super) fn read(&self, index: i64) -> Result<Tensor> {
        let mut state = self.lock()?;
        let state = &mut *state;
        let size = state.size;
        let Some(position) = usize::try_from(index).ok().filter(|&index| index < size) else {
            return Err(invalid_argument!(
                "Tried to read from index {index} but array size is: {size}"
            ));
        };
        let element = state.elements.entry(position).or_default();
        if element.cleared {
            return Err(invalid_argument!(
                "TensorArray {}: Could not read index {index} twice because it was cleared after \
                 a previous read (perhaps try setting clear_after_read = false?).",
                self.name
            ));
        }
        if element.value.is_none() {
            element.value = Some(self.zeros(index, element, &state.element_shape)?);
        }
        element.read = true;
        let value = if self.clear_after_read {
            element.cleared = true;
            element.value.take()
        } else {
            element.value.clone()
        };
        Ok(value.expect("an element without a value was given zeros"))
    }

    /// What an element reads as that was never written.
    fn zeros(&self, index: i64, element: &Element, declared: &PartialShape) -> Result<Tensor> {
        let Some(shape) = element.shape.clone().or_else(|| declared.to_shape()) else {
            return Err(invalid_argument!(
                "TensorArray {}: Could not read from TensorArray index {index}.  Furthermore, the \
                 element shape is not fully defined: {declared}.  It is possible you are working \
                 with a resizeable TensorArray and stop_gradients is not allowing the gradients \
                 to be written.  If you set the full element_shape property on the forward \
                 TensorArray, the proper all-zeros tensor will be returned instead of incurring \
                 this error.",
                self.name
            ));
        };
        if !self.dtype.is_plain() {
            return Err(invalid_argument!(
                "tensor_array::TensorSetZero type not supported: {}",
                self.dtype
            ));
        }
        Tensor::zeros(self.dtype, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(element_shape: PartialShape, clear_after_read: bool, size: usize) -> TensorArray {
        let options = Options {
            name: "a".into(),
            dtype: DType::Float,
            element_shape,
            dynamic_size: false,
            clear_after_read,
            identical_element_shapes: true,
            aggregates: false,
        };
        TensorArray::new(options, size)
    }

    #[test]
    fn an_element_is_written_once_and_read_once() {
        let array = array(PartialShape::UNKNOWN, true, 2);
        array.write(0, Tensor::scalar(1f32)).unwrap();
        assert!(array.write(0, Tensor::scalar(1f32)).is_err());
        assert!(array.write(1, Tensor::vector(&[1f32]).unwrap()).is_err());
        assert!(array.write(1, Tensor::scalar(1i32)).is_err());
        assert!(array.write(2, Tensor::scalar(1f32)).is_err());
        assert_eq!(array.read(0).unwrap().values::<f32>().unwrap(), [1.0]);
        assert!(array.read(0).unwrap_err().message().contains("twice"));
        assert!(array.read(-1).is_err());
    }

    #[test]
    fn writes_to_a_gradient_add_up_and_missing_ones_are_zeros() {
        let forward = array(PartialShape::UNKNOWN, false, 3);
        forward.write(0, Tensor::vector(&[1f32, 2.0]).unwrap()).unwrap();
        forward.write(1, Tensor::vector(&[1f32, 2.0]).unwrap()).unwrap();
        let gradient = forward.gradient("g".into(), None).unwrap();
        for _ in 0..2 {
            gradient.write(0, Tensor::vector(&[1f32, 2.0]).unwrap()).unwrap();
        }
        assert_eq!(gradient.read(0).unwrap().values::<f32>().unwrap(), [2.0, 4.0]);
        assert_eq!(gradient.read(1).unwrap().values::<f32>().unwrap(), [0.0, 0.0]);
        assert!(gradient.gradient("gg".into(), None).is_err());
    }

    #[test]
    fn nothing_works_after_close() {
        let array = array(PartialShape::scalar(), true, 1);
        assert_eq!(array.size().unwrap(), 1);
        array.close();
        array.close();
        assert!(array.size().is_err());
    }
}

//! Elements that are not plain bytes: handles of resources, and variants.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::{DType, PartialShape, Result, Tensor};

/// Names a resource (a variable, a queue, a table) of some task.
#[derive(Clone, Default)]
pub struct ResourceHandle {
    pub device: String,
    pub container: String,
    pub name: String,
    pub hash_code: u64,
    pub type_name: String,
    /// Types and shapes of what the resource holds, where known.
    pub contents: Vec<(DType, PartialShape)>,
    /// The resource itself when it has no name to look it up by: the handle then keeps it alive.
    pub anchor: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for ResourceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.container, self.name, self.type_name)
    }
}

/// A value of a type that only some ops understand: a list of tensors, an optional, a dataset.
pub type Variant = Arc<dyn VariantValue>;

/// A way to add two tensors of one type and shape.
pub type AddTensors<'a> = &'a mut dyn FnMut(Tensor, Tensor) -> Result<Tensor>;

/// What can be an element of a variant tensor.
pub trait VariantValue: Any + fmt::Debug + Send + Sync {
    /// TensorFlow's name of the type, as `tensorflow::TensorList`.
    fn type_name(&self) -> &str;

    /// The value of the same structure in which every number is zero: what a gradient starts from.
    fn zeros_like(&self) -> Result<Variant> {
        Err(internal!(
            "No unary variant unary_op function found for op ZEROS_LIKE Variant type_name: {} for \
             device type: CPU",
            self.type_name()
        ))
    }

    /// The sum with another value of the same type, part by part: what gradients become where they
    /// meet.
    fn plus(&self, _other: &Variant, _add: AddTensors<'_>) -> Result<Variant> {
        Err(internal!(
            "No unary variant binary_op function found for op ADD Variant type_name: '{}' for \
             device type: CPU",
            self.type_name()
        ))
    }

    /// The value in the form in which it travels between tasks.
    fn encode(&self) -> Result<EncodedVariant> {
        Err(invalid_argument!("a variant of type {} cannot leave its task", self.type_name()))
    }
}

impl dyn VariantValue {
    /// The concrete value, if it is of type `V`.
    pub fn downcast_ref<V: VariantValue>(&self) -> Option<&V> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A variant as it came over the wire, not yet turned into the type that its name promises.
#[derive(Clone, Debug, Default)]
pub struct EncodedVariant {
    pub type_name: String,
    pub metadata: Vec<u8>,
    pub tensors: Vec<Tensor>,
}

impl VariantValue for EncodedVariant {
    fn type_name(&self) -> &str {
        &self.type_name
    }

    fn encode(&self) -> Result<EncodedVariant> {
        Ok(self.clone())
    }
}

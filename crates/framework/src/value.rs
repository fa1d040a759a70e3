//! What flows along an edge: a tensor, a reference to a variable, or nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use tensorfleet_tensor::Tensor;

use crate::Variable;

/// The value of one output of a node.
#[derive(Clone, Debug, Default)]
pub enum Value {
    Tensor(Tensor),
    /// A reference edge of TensorFlow 1: the consumer may write the variable.
    Ref(Arc<Variable>),
    /// No value: not there yet, taken already, or dead because its branch was not taken.
    #[default]
    Empty,
}

impl Value {
    /// Whether there is nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, Value::Empty)
    }

    /// Moves the value out and leaves nothing.
    #[inline]
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

/// The values of all outputs of a node, or of a kernel that waited.
pub type Values = SmallVec<[Value; 2]>;

//! What flows along an edge: a tensor, or a reference to a variable.

use std::sync::Arc;

use smallvec::SmallVec;
use tensorfleet_tensor::Tensor;

use crate::Variable;

/// The value of one output of a node.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Tensor),
    /// A reference edge of TensorFlow 1: the consumer may write the variable.
    Ref(Arc<Variable>),
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

/// The values of all outputs of a node, or of a kernel that waited.
pub type Values = SmallVec<[Value; 2]>;

//! Checkpoints in the format of TensorFlow.

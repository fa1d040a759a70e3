//! Errors on their way to Python: a code and a message, for the package to make an exception of.

use pyo3::PyErr;
use tensorfleet_tensor::Error;

pyo3::create_exception!(
    tensorfleet._native,
    Failure,
    pyo3::exceptions::PyException,
    "What a server refuses or cannot do: a number of TensorFlow's codes, and a message."
);

pub(crate) fn raise(error: Error) -> PyErr {
    Failure::new_err((error.code() as i32, error.message().to_owned()))
}

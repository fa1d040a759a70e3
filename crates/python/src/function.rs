//! `PyFunc` and its kin: calls of the functions that a program gave to `tf.py_function`,
//! `tf.numpy_function` or `Dataset.from_generator`.
//!
//! A Python function may take long, wait for the interpreter, or open a session on the very server
//! that calls it. So it runs on a thread of its own, and no thread that computes waits for it.

use std::sync::Arc;

use futures_channel::oneshot;
use pyo3::exceptions::{
    PyMemoryError, PyNotImplementedError, PyStopIteration, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList};
use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Outcome, Started};
use tensorfleet_tensor::{
    Code, DType, Error, Result, Shape, Tensor, internal, invalid_argument, unavailable,
};

/// A call of one of the program's functions, which TensorFlow's client keeps under a token.
#[derive(Clone, Debug)]
pub(crate) struct PythonFunction {
    token: String,
    /// Whether the function takes eager tensors; else it takes arrays of numpy.
    eager: bool,
    outputs: Vec<DType>,
}

/// A tensor as the package takes and returns it: the number of its type, its shape, and its bytes or
/// a list of strings.
type Plain<'py> = (i32, Vec<usize>, Bound<'py, PyAny>);

impl AsyncKernel for PythonFunction {
    fn new(attrs: &Attrs<'_>) -> Result<PythonFunction> {
        Ok(PythonFunction {
            token: attrs.string("token")?.into_owned(),
            eager: attrs.op() == "EagerPyFunc",
            outputs: attrs.types_of("Tout")?.to_vec(),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let node = Arc::clone(&ctx.node);
        let arguments = ctx.into_tensors()?;
        let function = self.clone();
        let (sender, receiver) = oneshot::channel();
        let call = move || {
            // Nobody waits for the result of a step that was cancelled.
            let _ = sender.send(function.call(&arguments));
        };
        std::thread::Builder::new()
            .name(format!("python {}", self.token))
            .spawn(call)
            .map_err(|error| unavailable!("no thread for the Python function: {error}"))?;
        Ok(Started::Waiting(Box::pin(async move {
            let called =
                receiver.await.unwrap_or_else(|_| Err(internal!("{node} ended without a result")));
            called.map(Outcome::from)
        })))
    }
}

impl PythonFunction {
    fn call(&self, arguments: &[Tensor]) -> Result<Vec<Tensor>> {
        // The interpreter may be about to end.
        let called = Python::try_attach(|py| {
            self.call_attached(py, arguments).unwrap_or_else(|error| Err(failed(py, &error)))
        });
        called.unwrap_or_else(|| Err(unavailable!("the Python interpreter has ended")))
    }

    fn call_attached(&self, py: Python<'_>, arguments: &[Tensor]) -> PyResult<Result<Vec<Tensor>>> {
        let arguments: PyResult<Vec<Plain<'_>>> =
            arguments.iter().map(|argument| to_python(py, argument)).collect();
        let package = py.import("tensorfleet._python_functions")?;
        let results = package.call_method1("call", (&self.token, self.eager, arguments?))?;
        let results: Vec<Plain<'_>> = results.extract()?;
        Ok(self.check(results))
    }

    fn check(&self, results: Vec<Plain<'_>>) -> Result<Vec<Tensor>> {
        if results.len() != self.outputs.len() {
            return Err(invalid_argument!(
                "{} returns {} values, but expects to see {} values.",
                self.token,
                results.len(),
                self.outputs.len()
            ));
        }
        let results = results.into_iter().zip(&self.outputs).enumerate();
        let result = |(index, (result, &expected)): (usize, (Plain<'_>, &DType))| {
            let dtype = DType::from_number(result.0);
            if dtype != Some(expected) {
                return Err(invalid_argument!(
                    "{index}-th value returned by {} is {}, but expects {}",
                    self.token,
                    dtype.map_or("unknown", DType::name),
                    expected.name()
                ));
            }
            from_python(expected, result)
        };
        results.map(result).collect()
    }
}

fn to_python<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Plain<'py>> {
    let data = match tensor.dtype() {
        DType::String => {
            let strings = tensor.strings().map_err(crate::failure::raise)?;
            PyList::new(py, strings.iter().map(|string| PyBytes::new(py, string)))?.into_any()
        }
        DType::Resource | DType::Variant => {
            let name = tensor.dtype().name();
            return Err(PyTypeError::new_err(format!("a Python function cannot take a {name}")));
        }
        // Functions may write into the arrays that they get.
        _ => PyByteArray::new(py, tensor.raw()).into_any(),
    };
    Ok((tensor.dtype() as i32, tensor.dims().to_vec(), data))
}

fn from_python(dtype: DType, (_, dims, data): Plain<'_>) -> Result<Tensor> {
    let shape = Shape::new(&dims)?;
    let broken = |error: PyErr| internal!("a result of the package: {error}");
    if dtype == DType::String {
        let strings: Vec<Vec<u8>> = data.extract().map_err(broken)?;
        return Tensor::from_strings(shape, strings.into_iter().map(Into::into).collect());
    }
    let bytes = data.cast::<PyBytes>().map_err(|error| broken(error.into()))?;
    Tensor::from_bytes(dtype, shape, bytes.as_bytes())
}

/// TensorFlow's code for what a Python function raised, and the exception with its traceback.
fn failed(py: Python<'_>, error: &PyErr) -> Error {
    let code = if error.is_instance_of::<PyStopIteration>(py) {
        Code::OutOfRange
    } else if error.is_instance_of::<PyMemoryError>(py) {
        Code::ResourceExhausted
    } else if error.is_instance_of::<PyNotImplementedError>(py) {
        Code::Unimplemented
    } else if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py) {
        Code::InvalidArgument
    } else {
        Code::Unknown
    };
    let traceback = error.traceback(py).and_then(|traceback| traceback.format().ok());
    Error::new(code, format!("{error}\n{}\n", traceback.unwrap_or_default()))
}

//! Nodes in few words, and waiting for what runs them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tensorfleet_graph::{AttrValue, NodeDef};
use tensorfleet_tensor::{DType, Tensor};

/// A node of a graph.
pub fn node(name: &str, op: &str, inputs: &[&str], attrs: &[(&str, AttrValue)]) -> NodeDef {
    NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        device: String::new(),
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        attrs: attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    }
}

/// A constant.
pub fn constant(name: &str, value: Tensor) -> NodeDef {
    let dtype = AttrValue::Type(value.dtype());
    node(name, "Const", &[], &[("dtype", dtype), ("value", AttrValue::Tensor(value))])
}

/// A result of the run, a tensor of the type.
pub fn retval(index: i64, input: &str, dtype: DType) -> NodeDef {
    let attrs = [("T", AttrValue::Type(dtype)), ("index", AttrValue::Int(index))];
    node(&format!("out{index}"), "_Retval", &[input], &attrs)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future, which may go on in other threads.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

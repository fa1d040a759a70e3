//! What a gradient function sees: a node, the gradients of its outputs, and the graph to which it
//! adds the nodes that compute the gradients of the inputs.

use std::cell::RefCell;
use std::ops::Range;

use tensorfleet_graph::{Node, NodeId, Output};
use tensorfleet_tensor::{
    DType, Element, PartialShape, Result, Shape, Tensor, internal, unimplemented_error,
};

use crate::{Attrs, BuildScope, GraphBuilder, NewNode};

/// Adds what computes the gradients of a node's inputs: one for each, `None` where the outputs do
/// not depend on an input in a way that can be differentiated.
pub type GradientFn = fn(&GradientContext<'_>) -> InputGradients;

/// The gradients of a node's inputs.
pub type InputGradients = Result<Vec<Option<Gradient>>>;

/// The gradient of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    Dense(Output),
    /// Zero but for some slices along the first dimension.
    Sparse(IndexedSlices),
}

/// Slices of a larger tensor along its first dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSlices {
    pub values: Output,
    /// The number of each slice; one may come several times and then counts as the sum.
    pub indices: Output,
    /// The shape of the larger tensor.
    pub dense_shape: Output,
}

/// The gradient of an op with one input.
pub fn only(gradient: Output) -> InputGradients {
    Ok(vec![Some(gradient.into())])
}

/// The gradients of an op with two inputs.
pub fn both(first: Output, second: Output) -> InputGradients {
    Ok(vec![Some(first.into()), Some(second.into())])
}

impl From<Output> for Gradient {
    fn from(output: Output) -> Gradient {
        Gradient::Dense(output)
    }
}

impl From<IndexedSlices> for Gradient {
    fn from(slices: IndexedSlices) -> Gradient {
        Gradient::Sparse(slices)
    }
}

impl Gradient {
    /// The tensor that holds the numbers.
    pub fn values(&self) -> Output {
        match self {
            Gradient::Dense(output) => *output,
            Gradient::Sparse(slices) => slices.values,
        }
    }
}

/// The gradient of an op that cannot be differentiated: nothing flows back.
pub fn no_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![None; g.num_inputs()])
}

/// A node whose gradient is wanted.
#[derive(Debug)]
pub struct GradientContext<'a> {
    builder: RefCell<&'a mut GraphBuilder>,
    scope: &'a BuildScope,
    id: NodeId,
    node: Node,
    gradients: &'a [Option<Gradient>],
}

impl<'a> GradientContext<'a> {
    /// Prepares a call of the gradient function of node `id`.
    pub fn new(
        builder: &'a mut GraphBuilder,
        scope: &'a BuildScope,
        id: NodeId,
        gradients: &'a [Option<Gradient>],
    ) -> GradientContext<'a> {
        let node = builder.graph().node(id).clone();
        GradientContext { builder: RefCell::new(builder), scope, id, node, gradients }
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node's number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The node's attributes.
    pub fn attrs(&self) -> Attrs<'_> {
        Attrs::new(&self.node)
    }

    /// The number of inputs.
    pub fn num_inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// The number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.node.output_types().len()
    }

    /// An input.
    pub fn input(&self, index: usize) -> Output {
        self.node.inputs[index]
    }

    /// The inputs of a range.
    pub fn inputs(&self, range: Range<usize>) -> &[Output] {
        &self.node.inputs[range]
    }

    /// An output.
    pub fn output(&self, index: usize) -> Output {
        Output { node: self.id, index: index as u32 }
    }

    /// The gradient of an output; zeros if nothing depends on it.
    pub fn grad(&self, index: usize) -> Result<Output> {
        match self.gradients.get(index).copied().flatten() {
            Some(gradient) => self.dense(gradient),
            None => self.zeros_like(self.output(index)),
        }
    }

    /// The gradient of an output as it came.
    pub fn grad_or_none(&self, index: usize) -> Option<Gradient> {
        self.gradients.get(index).copied().flatten()
    }

    /// Does something with the graph under construction.
    pub fn with_builder<R>(&self, f: impl FnOnce(&mut GraphBuilder, &BuildScope) -> R) -> R {
        f(&mut self.builder.borrow_mut(), self.scope)
    }

    /// Adds a node.
    pub fn add(&self, node: NewNode) -> Result<NodeId> {
        self.builder.borrow_mut().add(self.scope, node)
    }

    /// Adds a node and returns its first output.
    pub fn out(&self, node: NewNode) -> Result<Output> {
        self.builder.borrow_mut().add_output(self.scope, node)
    }

    /// Adds a node and returns some of its outputs.
    pub fn outs<const N: usize>(&self, node: NewNode) -> Result<[Output; N]> {
        let id = self.add(node)?;
        Ok(std::array::from_fn(|index| Output { node: id, index: index as u32 }))
    }

    /// Adds a node whose attributes follow from its inputs, and returns its first output.
    pub fn call<const N: usize>(&self, op: &str, inputs: [Output; N]) -> Result<Output> {
        self.out(inputs.into_iter().fold(NewNode::new(op), NewNode::input))
    }

    /// Adds a node of the same attributes that computes part of the gradient: a `...Grad` op.
    pub fn call_with_attrs<const N: usize>(&self, op: &str, inputs: [Output; N]) -> Result<Output> {
        self.out(self.with_attrs_of(inputs.into_iter().fold(NewNode::new(op), NewNode::input))?)
    }

    /// Copies the node's attributes that the new node's op has too.
    pub fn with_attrs_of(&self, mut node: NewNode) -> Result<NewNode> {
        let def = self.builder.borrow().op_def(&node.op)?;
        for attr in &def.attrs {
            if let (false, Some(value)) =
                (node.attrs.contains_key(&attr.name), self.node.attrs.get(&attr.name))
            {
                node.attrs.insert(attr.name.clone(), value.clone());
            }
        }
        Ok(node)
    }

    /// The element type of a tensor.
    pub fn dtype(&self, output: Output) -> DType {
        self.builder.borrow().dtype(output)
    }

    /// What is known of the shape of a tensor.
    pub fn shape(&self, output: Output) -> PartialShape {
        self.builder.borrow().shape(output).clone()
    }

    /// The rank of a tensor, if it is known.
    pub fn rank(&self, output: Output) -> Option<usize> {
        self.builder.borrow().shape(output).rank()
    }

    /// The value of a tensor, if it is constant.
    pub fn constant_value(&self, output: Output) -> Option<Tensor> {
        self.builder.borrow().constant_value(output)
    }

    /// Adds a constant.
    pub fn constant(&self, tensor: Tensor) -> Result<Output> {
        self.builder.borrow_mut().constant(self.scope, tensor)
    }

    /// Adds a constant vector.
    pub fn vector<T: Element>(&self, values: &[T]) -> Result<Output> {
        self.constant(Tensor::vector(values)?)
    }

    /// Adds a constant scalar.
    pub fn scalar<T: Element>(&self, value: T) -> Result<Output> {
        self.constant(Tensor::scalar(value))
    }

    /// Adds a constant scalar of the type of another tensor.
    pub fn number_like(&self, value: f64, like: Output) -> Result<Output> {
        self.number(value, self.dtype(like))
    }

    /// Adds a constant scalar of a type.
    pub fn number(&self, value: f64, dtype: DType) -> Result<Output> {
        self.constant(number(value, dtype)?)
    }

    /// The shape of a tensor as an `int32` vector: a constant where it is known.
    pub fn shape_tensor(&self, output: Output) -> Result<Output> {
        let shape = self.shape(output).to_shape();
        let dims: Option<Vec<i32>> =
            shape.and_then(|s| s.dims().iter().map(|&dim| i32::try_from(dim).ok()).collect());
        match dims {
            Some(dims) => self.vector(&dims),
            None => self.call("Shape", [output]),
        }
    }

    /// The rank of a tensor as an `int32` scalar: a constant where it is known.
    pub fn rank_tensor(&self, output: Output) -> Result<Output> {
        match self.rank(output) {
            Some(rank) => self.scalar(rank as i32),
            None => self.call("Rank", [output]),
        }
    }

    /// The number of elements as an `int32` scalar: a constant where it is known.
    pub fn size_tensor(&self, output: Output) -> Result<Output> {
        let size = self.shape(output).to_shape().map(|shape| shape.num_elements());
        match size.and_then(|size| i32::try_from(size).ok()) {
            Some(size) => self.scalar(size),
            None => self.call("Size", [output]),
        }
    }

    /// Zeros in the shape of a tensor.
    pub fn zeros_like(&self, output: Output) -> Result<Output> {
        if self.dtype(output) == DType::Resource {
            return Err(internal!("{} is a resource", self.builder.borrow().describe(output)));
        }
        self.call("ZerosLike", [output])
    }

    /// Ones in the shape of a tensor.
    pub fn ones_like(&self, output: Output) -> Result<Output> {
        self.call("OnesLike", [output])
    }

    /// A gradient as one tensor.
    pub fn dense(&self, gradient: Gradient) -> Result<Output> {
        let slices = match gradient {
            Gradient::Dense(output) => return Ok(output),
            Gradient::Sparse(slices) => slices,
        };
        let zero = self.scalar(0i32)?;
        let rows =
            self.out(NewNode::new("GatherV2").input(slices.dense_shape).input(zero).input(zero))?;
        self.call("UnsortedSegmentSum", [slices.values, slices.indices, rows])
    }

    /// Reduces a gradient that has the shape of `x` broadcast with `y` to the shape of `x`.
    pub fn unbroadcast(&self, gradient: Output, x: Output, y: Output) -> Result<Output> {
        let (x_shape, y_shape) = (self.shape(x), self.shape(y));
        if x_shape.to_shape().is_some() && x_shape == y_shape {
            return Ok(gradient);
        }
        if let (Some(x_shape), Some(of)) = (x_shape.to_shape(), self.shape(gradient).to_shape()) {
            return self.unbroadcast_known(gradient, &x_shape, &of);
        }
        let (x_shape, y_shape) = (self.shape_tensor(x)?, self.shape_tensor(y)?);
        let axes = self.call("BroadcastGradientArgs", [x_shape, y_shape])?;
        let sum = self.call("Sum", [gradient, axes])?;
        self.call("Reshape", [sum, x_shape])
    }

    /// As [`GradientContext::unbroadcast`] when all shapes are known: no shape is computed in steps.
    fn unbroadcast_known(&self, gradient: Output, to: &Shape, from: &Shape) -> Result<Output> {
        if to == from {
            return Ok(gradient);
        }
        let missing = from.rank().saturating_sub(to.rank());
        let axes: Vec<i32> = (0..from.rank())
            .filter(|&at| at < missing || (to.dims()[at - missing] == 1 && from.dims()[at] != 1))
            .map(|at| at as i32)
            .collect();
        let sum = match &axes[..] {
            [] => gradient,
            axes => {
                let axes = self.vector(axes)?;
                self.call("Sum", [gradient, axes])?
            }
        };
        if axes.len() == missing && axes.iter().all(|&at| (at as usize) < missing) {
            return Ok(sum);
        }
        let dims: Vec<i32> = to.dims().iter().map(|&dim| dim as i32).collect();
        let dims = self.vector(&dims)?;
        self.call("Reshape", [sum, dims])
    }

    /// `a + b`.
    pub fn add2(&self, a: Output, b: Output) -> Result<Output> {
        self.call("AddV2", [a, b])
    }

    /// `a - b`.
    pub fn sub(&self, a: Output, b: Output) -> Result<Output> {
        self.call("Sub", [a, b])
    }

    /// `a * b`.
    pub fn mul(&self, a: Output, b: Output) -> Result<Output> {
        self.call("Mul", [a, b])
    }

    /// `a / b`.
    pub fn div(&self, a: Output, b: Output) -> Result<Output> {
        self.call("RealDiv", [a, b])
    }

    /// `-a`.
    pub fn neg(&self, a: Output) -> Result<Output> {
        self.call("Neg", [a])
    }

    /// `a` times a number.
    pub fn scale(&self, a: Output, factor: f64) -> Result<Output> {
        let factor = self.number_like(factor, a)?;
        self.mul(a, factor)
    }

    /// `a` plus a number.
    pub fn shift(&self, a: Output, term: f64) -> Result<Output> {
        let term = self.number_like(term, a)?;
        self.add2(a, term)
    }

    /// The complex conjugate, which a real tensor is itself.
    pub fn conj(&self, a: Output) -> Result<Output> {
        if self.dtype(a).is_complex() { self.call("Conj", [a]) } else { Ok(a) }
    }

    /// `a` in another shape.
    pub fn reshape(&self, a: Output, shape: Output) -> Result<Output> {
        self.call("Reshape", [a, shape])
    }

    /// `a` in the shape of another tensor.
    pub fn reshape_like(&self, a: Output, like: Output) -> Result<Output> {
        let (have, want) = (self.shape(a), self.shape(like));
        if have == want && have.to_shape().is_some() {
            return Ok(a);
        }
        let shape = self.shape_tensor(like)?;
        self.reshape(a, shape)
    }

    /// `a` as another type.
    pub fn cast(&self, a: Output, dtype: DType) -> Result<Output> {
        if self.dtype(a) == dtype {
            return Ok(a);
        }
        self.out(NewNode::new("Cast").input(a).attr("DstT", dtype))
    }
}

/// A scalar of a type, from a number that it can hold.
pub fn number(value: f64, dtype: DType) -> Result<Tensor> {
    Ok(match dtype {
        DType::Float => Tensor::scalar(value as f32),
        DType::Double => Tensor::scalar(value),
        DType::Int8 => Tensor::scalar(value as i8),
        DType::Int16 => Tensor::scalar(value as i16),
        DType::Int32 => Tensor::scalar(value as i32),
        DType::Int64 => Tensor::scalar(value as i64),
        DType::UInt8 => Tensor::scalar(value as u8),
        DType::UInt16 => Tensor::scalar(value as u16),
        DType::UInt32 => Tensor::scalar(value as u32),
        DType::UInt64 => Tensor::scalar(value as u64),
        DType::Half => Tensor::scalar(half::f16::from_f64(value)),
        DType::BFloat16 => Tensor::scalar(half::bf16::from_f64(value)),
        DType::Complex64 => Tensor::scalar(num_complex::Complex::new(value as f32, 0.0)),
        DType::Complex128 => Tensor::scalar(num_complex::Complex::new(value, 0.0)),
        _ => return Err(unimplemented_error!("a {dtype} tensor cannot hold the number {value}")),
    })
}

//! Layers as plain functions: each makes its variables and returns what it computes.
//!
//! Names of variables are those that Keras gives them: `kernel`, `bias`, in a scope of the layer's
//! name.

use std::panic::Location;

use tensorfleet_tensor::{DType, invalid_argument};

use crate::graph::Graph;
use crate::initializer::{self, Initializer};
use crate::output::{Operand, Output};
use crate::variable::Variable;

/// How windows are laid over images.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(8), Some(8), Some(1)]);
/// let same = layers::max_pool2d(&images, 3, 1, Padding::Same);
/// let valid = layers::max_pool2d(&images, 3, 1, Padding::Valid);
/// assert_eq!(same.shape().to_string(), "[?,8,8,1]");
/// assert_eq!(valid.shape().to_string(), "[?,6,6,1]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// With zeros around, so that a stride of one keeps the size.
    Same,
    /// Only where they fit.
    Valid,
}

impl Padding {
    fn name(self) -> &'static str {
        match self {
            Padding::Same => "SAME",
            Padding::Valid => "VALID",
        }
    }
}

/// Whether the step trains: said when the graph is built, or by a tensor that steps are fed with.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([1.0f32; 4]);
/// let training = graph.placeholder::<bool>([]);
/// let y = layers::dropout(&x, 0.5, &training);
/// let session = Session::new(&graph)?;
/// assert_eq!(session.run((&training, false), y.value::<Vec<f32>>())?, [1.0; 4]);
/// let trained = session.run((&training, true), y.value::<Vec<f32>>())?;
/// assert!(trained.iter().all(|value| [0.0, 2.0].contains(value)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Training {
    /// Always or never.
    Fixed(bool),
    /// As a `bool` scalar says.
    When(Output),
}

impl From<bool> for Training {
    fn from(training: bool) -> Training {
        Training::Fixed(training)
    }
}

impl From<&Output> for Training {
    fn from(training: &Output) -> Training {
        Training::When(training.clone())
    }
}

impl Training {
    /// `training` in a step that trains, `inference` in others.
    #[track_caller]
    fn choose(&self, training: &Output, inference: &Output) -> Output {
        match self {
            Training::Fixed(true) => training.clone(),
            Training::Fixed(false) => inference.clone(),
            Training::When(flag) => training.where_or(flag, inference),
        }
    }
}

/// The size of a dimension that a layer must know.
#[track_caller]
fn size_of(x: &Output, axis: usize) -> usize {
    let shape = x.shape();
    let size = shape.dims.as_ref().and_then(|dims| dims.get(axis).copied().flatten());
    if size.is_none() && x.at.is_some() {
        x.graph().failed(invalid_argument!(
            "the size of dimension {axis} of {} must be known here, but its shape is {shape}",
            x.name()
        ));
    }
    size.unwrap_or(1)
}

#[track_caller]
fn last_size(x: &Output) -> usize {
    let rank = x.rank().unwrap_or(1);
    size_of(x, rank.saturating_sub(1))
}

/// A fully connected layer: `x · kernel + bias`.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(64)]);
/// let hidden = layers::dense(&x, "hidden", 32).relu();
/// let logits = layers::dense(&hidden, "logits", 10);
/// assert_eq!(logits.shape().to_string(), "[?,10]");
/// assert_eq!(graph.variables()[0].name(), "hidden/kernel");
/// ```
#[track_caller]
pub fn dense(x: &Output, name: &str, units: usize) -> Output {
    let inputs = last_size(x);
    dense_with(x, name, initializer::glorot_uniform([inputs, units]))
}

/// A fully connected layer whose kernel is initialised as said, to a shape of inputs and units.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32, 2.0]]);
/// let y = layers::dense_with(&x, "sum", initializer::ones([2, 3]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), y.value::<Vec<f32>>())?, [3.0; 3]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn dense_with(x: &Output, name: &str, kernel: Initializer) -> Output {
    let graph = x.graph();
    graph.layer(name, Location::caller(), || {
        let kernel = graph.variable("kernel", kernel.dtype(x.dtype()));
        let units = last_size(kernel.snapshot());
        let bias = graph.variable("bias", initializer::zeros([units]).dtype(x.dtype()));
        let product = match x.rank() {
            Some(rank) if rank > 2 => {
                let inputs = last_size(x) as i32;
                let rows = x.reshape([-1, inputs]).matmul(&kernel);
                let mut dims: Vec<Option<usize>> = x.shape().dims.unwrap_or_default();
                dims.pop();
                let outer = x.shape_tensor().slice(&[0], &[rank as i32 - 1]);
                let shape = concat(&[&outer, &graph.constant([units as i32])], 0);
                dims.push(Some(units));
                rows.reshape(shape).with_shape(dims)
            }
            _ => x.matmul(&kernel),
        };
        graph.op("BiasAdd").input(product).input(&bias).output()
    })
}

/// Tensors joined along a dimension.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (a, b) = (graph.constant([[1i32], [2]]), graph.constant([[3i32], [4]]));
/// let joined = layers::concat(&[&a, &b], 1);
/// assert_eq!(Session::new(&graph)?.run((), joined.value::<Vec<Vec<i32>>>())?, [[1, 3], [2, 4]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn concat(parts: &[&Output], axis: i32) -> Output {
    match parts {
        [] => Graph::new().failed(invalid_argument!("nothing to concatenate")),
        [only] => only.identity(),
        [first, ..] => {
            first.graph().op("ConcatV2").inputs(parts.iter().copied()).input(axis).output()
        }
    }
}

/// Tensors of one shape put together along a new dimension.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (a, b) = (graph.constant([1i32, 2]), graph.constant([3i32, 4]));
/// let rows = layers::stack(&[&a, &b], 0);
/// assert_eq!(Session::new(&graph)?.run((), rows.value::<Vec<Vec<i32>>>())?, [[1, 2], [3, 4]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn stack(parts: &[&Output], axis: i64) -> Output {
    match parts {
        [] => Graph::new().failed(invalid_argument!("nothing to stack")),
        [first, ..] => {
            first.graph().op("Pack").inputs(parts.iter().copied()).attr("axis", axis).output()
        }
    }
}

/// The slices along a dimension of known size.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let columns = layers::unstack(&graph.constant([[1i32, 2], [3, 4]]), 1);
/// assert_eq!(columns.len(), 2);
/// assert_eq!(Session::new(&graph)?.run((), columns[1].value::<Vec<i32>>())?, [2, 4]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn unstack(x: &Output, axis: usize) -> Vec<Output> {
    let count = size_of(x, axis) as i64;
    let op = x.graph().op("Unpack").input(x).attr("num", count).attr("axis", axis as i64);
    op.build().outputs()
}

/// A convolution of images (batch, height, width, channels) with `filters` filters of a size.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(28), Some(28), Some(3)]);
/// let features = layers::conv2d(&images, "conv", 16, [3, 3], 2, Padding::Same).relu();
/// assert_eq!(features.shape().to_string(), "[?,14,14,16]");
/// assert_eq!(graph.variables()[0].shape().to_string(), "[3,3,3,16]");
/// ```
#[track_caller]
pub fn conv2d(
    x: &Output,
    name: &str,
    filters: usize,
    size: [usize; 2],
    stride: usize,
    padding: Padding,
) -> Output {
    let graph = x.graph();
    let channels = size_of(x, 3);
    graph.layer(name, Location::caller(), || {
        let shape = [size[0], size[1], channels, filters];
        let kernel = graph.variable("kernel", initializer::glorot_uniform(shape).dtype(x.dtype()));
        let bias = graph.variable("bias", initializer::zeros([filters]).dtype(x.dtype()));
        let stride = stride as i64;
        let convolved = graph
            .op("Conv2D")
            .input(x)
            .input(&kernel)
            .attr("strides", vec![1, stride, stride, 1])
            .attr("padding", padding.name())
            .output();
        graph.op("BiasAdd").input(convolved).input(&bias).output()
    })
}

#[track_caller]
fn pool2d(x: &Output, op: &str, size: usize, stride: usize, padding: Padding) -> Output {
    let (size, stride) = (size as i64, stride as i64);
    x.graph()
        .op(op)
        .input(x)
        .attr("ksize", vec![1, size, size, 1])
        .attr("strides", vec![1, stride, stride, 1])
        .attr("padding", padding.name())
        .output()
}

/// The greatest value of each square window of each channel.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let image = graph.constant([[[[1.0f32], [2.0]], [[3.0], [4.0]]]]);
/// let greatest = layers::max_pool2d(&image, 2, 2, Padding::Valid);
/// assert_eq!(Session::new(&graph)?.run((), greatest.value::<Vec<f32>>())?, [4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn max_pool2d(x: &Output, size: usize, stride: usize, padding: Padding) -> Output {
    pool2d(x, "MaxPool", size, stride, padding)
}

/// The mean of each square window of each channel.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let image = graph.constant([[[[1.0f32], [2.0]], [[3.0], [4.0]]]]);
/// let mean = layers::avg_pool2d(&image, 2, 2, Padding::Valid);
/// assert_eq!(Session::new(&graph)?.run((), mean.value::<Vec<f32>>())?, [2.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn avg_pool2d(x: &Output, size: usize, stride: usize, padding: Padding) -> Output {
    pool2d(x, "AvgPool", size, stride, padding)
}

/// All dimensions but the first as one.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(7), Some(7), Some(16)]);
/// assert_eq!(layers::flatten(&images).shape().to_string(), "[?,784]");
/// ```
#[track_caller]
pub fn flatten(x: &Output) -> Output {
    let dims = x.shape().dims;
    let rest: Option<usize> = dims.and_then(|dims| dims.iter().skip(1).copied().product());
    match rest {
        Some(rest) => x.reshape([-1, rest as i32]),
        None => {
            let rows = x.shape_tensor().slice(&[0], &[1]);
            x.reshape(concat(&[&rows, &x.graph().constant([-1i32])], 0))
        }
    }
}

/// Sets a part of the elements to zero in training, and makes the others larger by as much.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([1.0f32; 100]);
/// let (trained, used) = (layers::dropout(&x, 0.2, true), layers::dropout(&x, 0.2, false));
/// let values = (trained.value::<Vec<f32>>(), used.value::<Vec<f32>>());
/// let (trained, used) = Session::new(&graph)?.run((), values)?;
/// assert!(trained.iter().all(|value| [0.0, 1.25].contains(value)));
/// assert_eq!(used, [1.0; 100]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn dropout(x: &Output, rate: f64, training: impl Into<Training>) -> Output {
    let training = training.into();
    if matches!(training, Training::Fixed(false)) || rate <= 0.0 {
        return x.identity();
    }
    let graph = x.graph();
    let random = graph.op("RandomUniform").input(x.shape_tensor()).attr("dtype", x.dtype());
    let kept = random.output().greater_equal(rate);
    let scaled = (x / (1.0 - rate)).where_or(kept, x.zeros_like());
    let scaled = match x.shape().dims {
        Some(dims) => scaled.with_shape(dims),
        None => scaled,
    };
    training.choose(&scaled, x)
}

/// Normalises each channel, the last dimension, to mean zero and variance one, then scales and
/// shifts it as trained.
///
/// In training the batch says what mean and variance are, and moving averages of them are kept; the
/// training operation of an optimiser updates these. Otherwise the averages are used.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32], [3.0]]);
/// let y = layers::batch_norm(&x, "norm", true);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!((y[0] + 1.0).abs() < 1e-2 && (y[1] - 1.0).abs() < 1e-2);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn batch_norm(x: &Output, name: &str, training: impl Into<Training>) -> Output {
    const MOMENTUM: f64 = 0.99;
    const EPSILON: f64 = 1e-3;
    let (graph, training) = (x.graph(), training.into());
    let channels = last_size(x);
    graph.layer(name, Location::caller(), || {
        let of = |initial: f64| initializer::constant([channels], initial).dtype(x.dtype());
        let gamma = graph.variable("gamma", of(1.0));
        let beta = graph.variable("beta", of(0.0));
        let moving_mean = graph.state("moving_mean", of(0.0));
        let moving_variance = graph.state("moving_variance", of(1.0));
        let axes: Vec<i32> = (0..x.rank().unwrap_or(1) as i32 - 1).collect();
        let mean = x.mean_along(&axes[..], false);
        let variance = x.squared_difference(mean.stop_gradient()).mean_along(&axes[..], false);
        if !matches!(training, Training::Fixed(false)) {
            for (average, value) in [(&moving_mean, &mean), (&moving_variance, &variance)] {
                let step = (average.read() - value) * (1.0 - MOMENTUM);
                let step = training.choose(&step, &step.zeros_like());
                graph.add_update(&average.assign_sub(step));
            }
        }
        let mean = training.choose(&mean, &moving_mean.read());
        let variance = training.choose(&variance, &moving_variance.read());
        let scale = (variance + EPSILON).rsqrt() * &gamma;
        x * &scale + (beta.read() - mean * &scale)
    })
}

/// Normalises each row to mean zero and variance one along the last dimension, then scales and
/// shifts it as trained.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32, 3.0]]);
/// let y = layers::layer_norm(&x, "norm");
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let y = session.run((), y.value::<Vec<f32>>())?;
/// assert!((y[0] + 1.0).abs() < 1e-2 && (y[1] - 1.0).abs() < 1e-2);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn layer_norm(x: &Output, name: &str) -> Output {
    const EPSILON: f64 = 1e-3;
    let graph = x.graph();
    let size = last_size(x);
    graph.layer(name, Location::caller(), || {
        let gamma = graph.variable("gamma", initializer::ones([size]).dtype(x.dtype()));
        let beta = graph.variable("beta", initializer::zeros([size]).dtype(x.dtype()));
        let centered = x - x.mean_along(-1, true);
        let variance = centered.square().mean_along(-1, true);
        centered * (variance + EPSILON).rsqrt() * &gamma + &beta
    })
}

/// A trained vector for each of `count` ids; the gradient is sparse.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let words = graph.placeholder::<i64>([None, Some(5)]);
/// let vectors = layers::embedding(&words, "words", 1000, 16);
/// assert_eq!(vectors.shape().to_string(), "[?,5,16]");
/// ```
#[track_caller]
pub fn embedding(ids: &Output, name: &str, count: usize, size: usize) -> Output {
    let graph = ids.graph();
    graph.layer(name, Location::caller(), || {
        let table = graph.variable("embeddings", initializer::uniform([count, size], -0.05, 0.05));
        table.gather(ids)
    })
}

/// The state of an LSTM.
///
/// ```
/// use tensorfleet_client::layers::LstmState;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(3), Some(8)]);
/// let (_, LstmState { hidden, cell }) = layers::lstm(&x, "lstm", 4);
/// assert_eq!(hidden.shape().to_string(), "[?,4]");
/// assert_eq!(cell.shape().to_string(), "[?,4]");
/// ```
#[derive(Clone, Debug)]
pub struct LstmState {
    /// What the cell puts out.
    pub hidden: Output,
    /// What the cell remembers.
    pub cell: Output,
}

/// A long short-term memory over sequences (batch, time, features): the outputs of all times, and
/// the state at the end. The number of times must be known.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(3), Some(8)]);
/// let (outputs, state) = layers::lstm(&x, "lstm", 4);
/// assert_eq!(outputs.shape().to_string(), "[?,3,4]");
/// let logits = layers::dense(&state.hidden, "logits", 2);
/// assert_eq!(logits.shape().to_string(), "[?,2]");
/// ```
#[track_caller]
pub fn lstm(x: &Output, name: &str, units: usize) -> (Output, LstmState) {
    let graph = x.graph();
    graph.layer(name, Location::caller(), || {
        let weights = Recurrent::new(x, units, 4);
        // Remember at first.
        let forget = graph.constant([0.0f32, 1.0, 0.0, 0.0].map(|bias| vec![bias; units]).concat());
        let bias = graph.variable("bias", forget.cast(x.dtype()));
        let start = weights.start(x);
        let mut state = LstmState { hidden: start.clone(), cell: start };
        let mut outputs = Vec::new();
        for input in unstack(x, 1) {
            let gates = weights.gates(&input, &state.hidden) + &bias;
            let [input, forget, cell, output] = split(&gates);
            let cell = forget.sigmoid() * state.cell + input.sigmoid() * cell.tanh();
            let hidden = output.sigmoid() * cell.tanh();
            outputs.push(hidden.clone());
            state = LstmState { hidden, cell };
        }
        (stack(&outputs.iter().collect::<Vec<_>>(), 1), state)
    })
}

/// A gated recurrent unit over sequences (batch, time, features): the outputs of all times, and the
/// state at the end. The number of times must be known.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(3), Some(8)]);
/// let (outputs, state) = layers::gru(&x, "gru", 4);
/// assert_eq!(outputs.shape().to_string(), "[?,3,4]");
/// assert_eq!(state.shape().to_string(), "[?,4]");
/// ```
#[track_caller]
pub fn gru(x: &Output, name: &str, units: usize) -> (Output, Output) {
    let graph = x.graph();
    graph.layer(name, Location::caller(), || {
        let weights = Recurrent::new(x, units, 3);
        let bias = graph.variable("bias", initializer::zeros([2, 3 * units]).dtype(x.dtype()));
        let [bias_in, bias_state]: [Output; 2] = match unstack(&bias.read(), 0).try_into() {
            Ok(pair) => pair,
            Err(_) => [bias.read(), bias.read()],
        };
        let mut state = weights.start(x);
        let mut outputs = Vec::new();
        for input in unstack(x, 1) {
            let [update, reset, candidate] = split(&(input.matmul(&weights.kernel) + &bias_in));
            let recurrent = state.matmul(&weights.recurrent) + &bias_state;
            let [state_update, state_reset, state_candidate] = split(&recurrent);
            let update = (update + state_update).sigmoid();
            let reset = (reset + state_reset).sigmoid();
            let candidate = (candidate + reset * state_candidate).tanh();
            state = &update * &state + (1.0 - &update) * candidate;
            outputs.push(state.clone());
        }
        (stack(&outputs.iter().collect::<Vec<_>>(), 1), state)
    })
}

/// The weights of a recurrent layer.
struct Recurrent {
    kernel: Variable,
    recurrent: Variable,
    units: usize,
}

impl Recurrent {
    #[track_caller]
    fn new(x: &Output, units: usize, gates: usize) -> Recurrent {
        let graph = x.graph();
        let inputs = last_size(x);
        let kernel = initializer::glorot_uniform([inputs, gates * units]).dtype(x.dtype());
        let recurrent = initializer::orthogonal([units, gates * units]).dtype(x.dtype());
        Recurrent {
            kernel: graph.variable("kernel", kernel),
            recurrent: graph.variable("recurrent_kernel", recurrent),
            units,
        }
    }

    /// Zeros for each row of the batch.
    #[track_caller]
    fn start(&self, x: &Output) -> Output {
        let graph = x.graph();
        let rows = x.shape_tensor().slice(&[0], &[1]);
        let shape = concat(&[&rows, &graph.constant([self.units as i32])], 0);
        let zero = 0.0f64.to_output(graph, Some(x.dtype()));
        graph.op("Fill").input(shape).input(zero).output()
    }

    #[track_caller]
    fn gates(&self, input: &Output, state: &Output) -> Output {
        input.matmul(&self.kernel) + state.matmul(&self.recurrent)
    }
}

/// Cuts gates apart along the last dimension.
#[track_caller]
fn split<const N: usize>(gates: &Output) -> [Output; N] {
    let op = gates.graph().op("Split").input(1i32).input(gates).attr("num_split", N as i64);
    op.outputs()
}

/// Ids as one-hot rows, of type `float`.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let rows = layers::one_hot(&graph.constant([2i64, 0]), 3);
/// let rows = Session::new(&graph)?.run((), rows.value::<Vec<Vec<f32>>>())?;
/// assert_eq!(rows, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn one_hot(ids: &Output, classes: usize) -> Output {
    ids.one_hot(classes).cast(DType::Float)
}

//! Recurrent layers over sequences (batch, time, features), of any length and of different ones.
//!
//! A row that ends early goes on with what follows, because that is cheaper than to ask at each
//! time; its outputs behind its end are taken away afterwards, and its state is that of its end.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::arrays::{concat, stack, unstack};
use super::dense::product;
use super::scan::scan;
use super::{Base, Init, Maker, last_size, settings};
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::{Operand, Output};
use crate::variable::Variable;

/// The state of an LSTM.
///
/// ```
/// use tensorfleet_client::layers::LstmState;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, None, Some(8)]);
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

/// A long short-term memory over sequences: the outputs of all times, and the state at the end. An
/// [`Lstm`] in one line.
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
    Lstm::new(units).named(name).call(x)
}

/// A gated recurrent unit over sequences: the outputs of all times, and the state at the end. A
/// [`Gru`] in one line.
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
    Gru::new(units).named(name).call(x)
}

/// A layer that goes through sequences (batch, time, features) with a state.
///
/// ```
/// use tensorfleet_client::layers::{Gru, Recurrent};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, None, Some(1)]);
/// let lengths = graph.placeholder::<i64>([None]);
/// let gru = Gru::new(2).seed(1);
/// let (outputs, state) = gru.call_with(&x, Some(&lengths), None);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// // Two sequences, of which one is shorter and filled up.
/// let feeds = ((&x, [[[1.0f32], [2.0]], [[3.0], [0.0]]]), (&lengths, [2i64, 1]));
/// let fetches = (outputs.value::<Vec<Vec<Vec<f32>>>>(), state.value::<Vec<Vec<f32>>>());
/// let (outputs, state) = session.run(feeds, fetches)?;
/// assert_eq!(outputs[1][1], [0.0, 0.0]);
/// assert_eq!(state, [outputs[0][1].clone(), outputs[1][0].clone()]);
/// # Ok(())
/// # }
/// ```
pub trait Recurrent: Module {
    /// What it remembers from time to time.
    type State;

    /// The outputs of all times, and the state at the end of each sequence: where `lengths` says, or
    /// after all times. Behind its end a sequence has outputs of zero. It begins with `start`, or
    /// with zeros.
    #[track_caller]
    fn call_with(
        &self,
        x: &Output,
        lengths: Option<&Output>,
        start: Option<&Self::State>,
    ) -> (Output, Self::State);

    /// The outputs of all times, and the state at the end.
    #[track_caller]
    fn call(&self, x: &Output) -> (Output, Self::State) {
        self.call_with(x, None, None)
    }
}

/// What recurrent layers are told.
#[derive(Debug)]
struct Settings {
    units: usize,
    kernel: Init,
    recurrent: Init,
    bias: Init,
    is_backward: bool,
}

/// The variables of a recurrent layer.
#[derive(Debug)]
struct Weights {
    kernel: Variable,
    recurrent: Variable,
    bias: Variable,
}

impl Settings {
    fn new(units: usize, bias: Init) -> Settings {
        Settings {
            units,
            kernel: Init::new(initializer::glorot_uniform),
            recurrent: Init::new(initializer::orthogonal),
            bias,
            is_backward: false,
        }
    }

    #[track_caller]
    fn weights(&self, make: &Maker<'_>, x: &Output, gates: usize, bias: &[usize]) -> Weights {
        let width = gates * self.units;
        let kernel = make.weights("kernel", &self.kernel, [last_size(x), width]);
        let recurrent = make.weights("recurrent_kernel", &self.recurrent, [self.units, width]);
        Weights { kernel, recurrent, bias: make.weights("bias", &self.bias, bias) }
    }

    /// Goes through the sequences: `project` makes what each step takes of its input, of all times
    /// at once, and `step` the next state.
    #[track_caller]
    fn run(
        &self,
        x: &Output,
        lengths: Option<&Output>,
        start: &Output,
        project: impl FnOnce(&Output) -> Output,
        weights: &[&Output],
        step: impl Fn(&Output, &Output, &[Output]) -> Output,
    ) -> (Output, Output) {
        let lengths = lengths.map(|lengths| lengths.cast(DType::Int32));
        let ordered = if self.is_backward { reversed(x, lengths.as_ref()) } else { x.clone() };
        let states = scan(&project(&ordered.transpose(&[1, 0, 2])), start, weights, step);
        let all = concat(&[&start.expand_dims(0), &states], 0);
        let state = match &lengths {
            None => all.gather(states.shape_tensor().gather(0i32, 0), 0),
            Some(lengths) => {
                let rows = range(&lengths.size_tensor());
                let places = stack(&[lengths, &rows], 1);
                x.graph().op("GatherNd").input(&all).input(places).output()
            }
        };
        let state = match start.shape().dims {
            Some(dims) => state.with_shape(dims),
            None => state,
        };
        (states.transpose(&[1, 0, 2]), state)
    }

    /// Puts outputs into the order of the input, and takes away what is behind the ends.
    #[track_caller]
    fn finish(&self, outputs: &Output, lengths: Option<&Output>) -> Output {
        let Some(lengths) = lengths.map(|lengths| lengths.cast(DType::Int32)) else {
            return if self.is_backward { reversed(outputs, None) } else { outputs.clone() };
        };
        let times = range(&outputs.shape_tensor().gather(1i32, 0));
        let is_there = times.less(lengths.expand_dims(-1)).expand_dims(-1);
        let kept = outputs.where_or(is_there, 0.0);
        let kept = match outputs.shape().dims {
            Some(dims) => kept.with_shape(dims),
            None => kept,
        };
        if self.is_backward { reversed(&kept, Some(&lengths)) } else { kept }
    }
}

#[track_caller]
fn range(count: &Output) -> Output {
    count.graph().op("Range").input(0i32).input(count).input(1i32).output()
}

/// Sequences from their ends to their beginnings.
#[track_caller]
fn reversed(x: &Output, lengths: Option<&Output>) -> Output {
    let graph = x.graph();
    match lengths {
        None => graph.op("ReverseV2").input(x).input([1i32]).output(),
        Some(lengths) => {
            let op = graph.op("ReverseSequence").input(x).input(lengths);
            op.attr("seq_dim", 1i64).attr("batch_dim", 0i64).output()
        }
    }
}

/// Zeros for each row of the batch.
#[track_caller]
fn zeros(x: &Output, units: usize) -> Output {
    let graph = x.graph();
    let rows = x.shape_tensor().slice(&[0], &[1]);
    let shape = concat(&[&rows, &graph.constant([units as i32])], 0);
    let zero = 0.0f64.to_output(graph, Some(x.dtype()));
    let batch = x.shape().dims.and_then(|dims| dims.first().copied().flatten());
    graph.op("Fill").input(shape).input(zero).output().with_shape([batch, Some(units)])
}

/// Cuts gates apart along the last dimension.
#[track_caller]
fn split<const N: usize>(gates: &Output) -> [Output; N] {
    let op = gates.graph().op("Split").input(1i32).input(gates).attr("num_split", N as i64);
    op.outputs()
}

/// The settings that all recurrent layers have.
macro_rules! recurrent {
    ($layer:ident) => {
        settings!($layer);

        impl $layer {
            /// Chooses the initial kernel of the input. See the example of [`Lstm`].
            #[must_use]
            pub fn kernel(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.settings.kernel = Init::new(initial);
                self
            }

            /// Chooses the initial kernel of the state. See the example of [`Lstm`].
            #[must_use]
            pub fn recurrent(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.settings.recurrent = Init::new(initial);
                self
            }

            /// Chooses the initial bias. See the example of [`Lstm`].
            #[must_use]
            pub fn bias(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.settings.bias = Init::new(initial);
                self
            }

            /// Goes from the end of each sequence to its beginning; outputs keep their places. See the
            /// example of [`Bidirectional`], which does so with one of its two.
            #[must_use]
            pub fn backward(mut self) -> Self {
                self.settings.is_backward = true;
                self
            }
        }

        impl Module for $layer {
            fn parts(&self, parameters: &mut Parameters) {
                if let Some(made) = self.base.made.get() {
                    parameters.part("kernel", &made.kernel);
                    parameters.part("recurrent_kernel", &made.recurrent);
                    parameters.part("bias", &made.bias);
                }
            }
        }
    };
}

/// A long short-term memory.
///
/// ```
/// use tensorfleet_client::layers::{Lstm, Recurrent};
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, None, Some(2)]);
/// let lstm = Lstm::new(3).kernel(initializer::he_normal).seed(1);
/// let lstm = lstm.recurrent(initializer::glorot_normal).bias(initializer::zeros);
/// let (_, middle) = lstm.call(&x);
/// // A second half goes on from where the first ended.
/// let (_, end) = lstm.call_with(&x, None, Some(&middle));
/// // However long the sequence is, the graph has the same size.
/// assert!(graph.len() < 200, "{}", graph.len());
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let fetches = (middle.cell.value::<Vec<f32>>(), end.cell.value::<Vec<f32>>());
/// let (middle, end) = session.run((&x, vec![vec![vec![1.0f32, -1.0]; 5]]), fetches)?;
/// assert_ne!(middle, end);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lstm {
    base: Base<Weights>,
    settings: Settings,
}

recurrent!(Lstm);

impl Lstm {
    /// So many outputs. See the example of [`Lstm`].
    #[must_use]
    pub fn new(units: usize) -> Lstm {
        // Remember at first: the part of the bias that opens the gate which forgets is one.
        let bias = Init::new(|shape: Vec<usize>| {
            let units = shape.iter().product::<usize>() / 4;
            initializer::values([0.0, 1.0, 0.0, 0.0].map(|bias| vec![bias; units]).concat())
        });
        Lstm { base: Base::new("lstm"), settings: Settings::new(units, bias) }
    }
}

impl Recurrent for Lstm {
    type State = LstmState;

    #[track_caller]
    fn call_with(
        &self,
        x: &Output,
        lengths: Option<&Output>,
        start: Option<&LstmState>,
    ) -> (Output, LstmState) {
        let units = self.settings.units;
        self.base.call(
            x,
            Location::caller(),
            |make| self.settings.weights(make, x, 4, &[4 * units]),
            |Weights { kernel, recurrent, bias }| {
                let start = match start {
                    Some(LstmState { hidden, cell }) => concat(&[hidden, cell], -1),
                    None => zeros(x, 2 * units),
                };
                let project = |x: &Output| product(x, &kernel.read(), 4 * units) + bias;
                let recurrent = recurrent.read();
                let step = |x: &Output, state: &Output, weights: &[Output]| {
                    let [hidden, cell] = split(state);
                    let gates = x + hidden.matmul(&weights[0]);
                    let [input, forget, new, output] = split(&gates);
                    let cell = forget.sigmoid() * cell + input.sigmoid() * new.tanh();
                    concat(&[&(output.sigmoid() * cell.tanh()), &cell], -1)
                };
                let (states, end) =
                    self.settings.run(x, lengths, &start, project, &[&recurrent], step);
                let outputs = states.slice(&[0, 0, 0], &[-1, -1, units as i32]);
                let [hidden, cell] = split(&end);
                (self.settings.finish(&outputs, lengths), LstmState { hidden, cell })
            },
        )
    }
}

/// A gated recurrent unit, with the reset gate after the product, as Keras has it. See the
/// example of [`Recurrent`].
#[derive(Debug)]
pub struct Gru {
    base: Base<Weights>,
    settings: Settings,
}

recurrent!(Gru);

impl Gru {
    /// So many outputs. See the example of [`Recurrent`].
    #[must_use]
    pub fn new(units: usize) -> Gru {
        let bias = Init::new(initializer::zeros);
        Gru { base: Base::new("gru"), settings: Settings::new(units, bias) }
    }
}

impl Recurrent for Gru {
    type State = Output;

    #[track_caller]
    fn call_with(
        &self,
        x: &Output,
        lengths: Option<&Output>,
        start: Option<&Output>,
    ) -> (Output, Output) {
        let units = self.settings.units;
        self.base.call(
            x,
            Location::caller(),
            |make| self.settings.weights(make, x, 3, &[2, 3 * units]),
            |Weights { kernel, recurrent, bias }| {
                let start = start.map_or_else(|| zeros(x, units), Output::clone);
                let biases = unstack(&bias.read(), 0);
                let [of_input, of_state] = &biases[..] else {
                    return (x.clone(), x.clone());
                };
                let project = |x: &Output| product(x, &kernel.read(), 3 * units) + of_input;
                let step = |x: &Output, state: &Output, weights: &[Output]| {
                    let [update, reset, new] = split(x);
                    let [own_update, own_reset, own_new] =
                        split(&(state.matmul(&weights[0]) + &weights[1]));
                    let update = (update + own_update).sigmoid();
                    let reset = (reset + own_reset).sigmoid();
                    let new = (new + reset * own_new).tanh();
                    &update * state + (1.0 - &update) * new
                };
                let weights = [&recurrent.read(), of_state];
                let (outputs, end) = self.settings.run(x, lengths, &start, project, &weights, step);
                (self.settings.finish(&outputs, lengths), end)
            },
        )
    }
}

/// How the outputs of two directions become one.
///
/// ```
/// use tensorfleet_client::Graph;
/// use tensorfleet_client::layers::{Bidirectional, Gru, Merge};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(5), Some(3)]);
/// let sum = Bidirectional::new(Gru::new(4), Gru::new(4).backward()).merge(Merge::Sum);
/// assert_eq!(sum.call(&x, None).0.shape().to_string(), "[?,5,4]");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merge {
    /// One after the other.
    #[default]
    Concat,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their product.
    Product,
}

/// Two recurrent layers, of which one goes backward.
///
/// ```
/// use tensorfleet_client::layers::{Bidirectional, Lstm};
/// use tensorfleet_client::{Graph, Module};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, None, Some(3)]);
/// let lengths = graph.placeholder::<i32>([None]);
/// let both = Bidirectional::new(Lstm::new(4).seed(1), Lstm::new(4).seed(2).backward());
/// let (outputs, [forward, backward]) = both.call(&x, Some(&lengths));
/// assert_eq!(outputs.shape().to_string(), "[?,?,8]");
/// assert_eq!(both.parameters()[3].name, "backward/kernel");
/// # drop((forward, backward));
/// ```
#[derive(Debug)]
pub struct Bidirectional<L> {
    forward: L,
    backward: L,
    merge: Merge,
}

impl<L: Recurrent> Bidirectional<L> {
    /// Of a layer that goes forward and one that goes backward. See the
    /// example of [`Bidirectional`].
    #[must_use]
    pub fn new(forward: L, backward: L) -> Bidirectional<L> {
        Bidirectional { forward, backward, merge: Merge::Concat }
    }

    /// Chooses how outputs become one. See the example of [`Merge`].
    #[must_use]
    pub fn merge(mut self, merge: Merge) -> Bidirectional<L> {
        self.merge = merge;
        self
    }

    /// The outputs of all times, and the states of both. See the example of [`Bidirectional`].
    #[track_caller]
    pub fn call(&self, x: &Output, lengths: Option<&Output>) -> (Output, [L::State; 2]) {
        let (one, end) = self.forward.call_with(x, lengths, None);
        let (other, beginning) = self.backward.call_with(x, lengths, None);
        let merged = match self.merge {
            Merge::Concat => concat(&[&one, &other], -1),
            Merge::Sum => one + other,
            Merge::Mean => (one + other) * 0.5,
            Merge::Product => one * other,
        };
        (merged, [end, beginning])
    }
}

impl<L: Module> Module for Bidirectional<L> {
    fn parts(&self, parameters: &mut Parameters) {
        parameters.part("forward", &self.forward);
        parameters.part("backward", &self.backward);
    }
}

//! Attention: each position of a query takes what it wants of the positions of a value.

use std::panic::Location;

use tensorfleet_tensor::{DType, PartialShape};

use super::arrays::concat;
use super::dense::product;
use super::{Base, Dropout, Init, Maker, Training, last_size, settings};
use crate::graph::Graph;
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::{Operand, Output};
use crate::variable::Variable;

/// A mask of sequences that end early: true at the positions before the end, of shape
/// (batch, 1, `longest`).
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let mask = layers::padding_mask(&graph.constant([1i64, 3]), 3);
/// let mask = Session::new(&graph)?.run((), mask.value::<Vec<Vec<Vec<bool>>>>())?;
/// assert_eq!(mask, [[[true, false, false]], [[true, true, true]]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn padding_mask(lengths: &Output, longest: impl Operand) -> Output {
    let graph = lengths.graph();
    let positions = positions(&graph.operand(&longest, Some(DType::Int32)), &graph.constant(0i32));
    positions.less(lengths.cast(DType::Int32).expand_dims(-1)).expand_dims(1)
}

/// The numbers of `count` positions from a first on.
#[track_caller]
fn positions(count: &Output, first: &Output) -> Output {
    let end = first + count;
    count.graph().op("Range").input(first).input(end).input(1i32).output()
}

/// What may be attended to, and whether the step trains. See the
/// example of [`MultiHeadAttention`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Attend {
    mask: Option<Output>,
    is_causal: bool,
    training: Option<Training>,
}

impl Attend {
    /// To everything. See the example of [`MultiHeadAttention`].
    pub fn everywhere() -> Attend {
        Attend::default()
    }

    /// To the positions where a mask is true, of shape (query, value), (batch, query, value) or
    /// (batch, head, query, value), where sizes may be one. See the
    /// example of [`MultiHeadAttention`].
    pub fn mask(mut self, mask: &Output) -> Attend {
        self.mask = Some(mask.clone());
        self
    }

    /// To no later position than one's own. See the example of [`MultiHeadAttention`].
    pub fn causal(mut self) -> Attend {
        self.is_causal = true;
        self
    }

    /// Drops some in training. See the example of [`MultiHeadAttention`].
    pub fn training(mut self, training: impl Into<Training>) -> Attend {
        self.training = Some(training.into());
        self
    }
}

/// Attention with several heads.
///
/// ```
/// use tensorfleet_client::layers::{Attend, MultiHeadAttention, padding_mask};
/// use tensorfleet_client::{Graph, Module};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(7), Some(16)]);
/// let attention = MultiHeadAttention::new(2, 8).dropout(0.1).seed(1);
/// // To itself, from left to right.
/// let y = attention.call(&x, &x, &Attend::everywhere().causal().training(true));
/// assert_eq!(y.shape().to_string(), "[?,7,16]");
/// // To another sequence, as far as that goes.
/// let (other, lengths) = (graph.placeholder::<f32>([None, Some(5), Some(16)]), graph.placeholder::<i64>([None]));
/// let cross = MultiHeadAttention::new(2, 8).value_size(4).output_size(3);
/// let z = cross.call(&x, &other, &Attend::everywhere().mask(&padding_mask(&lengths, 5)));
/// assert_eq!(z.shape().to_string(), "[?,7,3]");
/// assert_eq!(attention.parameters()[0].name, "query/kernel");
/// ```
#[derive(Debug)]
pub struct MultiHeadAttention {
    base: Base<Heads>,
    heads: usize,
    key_size: usize,
    value_size: usize,
    output_size: Option<usize>,
    dropout: Dropout,
    kernel: Init,
    bias: Option<Init>,
}

/// A projection to or from heads.
#[derive(Debug)]
struct Projection {
    kernel: Variable,
    bias: Option<Variable>,
}

impl Module for Projection {
    fn parts(&self, parameters: &mut Parameters) {
        parameters.part("kernel", &self.kernel);
        parameters.part("bias", &self.bias);
    }
}

/// The variables of the layer.
#[derive(Debug)]
struct Heads {
    query: Projection,
    key: Projection,
    value: Projection,
    output: Projection,
}

/// What was attended to so far, so that the next position of a sequence costs no more than itself:
/// keys and values, each (batch, time, head, size).
///
/// ```
/// use tensorfleet_client::layers::{Attend, MultiHeadAttention};
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let attention = MultiHeadAttention::new(2, 4).seed(1);
/// let x = graph.constant([[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]]);
/// let whole = attention.call(&x, &x, &Attend::everywhere().causal());
///
/// // The same, one position after the other.
/// let mut cache = attention.empty_cache(&x);
/// let mut last = x.clone();
/// for position in 0..3 {
///     let one = x.slice(&[0, position, 0], &[-1, 1, -1]);
///     (last, cache) = attention.call_cached(&one, &cache, &Attend::everywhere());
/// }
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let fetches = (whole.value::<Vec<f32>>(), last.value::<Vec<f32>>());
/// let (whole, last) = session.run((), fetches)?;
/// assert!(whole[4..].iter().zip(&last).all(|(a, b)| (a - b).abs() < 1e-5));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct KeyValueCache {
    /// What queries are compared with.
    pub keys: Output,
    /// What they take.
    pub values: Output,
}

settings!(MultiHeadAttention);

impl MultiHeadAttention {
    /// So many heads, with queries and keys of a size. See the example of [`MultiHeadAttention`].
    #[must_use]
    pub fn new(heads: usize, key_size: usize) -> MultiHeadAttention {
        MultiHeadAttention {
            base: Base::new("multi_head_attention"),
            heads,
            key_size,
            value_size: key_size,
            output_size: None,
            dropout: Dropout::new(0.0),
            kernel: Init::new(initializer::glorot_uniform),
            bias: Some(Init::new(initializer::zeros)),
        }
    }

    /// Values of another size than keys. See the example of [`MultiHeadAttention`].
    #[must_use]
    pub fn value_size(mut self, size: usize) -> MultiHeadAttention {
        self.value_size = size;
        self
    }

    /// An output of another size than the query. See the example of [`MultiHeadAttention`].
    #[must_use]
    pub fn output_size(mut self, size: usize) -> MultiHeadAttention {
        self.output_size = Some(size);
        self
    }

    /// Drops a part of what is attended to, in training. See the example of [`MultiHeadAttention`].
    #[must_use]
    pub fn dropout(mut self, rate: f64) -> MultiHeadAttention {
        self.dropout = Dropout::new(rate);
        self
    }

    /// Chooses the initial kernels. See the example of [`layers`](crate::layers).
    #[must_use]
    pub fn kernel(
        mut self,
        initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
    ) -> MultiHeadAttention {
        self.kernel = Init::new(initial);
        self
    }

    /// Leaves biases out. See the example of [`Dense`](super::Dense).
    #[must_use]
    pub fn no_bias(mut self) -> MultiHeadAttention {
        self.bias = None;
        self
    }

    /// Has each position of `query` (batch, query, features) attend to those of `value`
    /// (batch, value, features). See the example of [`MultiHeadAttention`].
    #[track_caller]
    pub fn call(&self, query: &Output, value: &Output, attend: &Attend) -> Output {
        self.base.call(
            query,
            Location::caller(),
            |make| self.weights(make, query, value),
            |heads| {
                let keys = to_heads(value, &heads.key, self.heads, self.key_size);
                let values = to_heads(value, &heads.value, self.heads, self.value_size);
                let first = query.graph().constant(0i32);
                self.attend(heads, query, &keys, &values, attend, &first)
            },
        )
    }

    /// Has the next positions of a sequence (batch, positions, features) attend to all before them
    /// and to themselves. See the example of [`KeyValueCache`].
    #[track_caller]
    pub fn call_cached(
        &self,
        next: &Output,
        cache: &KeyValueCache,
        attend: &Attend,
    ) -> (Output, KeyValueCache) {
        self.base.call(
            next,
            Location::caller(),
            |make| self.weights(make, next, next),
            |heads| {
                let key = to_heads(next, &heads.key, self.heads, self.key_size);
                let value = to_heads(next, &heads.value, self.heads, self.value_size);
                let first = cache.keys.shape_tensor().gather(1i32, 0);
                let keys = concat(&[&cache.keys, &key], 1);
                let values = concat(&[&cache.values, &value], 1);
                let attend = attend.clone().causal();
                let output = self.attend(heads, next, &keys, &values, &attend, &first);
                (output, KeyValueCache { keys, values })
            },
        )
    }

    /// A cache without positions for a batch as large as that of `x`. A loop may pass it on. See the
    /// example of [`KeyValueCache`].
    #[track_caller]
    pub fn empty_cache(&self, x: &Output) -> KeyValueCache {
        let graph = x.graph();
        graph.on_behalf_of(Location::caller(), || KeyValueCache {
            keys: self.nothing(graph, x, self.key_size),
            values: self.nothing(graph, x, self.value_size),
        })
    }

    #[track_caller]
    fn nothing(&self, graph: &Graph, x: &Output, size: usize) -> Output {
        let rows = x.shape_tensor().slice(&[0], &[1]);
        let rest = graph.constant([0, self.heads as i32, size as i32]);
        let zero = 0.0f64.to_output(graph, Some(x.dtype()));
        let empty = graph.op("Fill").input(concat(&[&rows, &rest], 0)).input(zero).output();
        let batch = x.shape().dims.and_then(|dims| dims.first().copied().flatten());
        // That there are none is true at first only.
        let shape = PartialShape::known([batch, None, Some(self.heads), Some(size)]);
        graph.op("PlaceholderWithDefault").input(empty).attr("shape", shape).output()
    }

    #[track_caller]
    fn weights(&self, make: &Maker<'_>, query: &Output, value: &Output) -> Heads {
        let (of_query, of_value) = (last_size(query), last_size(value));
        let output = self.output_size.unwrap_or(of_query);
        let one = |name: &str, kernel: [usize; 3], bias: &[usize]| {
            let kernel = make.weights(&format!("{name}/kernel"), &self.kernel, kernel);
            let initial = self.bias.as_ref();
            let bias = initial.map(|initial| make.weights(&format!("{name}/bias"), initial, bias));
            Projection { kernel, bias }
        };
        let (heads, key, value) = (self.heads, self.key_size, self.value_size);
        Heads {
            query: one("query", [of_query, heads, key], &[heads, key]),
            key: one("key", [of_value, heads, key], &[heads, key]),
            value: one("value", [of_value, heads, value], &[heads, value]),
            output: one("attention_output", [heads, value, output], &[output]),
        }
    }

    /// The output for a query whose first position has a number.
    #[track_caller]
    fn attend(
        &self,
        heads: &Heads,
        query: &Output,
        keys: &Output,
        values: &Output,
        attend: &Attend,
        first: &Output,
    ) -> Output {
        let graph = query.graph();
        let queries = to_heads(query, &heads.query, self.heads, self.key_size);
        let queries = queries * (1.0 / (self.key_size as f64).sqrt());
        // (batch, head, position, size)
        let apart = |x: &Output| x.transpose(&[0, 2, 1, 3]);
        let mut scores = apart(&queries).matmul_with(apart(keys), false, true);
        // Far enough from what is wanted, and finite in every type.
        let never = if scores.dtype() == DType::Half { -3e4 } else { -1e9 };
        let mut hide = |mask: &Output| {
            scores = &scores + (1.0 - mask.cast(scores.dtype())) * never;
        };
        if attend.is_causal {
            let count = |x: &Output| x.shape_tensor().gather(1i32, 0);
            let own = positions(&count(query), first).expand_dims(-1);
            let others = positions(&count(keys), &graph.constant(0i32));
            hide(&others.less_equal(own));
        }
        if let Some(mask) = &attend.mask {
            hide(&if mask.rank() == Some(3) { mask.expand_dims(1) } else { mask.clone() });
        }
        let mut shares = scores.softmax();
        if let Some(training) = &attend.training {
            let dropout = match self.base.seed {
                Some(seed) => self.dropout.seed(seed),
                None => self.dropout,
            };
            shares = dropout.call(&shares, training.clone());
        }
        let taken = apart(&shares.matmul(apart(values)));
        self.join_heads(query, &taken, &heads.output)
    }

    /// (batch, position, head, size) to (batch, position, features).
    #[track_caller]
    fn join_heads(&self, query: &Output, taken: &Output, to: &Projection) -> Output {
        let graph = query.graph();
        let width = self.heads * self.value_size;
        let output = last_size(to.kernel.snapshot());
        let whole = query.shape_tensor().slice(&[0], &[2]);
        let joined = taken.reshape(concat(&[&whole, &graph.constant([width as i32])], 0));
        let dims = query.shape().dims.unwrap_or_default();
        let joined = joined.with_shape([
            dims.first().copied().flatten(),
            dims.get(1).copied().flatten(),
            Some(width),
        ]);
        let kernel = to.kernel.read().reshape([width as i32, output as i32]);
        let projected = product(&joined, &kernel, output);
        match &to.bias {
            Some(bias) => projected + bias,
            None => projected,
        }
    }
}

/// (batch, position, features) to (batch, position, head, size).
#[track_caller]
fn to_heads(x: &Output, by: &Projection, heads: usize, size: usize) -> Output {
    let graph = x.graph();
    let width = heads * size;
    let kernel = by.kernel.read().reshape([last_size(x) as i32, width as i32]);
    let projected = product(x, &kernel, width);
    let whole = x.shape_tensor().slice(&[0], &[2]);
    let each = graph.constant([heads as i32, size as i32]);
    let dims = x.shape().dims.unwrap_or_default();
    let apart = projected.reshape(concat(&[&whole, &each], 0)).with_shape([
        dims.first().copied().flatten(),
        dims.get(1).copied().flatten(),
        Some(heads),
        Some(size),
    ]);
    match &by.bias {
        Some(bias) => apart + bias,
        None => apart,
    }
}

impl Module for MultiHeadAttention {
    fn parts(&self, parameters: &mut Parameters) {
        if let Some(made) = self.base.made.get() {
            parameters.part("query", &made.query);
            parameters.part("key", &made.key);
            parameters.part("value", &made.value);
            parameters.part("attention_output", &made.output);
        }
    }
}

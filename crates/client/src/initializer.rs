//! Initial values of variables.
//!
//! ```
//! use tensorfleet_client::{Graph, initializer};
//!
//! let graph = Graph::new();
//! let w = graph.variable("w", initializer::glorot_uniform([784, 128]));
//! assert_eq!(w.shape().to_string(), "[784,128]");
//! ```

use tensorfleet_tensor::{DType, invalid_argument};

use crate::graph::Graph;
use crate::output::{Operand, Output};

/// Says how to make the initial value of a variable. It is made by the step that initialises, on
/// the servers, so that graphs stay small however large the variable is.
///
/// ```
/// use tensorfleet_client::{DType, Graph, initializer};
///
/// let graph = Graph::new();
/// let initial = initializer::uniform([2, 3], -1.0, 1.0).seed(7).dtype(DType::Double);
/// let w = graph.variable("w", initial);
/// assert_eq!((w.dtype(), w.num_elements()), (DType::Double, 6));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Initializer {
    kind: Kind,
    shape: Vec<usize>,
    dtype: DType,
    seed: Option<i64>,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant(f64),
    /// A vector of these.
    Values(Vec<f64>),
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    Truncated {
        mean: f64,
        deviation: f64,
    },
    Orthogonal {
        gain: f64,
    },
}

impl Initializer {
    fn new(kind: Kind, shape: impl Into<Vec<usize>>) -> Initializer {
        Initializer { kind, shape: shape.into(), dtype: DType::Float, seed: None }
    }

    /// Makes elements of another type than `float`.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, initializer};
    ///
    /// let graph = Graph::new();
    /// let w = graph.variable("w", initializer::ones([2]).dtype(DType::Int64));
    /// assert_eq!(w.dtype(), DType::Int64);
    /// ```
    pub fn dtype(mut self, dtype: DType) -> Initializer {
        self.dtype = dtype;
        self
    }

    /// Draws the same numbers in every run.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, initializer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let draw = || {
    ///     let graph = Graph::new();
    ///     let w = graph.variable("w", initializer::normal([3], 0.0, 1.0).seed(42));
    ///     let session = Session::new(&graph)?;
    ///     session.run((), &graph.initializer())?;
    ///     session.run((), w.value::<Vec<f32>>())
    /// };
    /// assert_eq!(draw()?, draw()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn seed(mut self, seed: i64) -> Initializer {
        self.seed = Some(seed);
        self
    }

    /// The shape of what it makes.
    pub(crate) fn dims(&self) -> &[usize] {
        &self.shape
    }

    /// As [`Initializer::seed`], unless there is a seed already.
    pub(crate) fn default_seed(self, seed: i64) -> Initializer {
        if self.seed.is_some() { self } else { self.seed(seed) }
    }

    #[track_caller]
    fn random(&self, graph: &Graph, op: &str, shape: &[usize]) -> Output {
        let dims: Vec<i32> = shape.iter().map(|&dim| dim as i32).collect();
        // Zero twice means that the seed is drawn.
        let (seed, seed2) = self.seed.map_or((0, 0), |seed| (seed, 0x5eed));
        let op = graph.op(op).input(dims).attr("dtype", self.dtype);
        op.attr("seed", seed).attr("seed2", seed2).output()
    }

    /// Fills a matrix of the shape's last dimension and all others with orthogonal rows or columns.
    #[track_caller]
    fn orthogonal(&self, graph: &Graph, gain: f64) -> Output {
        let Some((&columns, outer)) = self.shape.split_last().filter(|(_, o)| !o.is_empty()) else {
            return graph.failed(invalid_argument!(
                "an orthogonal matrix needs two dimensions, not the shape {:?}",
                self.shape
            ));
        };
        let rows: usize = outer.iter().product();
        let (long, short) = (rows.max(columns), rows.min(columns));
        let random = self.random(graph, "RandomStandardNormal", &[long, short]);
        let [q, r] = graph.op("Qr").input(random).outputs();
        let signs = graph.op("MatrixDiagPart").input(r).output().sign();
        let q = (q * signs).with_shape([Some(long), Some(short)]);
        let q = if rows < columns { q.transpose(&[1, 0]) } else { q };
        let dims: Vec<i32> = self.shape.iter().map(|&dim| dim as i32).collect();
        q.reshape(dims) * gain
    }
}

impl Operand for Initializer {
    #[track_caller]
    fn to_output(&self, graph: &Graph, _: Option<DType>) -> Output {
        match &self.kind {
            Kind::Values(values) => graph.constant(values.clone()).cast(self.dtype),
            &Kind::Constant(value) => {
                let dims: Vec<i32> = self.shape.iter().map(|&dim| dim as i32).collect();
                let value = value.to_output(graph, Some(self.dtype));
                graph.op("Fill").input(dims).input(value).output()
            }
            &Kind::Uniform { low, high } => {
                self.random(graph, "RandomUniform", &self.shape) * (high - low) + low
            }
            &Kind::Normal { mean, deviation } => {
                self.random(graph, "RandomStandardNormal", &self.shape) * deviation + mean
            }
            &Kind::Truncated { mean, deviation } => {
                self.random(graph, "TruncatedNormal", &self.shape) * deviation + mean
            }
            &Kind::Orthogonal { gain } => self.orthogonal(graph, gain),
        }
    }
}

/// The numbers of inputs and outputs of a layer with weights of a shape: the last two dimensions,
/// times the size of the filter before them.
fn fans(shape: &[usize]) -> (f64, f64) {
    match shape {
        [] => (1.0, 1.0),
        [only] => (*only as f64, *only as f64),
        [field @ .., inputs, outputs] => {
            let field: usize = field.iter().product();
            ((field * inputs) as f64, (field * outputs) as f64)
        }
    }
}

/// The standard deviation of a normal distribution cut off at two deviations.
const TRUNCATED_DEVIATION: f64 = 0.879_625_661_034_239_8;

fn scaled_uniform(shape: Vec<usize>, variance: f64) -> Initializer {
    let limit = (3.0 * variance).sqrt();
    Initializer::new(Kind::Uniform { low: -limit, high: limit }, shape)
}

fn scaled_normal(shape: Vec<usize>, variance: f64) -> Initializer {
    let deviation = variance.sqrt() / TRUNCATED_DEVIATION;
    Initializer::new(Kind::Truncated { mean: 0.0, deviation }, shape)
}

/// Zeros.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::zeros([3]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// assert_eq!(w, [0.0; 3]);
/// # Ok(())
/// # }
/// ```
pub fn zeros(shape: impl Into<Vec<usize>>) -> Initializer {
    constant(shape, 0.0)
}

/// Ones.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::ones([3]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// assert_eq!(w, [1.0; 3]);
/// # Ok(())
/// # }
/// ```
pub fn ones(shape: impl Into<Vec<usize>>) -> Initializer {
    constant(shape, 1.0)
}

/// One number everywhere.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::constant([3], 0.5));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// assert_eq!(w, [0.5; 3]);
/// # Ok(())
/// # }
/// ```
pub fn constant(shape: impl Into<Vec<usize>>, value: f64) -> Initializer {
    Initializer::new(Kind::Constant(value), shape)
}

/// Numbers drawn evenly from an interval.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::uniform([100], 2.0, 3.0));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// assert!(w.iter().all(|value| (2.0..3.0).contains(value)));
/// # Ok(())
/// # }
/// ```
pub fn uniform(shape: impl Into<Vec<usize>>, low: f64, high: f64) -> Initializer {
    Initializer::new(Kind::Uniform { low, high }, shape)
}

/// Numbers drawn from a normal distribution.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::normal([1000], 5.0, 0.1));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// let mean = w.iter().sum::<f32>() / 1000.0;
/// assert!((mean - 5.0).abs() < 0.1);
/// # Ok(())
/// # }
/// ```
pub fn normal(shape: impl Into<Vec<usize>>, mean: f64, deviation: f64) -> Initializer {
    Initializer::new(Kind::Normal { mean, deviation }, shape)
}

/// Numbers drawn from a normal distribution, none further than two deviations from the mean.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::truncated_normal([1000], 0.0, 0.5));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// assert!(w.iter().all(|value| value.abs() <= 1.0));
/// # Ok(())
/// # }
/// ```
pub fn truncated_normal(shape: impl Into<Vec<usize>>, mean: f64, deviation: f64) -> Initializer {
    Initializer::new(Kind::Truncated { mean, deviation }, shape)
}

/// Glorot's (or Xavier's) choice for layers before `tanh` and the like, evenly drawn.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::glorot_uniform([100, 50]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// let limit = (6.0f32 / 150.0).sqrt();
/// assert!(w.iter().all(|value| value.abs() <= limit));
/// # Ok(())
/// # }
/// ```
pub fn glorot_uniform(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    scaled_uniform(shape, 2.0 / (inputs + outputs).max(1.0))
}

/// Glorot's (or Xavier's) choice for layers before `tanh` and the like, normally drawn.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::glorot_normal([100, 50]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// let variance = w.iter().map(|value| value * value).sum::<f32>() / 5000.0;
/// assert!((variance - 2.0 / 150.0).abs() < 2e-3);
/// # Ok(())
/// # }
/// ```
pub fn glorot_normal(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, outputs) = fans(&shape);
    scaled_normal(shape, 2.0 / (inputs + outputs).max(1.0))
}

/// He's choice for layers before rectifiers, evenly drawn.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::he_uniform([100, 50]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// let limit = (6.0f32 / 100.0).sqrt();
/// assert!(w.iter().all(|value| value.abs() <= limit));
/// # Ok(())
/// # }
/// ```
pub fn he_uniform(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, _) = fans(&shape);
    scaled_uniform(shape, 2.0 / inputs.max(1.0))
}

/// He's choice for layers before rectifiers, normally drawn.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::he_normal([100, 50]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// let variance = w.iter().map(|value| value * value).sum::<f32>() / 5000.0;
/// assert!((variance - 2.0 / 100.0).abs() < 3e-3);
/// # Ok(())
/// # }
/// ```
pub fn he_normal(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, _) = fans(&shape);
    scaled_normal(shape, 2.0 / inputs.max(1.0))
}

/// A matrix whose rows or columns, whichever are fewer, are orthogonal and of length one.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::orthogonal([4, 2]));
/// let product = w.read().matmul_with(&w, true, false);
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let product = session.run((), product.value::<Vec<f32>>())?;
/// for (value, identity) in product.iter().zip([1.0, 0.0, 0.0, 1.0]) {
///     assert!((value - identity).abs() < 1e-5);
/// }
/// # Ok(())
/// # }
/// ```
pub fn orthogonal(shape: impl Into<Vec<usize>>) -> Initializer {
    Initializer::new(Kind::Orthogonal { gain: 1.0 }, shape)
}

/// A vector of given values.
pub(crate) fn values(values: Vec<f64>) -> Initializer {
    let shape = vec![values.len()];
    Initializer::new(Kind::Values(values), shape)
}

/// LeCun's initialisation, uniform: for layers before a `selu`.
///
/// ```
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::lecun_uniform([300, 10]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let w = session.run((), w.value::<Vec<f32>>())?;
/// // Of variance 1 / 300.
/// assert!(w.iter().all(|value| value.abs() <= 0.1));
/// # Ok(())
/// # }
/// ```
pub fn lecun_uniform(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, _) = fans(&shape);
    scaled_uniform(shape, 1.0 / inputs.max(1.0))
}

/// LeCun's initialisation, normal: for layers before a `selu`.
///
/// ```
/// use tensorfleet_client::{Graph, initializer};
///
/// let graph = Graph::new();
/// let w = graph.variable("w", initializer::lecun_normal([300, 10]).seed(1));
/// assert_eq!(w.shape().to_string(), "[300,10]");
/// ```
pub fn lecun_normal(shape: impl Into<Vec<usize>>) -> Initializer {
    let shape = shape.into();
    let (inputs, _) = fans(&shape);
    scaled_normal(shape, 1.0 / inputs.max(1.0))
}

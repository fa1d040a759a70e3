//! Fully connected layers.

use std::panic::Location;

use super::arrays::concat;
use super::{Base, Init, last_size, settings};
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::Output;
use crate::variable::Variable;

/// A fully connected layer: `x · kernel + bias`. See the example of [`Dense`] for more choices.
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
    Dense::new(units).named(name).call(x)
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
    let units = kernel.dims().last().copied().unwrap_or(1);
    Dense::new(units).named(name).kernel(move |_| kernel.clone()).call(x)
}

/// A fully connected layer that can be called several times.
///
/// ```
/// use tensorfleet_client::layers::Dense;
/// use tensorfleet_client::{Graph, Session, initializer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let sum = Dense::new(1).kernel(initializer::ones).bias(|shape| initializer::constant(shape, 0.5));
/// // The same weights for both.
/// let (a, b) = (sum.call(&graph.constant([[1.0f32, 2.0]])), sum.call(&graph.constant([[3.0f32, 4.0]])));
/// let plain = Dense::new(1).kernel(initializer::ones).no_bias().call(&graph.constant([[1.0f32, 2.0]]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let fetches = (a.value::<Vec<f32>>(), b.value::<Vec<f32>>(), plain.value::<Vec<f32>>());
/// assert_eq!(session.run((), fetches)?, (vec![3.5], vec![7.5], vec![3.0]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Dense {
    base: Base<(Variable, Option<Variable>)>,
    units: usize,
    kernel: Init,
    bias: Option<Init>,
}

settings!(Dense);

impl Dense {
    /// A layer of so many outputs. See the example of [`Dense`].
    #[must_use]
    pub fn new(units: usize) -> Dense {
        let (kernel, bias) =
            (Init::new(initializer::glorot_uniform), Some(Init::new(initializer::zeros)));
        Dense { base: Base::new("dense"), units, kernel, bias }
    }

    /// Chooses the initial kernel. See the example of [`Dense`].
    #[must_use]
    pub fn kernel(
        mut self,
        initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
    ) -> Dense {
        self.kernel = Init::new(initial);
        self
    }

    /// Chooses the initial bias. See the example of [`Dense`].
    #[must_use]
    pub fn bias(
        mut self,
        initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
    ) -> Dense {
        self.bias = Some(Init::new(initial));
        self
    }

    /// Leaves the bias out. See the example of [`Dense`].
    #[must_use]
    pub fn no_bias(mut self) -> Dense {
        self.bias = None;
        self
    }

    /// The product with the last dimension. See the example of [`Dense`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| {
                let kernel = make.weights("kernel", &self.kernel, [last_size(x), self.units]);
                let bias = self.bias.as_ref().map(|bias| make.weights("bias", bias, [self.units]));
                (kernel, bias)
            },
            |(kernel, bias)| {
                let product = product(x, &kernel.read(), self.units);
                match bias {
                    Some(bias) => x.graph().op("BiasAdd").input(product).input(bias).output(),
                    None => product,
                }
            },
        )
    }
}

/// The product of the last dimension of `x` with a matrix.
#[track_caller]
pub(super) fn product(x: &Output, kernel: &Output, units: usize) -> Output {
    let graph = x.graph();
    match x.rank() {
        Some(rank) if rank > 2 => {
            let inputs = last_size(x) as i32;
            let rows = x.reshape([-1, inputs]).matmul(kernel);
            let mut dims: Vec<Option<usize>> = x.shape().dims.unwrap_or_default();
            dims.pop();
            let outer = x.shape_tensor().slice(&[0], &[rank as i32 - 1]);
            let shape = concat(&[&outer, &graph.constant([units as i32])], 0);
            dims.push(Some(units));
            rows.reshape(shape).with_shape(dims)
        }
        _ => x.matmul(kernel),
    }
}

impl Module for Dense {
    fn parts(&self, parameters: &mut Parameters) {
        if let Some((kernel, bias)) = self.base.made.get() {
            parameters.part("kernel", kernel);
            parameters.part("bias", bias);
        }
    }
}

//! Gradients of outputs with respect to outputs and variables.

use std::panic::Location;

use tensorfleet_framework::{FindGradient, GradientOptions};
use tensorfleet_tensor::invalid_argument;

use crate::graph::Graph;
use crate::output::Output;
use crate::variable::Variable;

/// The derivative of something with respect to a tensor.
///
/// ```
/// use tensorfleet_client::{Gradient, Graph, Session, gradients};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let table = graph.variable("table", [[1.0f32], [2.0], [3.0]]);
/// let loss = table.gather([2i64, 2]).square().sum();
/// // Only the rows that were gathered have a gradient.
/// let taken = gradients(&loss, [&table]).remove(0).expect("the loss depends on the table");
/// let Gradient::Sparse { values, indices, .. } = &taken else { panic!("it is sparse") };
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let fetches = (values.value::<Vec<f32>>(), indices.value::<Vec<i64>>());
/// assert_eq!(session.run((), fetches)?, (vec![6.0, 6.0], vec![2, 2]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Gradient {
    /// One number for each element.
    Dense(Output),
    /// Slices along the first dimension; all others are zero.
    Sparse {
        /// The slices.
        values: Output,
        /// The number of each slice; one may come several times and then counts as the sum.
        indices: Output,
        /// The shape of the whole.
        dense_shape: Output,
    },
}

impl Gradient {
    /// The tensor that holds the numbers.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([1.0f32, 2.0]);
    /// let dx = gradients(&x.square(), [&x]).remove(0).expect("it depends on x");
    /// assert_eq!(Session::new(&graph)?.run((), dx.values().value::<Vec<f32>>())?, [2.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn values(&self) -> &Output {
        match self {
            Gradient::Dense(output) => output,
            Gradient::Sparse { values, .. } => values,
        }
    }

    /// The gradient as one tensor.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let table = graph.variable("table", [[1.0f32], [2.0], [3.0]]);
    /// let loss = table.gather([2i64, 2]).sum();
    /// let dense = gradients(&loss, [&table])[0].clone().expect("it depends on it").to_dense();
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(session.run((), dense.value::<Vec<f32>>())?, [0.0, 0.0, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn to_dense(&self) -> Output {
        match self {
            Gradient::Dense(output) => output.clone(),
            Gradient::Sparse { values, indices, dense_shape } => {
                let rows = dense_shape.gather(0i32, 0);
                let graph = values.graph();
                graph.op("UnsortedSegmentSum").input(values).input(indices).input(&rows).output()
            }
        }
    }

    /// The gradient with its numbers replaced by a function of them.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant(3.0f32);
    /// let dx = gradients(&x.square(), [&x]).remove(0).expect("it depends on x");
    /// let halved = dx.map(|values| values * 0.5).to_dense();
    /// assert_eq!(Session::new(&graph)?.run((), halved.value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn map(&self, f: impl FnOnce(&Output) -> Output) -> Gradient {
        match self {
            Gradient::Dense(output) => Gradient::Dense(f(output)),
            Gradient::Sparse { values, indices, dense_shape } => Gradient::Sparse {
                values: f(values),
                indices: indices.clone(),
                dense_shape: dense_shape.clone(),
            },
        }
    }
}

/// What a derivative can be taken with respect to.
///
/// ```
/// use tensorfleet_client::{Graph, Session, gradients};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (x, w) = (graph.constant(3.0f32), graph.variable("w", 2.0f32));
/// let y = &x * &w;
/// let dx = gradients(&y, [&x])[0].clone().expect("y depends on x").to_dense();
/// let dw = gradients(&y, [&w])[0].clone().expect("y depends on w").to_dense();
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// assert_eq!(session.run((), (dx.value::<f32>(), dw.value::<f32>()))?, (2.0, 3.0));
/// # Ok(())
/// # }
/// ```
pub trait Differentiable {
    /// The tensor that gradients flow to: for a variable its handle.
    fn source(&self) -> &Output;
}

impl Differentiable for Output {
    fn source(&self) -> &Output {
        self
    }
}

impl Differentiable for Variable {
    fn source(&self) -> &Output {
        self.handle()
    }
}

impl<D: Differentiable> Differentiable for &D {
    fn source(&self) -> &Output {
        (**self).source()
    }
}

/// The derivatives of the sum of a tensor's elements with respect to each of `xs`; `None` for those
/// that it does not depend on.
///
/// ```
/// use tensorfleet_client::{Graph, Session, gradients};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant(3.0f32);
/// let y = x.square() * 2.0;
/// let dx = gradients(&y, [&x])[0].clone().expect("y depends on x").to_dense();
/// assert_eq!(Session::new(&graph)?.run((), dx.value::<f32>())?, 12.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn gradients<D: Differentiable>(
    y: &Output,
    xs: impl IntoIterator<Item = D>,
) -> Vec<Option<Gradient>> {
    let xs: Vec<D> = xs.into_iter().collect();
    let sources: Vec<&Output> = xs.iter().map(D::source).collect();
    gradients_of(&[y], &sources, &[])
}

/// As [`gradients`] for several results, each with the gradient that differentiation starts from:
/// ones where it is absent.
///
/// ```
/// use tensorfleet_client::{Graph, Session, gradients_of};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant(3.0f32);
/// let (y, z) = (x.square(), &x * 5.0);
/// let weight = graph.constant(10.0f32);
/// let taken = gradients_of(&[&y, &z], &[&x], &[None, Some(weight)]);
/// let dx = taken[0].clone().expect("both depend on x").to_dense();
/// assert_eq!(Session::new(&graph)?.run((), dx.value::<f32>())?, 56.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn gradients_of(
    ys: &[&Output],
    xs: &[&Output],
    initial: &[Option<Output>],
) -> Vec<Option<Gradient>> {
    let none = || vec![None; xs.len()];
    let Some(first) = ys.first() else { return none() };
    let graph = first.graph().clone();
    let at = |outputs: &[&Output]| outputs.iter().map(|o| o.at).collect::<Option<Vec<_>>>();
    let (Some(y_ids), Some(x_ids)) = (at(ys), at(xs)) else { return none() };
    if let Some(stranger) = ys.iter().chain(xs).find(|output| !output.graph().is_same(&graph)) {
        let error = invalid_argument!("{} belongs to another graph", stranger.name());
        graph.record(error, Location::caller());
        return none();
    }
    let taken = {
        let mut state = graph.lock();
        let state = &mut *state;
        let scope = state.scope();
        let options = GradientOptions {
            initial: initial.iter().map(|output| output.as_ref().and_then(|o| o.at)).collect(),
            custom: Some(&crate::control::find_gradient as &FindGradient<'_>),
            ..GradientOptions::default()
        };
        tensorfleet_framework::gradients(&mut state.builder, &scope, &y_ids, &x_ids, &options)
    };
    match taken {
        Ok(taken) => taken.into_iter().map(|g| g.map(|g| from_framework(&graph, g))).collect(),
        Err(error) => {
            graph.record(error, Location::caller());
            none()
        }
    }
}

fn from_framework(graph: &Graph, gradient: tensorfleet_framework::Gradient) -> Gradient {
    let output = |at| Output::new(graph, Some(at));
    match gradient {
        tensorfleet_framework::Gradient::Dense(at) => Gradient::Dense(output(at)),
        tensorfleet_framework::Gradient::Sparse(slices) => Gradient::Sparse {
            values: output(slices.values),
            indices: output(slices.indices),
            dense_shape: output(slices.dense_shape),
        },
    }
}

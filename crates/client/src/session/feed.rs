//! What a step is fed with.

use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument};

use super::tuples::for_each_tuple;
use crate::convert::IntoTensor;
use crate::graph::Graph;
use crate::output::Output;

/// The tensors that a step is fed with.
///
/// ```
/// use tensorfleet_client::{Feed, Feeds, Graph, IntoTensor, Output, Result, Session};
///
/// /// All placeholders of a graph, with zeros.
/// struct Zeros<'a>(&'a [Output]);
///
/// impl Feed for Zeros<'_> {
///     fn add_to(self, feeds: &mut Feeds) -> Result<()> {
///         self.0.iter().try_for_each(|output| feeds.push(output, 0.0f32.into_tensor()?))
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let inputs = [graph.placeholder::<f32>([]), graph.placeholder::<f32>([])];
/// let sum = &inputs[0] + &inputs[1];
/// assert_eq!(Session::new(&graph)?.run(Zeros(&inputs), sum.value::<f32>())?, 0.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Feeds {
    graph: Graph,
    named: Vec<(String, Tensor)>,
}

impl Feeds {
    pub(super) fn new(graph: &Graph) -> Feeds {
        Feeds { graph: graph.clone(), named: Vec::new() }
    }

    /// Adds one tensor, which must be of the type and fit the shape of the output.
    ///
    /// ```
    /// use tensorfleet_client::{Feed, Feeds, Graph, IntoTensor, Result, Session, invalid_argument};
    ///
    /// /// A number for a placeholder, whatever that is called.
    /// struct Named<'a>(&'a Graph, &'a str, f32);
    ///
    /// impl Feed for Named<'_> {
    ///     fn add_to(self, feeds: &mut Feeds) -> Result<()> {
    ///         let found = self.0.find(self.1).ok_or_else(|| invalid_argument!("no {}", self.1))?;
    ///         feeds.push(&found, self.2.into_tensor()?)
    ///     }
    /// }
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let y = &x * 2.0;
    /// let session = Session::new(&graph)?;
    /// assert_eq!(session.run(Named(&graph, "Placeholder", 4.0), y.value::<f32>())?, 8.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn push(&mut self, output: &Output, tensor: Tensor) -> Result<()> {
        let fed = Fed::new(&self.graph, output)?;
        fed.check(&tensor)?;
        self.put(fed.name, tensor);
        Ok(())
    }

    /// Adds tensors that have been checked before.
    pub(super) fn extend_named(&mut self, named: Vec<(String, Tensor)>) {
        named.into_iter().for_each(|(name, tensor)| self.put(name, tensor));
    }

    /// Of two values for one output the last counts.
    fn put(&mut self, name: String, tensor: Tensor) {
        match self.named.iter_mut().find(|(fed, _)| *fed == name) {
            Some((_, value)) => *value = tensor,
            None => self.named.push((name, tensor)),
        }
    }

    pub(super) fn into_named(self) -> Vec<(String, Tensor)> {
        self.named
    }
}

/// An output that is fed: what its values must be like.
#[derive(Debug)]
pub(super) struct Fed {
    pub(super) name: String,
    dtype: DType,
    shape: PartialShape,
}

impl Fed {
    pub(super) fn new(graph: &Graph, output: &Output) -> Result<Fed> {
        let name = output.name();
        if !output.graph().is_same(graph) || output.at.is_none() {
            return Err(invalid_argument!("the output {name:?} is not of the session's graph"));
        }
        Ok(Fed { name, dtype: output.dtype(), shape: output.shape() })
    }

    pub(super) fn check(&self, tensor: &Tensor) -> Result<()> {
        let Fed { name, dtype, shape } = self;
        if tensor.dtype() != *dtype {
            return Err(invalid_argument!("{name} is {dtype}, but is fed with {}", tensor.dtype()));
        }
        if !shape.is_compatible_with(tensor.shape()) {
            return Err(invalid_argument!(
                "{name} has shape {shape}, but is fed with a tensor of shape {}",
                tensor.shape()
            ));
        }
        Ok(())
    }
}

/// What can be given as the feeds of a step: pairs of an output and a value, and tuples, arrays and
/// vectors of them.
///
/// A struct of a program becomes a feed by adding its fields:
///
/// ```
/// use tensorfleet_client::{Feed, Feeds, Graph, Output, Result, Session};
///
/// struct Batch<'a> {
///     images: (&'a Output, Vec<f32>),
///     count: (&'a Output, f32),
/// }
///
/// impl Feed for Batch<'_> {
///     fn add_to(self, feeds: &mut Feeds) -> Result<()> {
///         (self.images, self.count).add_to(feeds)
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None]);
/// let count = graph.placeholder::<f32>([]);
/// let mean = images.sum() / &count;
/// let batch = Batch { images: (&images, vec![1.0, 3.0]), count: (&count, 2.0) };
/// assert_eq!(Session::new(&graph)?.run(batch, mean.value::<f32>())?, 2.0);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be fed",
    label = "not a feed",
    note = "a feed is a pair of an output, by reference, and a value: `(&x, 1.0f32)`",
    note = "several feeds go into a tuple, an array or a vector; `()` feeds nothing"
)]
pub trait Feed {
    /// Adds the tensors.
    fn add_to(self, feeds: &mut Feeds) -> Result<()>;
}

impl<T: IntoTensor> Feed for (&Output, T) {
    fn add_to(self, feeds: &mut Feeds) -> Result<()> {
        let tensor = self.1.into_tensor()?;
        feeds.push(self.0, tensor)
    }
}

impl<F: Feed, const N: usize> Feed for [F; N] {
    fn add_to(self, feeds: &mut Feeds) -> Result<()> {
        self.into_iter().try_for_each(|feed| feed.add_to(feeds))
    }
}

impl<F: Feed> Feed for Vec<F> {
    fn add_to(self, feeds: &mut Feeds) -> Result<()> {
        self.into_iter().try_for_each(|feed| feed.add_to(feeds))
    }
}

impl<F: Feed> Feed for Option<F> {
    fn add_to(self, feeds: &mut Feeds) -> Result<()> {
        self.map_or(Ok(()), |feed| feed.add_to(feeds))
    }
}

impl Feed for () {
    fn add_to(self, _: &mut Feeds) -> Result<()> {
        Ok(())
    }
}

macro_rules! implement {
    ($($name:ident)+) => {
        #[allow(non_snake_case, reason = "the parts are named after their types")]
        impl<$($name: Feed),+> Feed for ($($name,)+) {
            fn add_to(self, feeds: &mut Feeds) -> Result<()> {
                let ($($name,)+) = self;
                $($name.add_to(feeds)?;)+
                Ok(())
            }
        }
    };
}

for_each_tuple!(implement);

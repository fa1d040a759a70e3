//! What a step is fed with.

use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use crate::convert::IntoTensor;
use crate::graph::Graph;
use crate::output::Output;

/// The tensors that a step is fed with.
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
    pub fn push(&mut self, output: &Output, tensor: Tensor) -> Result<()> {
        let name = output.name();
        if !output.graph().is_same(&self.graph) || output.at.is_none() {
            return Err(invalid_argument!("the output {name:?} is not of the session's graph"));
        }
        if tensor.dtype() != output.dtype() {
            return Err(invalid_argument!(
                "{name} is {}, but is fed with {}",
                output.dtype(),
                tensor.dtype()
            ));
        }
        if !output.shape().is_compatible_with(tensor.shape()) {
            return Err(invalid_argument!(
                "{name} has shape {}, but is fed with a tensor of shape {}",
                output.shape(),
                tensor.shape()
            ));
        }
        self.named.push((name, tensor));
        Ok(())
    }

    /// Adds tensors that have been checked before.
    pub(super) fn extend_named(&mut self, named: Vec<(String, Tensor)>) {
        self.named.extend(named);
    }

    pub(super) fn into_named(self) -> Vec<(String, Tensor)> {
        self.named
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

macro_rules! tuples {
    ($($($name:ident)+;)+) => {$(
        #[allow(non_snake_case, reason = "the parts are named after their types")]
        impl<$($name: Feed),+> Feed for ($($name,)+) {
            fn add_to(self, feeds: &mut Feeds) -> Result<()> {
                let ($($name,)+) = self;
                $($name.add_to(feeds)?;)+
                Ok(())
            }
        }
    )+};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

//! What a step returns.

use std::fmt;
use std::marker::PhantomData;

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{Context, Result, Tensor, internal, invalid_argument};

use super::tuples::for_each_tuple;
use crate::convert::FromTensor;
use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::variable::Variable;

/// An output whose value is wanted as a Rust type, made by [`Output::value`].
///
/// ```
/// use tensorfleet_client::{Graph, Session, Typed};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let wanted: Typed<Vec<i32>> = graph.constant([1i32, 2]).value();
/// assert_eq!(Session::new(&graph)?.run((), wanted)?, [1, 2]);
/// # Ok(())
/// # }
/// ```
pub struct Typed<T> {
    output: Output,
    as_type: PhantomData<fn() -> T>,
}

impl<T> Typed<T> {
    pub(crate) fn new(output: &Output) -> Typed<T> {
        Typed { output: output.clone(), as_type: PhantomData }
    }
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Typed<T> {
        Typed::new(&self.output)
    }
}

impl<T> fmt::Debug for Typed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typed({:?})", self.output)
    }
}

/// What a step is asked for. A tensor that is asked for twice is fetched once.
///
/// The example of [`Fetch`] uses it.
#[derive(Debug)]
pub struct Fetches {
    graph: Graph,
    names: Vec<String>,
    positions: FxHashMap<String, usize>,
    /// For each request, the position of its tensor among `names`.
    order: Vec<usize>,
    targets: Vec<String>,
}

impl Fetches {
    pub(super) fn new(graph: &Graph) -> Fetches {
        Fetches {
            graph: graph.clone(),
            names: Vec::new(),
            positions: FxHashMap::default(),
            order: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn check(&self, graph: &Graph, name: &str) -> Result<()> {
        if graph.is_same(&self.graph) && !name.is_empty() {
            return Ok(());
        }
        Err(invalid_argument!("{name:?} is not of the session's graph"))
    }

    /// Asks for a tensor.
    ///
    /// ```
    /// use tensorfleet_client::{Fetch, Fetches, Graph, Output, Reply, Result, Session, Tensor};
    ///
    /// /// A tensor together with its name.
    /// struct WithName(Output);
    ///
    /// impl Fetch for WithName {
    ///     type Value = (String, Tensor);
    ///
    ///     fn request(&self, fetches: &mut Fetches) -> Result<()> {
    ///         fetches.fetch(&self.0)
    ///     }
    ///
    ///     fn collect(&self, reply: &mut Reply) -> Result<(String, Tensor)> {
    ///         Ok((self.0.name(), reply.tensor()?))
    ///     }
    /// }
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([1i32, 2]);
    /// let (name, tensor) = Session::new(&graph)?.run((), WithName(x))?;
    /// assert_eq!((name.as_str(), tensor.dims()), ("Const:0", &[2][..]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn fetch(&mut self, output: &Output) -> Result<()> {
        let name = output.name();
        self.check(output.graph(), &name)?;
        let next = self.names.len();
        let position = *self.positions.entry(name.clone()).or_insert(next);
        if position == next {
            self.names.push(name);
        }
        self.order.push(position);
        Ok(())
    }

    /// Asks for an operation to be run.
    ///
    /// ```
    /// use tensorfleet_client::{Fetch, Fetches, Graph, Operation, Reply, Result, Session};
    ///
    /// /// Operations of which only the last counts.
    /// struct Last(Vec<Operation>);
    ///
    /// impl Fetch for Last {
    ///     type Value = ();
    ///
    ///     fn request(&self, fetches: &mut Fetches) -> Result<()> {
    ///         self.0.last().map_or(Ok(()), |operation| fetches.run(operation))
    ///     }
    ///
    ///     fn collect(&self, _: &mut Reply) -> Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let nothing = graph.op("NoOp").build();
    /// Session::new(&graph)?.run((), Last(vec![nothing]))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&mut self, operation: &Operation) -> Result<()> {
        let name = operation.name();
        self.check(operation.graph(), &name)?;
        if !self.targets.contains(&name) {
            self.targets.push(name);
        }
        Ok(())
    }

    /// What a step with these feeds has to do.
    pub(super) fn beside<'a>(self, feeds: impl Iterator<Item = &'a String>) -> Wanted {
        let feeds: FxHashMap<&String, usize> =
            feeds.enumerate().map(|(index, name)| (name, index)).collect();
        let fed: Vec<usize> =
            self.names.iter().filter_map(|name| feeds.get(name).copied()).collect();
        let (mut next, mut next_fed) = (0, self.names.len() - fed.len());
        let positions: Vec<usize> = self
            .names
            .iter()
            .map(|name| {
                let counter = if feeds.contains_key(name) { &mut next_fed } else { &mut next };
                *counter += 1;
                *counter - 1
            })
            .collect();
        let order = self.order.into_iter().map(|position| positions[position]).collect();
        let names = self.names.into_iter().filter(|name| !feeds.contains_key(name)).collect();
        Wanted { names, targets: self.targets, fed, order }
    }
}

/// What a step is asked for, without what it is fed with: that is known.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) names: Vec<String>,
    pub(super) targets: Vec<String>,
    /// The feeds that are asked for.
    pub(super) fed: Vec<usize>,
    /// For each request, the position of its tensor among `names` and, after them, `fed`.
    pub(super) order: Vec<usize>,
}

impl Wanted {
    /// Whether there is nothing to run.
    pub(super) fn is_known(&self) -> bool {
        !self.fed.is_empty() && self.names.is_empty() && self.targets.is_empty()
    }
}

/// The tensors that a step returned, in the order in which they were asked for.
///
/// The example of [`Fetch`] uses it.
#[derive(Debug)]
pub struct Reply {
    tensors: Vec<Tensor>,
    order: std::vec::IntoIter<usize>,
}

impl Reply {
    pub(super) fn new(tensors: Vec<Tensor>, order: Vec<usize>) -> Reply {
        Reply { tensors, order: order.into_iter() }
    }

    /// The next tensor.
    ///
    /// The example of [`Fetch`] uses it.
    pub fn tensor(&mut self) -> Result<Tensor> {
        let next = self.order.next().and_then(|position| self.tensors.get(position));
        next.cloned().ok_or_else(|| internal!("the step returned too few tensors"))
    }
}

/// What can be given as the fetches of a step.
///
/// [`Fetch::fetch_as`] makes structs of a program from what is fetched.
///
/// ```
/// use tensorfleet_client::{Fetch, Fetches, Graph, Output, Reply, Result, Session};
///
/// /// The greatest and the least of what is computed.
/// struct Range(Output);
///
/// impl Fetch for Range {
///     type Value = (f32, f32);
///
///     fn request(&self, fetches: &mut Fetches) -> Result<()> {
///         fetches.fetch(&self.0.max())?;
///         fetches.fetch(&self.0.min())
///     }
///
///     fn collect(&self, reply: &mut Reply) -> Result<(f32, f32)> {
///         Ok((reply.tensor()?.scalar_value()?, reply.tensor()?.scalar_value()?))
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([1.0f32, 5.0, 3.0]);
/// assert_eq!(Session::new(&graph)?.run((), Range(x))?, (5.0, 1.0));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be fetched",
    label = "not a fetch",
    note = "fetch an output as a tensor with `&y`, or as a Rust type with `y.value::<f32>()`",
    note = "several fetches go into a tuple, an array or a vector; `()` fetches nothing"
)]
pub trait Fetch {
    /// What the step returns for it.
    type Value;

    /// Asks for what it is made of.
    fn request(&self, fetches: &mut Fetches) -> Result<()>;

    /// Puts it together, taking as many tensors as were asked for, in the same order.
    fn collect(&self, reply: &mut Reply) -> Result<Self::Value>;

    /// Fetches something that the program makes of the values, as a struct of them.
    ///
    /// ```
    /// use tensorfleet_client::{Fetch, Graph, Session};
    ///
    /// struct Report {
    ///     sum: f32,
    ///     squares: Vec<f32>,
    /// }
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([1.0f32, 2.0, 3.0]);
    /// let report = (x.sum().value(), x.square().value())
    ///     .fetch_as(|(sum, squares)| Report { sum, squares });
    /// let Report { sum, squares } = Session::new(&graph)?.run((), &report)?;
    /// assert_eq!((sum, squares), (6.0, vec![1.0, 4.0, 9.0]));
    /// # Ok(())
    /// # }
    /// ```
    fn fetch_as<T, F: Fn(Self::Value) -> T>(self, make: F) -> FetchedAs<Self, F>
    where
        Self: Sized,
    {
        FetchedAs { parts: self, make }
    }
}

/// What a program makes of the values of other fetches, made by [`Fetch::fetch_as`].
///
/// ```
/// use tensorfleet_client::{Fetch, Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([3.0f32, 4.0]);
/// let length = x.value::<Vec<f32>>().fetch_as(|x| x.iter().map(|v| v * v).sum::<f32>().sqrt());
/// assert_eq!(Session::new(&graph)?.run((), &length)?, 5.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FetchedAs<P, F> {
    parts: P,
    make: F,
}

impl<P: fmt::Debug, F> fmt::Debug for FetchedAs<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FetchedAs({:?})", self.parts)
    }
}

impl<P: Fetch, T, F: Fn(P::Value) -> T> Fetch for FetchedAs<P, F> {
    type Value = T;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        self.parts.request(fetches)
    }

    fn collect(&self, reply: &mut Reply) -> Result<T> {
        self.parts.collect(reply).map(&self.make)
    }
}

impl Fetch for Output {
    type Value = Tensor;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        fetches.fetch(self)
    }

    fn collect(&self, reply: &mut Reply) -> Result<Tensor> {
        reply.tensor()
    }
}

impl Fetch for Variable {
    type Value = Tensor;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        fetches.fetch(self.snapshot())
    }

    fn collect(&self, reply: &mut Reply) -> Result<Tensor> {
        reply.tensor()
    }
}

impl<T: FromTensor> Fetch for Typed<T> {
    type Value = T;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        fetches.fetch(&self.output)
    }

    fn collect(&self, reply: &mut Reply) -> Result<T> {
        T::from_tensor(reply.tensor()?).context(|| format!("fetching {}", self.output.name()))
    }
}

impl Fetch for Operation {
    type Value = ();

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        fetches.run(self)
    }

    fn collect(&self, _: &mut Reply) -> Result<()> {
        Ok(())
    }
}

impl Fetch for () {
    type Value = ();

    fn request(&self, _: &mut Fetches) -> Result<()> {
        Ok(())
    }

    fn collect(&self, _: &mut Reply) -> Result<()> {
        Ok(())
    }
}

impl<F: Fetch + ?Sized> Fetch for &F {
    type Value = F::Value;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        (**self).request(fetches)
    }

    fn collect(&self, reply: &mut Reply) -> Result<F::Value> {
        (**self).collect(reply)
    }
}

impl<F: Fetch> Fetch for [F] {
    type Value = Vec<F::Value>;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        self.iter().try_for_each(|fetch| fetch.request(fetches))
    }

    fn collect(&self, reply: &mut Reply) -> Result<Vec<F::Value>> {
        self.iter().map(|fetch| fetch.collect(reply)).collect()
    }
}

impl<F: Fetch> Fetch for Vec<F> {
    type Value = Vec<F::Value>;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        self.as_slice().request(fetches)
    }

    fn collect(&self, reply: &mut Reply) -> Result<Vec<F::Value>> {
        self.as_slice().collect(reply)
    }
}

impl<F: Fetch, const N: usize> Fetch for [F; N] {
    type Value = Vec<F::Value>;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        self.as_slice().request(fetches)
    }

    fn collect(&self, reply: &mut Reply) -> Result<Vec<F::Value>> {
        self.as_slice().collect(reply)
    }
}

impl<F: Fetch> Fetch for Option<F> {
    type Value = Option<F::Value>;

    fn request(&self, fetches: &mut Fetches) -> Result<()> {
        self.as_ref().map_or(Ok(()), |fetch| fetch.request(fetches))
    }

    fn collect(&self, reply: &mut Reply) -> Result<Option<F::Value>> {
        self.as_ref().map(|fetch| fetch.collect(reply)).transpose()
    }
}

macro_rules! implement {
    ($($name:ident)+) => {
        #[allow(non_snake_case, reason = "the parts are named after their types")]
        impl<$($name: Fetch),+> Fetch for ($($name,)+) {
            type Value = ($($name::Value,)+);

            fn request(&self, fetches: &mut Fetches) -> Result<()> {
                let ($($name,)+) = self;
                $($name.request(fetches)?;)+
                Ok(())
            }

            fn collect(&self, reply: &mut Reply) -> Result<Self::Value> {
                let ($($name,)+) = self;
                Ok(($($name.collect(reply)?,)+))
            }
        }
    };
}

for_each_tuple!(implement);

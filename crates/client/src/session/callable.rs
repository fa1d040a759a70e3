//! Steps that are prepared once and run many times: the master has looked at feeds and fetches
//! already, and only values travel.

use std::fmt;

use tensorfleet_cluster::{self as cluster, StepReply};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::feed::Fed;
use super::fetch::Wanted;
use super::tuples::for_each_tuple;
use super::{Fetch, Fetches, RunOptions, Session, finish, wait};
use crate::convert::IntoTensor;
use crate::output::Output;

/// A step that is prepared to be run many times, made by [`Session::callable`].
///
/// The master forgets it when it is dropped.
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (x, y) = (graph.placeholder::<f32>([]), graph.placeholder::<f32>([None]));
/// let scaled = &x * &y;
/// let session = Session::new(&graph)?;
/// let scale = session.callable([&x, &y], scaled.value::<Vec<f32>>())?;
/// assert_eq!(scale.run((2.0f32, [1.0f32, 2.0]))?, [2.0, 4.0]);
/// assert_eq!(scale.run((3.0f32, [5.0f32]))?, [15.0]);
/// # Ok(())
/// # }
/// ```
pub struct Callable<'s, F> {
    session: &'s Session,
    feeds: Vec<Fed>,
    fetches: F,
    /// The feeds that are fetched: their values are known.
    fed: Vec<usize>,
    order: Vec<usize>,
    /// The master's name for it, if it has anything to do.
    handle: Option<i64>,
}

impl<F> fmt::Debug for Callable<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable").field("feeds", &self.feeds).finish_non_exhaustive()
    }
}

impl Session {
    /// Prepares a step that is run many times with other values for the same feeds. It is
    /// [`Session::run`] with less to do for each step.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<i64>([]);
    /// let double = &x * 2;
    /// let session = Session::new(&graph)?;
    /// let step = session.callable([&x], double.value::<i64>())?;
    /// for number in 0..3 {
    ///     assert_eq!(step.run([number])?, 2 * number);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn callable<'a, F: Fetch>(
        &self,
        feeds: impl IntoIterator<Item = &'a Output>,
        fetches: F,
    ) -> Result<Callable<'_, F>> {
        self.graph.check()?;
        let feeds: Vec<Fed> =
            feeds.into_iter().map(|output| Fed::new(&self.graph, output)).collect::<Result<_>>()?;
        let mut wanted = Fetches::new(&self.graph);
        fetches.request(&mut wanted)?;
        let wanted = wanted.beside(feeds.iter().map(|fed| &fed.name));
        let is_known = wanted.is_known();
        let Wanted { names, targets, fed, order } = wanted;
        if is_known {
            return Ok(Callable { session: self, feeds, fetches, fed, order, handle: None });
        }
        let callable = cluster::Callable {
            feeds: feeds.iter().map(|fed| fed.name.clone()).collect(),
            fetches: names,
            targets,
            connections: Vec::new(),
            options: RunOptions::default().to_cluster(),
        };
        let made = wait(self.handle(), self.backend.make_callable(&self.graph, callable));
        let handle = Some(made.map_err(|error| self.graph.with_line(error))?);
        Ok(Callable { session: self, feeds, fetches, fed, order, handle })
    }
}

impl<F: Fetch> Callable<'_, F> {
    /// Runs the step with a value for each feed: several in a tuple, or values of one type in an
    /// array or a vector.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let count = graph.state("count", 0i64);
    /// let add = count.assign_add(1);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let step = session.callable([], &add)?;
    /// step.run(())?;
    /// step.run(())?;
    /// assert_eq!(session.run((), count.value::<i64>())?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&self, values: impl Values) -> Result<F::Value> {
        let tensors = values.into_tensors()?;
        if tensors.len() != self.feeds.len() {
            return Err(invalid_argument!(
                "the step takes {} tensors, but {} were given",
                self.feeds.len(),
                tensors.len()
            ));
        }
        self.feeds.iter().zip(&tensors).try_for_each(|(fed, tensor)| fed.check(tensor))?;
        let session = self.session;
        let fed: Vec<Tensor> = self.fed.iter().map(|&feed| tensors[feed].clone()).collect();
        let mut reply = match self.handle {
            None => StepReply::default(),
            Some(handle) => {
                let reply = wait(session.handle(), session.backend.run_callable(handle, tensors));
                reply.map_err(|error| session.graph.with_line(error))?
            }
        };
        reply.tensors.extend(fed);
        Ok(finish(&self.fetches, self.order.clone(), reply)?.0)
    }
}

impl<F> Drop for Callable<'_, F> {
    fn drop(&mut self) {
        let Some(handle) = self.handle else { return };
        // A session that is closed, or whose server is gone, has forgotten it already.
        let release = self.session.backend.release_callable(handle);
        let _ = wait(self.session.handle(), async {
            tokio::time::timeout(super::CLOSE_TIMEOUT, release).await.unwrap_or(Ok(()))
        });
    }
}

/// Values for the feeds of a [`Callable`], in their order.
///
/// ```
/// use tensorfleet_client::{IntoTensor, Values};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// assert_eq!(().into_tensors()?.len(), 0);
/// assert_eq!((1i64, "text", [1.0f32, 2.0]).into_tensors()?.len(), 3);
/// assert_eq!(vec![1i64.into_tensor()?; 2].into_tensors()?.len(), 2);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not values for the feeds of a prepared step",
    label = "not values of tensors",
    note = "give one value for each feed: in a tuple, or in an array or vector if they are of one type",
    note = "a single value goes into an array too: `step.run([x])`"
)]
pub trait Values {
    /// The tensors, one for each feed.
    fn into_tensors(self) -> Result<Vec<Tensor>>;
}

impl Values for () {
    fn into_tensors(self) -> Result<Vec<Tensor>> {
        Ok(Vec::new())
    }
}

impl<T: IntoTensor> Values for Vec<T> {
    fn into_tensors(self) -> Result<Vec<Tensor>> {
        self.into_iter().map(IntoTensor::into_tensor).collect()
    }
}

impl<T: IntoTensor, const N: usize> Values for [T; N] {
    fn into_tensors(self) -> Result<Vec<Tensor>> {
        self.into_iter().map(IntoTensor::into_tensor).collect()
    }
}

macro_rules! implement {
    ($($name:ident)+) => {
        #[allow(non_snake_case, reason = "the parts are named after their types")]
        impl<$($name: IntoTensor),+> Values for ($($name,)+) {
            fn into_tensors(self) -> Result<Vec<Tensor>> {
                let ($($name,)+) = self;
                Ok(vec![$($name.into_tensor()?,)+])
            }
        }
    };
}

for_each_tuple!(implement);

#[cfg(test)]
mod tests {
    use tensorfleet_server::{Config, Server};
    use tensorfleet_tensor::Code;

    use super::*;
    use crate::Graph;

    /// What a prepared step does, in this process and on a server.
    fn check(check: impl Fn(&Graph, &Session)) {
        let server = Server::create_local_server(&Config::default(), true).unwrap();
        let graph = Graph::new();
        check(&graph, &Session::new(&graph).unwrap());
        let graph = Graph::new();
        check(&graph, &Session::connect(&server.target(), &graph).unwrap());
    }

    #[test]
    fn a_prepared_step_runs_with_other_values() {
        check(|graph, session| {
            let (x, y) = (graph.placeholder::<f32>([]), graph.placeholder::<f32>([None]));
            let (product, sum) = (&x * &y, &x + y.sum());
            let fetches = (product.value::<Vec<f32>>(), sum.value::<f32>(), product.clone());
            let step = session.callable([&x, &y], fetches).unwrap();
            for scale in [1.0f32, 2.0] {
                let (product, sum, tensor) = step.run((scale, [3.0f32, 4.0])).unwrap();
                assert_eq!((product, sum), (vec![scale * 3.0, scale * 4.0], scale + 7.0));
                assert_eq!(tensor.dims(), [2]);
            }
        });
    }

    #[test]
    fn the_master_forgets_a_step_that_is_dropped() {
        check(|graph, session| {
            let x = graph.constant(1i64);
            let step = session.callable([], &x).unwrap();
            let handle = step.handle.unwrap();
            let run = || wait(session.handle(), session.backend.run_callable(handle, Vec::new()));
            assert_eq!(run().unwrap().tensors.len(), 1);
            drop(step);
            assert_eq!(run().unwrap_err().code(), Code::InvalidArgument);
        });
    }

    #[test]
    fn values_are_checked_before_they_travel() {
        check(|graph, session| {
            let x = graph.placeholder::<f32>([Some(2)]);
            let step = session.callable([&x], x.value::<Vec<f32>>()).unwrap();
            let message = |error: tensorfleet_tensor::Error| error.message().to_owned();
            let many = step.run([[1.0f32, 2.0], [3.0, 4.0]]).unwrap_err();
            assert_eq!(message(many), "the step takes 1 tensors, but 2 were given");
            let wrong = step.run([[1i32, 2]]).unwrap_err();
            assert_eq!(message(wrong), "Placeholder:0 is float, but is fed with int32");
            let long = step.run([[1.0f32; 3]]).unwrap_err();
            let expected = "Placeholder:0 has shape [2], but is fed with a tensor of shape [3]";
            assert_eq!(message(long), expected);
            assert_eq!(step.run([[1.0f32, 2.0]]).unwrap(), [1.0, 2.0]);
        });
    }

    #[test]
    fn what_is_fed_and_fetched_comes_back_as_fed() {
        check(|graph, session| {
            let x = graph.placeholder::<f32>([]);
            let (y, unused) = (&x * 2.0f32, graph.placeholder::<i32>([]));
            let z = &y + 1.0f32;
            let fetches = || (z.value::<f32>(), x.value::<f32>(), y.value::<f32>());
            let fed = ((&unused, 7i32), (&y, 5.0f32), (&x, 1.0f32));
            assert_eq!(session.run(fed, fetches()).unwrap(), (6.0, 1.0, 5.0));
            assert_eq!(session.run((&x, 1.0f32), x.value::<f32>()).unwrap(), 1.0);
            let step = session.callable([&unused, &y, &x], fetches()).unwrap();
            assert_eq!(step.run((7i32, 5.0f32, 1.0f32)).unwrap(), (6.0, 1.0, 5.0));
        });
    }

    #[test]
    fn errors_of_the_step_name_the_line() {
        check(|graph, session| {
            let x = graph.placeholder::<i32>([]);
            let y = graph.op("CheckNumerics").input([f32::NAN]).attr("message", "bad").output();
            let step = session.callable([&x], &y).unwrap();
            let error = step.run([1i32]).unwrap_err().to_string();
            assert!(error.contains("callable.rs:") && error.contains("bad"), "{error}");
        });
    }
}

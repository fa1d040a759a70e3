//! A step that is repeated along a sequence, as a loop: graphs stay small, however long it is.
//!
//! The gradient is a loop of its own, from the end to the beginning. It computes each step once more
//! from the state that it began with, so only states are remembered.

use std::panic::Location;

use tensorfleet_tensor::DType;

use super::arrays::concat;
use crate::gradient::gradients_of;
use crate::graph::Graph;
use crate::output::Output;

/// Repeats a step along the first dimension of `xs`: it makes the next state of an element, a state
/// and weights. Returns the states after all steps, along a new first dimension.
///
/// The step may use other tensors of the graph too, but gradients are only taken of `xs`, `start` and
/// `weights`.
///
/// ```
/// use tensorfleet_client::layers::scan;
/// use tensorfleet_client::{Graph, Session, gradients};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (xs, start) = (graph.placeholder::<f32>([None]), graph.constant(1.0f32));
/// let w = graph.constant(2.0f32);
/// // s = w s + x
/// let states = scan(&xs, &start, &[&w], |x, state, weights| state * &weights[0] + x);
/// let dw = gradients(&states.sum(), [&w])[0].clone().expect("the states depend on w").to_dense();
/// let session = Session::new(&graph)?;
/// let fetches = (states.value::<Vec<f32>>(), dw.value::<f32>());
/// // 2 + 1, 6 + 1; the derivatives of w + 1 and w² + w + 1.
/// assert_eq!(session.run((&xs, [1.0f32, 1.0]), fetches)?, (vec![3.0, 7.0], 1.0 + 5.0));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn scan(
    xs: &Output,
    start: &Output,
    weights: &[&Output],
    step: impl Fn(&Output, &Output, &[Output]) -> Output,
) -> Output {
    let graph = xs.graph();
    let inputs = [&[xs, start], weights].concat();
    graph.on_behalf_of(Location::caller(), || {
        let states = forward(graph, xs, start, weights, &step);
        let states = graph.custom_gradient(
            inputs.iter().copied(),
            || states.clone(),
            |gradient| backward(graph, xs, start, weights, &states, &gradient, &step),
        );
        let time = xs.shape().dims.and_then(|dims| dims.first().copied().flatten());
        match start.shape().dims {
            Some(dims) => states.with_shape(std::iter::once(time).chain(dims)),
            None => states,
        }
    })
}

type Step<'a> = &'a dyn Fn(&Output, &Output, &[Output]) -> Output;

/// A list of elements of one shape, as loops pass it on.
struct List {
    dtype: DType,
    /// The shape of an element: as a tensor, and what is known of it.
    shape: Output,
    dims: Option<Vec<Option<usize>>>,
}

impl List {
    /// For elements that look like a tensor.
    #[track_caller]
    fn like(element: &Output) -> List {
        let (dtype, dims) = (element.dtype(), element.shape().dims);
        List { dtype, shape: element.shape_tensor(), dims }
    }

    /// For the elements along the first dimension of a tensor.
    #[track_caller]
    fn along(tensor: &Output) -> List {
        let dims = tensor.shape().dims.map(|dims| dims.into_iter().skip(1).collect());
        let shape = tensor.shape_tensor().slice(&[1], &[-1]);
        List { dtype: tensor.dtype(), shape, dims }
    }

    #[track_caller]
    fn of(&self, graph: &Graph, tensor: &Output) -> Output {
        let op = graph.op("TensorListFromTensor").input(tensor).input(&self.shape);
        op.attr("element_dtype", self.dtype).output()
    }

    #[track_caller]
    fn reserve(&self, graph: &Graph, count: &Output) -> Output {
        let op = graph.op("TensorListReserve").input(&self.shape).input(count);
        op.attr("element_dtype", self.dtype).output()
    }

    #[track_caller]
    fn get(&self, graph: &Graph, list: &Output, index: &Output) -> Output {
        let op = graph.op("TensorListGetItem").input(list).input(index).input(&self.shape);
        let item = op.attr("element_dtype", self.dtype).output();
        match &self.dims {
            Some(dims) => item.with_shape(dims.iter().copied()),
            None => item,
        }
    }

    #[track_caller]
    fn set(&self, graph: &Graph, list: &Output, index: &Output, item: &Output) -> Output {
        let op = graph.op("TensorListSetItem").input(list).input(index).input(item);
        op.attr("element_dtype", self.dtype).output()
    }

    #[track_caller]
    fn stack(&self, graph: &Graph, list: &Output) -> Output {
        let op = graph.op("TensorListStack").input(list).input(&self.shape);
        op.attr("element_dtype", self.dtype).output()
    }
}

#[track_caller]
fn length(tensor: &Output) -> Output {
    tensor.shape_tensor().gather(0i32, 0)
}

/// The states after all steps.
#[track_caller]
fn forward(
    graph: &Graph,
    xs: &Output,
    start: &Output,
    weights: &[&Output],
    step: Step<'_>,
) -> Output {
    let (elements, states) = (List::along(xs), List::like(start));
    let (count, list) = (length(xs), elements.of(graph, xs));
    let first = (graph.constant(0i32), start.identity(), states.reserve(graph, &count));
    let (_, _, made) = graph.while_loop(
        first,
        |(time, _, _)| time.less(&count),
        |(time, state, made)| {
            let x = elements.get(graph, &list, &time);
            let weights: Vec<Output> = weights.iter().map(|w| w.identity()).collect();
            let state = step(&x, &state, &weights);
            let made = states.set(graph, &made, &time, &state);
            (time + 1, state, made)
        },
    );
    states.stack(graph, &made)
}

/// The gradients of `xs`, `start` and the weights.
#[track_caller]
fn backward(
    graph: &Graph,
    xs: &Output,
    start: &Output,
    weights: &[&Output],
    states: &Output,
    gradient: &Output,
    step: Step<'_>,
) -> Vec<Output> {
    let (elements, kept) = (List::along(xs), List::like(start));
    let (count, list) = (length(xs), elements.of(graph, xs));
    // Before the first step comes the start; nothing begins with the last state.
    let before = kept.of(graph, &concat(&[&start.expand_dims(0), states], 0));
    let gradients = kept.of(graph, gradient);
    let mut first = vec![&count - 1, start.zeros_like(), elements.reserve(graph, &count)];
    first.extend(weights.iter().map(|weight| weight.zeros_like()));
    let last = graph.while_loop(
        first,
        |variables: Vec<Output>| variables[0].greater_equal(0),
        |variables: Vec<Output>| {
            let [time, later, dxs, sums @ ..] = &variables[..] else { return variables };
            let x = elements.get(graph, &list, time);
            let state = kept.get(graph, &before, time);
            let weights: Vec<Output> = weights.iter().map(|w| w.identity()).collect();
            let next = step(&x, &state, &weights);
            let whole = later + kept.get(graph, &gradients, time);
            let sources: Vec<&Output> = [&x, &state].into_iter().chain(&weights).collect();
            let taken = gradients_of(&[&next], &sources, &[Some(whole)]);
            let mut taken = taken.into_iter().zip(&sources).map(|(gradient, source)| {
                gradient.map_or_else(|| source.zeros_like(), |gradient| gradient.to_dense())
            });
            let mut one = || taken.next().unwrap_or_else(|| x.zeros_like());
            let (dx, dstate) = (one(), one());
            let dxs = elements.set(graph, dxs, time, &dx);
            let mut next = vec![time - 1, dstate, dxs];
            next.extend(sums.iter().map(|sum| sum + one()));
            next
        },
    );
    let mut result = vec![elements.stack(graph, &last[2]), last[1].clone()];
    result.extend(last.into_iter().skip(3));
    result
}

//! Functions that a program calls, and gradients that it writes itself.

use std::fmt;
use std::panic::Location;

use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::{AttrValue, Func};
use tensorfleet_tensor::{DType, PartialShape, Result, internal, invalid_argument};

use super::Outputs;
use crate::graph::Graph;
use crate::output::{Operand, Output};

/// A function: nodes that are built once and can be called many times, made by
/// [`Graph::function`].
///
/// ```
/// use tensorfleet_client::{DType, Graph, Output, PartialShape, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let scalar = [(DType::Float, PartialShape::scalar())];
/// let double = graph.function("double", scalar, |[x]: [Output; 1]| x * 2.0);
/// // Two calls of the same nodes.
/// let four = double.call(&double.call([1.0f32]))[0].clone();
/// assert_eq!(Session::new(&graph)?.run((), four.value::<f32>())?, 4.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Function {
    graph: Graph,
    func: Func,
    arguments: Vec<(DType, PartialShape)>,
    /// What it uses of the graph around, handed to each call.
    captured: Vec<Output>,
    results: Vec<(DType, PartialShape)>,
    is_stateful: bool,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.func.name)
    }
}

impl Graph {
    /// Makes a function of arguments with the given types and shapes. The closure may use other
    /// tensors and variables of the graph.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Output, PartialShape, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let scalar = (DType::Float, PartialShape::scalar());
    /// let hypotenuse =
    ///     graph.function("hypotenuse", [scalar.clone(), scalar], |[a, b]: [Output; 2]| {
    ///         (a.square() + b.square()).sqrt()
    ///     });
    /// let c = &hypotenuse.call([3.0f32, 4.0])[0];
    /// assert_eq!(Session::new(&graph)?.run((), c.value::<f32>())?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn function<A: Outputs, R: Outputs>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (DType, PartialShape)>,
        build: impl FnOnce(A) -> R,
    ) -> Function {
        let location = Location::caller();
        let graph = self.innermost();
        let arguments: Vec<(DType, PartialShape)> = arguments.into_iter().collect();
        let made = graph.make_function(name, &arguments, location, |args| {
            build(A::from_outputs(args)).into_outputs()
        });
        made.unwrap_or_else(|error| {
            graph.record(error, location);
            let func = Func { name: name.to_owned(), ..Func::default() };
            let (captured, results) = (Vec::new(), Vec::new());
            Function { graph, func, arguments, captured, results, is_stateful: false }
        })
    }

    fn make_function(
        &self,
        name: &str,
        arguments: &[(DType, PartialShape)],
        location: &'static Location<'static>,
        build: impl FnOnce(Vec<Output>) -> Vec<Output>,
    ) -> Result<Function> {
        let part = self.part(arguments, location, build);
        self.root().check()?;
        let captures = part.captures();
        let captured: Vec<Output> =
            captures.iter().map(|(outer, _)| Output::new(self, Some(*outer))).collect();
        let own = arguments.iter().zip(&part.args).map(|((dtype, _), arg)| (*dtype, Some(*arg)));
        let others =
            captured.iter().zip(&captures).map(|(o, (_, inner))| (o.dtype(), Some(*inner)));
        let args: Vec<_> = own.chain(others).collect();
        let (func, is_stateful) = self.add_function(name, &part, &args, &part.returns()?)?;
        let results = part.results.iter().map(|result| (result.dtype(), result.shape())).collect();
        let (graph, arguments) = (self.clone(), arguments.to_vec());
        Ok(Function { graph, func, arguments, captured, results, is_stateful })
    }
}

impl Function {
    /// The function, as attributes of nodes name it.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Output, PartialShape, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let scalar = [(DType::Int64, PartialShape::scalar())];
    /// let square = graph.function("square", scalar, |[x]: [Output; 1]| x.square());
    /// // Ops that take functions, as those of datasets, are given its name.
    /// let call = graph.op("PartitionedCall").inputs([5i64]).attr("f", square.func().clone());
    /// let y = call.attr("Tout", vec![DType::Int64]).output();
    /// assert_eq!(Session::new(&graph)?.run((), y.value::<i64>())?, 25);
    /// # Ok(())
    /// # }
    /// ```
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls the function; numbers take the types of the arguments.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Output, PartialShape, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let scalar = (DType::Double, PartialShape::scalar());
    /// let divide = graph.function("divide", [scalar.clone(), scalar], |(a, b): (Output, Output)| {
    ///     (a.floor_div(&b), a - b.clone() * b)
    /// });
    /// let results = divide.call([7.0, 2.0]);
    /// let fetches = [results[0].value::<f64>(), results[1].value()];
    /// let values = Session::new(&graph)?.run((), fetches)?;
    /// assert_eq!(values, [3.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn call<O: Operand>(&self, arguments: impl IntoIterator<Item = O>) -> Vec<Output> {
        let graph = self.graph.innermost();
        let mut given: Vec<Output> = Vec::new();
        for (number, argument) in arguments.into_iter().enumerate() {
            let like = self.arguments.get(number).map(|(dtype, _)| *dtype);
            given.push(graph.operand(&argument, like));
        }
        if given.len() != self.arguments.len() {
            let error = invalid_argument!(
                "the function {} takes {} arguments, but {} were given",
                self.func.name,
                self.arguments.len(),
                given.len()
            );
            graph.record(error, Location::caller());
        }
        let op = if self.is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let types: Vec<DType> = self.results.iter().map(|(dtype, _)| *dtype).collect();
        let outputs = graph
            .op(op)
            .named(&self.func.name)
            .inputs(given.iter().chain(&self.captured))
            .attr("f", self.func.clone())
            .attr("Tout", types)
            .build()
            .outputs();
        let shaped = outputs.into_iter().zip(&self.results);
        shaped
            .map(|(output, (_, shape))| {
                if let Some(at) = output.at {
                    graph.lock().builder.set_shape(at, shape.clone());
                }
                output
            })
            .collect()
    }
}

impl From<&Function> for AttrValue {
    fn from(function: &Function) -> AttrValue {
        function.func.clone().into()
    }
}

/// The attribute that names the function which computes a gradient.
pub(super) const BACKWARD: &str = "_custom_gradient";

/// The attribute that says how many tensors that function has gradients for.
const BACKWARD_RESULTS: &str = "_custom_gradient_results";

impl Graph {
    /// What `forward` builds, with a gradient that the program writes itself: `backward` makes the
    /// gradients of `inputs` from that of the result, and may use whatever `forward` did.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// // ln(1 + e^x), whose gradient would overflow if it were taken node by node.
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let e = x.exp();
    /// let y = graph.custom_gradient([&x], || (&e + 1.0).ln(), |dy| {
    ///     vec![dy * (1.0 - 1.0 / (&e + 1.0))]
    /// });
    /// let dx = gradients(&y, [&x])[0].clone().expect("y depends on x").to_dense();
    /// let session = Session::new(&graph)?;
    /// assert_eq!(session.run((&x, 100.0f32), dx.value::<f32>())?, 1.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn custom_gradient<'a>(
        &self,
        inputs: impl IntoIterator<Item = &'a Output>,
        forward: impl FnOnce() -> Output,
        backward: impl FnOnce(Output) -> Vec<Output>,
    ) -> Output {
        let location = Location::caller();
        let graph = self.innermost();
        let inputs: Vec<Output> =
            inputs.into_iter().map(|input| graph.operand(input, None)).collect();
        let result = graph.operand(&forward(), None);
        let like = [(result.dtype(), result.shape())];
        let function =
            graph.function("custom_gradient", like, |[grad]: [Output; 1]| backward(grad));
        if function.results.len() != inputs.len() {
            let error = invalid_argument!(
                "the gradient is of {} tensors, but {} were made",
                inputs.len(),
                function.results.len()
            );
            graph.record(error, location);
        }
        let shape = result.shape();
        let tensors = std::iter::once(&result).chain(&inputs).chain(&function.captured);
        let joined = graph
            .op("IdentityN")
            .inputs(tensors)
            .attr(BACKWARD, &function)
            .attr(BACKWARD_RESULTS, inputs.len() as i64)
            .output();
        if let Some(at) = joined.at {
            graph.lock().builder.set_shape(at, shape);
        }
        joined
    }
}

/// Calls the program's own function with the gradient of the result and with what it captured.
pub(super) fn custom_gradient(g: &GradientContext<'_>) -> InputGradients {
    let func = g.attrs().func(BACKWARD)?.clone();
    let count = usize::try_from(g.attrs().int(BACKWARD_RESULTS)?)
        .ok()
        .filter(|count| *count < g.num_inputs())
        .ok_or_else(|| internal!("{BACKWARD_RESULTS} is wrong"))?;
    let mut args = vec![g.grad(0)?];
    args.extend_from_slice(g.inputs(1 + count..g.num_inputs()));
    let types: Vec<DType> = g.inputs(1..1 + count).iter().map(|&input| g.dtype(input)).collect();
    let call = NewNode::new("PartitionedCall").list(&args).attr("f", func).attr("Tout", types);
    let node = g.add(call)?;
    let mut gradients = vec![None; g.num_inputs()];
    for (index, gradient) in gradients.iter_mut().skip(1).take(count).enumerate() {
        *gradient = Some(tensorfleet_graph::Output { node, index: index as u32 }.into());
    }
    Ok(gradients)
}

//! Checks gradients against finite differences.

use std::sync::Arc;

use tensorfleet_framework::{
    BuildScope, GradientOptions, GraphBuilder, NewNode, Outcome, Registry, Started, Value,
    gradients,
};
use tensorfleet_graph::{Graph, Output};
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use crate::op::step_context;

/// How far a variable is moved to see what changes.
const STEP: f64 = 1e-5;
/// How far the two may be apart, relative to their size.
const TOLERANCE: f64 = 2e-4;

/// Compares the gradient of a function of double-precision tensors with what small changes of the
/// inputs do. `build` adds the function's nodes and returns its result.
///
/// Returns what is wrong, if anything is.
pub fn check_gradient(
    registry: &Arc<Registry>,
    inputs: &[Tensor],
    build: impl Fn(&mut GraphBuilder, &[Output]) -> Result<Output>,
) -> Result<(), String> {
    let fail = |what: &str| {
        let what = what.to_owned();
        move |error| format!("{what}: {error}")
    };
    let scope = BuildScope::default();
    let mut builder = GraphBuilder::new(Arc::clone(registry));
    let mut xs = Vec::new();
    for input in inputs {
        let node = NewNode::new("Placeholder")
            .attr("dtype", input.dtype())
            .attr("shape", tensorfleet_tensor::PartialShape::from(input.shape()));
        xs.push(builder.add_output(&scope, node).map_err(fail("placeholder"))?);
    }
    let y = build(&mut builder, &xs).map_err(fail("building"))?;
    let y_value = evaluate(builder.graph(), registry, &xs, inputs, y).map_err(fail("running"))?;
    let declared = builder.shape(y).clone();
    if !declared.is_compatible_with(y_value.shape()) {
        return Err(format!("the shape {declared} was inferred, but is {}", y_value.shape()));
    }
    // Weights that make every element count differently.
    let count = y_value.num_elements();
    let weights: Vec<f64> = (0..count).map(|i| 0.7 + 0.31 * ((i * 7) % 5) as f64).collect();
    let weights = Tensor::from_slice(y_value.shape().clone(), &weights).map_err(fail("weights"))?;
    let weight_node = builder.constant(&scope, weights.clone()).map_err(fail("weights"))?;
    let options =
        GradientOptions { initial: vec![Some(weight_node)], ..GradientOptions::default() };
    let taken = gradients(&mut builder, &scope, &[y], &xs, &options).map_err(fail("gradients"))?;
    let objective = |values: &[Tensor]| -> Result<f64> {
        let y = evaluate(builder.graph(), registry, &xs, values, y)?;
        let products = y.values::<f64>()?.iter().zip(weights.values::<f64>()?);
        Ok(products.map(|(y, w)| y * w).sum())
    };
    for (index, gradient) in taken.into_iter().enumerate() {
        let input = &inputs[index];
        let computed = match gradient {
            None => vec![0.0; input.num_elements()],
            Some(gradient) => {
                let mut with_dense = builder.clone();
                let context = tensorfleet_framework::GradientContext::new(
                    &mut with_dense,
                    &scope,
                    y.node,
                    &[],
                );
                let dense = context.dense(gradient).map_err(fail("densifying"))?;
                drop(context);
                let value = evaluate(with_dense.graph(), registry, &xs, inputs, dense)
                    .map_err(fail("running the gradient"))?;
                if value.shape() != input.shape() {
                    return Err(format!(
                        "the gradient of input {index} of shape {} has shape {}",
                        input.shape(),
                        value.shape()
                    ));
                }
                value.values::<f64>().map_err(fail("reading the gradient"))?.to_vec()
            }
        };
        for (position, &computed) in computed.iter().enumerate() {
            let moved = |step: f64| -> Result<f64> {
                let mut values = inputs.to_vec();
                let mut elements = input.values::<f64>()?.to_vec();
                elements[position] += step;
                values[index] = Tensor::from_slice(input.shape().clone(), &elements)?;
                objective(&values)
            };
            let up = moved(STEP).map_err(fail("running"))?;
            let down = moved(-STEP).map_err(fail("running"))?;
            let difference = (up - down) / (2.0 * STEP);
            let scale = computed.abs().max(difference.abs()).max(1.0);
            let apart = (computed - difference).abs();
            if apart.is_nan() || apart > TOLERANCE * scale {
                return Err(format!(
                    "element {position} of the gradient of input {index} is {computed}, but \
                     differences say {difference}"
                ));
            }
        }
    }
    Ok(())
}

/// Numbers that are neither equal nor at the kinks of common functions.
pub fn varied(shape: impl Into<Shape>, low: f64, high: f64) -> Tensor {
    let shape = shape.into();
    let count = shape.num_elements();
    let values: Vec<f64> = (0..count)
        .map(|i| low + (high - low) * (((i * 37 + 11) % 101) as f64 + 0.123) / 101.5)
        .collect();
    Tensor::from_slice(shape, &values).expect("as many values as the shape has elements")
}

/// Computes an output of a graph without control flow.
fn evaluate(
    graph: &Graph,
    registry: &Registry,
    fed: &[Output],
    values: &[Tensor],
    wanted: Output,
) -> Result<Tensor> {
    let mut known: Vec<Option<Vec<Tensor>>> = vec![None; graph.len()];
    for (output, value) in fed.iter().zip(values) {
        known[output.node.index()] = Some(vec![value.clone()]);
    }
    let mut stack = vec![wanted.node];
    while let Some(&id) = stack.last() {
        if known[id.index()].is_some() {
            stack.pop();
            continue;
        }
        let node = graph.node(id);
        let missing = node.inputs.iter().find(|input| known[input.node.index()].is_none());
        if let Some(missing) = missing {
            stack.push(missing.node);
            continue;
        }
        let inputs: Option<Vec<Value>> = node
            .inputs
            .iter()
            .map(|input| {
                let outputs = known[input.node.index()].as_ref()?;
                Some(Value::Tensor(outputs.get(input.index as usize)?.clone()))
            })
            .collect();
        let inputs = inputs.ok_or_else(|| internal!("{} lacks an input", node.name))?;
        let operation = Operation::new(node, registry, "CPU")?;
        let started = operation.start(&step_context(), inputs.into());
        let Started::Done(Outcome::Values(outputs)) =
            started.map_err(|error| error.at_node(&node.name))?
        else {
            return Err(internal!("{} needs an executor", node.op));
        };
        let outputs = outputs.into_iter().map(|value| match value {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Ref(_) | Value::Empty => Err(internal!("{} returns no tensor", node.name)),
        });
        known[id.index()] = Some(outputs.collect::<Result<_>>()?);
        stack.pop();
    }
    let outputs = known[wanted.node.index()].take().unwrap_or_default();
    outputs
        .into_iter()
        .nth(wanted.index as usize)
        .ok_or_else(|| internal!("there is no output {}", wanted.index))
        .and_then(|tensor| match tensor.dtype() {
            DType::Double => Ok(tensor),
            dtype => Err(internal!("the result is {dtype}, not double")),
        })
}

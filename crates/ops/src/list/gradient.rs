//! Gradients of lists: the gradient of a list is a list of gradients, and what puts an element in
//! has its gradient taken out again.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

/// The shape of an element, of which a tensor has several along its first dimension.
fn element_shape(g: &GradientContext<'_>, tensor: Output) -> Result<Output> {
    let (first, rest) = (g.vector(&[1i32])?, g.vector(&[-1i32])?);
    g.call("Slice", [g.shape_tensor(tensor)?, first, rest])
}

/// The shape of elements that may differ in their first dimension.
fn part_shape(g: &GradientContext<'_>, tensor: Output) -> Result<Output> {
    let parts = [g.vector(&[-1i32])?, element_shape(g, tensor)?];
    g.out(NewNode::new("ConcatV2").list(&parts).input(g.scalar(0i32)?))
}

/// A node of the element type of this one.
fn typed(g: &GradientContext<'_>, op: &str, inputs: &[Output]) -> Result<Output> {
    let node = inputs.iter().fold(NewNode::new(op), |node, input| node.input(*input));
    g.out(node.attr("element_dtype", g.attrs().dtype("element_dtype")?))
}

/// A list of as many elements as another has, none of them set.
fn reserve_like(g: &GradientContext<'_>, list: Output, shape: Output) -> Result<Output> {
    let length = g.call("TensorListLength", [list])?;
    typed(g, "TensorListReserve", &[shape, length])
}

pub(super) fn push_back(g: &GradientContext<'_>) -> InputGradients {
    let shape = g.shape_tensor(g.input(1))?;
    let node = NewNode::new("TensorListPopBack").input(g.grad(0)?).input(shape);
    let [list, element] = g.outs(node.attr("element_dtype", g.attrs().dtype("element_dtype")?))?;
    Ok(vec![Some(list.into()), Some(element.into())])
}

pub(super) fn pop_back(g: &GradientContext<'_>) -> InputGradients {
    let list = match g.grad_or_none(0) {
        Some(gradient) => g.dense(gradient)?,
        None => {
            let unbounded = g.scalar(-1i32)?;
            typed(g, "EmptyTensorList", &[g.shape_tensor(g.output(1))?, unbounded])?
        }
    };
    Ok(vec![Some(typed(g, "TensorListPushBack", &[list, g.grad(1)?])?.into()), None])
}

pub(super) fn get_item(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let zeros = reserve_like(g, g.input(0), g.shape_tensor(grad)?)?;
    let list = typed(g, "TensorListSetItem", &[zeros, g.input(1), grad])?;
    Ok(vec![Some(list.into()), None, None])
}

pub(super) fn set_item(g: &GradientContext<'_>) -> InputGradients {
    let (grad, index, item) = (g.grad(0)?, g.input(1), g.input(2));
    let others = typed(g, "TensorListSetItem", &[grad, index, g.zeros_like(item)?])?;
    let own = typed(g, "TensorListGetItem", &[grad, index, g.shape_tensor(item)?])?;
    Ok(vec![Some(others.into()), None, Some(own.into())])
}

pub(super) fn resize(g: &GradientContext<'_>) -> InputGradients {
    let length = g.call("TensorListLength", [g.input(0)])?;
    Ok(vec![Some(g.call("TensorListResize", [g.grad(0)?, length])?.into()), None])
}

pub(super) fn stack(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let list = typed(g, "TensorListFromTensor", &[grad, element_shape(g, grad)?])?;
    Ok(vec![Some(list.into()), None])
}

pub(super) fn from_tensor(g: &GradientContext<'_>) -> InputGradients {
    let shape = element_shape(g, g.input(0))?;
    Ok(vec![Some(typed(g, "TensorListStack", &[g.grad(0)?, shape])?.into()), None])
}

/// The lengths of the parts are the second output.
pub(super) fn concat(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let list = typed(g, "TensorListSplit", &[grad, part_shape(g, grad)?, g.output(1)])?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(list.into());
    Ok(gradients)
}

pub(super) fn split(g: &GradientContext<'_>) -> InputGradients {
    let shape = part_shape(g, g.input(0))?;
    let tensor = typed(g, "TensorListConcatV2", &[g.grad(0)?, shape, g.input(2)])?;
    Ok(vec![Some(tensor.into()), None, None])
}

pub(super) fn gather(g: &GradientContext<'_>) -> InputGradients {
    let grad = g.grad(0)?;
    let zeros = reserve_like(g, g.input(0), element_shape(g, grad)?)?;
    let list = typed(g, "TensorListScatterIntoExistingList", &[zeros, grad, g.input(1)])?;
    Ok(vec![Some(list.into()), None, None])
}

/// The rows of `tensor` that went to `indices` of a list.
fn gathered(g: &GradientContext<'_>, tensor: Output, indices: Output) -> Result<Output> {
    typed(g, "TensorListGather", &[g.grad(0)?, indices, element_shape(g, tensor)?])
}

pub(super) fn scatter(g: &GradientContext<'_>) -> InputGradients {
    let tensor = gathered(g, g.input(0), g.input(1))?;
    let mut gradients = only(tensor)?;
    gradients.resize(g.num_inputs(), None);
    Ok(gradients)
}

pub(super) fn scatter_into_existing(g: &GradientContext<'_>) -> InputGradients {
    let (tensor, indices) = (g.input(1), g.input(2));
    let inputs = [g.grad(0)?, g.zeros_like(tensor)?, indices];
    let others = typed(g, "TensorListScatterIntoExistingList", &inputs)?;
    Ok(vec![Some(others.into()), Some(gathered(g, tensor, indices)?.into()), None])
}

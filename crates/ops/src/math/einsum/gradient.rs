//! The gradient of an `Einsum`: more of them, with result and operand exchanged.
//!
//! A label of an operand that appears nowhere else was summed over, so the gradient does not depend
//! on it: it comes back by a product with ones. A label that an operand has twice asks for a
//! diagonal, and a result that has a label twice is one.

use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{Result, unimplemented_error};

use super::equation::{Equation, Subscripts};

pub(super) fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let equation = Equation::parse(&g.attrs().string("equation")?)?;
    let grad = g.grad(0)?;
    let mut gradients = Vec::new();
    for (number, own) in equation.inputs.iter().enumerate() {
        let other = match &equation.inputs[..] {
            [_, second] if number == 0 => Some((second, g.input(1))),
            [first, _] => Some((first, g.input(0))),
            _ => None,
        };
        gradients.push(Some(of_operand(g, grad, g.input(number), own, other, &equation)?.into()));
    }
    Ok(gradients)
}

/// The gradient of one operand, given the other if there are two.
fn of_operand(
    g: &GradientContext<'_>,
    grad: Output,
    operand: Output,
    own: &Subscripts,
    other: Option<(&Subscripts, Output)>,
    equation: &Equation,
) -> Result<Output> {
    let result = &equation.output;
    let is_known = |label: &char| {
        let in_other = other.is_some_and(|(subscripts, _)| subscripts.labels.contains(label));
        in_other || result.labels.contains(label)
    };
    let (mut current, summed): (Vec<char>, Vec<char>) =
        unique(&own.labels).into_iter().partition(is_known);
    let has_dots = result.ellipsis.is_some();
    let target = Subscripts {
        labels: own.labels.clone(),
        // Dimensions that only the other operand has come first and are summed below.
        ellipsis: own.ellipsis.or(has_dots.then_some(0)),
    };
    let dots = has_dots.then_some(0);
    let mut text = Subscripts { labels: current.clone(), ellipsis: dots }.text();
    if summed.is_empty() {
        text = target.text();
    }
    let mut value = match other {
        None => einsum(g, &format!("{}->{text}", result.text()), &[grad])?,
        Some((subscripts, tensor)) => {
            let equation = format!("{},{}->{text}", result.text(), subscripts.text());
            einsum(g, &equation, &[grad, g.conj(tensor)?])?
        }
    };
    for label in &summed {
        let before = text;
        current.push(*label);
        text = Subscripts { labels: current.clone(), ellipsis: dots }.text();
        let ones = ones(g, operand, own, *label)?;
        value = einsum(g, &format!("{before},{label}->{text}"), &[value, ones])?;
    }
    if text != target.text() {
        value = einsum(g, &format!("{text}->{}", target.text()), &[value])?;
    }
    let other_has_dots = other.is_some_and(|(subscripts, _)| subscripts.ellipsis.is_some());
    if !has_dots || !other_has_dots {
        return Ok(value);
    }
    if target.ellipsis != Some(0) && g.rank(operand) != g.rank(g.output(0)) {
        return Err(unimplemented_error!(
            "Einsum has no gradient where an ellipsis that is not in front is broadcast"
        ));
    }
    g.unbroadcast(value, operand, value)
}

fn unique(labels: &[char]) -> Vec<char> {
    let mut unique = Vec::new();
    for label in labels {
        if !unique.contains(label) {
            unique.push(*label);
        }
    }
    unique
}

fn einsum(g: &GradientContext<'_>, equation: &str, operands: &[Output]) -> Result<Output> {
    g.out(NewNode::new("Einsum").list(operands).attr("equation", equation))
}

/// As many ones as the dimension of a label is long.
fn ones(
    g: &GradientContext<'_>,
    operand: Output,
    subscripts: &Subscripts,
    label: char,
) -> Result<Output> {
    let at = subscripts.labels.iter().position(|other| *other == label).unwrap_or_default();
    // Dimensions after an ellipsis are counted from the end.
    let axis = match subscripts.ellipsis {
        Some(ellipsis) if at >= ellipsis => at as i32 - subscripts.labels.len() as i32,
        _ => at as i32,
    };
    let next = if axis == -1 { 0 } else { axis + 1 };
    let node = NewNode::new("StridedSlice")
        .input(g.shape_tensor(operand)?)
        .input(g.vector(&[axis])?)
        .input(g.vector(&[next])?)
        .input(g.vector(&[1i32])?)
        .attr("end_mask", i64::from(axis == -1));
    let size = g.out(node)?;
    let one = g.number_like(1.0, operand)?;
    g.call("Fill", [size, one])
}

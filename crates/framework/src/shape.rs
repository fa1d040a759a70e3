//! What a shape function sees: a node's attributes and what is known of its inputs.

use tensorfleet_graph::Node;
use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument};

use crate::{Attrs, GraphBuilder};

/// Computes what is known of the shapes of a node's outputs. An error says that the node can never
/// run; what is not known is [`PartialShape::UNKNOWN`].
pub type ShapeFn = fn(&ShapeContext<'_>) -> Result<Vec<PartialShape>>;

/// A node whose output shapes are wanted.
#[derive(Debug)]
pub struct ShapeContext<'a> {
    node: &'a Node,
    builder: &'a GraphBuilder,
}

impl<'a> ShapeContext<'a> {
    pub(crate) fn new(node: &'a Node, builder: &'a GraphBuilder) -> ShapeContext<'a> {
        ShapeContext { node, builder }
    }

    /// The node's attributes.
    pub fn attrs(&self) -> Attrs<'a> {
        Attrs::new(self.node)
    }

    /// The number of inputs.
    pub fn num_inputs(&self) -> usize {
        self.node.inputs.len()
    }

    /// The number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.node.output_types().len()
    }

    /// The shape of an input.
    pub fn input(&self, index: usize) -> &'a PartialShape {
        self.node.inputs.get(index).map_or(&PartialShape::UNKNOWN, |&i| self.builder.shape(i))
    }

    /// The type of an input.
    pub fn dtype(&self, index: usize) -> Option<DType> {
        self.node.input_types().get(index).map(|t| t.dtype)
    }

    /// The value of an input, if it is constant.
    pub fn constant(&self, index: usize) -> Option<Tensor> {
        self.builder.constant_value(*self.node.inputs.get(index)?)
    }

    /// The elements of a constant integer input.
    pub fn constant_ints(&self, index: usize) -> Option<Vec<i64>> {
        self.constant(index)?.to_i64_vec().ok()
    }

    /// A constant integer input of one element, such as an axis.
    pub fn constant_int(&self, index: usize) -> Option<i64> {
        match self.constant_ints(index)?[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// An integer input that is a shape, as far as it is known: negative sizes are unknown ones.
    pub fn input_as_shape(&self, index: usize) -> PartialShape {
        let Some(&input) = self.node.inputs.get(index) else { return PartialShape::UNKNOWN };
        if let Some(values) = self.builder.partial_values(input, 0) {
            let dims = values.into_iter().map(|v| v.and_then(|v| usize::try_from(v).ok()));
            return PartialShape::known(dims);
        }
        match self.input(index).to_shape() {
            Some(shape) if shape.rank() == 1 => PartialShape::of_rank(shape.num_elements()),
            _ => PartialShape::UNKNOWN,
        }
    }

    /// The name of the op with its inputs' shapes, for messages.
    pub fn describe(&self) -> String {
        let shapes: Vec<String> =
            (0..self.num_inputs()).map(|index| self.input(index).to_string()).collect();
        format!("{} of {}", self.node.op, shapes.join(", "))
    }
}

/// The shape that two shapes are broadcast to.
pub fn broadcast(x: &PartialShape, y: &PartialShape) -> Result<PartialShape> {
    let (Some(a), Some(b)) = (&x.dims, &y.dims) else { return Ok(PartialShape::UNKNOWN) };
    let rank = a.len().max(b.len());
    let dim = |dims: &[Option<usize>], at: usize| {
        (at + dims.len()).checked_sub(rank).map_or(Some(1), |index| dims[index])
    };
    let mut dims = Vec::with_capacity(rank);
    for at in 0..rank {
        dims.push(match (dim(a, at), dim(b, at)) {
            (Some(1), other) | (other, Some(1)) => other,
            (Some(m), Some(n)) if m == n => Some(m),
            (Some(m), Some(n)) => {
                return Err(invalid_argument!(
                    "shapes {x} and {y} cannot be broadcast: dimension {at} has sizes {m} and {n}"
                ));
            }
            // The unknown size must be 1 or the same.
            (Some(known), None) | (None, Some(known)) => Some(known),
            (None, None) => None,
        });
    }
    Ok(PartialShape::known(dims))
}

/// What is known of a shape of which two things are known.
pub fn merge(x: &PartialShape, y: &PartialShape) -> Result<PartialShape> {
    let (Some(a), Some(b)) = (&x.dims, &y.dims) else {
        return Ok(if x.dims.is_some() { x.clone() } else { y.clone() });
    };
    let conflict = || invalid_argument!("shapes {x} and {y} must be equal");
    if a.len() != b.len() {
        return Err(conflict());
    }
    let dims: Result<Vec<Option<usize>>> = a
        .iter()
        .zip(b)
        .map(|(&m, &n)| match (m, n) {
            (Some(m), Some(n)) if m != n => Err(conflict()),
            (m, n) => Ok(m.or(n)),
        })
        .collect();
    Ok(PartialShape::known(dims?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[Option<usize>]) -> PartialShape {
        PartialShape::known(dims.iter().copied())
    }

    #[test]
    fn broadcasting_knows_what_it_can() {
        let of = |x: &[_], y: &[_]| broadcast(&shape(x), &shape(y)).unwrap().to_string();
        assert_eq!(of(&[Some(2), Some(1)], &[Some(3)]), "[2,3]");
        assert_eq!(of(&[None, Some(4)], &[Some(1), Some(1)]), "[?,4]");
        assert_eq!(of(&[None], &[Some(7)]), "[7]");
        assert!(broadcast(&shape(&[Some(2)]), &shape(&[Some(3)])).is_err());
    }

    #[test]
    fn merging_refuses_contradictions() {
        let merged = merge(&shape(&[None, Some(2)]), &shape(&[Some(1), None])).unwrap();
        assert_eq!(merged.to_string(), "[1,2]");
        assert!(merge(&shape(&[Some(1)]), &shape(&[Some(2)])).is_err());
        assert_eq!(merge(&PartialShape::UNKNOWN, &shape(&[None])).unwrap().to_string(), "[?]");
    }
}

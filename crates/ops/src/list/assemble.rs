//! From the elements of a list to one tensor.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::gradient;
use super::tensor_list::{TensorList, list_at, shape_at};
use crate::data_flow::join::{join, merge, prepend, stack, without_first};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TensorListConcat",
        inputs: &["input_handle: variant"],
        outputs: &["tensor: element_dtype", "lengths: int64"],
        attrs: &["element_dtype: type", "element_shape: shape = unknown"],
        kernels: &[cpu::<Concat>()],
        gradient: Some(gradient::concat),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListConcatV2",
        inputs: &["input_handle: variant", "element_shape: shape_type", "leading_dims: int64"],
        outputs: &["tensor: element_dtype", "lengths: int64"],
        attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
        kernels: &[cpu::<Concat>()],
        gradient: Some(gradient::concat),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListGather",
        inputs: &["input_handle: variant", "indices: int32", "element_shape: int32"],
        outputs: &["values: element_dtype"],
        attrs: &["element_dtype: type"],
        kernels: &[cpu::<Gather>()],
        gradient: Some(gradient::gather),
        ..Op::DEFAULT
    },
    Op {
        name: "TensorListStack",
        inputs: &["input_handle: variant", "element_shape: int32"],
        outputs: &["tensor: element_dtype"],
        attrs: &["element_dtype: type", "num_elements: int = -1"],
        kernels: &[cpu::<Stack>()],
        gradient: Some(gradient::stack),
        ..Op::DEFAULT
    },
];

/// The elements at `indices`, all of one shape.
fn same_shape(list: &TensorList, indices: &[usize], element: &PartialShape) -> Result<Vec<Tensor>> {
    let shape = element.to_shape().unwrap_or(Shape::SCALAR);
    let mut values = Vec::with_capacity(indices.len());
    for &index in indices {
        let value = list.element_or_zeros(index, &shape)?;
        merge(element, &value.shape().into())?;
        values.push(value);
    }
    Ok(values)
}

#[derive(Debug)]
struct Stack {
    dtype: DType,
    num_elements: i64,
}

impl Kernel for Stack {
    fn new(attrs: &Attrs<'_>) -> Result<Stack> {
        Ok(Stack { dtype: attrs.dtype("element_dtype")?, num_elements: attrs.int("num_elements")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let list = list_at(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let count = list.elements.len();
        if self.num_elements != -1 && self.num_elements != count as i64 {
            return Err(invalid_argument!(
                "Operation expected a list with {} elements but got a list with {count} elements.",
                self.num_elements
            ));
        }
        let element = list.merged_shape(&shape_at(ctx, 1)?)?;
        let Some(shape) = element.to_shape() else {
            return Err(if count == 0 {
                invalid_argument!(
                    "Tried to stack elements of an empty list with non-fully-defined \
                     element_shape: {element}"
                )
            } else {
                invalid_argument!(
                    "Tried to stack list which only contains uninitialized tensors and has a \
                     non-fully-defined element_shape: {element}"
                )
            });
        };
        let values = same_shape(&list, &(0..count).collect::<Vec<_>>(), &element)?;
        drop(list);
        ctx.set_output(0, stack(self.dtype, &shape, &values)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Gather {
    dtype: DType,
}

impl Kernel for Gather {
    fn new(attrs: &Attrs<'_>) -> Result<Gather> {
        Ok(Gather { dtype: attrs.dtype("element_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let list = list_at(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let mut indices = Vec::new();
        let mut element = merge(&shape_at(ctx, 2)?, &list.element_shape)?;
        let is_known = element.to_shape().is_some();
        for index in ctx.input(1)?.to_i64_vec()? {
            let found = usize::try_from(index).ok().filter(|&found| found < list.elements.len());
            let Some(found) = found else {
                let count = list.elements.len();
                return Err(if is_known {
                    invalid_argument!("Index {index} out o range; list only has {count} elements.")
                } else {
                    invalid_argument!(
                        "Trying to gather element {index} in a list with {count} elements."
                    )
                });
            };
            if let Some(value) = &list.elements[found] {
                element = merge(&element, &value.shape().into())?;
            }
            indices.push(found);
        }
        let Some(shape) = element.to_shape() else {
            return Err(if indices.is_empty() {
                invalid_argument!(
                    "Tried to gather 0-elements from a list with non-fully-defined shape: {element}"
                )
            } else {
                invalid_argument!(
                    "Tried to gather uninitialized tensors from a list with non-fully-defined \
                     element_shape: {element}"
                )
            });
        };
        let values = same_shape(&list, &indices, &element)?;
        drop(list);
        ctx.set_output(0, stack(self.dtype, &shape, &values)?);
        Ok(())
    }
}

/// Joins elements of different lengths along their first dimension.
#[derive(Debug)]
struct Concat {
    dtype: DType,
    /// What the first version of the op knows of the elements' shapes from an attribute.
    element_shape: Option<PartialShape>,
}

impl Kernel for Concat {
    fn new(attrs: &Attrs<'_>) -> Result<Concat> {
        let element_shape = match attrs.get("element_shape") {
            Some(_) => Some(attrs.shape("element_shape")?.clone()),
            None => None,
        };
        Ok(Concat { dtype: attrs.dtype("element_dtype")?, element_shape })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let list = list_at(ctx, 0)?;
        list.check_dtype(self.dtype)?;
        let (declared, leading) = match &self.element_shape {
            // The first version neither looks at the first dimension nor at the list's own shape.
            Some(shape) => {
                let unknown_first = |dims: &Vec<Option<usize>>| {
                    dims.iter().enumerate().map(|(i, dim)| dim.filter(|_| i > 0)).collect()
                };
                (PartialShape { dims: shape.dims.as_ref().map(unknown_first) }, Vec::new())
            }
            None => (merge(&shape_at(ctx, 1)?, &list.element_shape)?, ctx.input(2)?.to_i64_vec()?),
        };
        let declared_first = match declared.dims.as_deref() {
            Some([]) => {
                return Err(invalid_argument!(
                    "Concat requires elements to be at least vectors, found scalars instead."
                ));
            }
            dims => dims.and_then(|dims| dims[0]),
        };
        let mut rest =
            PartialShape { dims: declared.dims.as_deref().map(|dims| dims[1..].to_vec()) };
        let mut firsts = Vec::new();
        for (index, element) in list.elements.iter().enumerate() {
            let Some(element) = element else { continue };
            if element.rank() == 0 {
                return Err(invalid_argument!(
                    "Concat saw a scalar shape at index {index} but requires at least vectors."
                ));
            }
            if let Some(expected) = declared_first.filter(|&first| first != element.dims()[0]) {
                return Err(invalid_argument!(
                    "First entry of element_shape input does not match the first dim of list \
                     element at index: {index} Expected: {expected} Actual: {}",
                    element.dims()[0]
                ));
            }
            firsts.push(element.dims()[0]);
            rest = merge(&rest, &(&without_first(element.shape())?).into())?;
        }
        // Elements without a value are as long as the others, if those agree.
        firsts.dedup();
        let common_first = match firsts[..] {
            [first] => Some(first),
            _ => declared_first,
        };
        let Some(rest) = rest.to_shape() else {
            return Err(if list.elements.is_empty() {
                invalid_argument!(
                    "All except the first dimension must be fully defined when concating an empty \
                     tensor list. element_shape: {rest}"
                )
            } else {
                invalid_argument!(
                    "Trying to concat list with only uninitialized tensors but \
                     element_shape_except_first_dim is not fully defined: {rest}"
                )
            });
        };
        let mut parts = Vec::with_capacity(list.elements.len());
        let (mut lengths, mut rows) = (Vec::with_capacity(list.elements.len()), 0usize);
        for (index, element) in list.elements.iter().enumerate() {
            let part = match element {
                Some(element) => element.clone(),
                None => {
                    let length = match leading.get(index) {
                        Some(&length) => usize::try_from(length).ok(),
                        None if self.element_shape.is_some() || !leading.is_empty() => None,
                        None => common_first,
                    };
                    let Some(length) = length else {
                        if self.element_shape.is_none() {
                            return Err(invalid_argument!(
                                "List contains uninitialized tensor at index {index} but \
                                 leading_dims has only {} elements.",
                                leading.len()
                            ));
                        }
                        return Err(invalid_argument!(
                            "Concating lists with uninitialized tensors is not supported in this \
                             version of TensorListConcat. Consider updating your GraphDef to run \
                             the newer version."
                        ));
                    };
                    Tensor::zeros(self.dtype, prepend(length, &rest)?)?
                }
            };
            lengths.push(part.dims()[0] as i64);
            rows = rows.saturating_add(part.dims()[0]);
            parts.push(part);
        }
        drop(list);
        ctx.set_output(0, join(self.dtype, prepend(rows, &rest)?, &parts)?);
        ctx.set_output(1, Tensor::vector(&lengths)?);
        Ok(())
    }
}

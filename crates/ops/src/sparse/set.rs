//! Sets in the last dimension of tensors: their sizes, and operations on pairs of them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use num_traits::AsPrimitive;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::dense::offset;
use super::parts::{Sparse, bracketed, dense_shape};
use super::rearrange::index_matrix;

const OPERATIONS: &[KernelDef] = &[cpu::<SetOperation>()];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DenseToDenseSetOperation",
        inputs: &["set1: T", "set2: T"],
        outputs: &["result_indices: int64", "result_values: T", "result_shape: int64"],
        attrs: &[
            "set_operation: string",
            "validate_indices: bool = true",
            "T: {int8, int16, int32, int64, uint8, uint16, string}",
        ],
        kernels: OPERATIONS,
        ..Op::DEFAULT
    },
    Op {
        name: "DenseToSparseSetOperation",
        inputs: &["set1: T", "set2_indices: int64", "set2_values: T", "set2_shape: int64"],
        outputs: &["result_indices: int64", "result_values: T", "result_shape: int64"],
        attrs: &[
            "set_operation: string",
            "validate_indices: bool = true",
            "T: {int8, int16, int32, int64, uint8, uint16, string}",
        ],
        kernels: OPERATIONS,
        ..Op::DEFAULT
    },
    Op {
        name: "SetSize",
        inputs: &["set_indices: int64", "set_values: T", "set_shape: int64"],
        outputs: &["size: int32"],
        attrs: &[
            "validate_indices: bool = true",
            "T: {int8, int16, int32, int64, uint8, uint16, string}",
        ],
        kernels: &[cpu::<SetSize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseToSparseSetOperation",
        inputs: &[
            "set1_indices: int64",
            "set1_values: T",
            "set1_shape: int64",
            "set2_indices: int64",
            "set2_values: T",
            "set2_shape: int64",
        ],
        outputs: &["result_indices: int64", "result_values: T", "result_shape: int64"],
        attrs: &[
            "set_operation: string",
            "validate_indices: bool = true",
            "T: {int8, int16, int32, int64, uint8, uint16, string}",
        ],
        kernels: OPERATIONS,
        ..Op::DEFAULT
    },
];

/// A member of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Member<'a> {
    Integer(i64),
    String(&'a Bytes),
}

/// The elements of a tensor as members of sets.
fn members(tensor: &Tensor) -> Result<Vec<Member<'_>>> {
    if tensor.dtype() == DType::String {
        return Ok(tensor.strings()?.iter().map(Member::String).collect());
    }
    dispatch!(
        tensor.dtype(),
        [i8, i16, i32, i64, u8, u16],
        T => Ok(tensor.values::<T>()?.iter().map(|&v| Member::Integer(v.as_())).collect()),
        else => Err(internal!("no sets of {}", tensor.dtype()))
    )
}

/// A vector of members, of their type.
fn to_tensor(dtype: DType, members: &[Member<'_>]) -> Result<Tensor> {
    let integers = members.iter().map(|member| match member {
        Member::Integer(value) => *value,
        Member::String(_) => 0,
    });
    if dtype == DType::String {
        let strings = members.iter().map(|member| match member {
            Member::String(value) => Bytes::clone(value),
            Member::Integer(_) => Bytes::new(),
        });
        return Tensor::from_strings(Shape::vector(members.len()), strings.collect());
    }
    dispatch!(
        dtype,
        [i8, i16, i32, i64, u8, u16],
        T => Tensor::vector(&integers.map(|value| value.as_()).collect::<Vec<T>>()),
        else => Err(internal!("no sets of {dtype}"))
    )
}

/// The sets of a tensor by the index of their group; groups without members may be missing.
struct Sets<'a> {
    groups: BTreeMap<Vec<i64>, BTreeSet<Member<'a>>>,
    dims: Vec<i64>,
    /// What is wrong with groups that have members outside of the tensor.
    outside: BTreeMap<Vec<i64>, Error>,
}

impl Sets<'_> {
    /// Refuses a group of which a member lies outside of the tensor.
    fn check_group(&self, group: &[i64]) -> Result<()> {
        self.outside.get(group).map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// The dimensions of the groups.
fn group_dims(dims: &[i64]) -> Result<&[i64]> {
    match dims {
        [groups @ .., _] if !groups.is_empty() => Ok(groups),
        _ => Err(invalid_argument!("Invalid rank {}.", dims.len())),
    }
}

fn dense_sets(tensor: &Tensor) -> Result<Sets<'_>> {
    let dims: Vec<i64> = tensor.shape().signed().collect();
    if dims.len() < 2 {
        return Err(invalid_argument!("Shape {} has rank {} < 2", tensor.shape(), dims.len()));
    }
    let group_dims = group_dims(&dims)?;
    let members = members(tensor)?;
    let count = Shape::from_signed(group_dims)?.num_elements();
    let width = tensor.dims()[dims.len() - 1];
    let mut groups = BTreeMap::new();
    if width > 0 {
        for (at, row) in members.chunks_exact(width).enumerate().take(count) {
            let mut index = vec![0; group_dims.len()];
            let mut rest = at as i64;
            for (place, &dim) in index.iter_mut().zip(group_dims).rev() {
                *place = rest % dim;
                rest /= dim;
            }
            groups.insert(index, row.iter().copied().collect());
        }
    }
    Ok(Sets { groups, dims: group_dims.to_vec(), outside: BTreeMap::new() })
}

/// The sets of the sparse tensor whose parts are the inputs from `first` on.
fn sparse_sets<'a>(ctx: &'a KernelContext<'_>, first: usize, validate: bool) -> Result<Sets<'a>> {
    let (indices, values, shape) =
        (ctx.input(first)?, ctx.input(first + 1)?, ctx.input(first + 2)?);
    if shape.rank() != 1 {
        return Err(invalid_argument!("Shape must be a 1D tensor."));
    }
    dense_shape(shape.values()?)?;
    group_dims(shape.values()?)?;
    let input = Sparse::created(indices, values, shape)?;
    if validate {
        input.check_order()?;
    }
    let dims = group_dims(input.dims)?;
    let members = members(input.values)?;
    let mut entries: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
    for at in 0..members.len() {
        entries.entry(input.index(at)[..dims.len()].to_vec()).or_default().push(at);
    }
    let (mut groups, mut outside) = (BTreeMap::new(), BTreeMap::new());
    for (group, entries) in entries {
        if let Err(error) = check_inside(&input, &entries) {
            outside.insert(group.clone(), error);
        }
        groups.insert(group, entries.iter().map(|&at| members[at]).collect());
    }
    Ok(Sets { groups, dims: dims.to_vec(), outside })
}

/// Refuses entries of a group that lie outside of their tensor.
fn check_inside(input: &Sparse<'_>, entries: &[usize]) -> Result<()> {
    for (axis, &size) in input.dims.iter().enumerate() {
        if size <= 0 {
            return Err(internal!("Invalid dim_size[{axis}] = {size}."));
        }
        for (row, &at) in entries.iter().enumerate() {
            let index = input.index(at)[axis];
            if index >= size {
                return Err(internal!("indices[{row}, {axis}] expected < {size}, got {index}."));
            }
        }
    }
    Ok(())
}

#[derive(Debug)]
struct SetSize {
    validate: bool,
}

impl Kernel for SetSize {
    fn new(attrs: &Attrs<'_>) -> Result<SetSize> {
        Ok(SetSize { validate: attrs.bool("validate_indices")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let sets = sparse_sets(ctx, 0, self.validate)?;
        let shape = Shape::from_signed(&sets.dims)?;
        let mut output = Tensor::zeros(DType::Int32, shape.clone())?;
        let sizes = output.values_mut::<i32>()?;
        for (group, set) in &sets.groups {
            sets.check_group(group)?;
            let at = offset(group, shape.dims()).ok_or_else(|| {
                invalid_argument!("the group {} is outside of shape {shape}", bracketed(group))
            })?;
            sizes[at] = set.len() as i32;
        }
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    AMinusB,
    BMinusA,
    Intersection,
    Union,
}

impl Operation {
    fn apply<'a>(self, a: &BTreeSet<Member<'a>>, b: &BTreeSet<Member<'a>>) -> Vec<Member<'a>> {
        match self {
            Operation::AMinusB => a.difference(b).copied().collect(),
            Operation::BMinusA => b.difference(a).copied().collect(),
            Operation::Intersection => a.intersection(b).copied().collect(),
            Operation::Union => a.union(b).copied().collect(),
        }
    }
}

#[derive(Debug)]
struct SetOperation {
    operation: Operation,
    validate: bool,
    /// Whether each of the two inputs is sparse.
    sparse: [bool; 2],
}

impl Kernel for SetOperation {
    fn new(attrs: &Attrs<'_>) -> Result<SetOperation> {
        let name = attrs.string("set_operation")?.to_lowercase();
        Ok(SetOperation {
            operation: match &*name {
                "a-b" => Operation::AMinusB,
                "b-a" => Operation::BMinusA,
                "intersection" => Operation::Intersection,
                "union" => Operation::Union,
                other => return Err(invalid_argument!("Invalid set_operation {other}.")),
            },
            validate: attrs.bool("validate_indices")?,
            sparse: [
                attrs.op() == "SparseToSparseSetOperation",
                attrs.op() != "DenseToDenseSetOperation",
            ],
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let read = |is_sparse: bool, at: usize| {
            if is_sparse { sparse_sets(ctx, at, self.validate) } else { dense_sets(ctx.input(at)?) }
        };
        let second = if self.sparse[0] { 3 } else { 1 };
        let (a, b) = (read(self.sparse[0], 0)?, read(self.sparse[1], second)?);
        let dtype = ctx.input(usize::from(self.sparse[0]))?.dtype();
        if a.dims != b.dims {
            return Err(invalid_argument!(
                "Mismatched shapes {} vs {}",
                bracketed(&a.dims),
                bracketed(&b.dims)
            ));
        }
        let groups: BTreeSet<&Vec<i64>> = a.groups.keys().chain(b.groups.keys()).collect();
        let nothing = BTreeSet::new();
        let (mut indices, mut values, mut largest) = (Vec::new(), Vec::new(), 0);
        for group in groups {
            let is_inside = |(&at, &size): (&i64, &i64)| (0..size).contains(&at);
            if !self.sparse[0] && !group.iter().zip(&a.dims).all(is_inside) {
                // The groups are those of the dense tensor.
                continue;
            }
            a.check_group(group)?;
            b.check_group(group)?;
            let of = |sets: &Sets<'_>| sets.groups.contains_key(group);
            let left = if of(&a) { &a.groups[group] } else { &nothing };
            let right = if of(&b) { &b.groups[group] } else { &nothing };
            let result = self.operation.apply(left, right);
            largest = largest.max(result.len());
            for (at, member) in result.into_iter().enumerate() {
                indices.extend_from_slice(group);
                indices.push(at as i64);
                values.push(member);
            }
        }
        let dims = [&a.dims[..], &[largest as i64]].concat();
        let outputs = [
            index_matrix(&indices, dims.len(), values.len())?,
            to_tensor(dtype, &values)?,
            Tensor::vector(&dims)?,
        ];
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

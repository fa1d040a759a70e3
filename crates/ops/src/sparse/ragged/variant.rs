//! Ragged tensors in variants: one of them, or one for each row.

use std::borrow::Cow;
use std::sync::Arc;

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{
    AddTensors, DType, EncodedVariant, Result, Shape, Tensor, Variant, VariantValue,
    invalid_argument,
};

use super::{read_nested, splits_tensor};
use crate::data_flow::join::{join, without_first};
use crate::list::arithmetic::zeros_of_part;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RaggedTensorFromVariant",
        inputs: &["encoded_ragged: variant"],
        outputs: &[
            "output_nested_splits: output_ragged_rank * Tsplits",
            "output_dense_values: Tvalues",
        ],
        attrs: &[
            "input_ragged_rank: int >= -1",
            "output_ragged_rank: int >= 0",
            "Tvalues: type",
            "Tsplits: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<FromVariant>()],
        gradient: Some(from_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RaggedTensorToVariant",
        inputs: &["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: Tvalues"],
        outputs: &["encoded_ragged: variant"],
        attrs: &[
            "RAGGED_RANK: int >= 0",
            "Tvalues: type",
            "Tsplits: {int32, int64} = DT_INT64",
            "batched_input: bool",
        ],
        kernels: &[cpu::<ToVariant>()],
        gradient: Some(to_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RaggedTensorToVariantGradient",
        inputs: &[
            "encoded_ragged_grad: variant",
            "row_splits: Tsplits",
            "dense_values_shape: int32",
        ],
        outputs: &["dense_values_grad: Tvalues"],
        attrs: &["Tvalues: type", "Tsplits: {int32, int64} = DT_INT64"],
        kernels: &[cpu::<ToVariantGradient>()],
        ..Op::DEFAULT
    },
];

pub(crate) const TYPE_NAME: &str = "RaggedTensorVariant";

/// A ragged tensor.
#[derive(Clone, Debug)]
pub(crate) struct Ragged {
    splits: Vec<Tensor>,
    values: Tensor,
}

impl VariantValue for Ragged {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn zeros_like(&self) -> Result<Variant> {
        let values = zeros_of_part(&self.values)?;
        Ok(Arc::new(Ragged { splits: self.splits.clone(), values }))
    }

    fn plus(&self, other: &Variant, add: AddTensors<'_>) -> Result<Variant> {
        let other = from_variant(other)?;
        if self.splits.len() != other.splits.len() {
            return Err(invalid_argument!(
                "Can't add RaggedTensorVariants of different ragged rank. One is {} and the other is \
                 {}",
                self.splits.len(),
                other.splits.len()
            ));
        }
        for (own, other) in self.splits.iter().zip(&other.splits) {
            if own.raw() != other.raw() {
                return Err(invalid_argument!(
                    "Can't add RaggedTensorVariants with different row_splits."
                ));
            }
        }
        let values = add(self.values.clone(), other.values.clone())?;
        Ok(Arc::new(Ragged { splits: self.splits.clone(), values }))
    }

    fn encode(&self) -> Result<EncodedVariant> {
        let tensors = self.splits.iter().chain([&self.values]).cloned().collect();
        Ok(EncodedVariant { type_name: TYPE_NAME.to_owned(), metadata: Vec::new(), tensors })
    }
}

pub(crate) fn from_variant(variant: &Variant) -> Result<Cow<'_, Ragged>> {
    if let Some(ragged) = variant.downcast_ref::<Ragged>() {
        return Ok(Cow::Borrowed(ragged));
    }
    if let Some(encoded) = variant.downcast_ref::<EncodedVariant>()
        && encoded.type_name == TYPE_NAME
        && let Some((values, splits)) = encoded.tensors.split_last()
    {
        return Ok(Cow::Owned(Ragged { splits: splits.to_vec(), values: values.clone() }));
    }
    Err(invalid_argument!(
        "Input Variant element doesn't hold a RaggedTensorVariant: {}",
        variant.type_name()
    ))
}

#[derive(Debug)]
struct ToVariant {
    batched: bool,
    splits: DType,
}

impl Kernel for ToVariant {
    fn new(attrs: &Attrs<'_>) -> Result<ToVariant> {
        Ok(ToVariant { batched: attrs.bool("batched_input")?, splits: attrs.dtype("Tsplits")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let levels = ctx.num_inputs() - 1;
        let values = ctx.input(levels)?.clone();
        let splits = ctx.input_list(0..levels)?;
        if !self.batched {
            let splits = splits.into_iter().cloned().collect();
            ctx.set_output(0, Tensor::variant(Arc::new(Ragged { splits, values })));
            return Ok(());
        }
        let Some(&rows) = values.dims().first() else {
            return Err(invalid_argument!("values must have at least one dimension"));
        };
        let nested = read_nested(&splits, rows)?;
        let Some(outermost) = nested.first() else {
            let inner = without_first(values.shape())?;
            let elements = (0..rows).map(|row| {
                let values = values.rows(row..row + 1)?.into_shape(inner.clone())?;
                Ok(Arc::new(Ragged { splits: Vec::new(), values }) as Variant)
            });
            let elements: Vec<Variant> = elements.collect::<Result<_>>()?;
            ctx.set_output(0, Tensor::from_variants(Shape::vector(rows), elements)?);
            return Ok(());
        };
        let elements = outermost.windows(2).map(|pair| {
            let (mut start, mut end) = (pair[0], pair[1]);
            let mut splits = Vec::with_capacity(levels - 1);
            for level in &nested[1..] {
                let part = &level[start..=end];
                let from = part[0];
                let part: Vec<i64> = part.iter().map(|&split| (split - from) as i64).collect();
                splits.push(splits_tensor(self.splits, &part)?);
                (start, end) = (level[start], level[end]);
            }
            let values = values.rows(start..end)?;
            Ok(Arc::new(Ragged { splits, values }) as Variant)
        });
        let elements: Vec<Variant> = elements.collect::<Result<_>>()?;
        ctx.set_output(0, Tensor::from_variants(Shape::vector(elements.len()), elements)?);
        Ok(())
    }
}

#[derive(Debug)]
struct FromVariant {
    input_rank: i64,
    output_rank: usize,
    values: DType,
    splits: DType,
}

impl Kernel for FromVariant {
    fn new(attrs: &Attrs<'_>) -> Result<FromVariant> {
        let output_rank = attrs.int("output_ragged_rank")?;
        Ok(FromVariant {
            input_rank: attrs.int("input_ragged_rank")?,
            output_rank: usize::try_from(output_rank).map_err(|_| {
                invalid_argument!("output_ragged_rank must not be negative, got {output_rank}")
            })?,
            values: attrs.dtype("Tvalues")?,
            splits: attrs.dtype("Tsplits")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let encoded = ctx.input(0)?;
        let outer = encoded.rank();
        let inner = match usize::try_from(self.input_rank) {
            Ok(rank) => rank,
            Err(_) => self.output_rank.checked_sub(outer).ok_or_else(|| {
                invalid_argument!(
                    "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) \
                     must be >= 0, found output_ragged_rank: {}, encoded_variant.dims(): {outer}",
                    self.output_rank
                )
            })?,
        };
        if self.output_rank != inner + outer {
            return Err(invalid_argument!(
                "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); \
                 output_ragged_rank: {}, input_ragged_rank: {inner}, encoded_ragged.dims(): \
                 {outer}",
                self.output_rank
            ));
        }
        let parts: Vec<Cow<'_, Ragged>> =
            encoded.variants()?.iter().map(from_variant).collect::<Result<_>>()?;
        for part in &parts {
            self.check(part, inner)?;
        }
        let (splits, values) = if let ([part], 0) = (&parts[..], outer) {
            (part.splits.clone(), part.values.clone())
        } else {
            self.stack(&parts, encoded.dims(), inner)?
        };
        for (at, splits) in splits.into_iter().enumerate() {
            ctx.set_output(at, splits);
        }
        ctx.set_output(self.output_rank, values);
        Ok(())
    }
}

impl FromVariant {
    fn check(&self, part: &Ragged, rank: usize) -> Result<()> {
        if part.values.dtype() != self.values {
            return Err(invalid_argument!(
                "Expected values Tensor dtype: {}, found: {}",
                self.values,
                part.values.dtype()
            ));
        }
        if part.values.rank() == 0 && rank + 1 > 1 {
            return Err(invalid_argument!("Ragged values must have rank >= 1; encoded scalar"));
        }
        if part.splits.len() != rank {
            return Err(invalid_argument!(
                "Encoded input RaggedTensorVariant has ragged_rank={}.  Expected ragged_rank={rank}.",
                part.splits.len()
            ));
        }
        match part.splits.iter().find(|splits| splits.dtype() != self.splits) {
            Some(splits) => Err(invalid_argument!(
                "Expected row_splits Tensor dtype: {}, found: {}",
                self.splits,
                splits.dtype()
            )),
            None => Ok(()),
        }
    }

    /// Puts ragged tensors one after the other, under splits for the dimensions that they come in.
    fn stack(
        &self,
        parts: &[Cow<'_, Ragged>],
        outer: &[usize],
        inner: usize,
    ) -> Result<(Vec<Tensor>, Tensor)> {
        let mut splits: Vec<Vec<i64>> = Vec::with_capacity(self.output_rank);
        let mut count = 1;
        for pair in outer.windows(2) {
            count *= pair[0];
            splits.push((0..=count).map(|row| (row * pair[1]) as i64).collect());
        }
        let rows_of = |part: &Ragged| match part.splits.first() {
            Some(splits) => splits.num_elements() as i64 - 1,
            None => part.values.dims().first().copied().unwrap_or(0) as i64,
        };
        let mut ends = vec![0];
        for part in parts {
            if part.values.rank() == 0 {
                return Err(invalid_argument!("Ragged values must have rank >= 1"));
            }
            ends.push(ends[ends.len() - 1] + rows_of(part));
        }
        splits.push(ends);
        for level in 0..inner {
            let mut joined = vec![0];
            for part in parts {
                let last = joined[joined.len() - 1];
                let own = part.splits[level].to_i64_vec()?;
                joined.extend(own.iter().skip(1).map(|split| split + last));
            }
            splits.push(joined);
        }
        let shape = match parts.first() {
            None => Shape::vector(0),
            Some(first) => {
                let element = without_first(first.values.shape())?;
                let mut rows = 0;
                for (at, part) in parts.iter().enumerate() {
                    if without_first(part.values.shape())? != element {
                        return Err(invalid_argument!(
                            "Shape of values of element 0: {} is not compatible with that of \
                             element {at}: {}",
                            first.values.shape(),
                            part.values.shape()
                        ));
                    }
                    rows += part.values.dims()[0];
                }
                Shape::new(&[&[rows], element.dims()].concat())?
            }
        };
        let values: Vec<Tensor> = parts.iter().map(|part| part.values.clone()).collect();
        let splits = splits.iter().map(|splits| splits_tensor(self.splits, splits));
        Ok((splits.collect::<Result<_>>()?, join(self.values, shape, &values)?))
    }
}

/// The values of the gradients of all rows, one after the other.
#[derive(Debug)]
struct ToVariantGradient {
    values: DType,
}

impl Kernel for ToVariantGradient {
    fn new(attrs: &Attrs<'_>) -> Result<ToVariantGradient> {
        Ok(ToVariantGradient { values: attrs.dtype("Tvalues")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dims: Vec<i64> = ctx.input(2)?.to_i64_vec()?;
        let shape = Shape::from_signed(&dims)?;
        let parts: Vec<Cow<'_, Ragged>> =
            ctx.input(0)?.variants()?.iter().map(from_variant).collect::<Result<_>>()?;
        if let Some(part) = parts.iter().find(|part| part.values.dtype() != self.values) {
            return Err(invalid_argument!(
                "Expected values Tensor dtype: {}, found: {}",
                self.values,
                part.values.dtype()
            ));
        }
        let have: usize = parts.iter().map(|part| part.values.num_elements()).sum();
        if have != shape.num_elements() {
            return Err(invalid_argument!(
                "the gradients have {have} values, but dense_values_shape is {shape}"
            ));
        }
        let values: Vec<Tensor> = parts.iter().map(|part| part.values.clone()).collect();
        let output = join(self.values, shape, &values)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn from_gradient(g: &GradientContext<'_>) -> InputGradients {
    let splits = g.num_outputs() - 1;
    let is_batch = match g.rank(g.input(0)) {
        Some(rank) => rank == 1,
        None => splits > 0,
    };
    let outputs: Vec<Output> = (0..splits).map(|index| g.output(index)).collect();
    let node = NewNode::new("RaggedTensorToVariant").list(&outputs).input(g.grad(splits)?);
    only(g.out(g.with_attrs_of(node.attr("batched_input", is_batch))?)?)
}

fn to_gradient(g: &GradientContext<'_>) -> InputGradients {
    let splits = g.num_inputs() - 1;
    let values = g.input(splits);
    let rows = if splits == 0 { g.scalar(0i64)? } else { g.input(0) };
    let node = NewNode::new("RaggedTensorToVariantGradient").input(g.grad(0)?).input(rows);
    let node = node.input(g.shape_tensor(values)?).attr("Tvalues", g.dtype(values));
    let mut gradients = vec![None; splits];
    gradients.push(Some(g.out(node)?.into()));
    Ok(gradients)
}

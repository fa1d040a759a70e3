//! Maps from tensors to tensors in variants. A map is a value: inserting makes another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    AddTensors, DType, EncodedVariant, Result, Tensor, Variant, VariantValue, internal,
    invalid_argument,
};

use super::arithmetic::debug;
use crate::data_flow::join::stack;
use crate::logging::summarize;

pub(super) const TYPE_NAME: &str = "tensorflow::TensorMap";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "EmptyTensorMap",
        outputs: &["handle: variant"],
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapErase",
        inputs: &["input_handle: variant", "key: key_dtype"],
        outputs: &["output_handle: variant"],
        attrs: &["key_dtype: type", "value_dtype: type"],
        kernels: &[cpu::<Erase>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapHasKey",
        inputs: &["input_handle: variant", "key: key_dtype"],
        outputs: &["has_key: bool"],
        attrs: &["key_dtype: type"],
        kernels: &[cpu::<HasKey>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapInsert",
        inputs: &["input_handle: variant", "key: key_dtype", "value: value_dtype"],
        outputs: &["output_handle: variant"],
        attrs: &["key_dtype: type", "value_dtype: type"],
        kernels: &[cpu::<Insert>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapLookup",
        inputs: &["input_handle: variant", "key: key_dtype"],
        outputs: &["value: value_dtype"],
        attrs: &["key_dtype: type", "value_dtype: type"],
        kernels: &[cpu::<Lookup>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapSize",
        inputs: &["input_handle: variant"],
        outputs: &["size: int32"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TensorMapStackKeys",
        inputs: &["input_handle: variant"],
        outputs: &["keys: key_dtype"],
        attrs: &["key_dtype: type"],
        kernels: &[cpu::<StackKeys>()],
        ..Op::DEFAULT
    },
];

/// What tells keys apart: type, shape and contents.
type Identity = (u8, Vec<usize>, Vec<Bytes>);

fn identity(key: &Tensor) -> Result<Identity> {
    let contents = match key.dtype() {
        DType::String => key.strings()?.to_vec(),
        dtype if dtype.is_plain() => vec![Bytes::copy_from_slice(key.raw())],
        other => return Err(invalid_argument!("a {other} tensor cannot be a key")),
    };
    Ok((key.dtype() as u8, key.dims().to_vec(), contents))
}

#[derive(Clone, Debug, Default)]
pub(super) struct TensorMap {
    entries: BTreeMap<Identity, (Tensor, Tensor)>,
}

impl VariantValue for TensorMap {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn zeros_like(&self) -> Result<Variant> {
        Ok(Arc::new(TensorMap::default()))
    }

    /// What only one of the maps has counts as it is.
    fn plus(&self, other: &Variant, add: AddTensors<'_>) -> Result<Variant> {
        let mut sum = self.clone();
        for (identity, (key, value)) in &from_variant(other)?.entries {
            let value = match self.entries.get(identity) {
                Some((_, own)) => add(value.clone(), own.clone())?,
                None => value.clone(),
            };
            sum.entries.insert(identity.clone(), (key.clone(), value));
        }
        Ok(Arc::new(sum))
    }

    fn encode(&self) -> Result<EncodedVariant> {
        let pairs = self.entries.values().flat_map(|(key, value)| [key.clone(), value.clone()]);
        Ok(EncodedVariant {
            type_name: TYPE_NAME.to_owned(),
            metadata: Vec::new(),
            tensors: pairs.collect(),
        })
    }
}

/// Reads the map in a variant.
pub(super) fn from_variant(variant: &Variant) -> Result<Cow<'_, TensorMap>> {
    if let Some(map) = variant.downcast_ref::<TensorMap>() {
        return Ok(Cow::Borrowed(map));
    }
    if let Some(encoded) = variant.downcast_ref::<EncodedVariant>()
        && encoded.type_name == TYPE_NAME
    {
        let mut map = TensorMap::default();
        for pair in encoded.tensors.chunks_exact(2) {
            map.entries.insert(identity(&pair[0])?, (pair[0].clone(), pair[1].clone()));
        }
        return Ok(Cow::Owned(map));
    }
    Err(invalid_argument!("Input handle is not a map. Saw: '{}'", debug(variant)))
}

fn map_at<'a>(ctx: &'a KernelContext<'_>) -> Result<Cow<'a, TensorMap>> {
    match ctx.input(0)?.variants()? {
        [variant] => from_variant(variant),
        _ => Err(invalid_argument!("Input map must be a scalar.")),
    }
}

fn set_map(ctx: &mut KernelContext<'_>, map: TensorMap) {
    ctx.set_output(0, Tensor::variant(Arc::new(map)));
}

#[derive(Debug)]
struct Make;

impl Kernel for Make {
    fn new(_: &Attrs<'_>) -> Result<Make> {
        Ok(Make)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        set_map(ctx, TensorMap::default());
        Ok(())
    }
}

#[derive(Debug)]
struct Size;

impl Kernel for Size {
    fn new(_: &Attrs<'_>) -> Result<Size> {
        Ok(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = map_at(ctx)?.entries.len();
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct Insert;

impl Kernel for Insert {
    fn new(_: &Attrs<'_>) -> Result<Insert> {
        Ok(Insert)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut map = map_at(ctx)?.into_owned();
        let (key, value) = (ctx.input(1)?.clone(), ctx.input(2)?.clone());
        map.entries.insert(identity(&key)?, (key, value));
        set_map(ctx, map);
        Ok(())
    }
}

#[derive(Debug)]
struct Lookup {
    dtype: DType,
}

impl Kernel for Lookup {
    fn new(attrs: &Attrs<'_>) -> Result<Lookup> {
        Ok(Lookup { dtype: attrs.dtype("value_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let map = map_at(ctx)?;
        let key = ctx.input(1)?;
        let Some((_, value)) = map.entries.get(&identity(key)?) else {
            return Err(invalid_argument!(
                "Trying to lookup non-existent key. Could not find key \"{}\".",
                summarize::in_line(key, -1)
            ));
        };
        if value.dtype() != self.dtype {
            return Err(internal!(
                "Output 0 of type {} does not match declared output type {} for node {{{{node {}}}}}",
                value.dtype(),
                self.dtype,
                ctx.node_name()
            ));
        }
        let value = value.clone();
        ctx.set_output(0, value);
        Ok(())
    }
}

#[derive(Debug)]
struct Erase;

impl Kernel for Erase {
    fn new(_: &Attrs<'_>) -> Result<Erase> {
        Ok(Erase)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut map = map_at(ctx)?.into_owned();
        let key = ctx.input(1)?;
        if map.entries.remove(&identity(key)?).is_none() {
            return Err(invalid_argument!(
                "Trying to erase non-existent item. Could not find key \"{}\".",
                summarize::in_line(key, -1)
            ));
        }
        set_map(ctx, map);
        Ok(())
    }
}

#[derive(Debug)]
struct HasKey;

impl Kernel for HasKey {
    fn new(_: &Attrs<'_>) -> Result<HasKey> {
        Ok(HasKey)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let found = map_at(ctx)?.entries.contains_key(&identity(ctx.input(1)?)?);
        ctx.set_output(0, Tensor::scalar(found));
        Ok(())
    }
}

#[derive(Debug)]
struct StackKeys {
    dtype: DType,
}

impl Kernel for StackKeys {
    fn new(attrs: &Attrs<'_>) -> Result<StackKeys> {
        Ok(StackKeys { dtype: attrs.dtype("key_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let keys: Vec<Tensor> = map_at(ctx)?.entries.values().map(|(key, _)| key.clone()).collect();
        let Some(first) = keys.first() else {
            return Err(invalid_argument!("TensorMapStackKeys cannot be called on empty map."));
        };
        for key in &keys {
            if key.dtype() != self.dtype {
                return Err(invalid_argument!("Key does not match requested dtype."));
            }
            if key.shape() != first.shape() {
                return Err(invalid_argument!("Keys must all have the same shape."));
            }
        }
        let stacked = stack(self.dtype, first.shape(), &keys)?;
        ctx.set_output(0, stacked);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_framework::Registry;
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::OpRun;

    use super::*;

    fn run(op: &str, inputs: &[Tensor]) -> Result<Tensor> {
        let registry = Registry::new(OPS).unwrap();
        let mut run = OpRun::new(op);
        if op != "EmptyTensorMap" && op != "TensorMapSize" {
            run = run.attr("key_dtype", AttrValue::Type(DType::Int32));
        }
        if ["TensorMapErase", "TensorMapInsert", "TensorMapLookup"].contains(&op) {
            run = run.attr("value_dtype", AttrValue::Type(DType::Float));
        }
        for input in inputs {
            run = run.input(input.clone());
        }
        Ok(run.run(&registry)?.remove(0))
    }

    #[test]
    fn a_map_finds_what_was_put_and_older_maps_do_not_change() {
        let empty = run("EmptyTensorMap", &[]).unwrap();
        let (key, value) = (Tensor::scalar(7i32), Tensor::scalar(2.5f32));
        let one = run("TensorMapInsert", &[empty.clone(), key.clone(), value]).unwrap();
        let found = run("TensorMapLookup", &[one.clone(), key.clone()]).unwrap();
        assert_eq!(found.scalar_value::<f32>().unwrap(), 2.5);
        let size = |map: &Tensor| {
            run("TensorMapSize", std::slice::from_ref(map)).unwrap().scalar_value::<i32>().unwrap()
        };
        assert_eq!((size(&empty), size(&one)), (0, 1));
        let keys = run("TensorMapStackKeys", std::slice::from_ref(&one)).unwrap();
        assert_eq!(keys.values::<i32>().unwrap(), [7]);
        let erased = run("TensorMapErase", &[one.clone(), key.clone()]).unwrap();
        assert_eq!((size(&one), size(&erased)), (1, 0));
        assert!(run("TensorMapErase", &[erased.clone(), key.clone()]).is_err());
        assert!(run("TensorMapLookup", &[erased, key]).is_err());
    }
}

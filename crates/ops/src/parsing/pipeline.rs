//! Parsing of examples for input pipelines: each batch of strings becomes one element.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{EncodedVariant, Result, Shape, Tensor, Variant, invalid_argument};

use super::example::{Keys, parse_batch};
use super::example_ops::Features;

/// What the attributes of a node say of the features in its examples.
#[derive(Debug)]
pub(crate) struct ExampleParser {
    features: Features,
    sparse: Vec<Bytes>,
    dense: Vec<Bytes>,
    ragged: Vec<Bytes>,
}

impl ExampleParser {
    /// Reads the attributes.
    pub(crate) fn new(attrs: &Attrs<'_>) -> Result<ExampleParser> {
        let ragged = match attrs.get("ragged_keys") {
            Some(_) => attrs.strings("ragged_keys")?.to_vec(),
            None => Vec::new(),
        };
        let parser = ExampleParser {
            features: Features::new(attrs)?,
            sparse: attrs.strings("sparse_keys")?.to_vec(),
            dense: attrs.strings("dense_keys")?.to_vec(),
            ragged,
        };
        for (what, keys, types) in [
            ("sparse", &parser.sparse, parser.features.sparse.len()),
            ("dense", &parser.dense, parser.features.dense_types.len()),
            ("ragged", &parser.ragged, parser.features.ragged.len()),
        ] {
            if keys.len() != types {
                return Err(invalid_argument!(
                    "len({what}_keys) != len({what}_types): {} vs. {types}",
                    keys.len()
                ));
            }
        }
        Ok(parser)
    }

    /// The number of components of an element.
    pub(crate) fn components(&self) -> usize {
        self.sparse.len() + self.dense.len() + self.ragged.len()
    }

    /// Parses a batch. The components come in the order of their keys; sparse and ragged ones are
    /// variants.
    pub(crate) fn parse(
        &self,
        records: &Tensor,
        defaults: &[Tensor],
        threads: usize,
    ) -> Result<Vec<Tensor>> {
        let defaults: Vec<&Tensor> = defaults.iter().collect();
        let names = (&self.sparse[..], &self.dense[..], &self.ragged[..]);
        let mut columns = self.features.columns(names, &defaults)?;
        let keys = Keys::new(columns.iter().map(|column| &column.key));
        parse_batch(&keys, records.strings()?, &[], &mut columns, threads)?;
        let mut components = Vec::with_capacity(columns.len());
        for (index, column) in columns.into_iter().enumerate() {
            let key = column.key.clone();
            let component = if index < self.sparse.len() {
                let parts = column
                    .into_sparse(false)?
                    .map(|part| variant("tensorflow::Tensor", vec![part]));
                Tensor::from_variants(Shape::vector(3), parts.into())?
            } else if index < self.sparse.len() + self.dense.len() {
                column.into_dense(false)?
            } else {
                let [values, splits] = column.into_ragged(false)?;
                Tensor::variant(variant("RaggedTensorVariant", vec![splits, values]))
            };
            components.push((key, component));
        }
        components.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(components.into_iter().map(|(_, component)| component).collect())
    }
}

fn variant(type_name: &str, tensors: Vec<Tensor>) -> Variant {
    let type_name = type_name.to_owned();
    Arc::new(EncodedVariant { type_name, metadata: Vec::new(), tensors })
}

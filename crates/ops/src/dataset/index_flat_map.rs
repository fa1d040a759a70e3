//! `IndexFlatMapDataset`: the rows of what a function makes of elements, where another function says
//! for each number of a row which element it belongs to, and which of its rows it is.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Op};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset, slice,
};
use super::index::{Access, Indexed};
use super::scope::{Captured, Scope, UserFunction};

pub(super) const OPS: &[Op] = &[Op {
    name: "IndexFlatMapDataset",
    inputs: &[
        "input_dataset: variant",
        "map_func_other_args: Tmap_func_args",
        "index_map_func_other_args: Tindex_map_func_args",
        "output_cardinality: int64",
    ],
    outputs: &["handle: variant"],
    attrs: &[
        "map_func: func",
        "index_map_func: func",
        "Tmap_func_args: list(type) >= 0",
        "Tindex_map_func_args: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: &[dataset::<IndexFlatMap>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct IndexFlatMap {
    map: Func,
    map_arguments: usize,
    index_map: Func,
}

impl MakeDataset for IndexFlatMap {
    fn new(attrs: &Attrs<'_>) -> Result<IndexFlatMap> {
        Ok(IndexFlatMap {
            map: attrs.func("map_func")?.clone(),
            map_arguments: attrs.dtypes("Tmap_func_args")?.len(),
            index_map: attrs.func("index_map_func")?.clone(),
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let (first, last) = (1 + self.map_arguments, inputs.len() - 1);
        let cardinality = match inputs.scalar::<i64>(last, "output_cardinality")? {
            -1 => Cardinality::Infinite,
            count => u64::try_from(count).map_or(Cardinality::Unknown, Cardinality::Known),
        };
        Ok(Arc::new(IndexFlatMapDataset {
            input: inputs.dataset(0)?,
            map: Captured::new(&self.map, inputs.range(1..first)?),
            index_map: Captured::new(&self.index_map, inputs.range(first..last)?),
            cardinality,
            signature,
        }))
    }
}

#[derive(Debug)]
struct IndexFlatMapDataset {
    input: DatasetRef,
    map: Captured,
    index_map: Captured,
    cardinality: Cardinality,
    signature: Signature,
}

impl Dataset for IndexFlatMapDataset {
    fn kind(&self) -> &str {
        "IndexFlatMap"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.cardinality
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn check_shuffling(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        Ok(Box::new(Flattened {
            input: scope.iterate(&*self.input)?,
            functions: self.functions(scope)?,
            left: match self.cardinality {
                Cardinality::Known(count) => Some(count),
                _ => None,
            },
            next: 0,
            current: None,
        }))
    }
}

impl IndexFlatMapDataset {
    fn functions(&self, scope: &Scope) -> Result<Functions> {
        Ok(Functions {
            map: scope.function(&self.map)?,
            index_map: scope.function(&self.index_map)?,
        })
    }
}

impl Indexed for IndexFlatMapDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        let (input, functions) = (scope.access(&*self.input)?, self.functions(scope)?);
        Ok(Box::new(FlattenedAt { input, functions }))
    }
}

struct Functions {
    map: UserFunction,
    index_map: UserFunction,
}

impl Functions {
    /// The element to which row number `index` belongs, and which of its rows it is.
    async fn find(&self, index: u64) -> Result<(u64, usize)> {
        let found = self.index_map.call(vec![Tensor::scalar(index as i64)]).await?;
        let [element, row] = &found[..] else {
            return Err(invalid_argument!(
                "The `index_map_fn` for `index_flat_map` is expected to return two int values \
                 representing the element index and an offset within the element. Got: {} values.",
                found.len()
            ));
        };
        Ok((number(element)?, number(row)? as usize))
    }

    async fn map(&self, element: Element) -> Result<Element> {
        self.map.call(element).await
    }
}

fn number(tensor: &Tensor) -> Result<u64> {
    let is_integer =
        matches!(tensor.dtype(), DType::Int32 | DType::Int64 | DType::UInt32 | DType::UInt64);
    if !is_integer || tensor.num_elements() != 1 {
        return Err(invalid_argument!(
            "The `index_map_fn` for `index_flat_map` is expected to return two int32/int64 values \
             representing the element index and an offset within the element. Got: a tensor of type \
             {} and shape {}",
            tensor.dtype(),
            tensor.shape()
        ));
    }
    Ok(tensor.to_i64_vec()?[0] as u64)
}

/// A row of each component; what has no rows is the same in all.
fn row_of(element: &[Tensor], row: usize) -> Result<Element> {
    let of_component = |tensor: &Tensor| match tensor.dims() {
        [] => Ok(tensor.clone()),
        [rows, ..] if row < *rows => slice(tensor, row),
        _ => Err(invalid_argument!("there is no row {row} in shape {}", tensor.shape())),
    };
    element.iter().map(of_component).collect()
}

struct Flattened {
    input: Box<dyn Elements>,
    functions: Functions,
    /// How many rows are left, if that is known.
    left: Option<u64>,
    next: u64,
    /// The element whose rows are being given, and its number.
    current: Option<(u64, Element)>,
}

impl Elements for Flattened {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.left == Some(0) {
                return Ok(None);
            }
            let (element, row) = self.functions.find(self.next).await?;
            if self.current.as_ref().is_none_or(|(current, _)| element > *current) {
                let Some(input) = self.input.next().await? else { return Ok(None) };
                self.current = Some((element, self.functions.map(input).await?));
            }
            let Some((_, rows)) = &self.current else { return Ok(None) };
            let row = row_of(rows, row)?;
            self.next += 1;
            self.left = self.left.map(|left| left - 1);
            Ok(Some(row))
        })
    }
}

struct FlattenedAt {
    input: Box<dyn Access>,
    functions: Functions,
}

impl Access for FlattenedAt {
    fn get(&mut self, index: u64) -> Pending<'_, Element> {
        Box::pin(async move {
            let (element, row) = self.functions.find(index).await?;
            let input = self.input.get(element).await?;
            row_of(&self.functions.map(input).await?, row)
        })
    }
}

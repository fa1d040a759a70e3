//! Sparse tensors that wait in a map while their handles, plain numbers, go through queues.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Resource, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::many::{Parts, join};
use super::parts::Sparse;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AddManySparseToTensorsMap",
        inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
        outputs: &["sparse_handles: int64"],
        attrs: &["T: type", "container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Add>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AddSparseToTensorsMap",
        inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
        outputs: &["sparse_handle: int64"],
        attrs: &["T: type", "container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Add>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TakeManySparseFromTensorsMap",
        inputs: &["sparse_handles: int64"],
        outputs: &["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"],
        attrs: &["dtype: type", "container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Take>()],
        ..Op::DEFAULT
    },
];

/// Sparse tensors by handle.
#[derive(Debug, Default)]
struct TensorsMap {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: i64,
    tensors: FxHashMap<i64, Parts>,
}

impl Resource for TensorsMap {
    const TYPE_NAME: &'static str = "N10tensorflow16SparseTensorsMapE";
}

impl TensorsMap {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, parts: Parts) -> i64 {
        let mut state = self.lock();
        let handle = state.next;
        state.next += 1;
        state.tensors.insert(handle, parts);
        handle
    }

    fn take(&self, handle: i64) -> Option<Parts> {
        self.lock().tensors.remove(&handle)
    }
}

/// Where the map of a node is. Nodes that share a name share the map.
#[derive(Debug)]
struct Place {
    container: String,
    name: String,
}

impl Place {
    fn new(attrs: &Attrs<'_>) -> Result<Place> {
        let shared_name = attrs.string("shared_name")?;
        let name = if shared_name.is_empty() { attrs.node_name() } else { &shared_name };
        Ok(Place { container: attrs.string("container")?.into_owned(), name: name.to_owned() })
    }

    fn map(&self, ctx: &KernelContext<'_>) -> Result<std::sync::Arc<TensorsMap>> {
        let create = || Ok(TensorsMap::default());
        ctx.step().resources.lookup_or_create(&self.container, &self.name, create)
    }
}

#[derive(Debug)]
struct Add {
    place: Place,
    many: bool,
}

impl Kernel for Add {
    fn new(attrs: &Attrs<'_>) -> Result<Add> {
        Ok(Add { place: Place::new(attrs)?, many: attrs.op() == "AddManySparseToTensorsMap" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let whole = Parts::new(ctx.input(0)?, ctx.input(1)?, ctx.input(2)?)?;
        if self.many {
            check_counts(&whole)?;
        }
        Sparse::created(&whole.indices, &whole.values, &whole.shape)?;
        let map = self.place.map(ctx)?;
        let handles = if self.many {
            let handles: Vec<i64> = whole.rows()?.into_iter().map(|row| map.add(row)).collect();
            Tensor::vector(&handles)?
        } else {
            Tensor::scalar(map.add(whole))
        };
        ctx.set_output(0, handles);
        Ok(())
    }
}

/// What `AddManySparseToTensorsMap` says of parts that do not fit each other.
fn check_counts(whole: &Parts) -> Result<()> {
    let shape = whole.indices.shape();
    let (values, rank) = (whole.values.num_elements(), whole.shape.num_elements());
    if shape.dims()[0] != values {
        return Err(invalid_argument!(
            "Number of values must match first dimension of indices. Got {values} values, indices \
             shape: {shape}"
        ));
    }
    if shape.dims()[1] != rank {
        return Err(invalid_argument!(
            "Number of dimensions must match second dimension of indices. Got {rank} dimensions, \
             indices shape: {shape}"
        ));
    }
    Ok(())
}

#[derive(Debug)]
struct Take {
    place: Place,
    dtype: DType,
}

impl Kernel for Take {
    fn new(attrs: &Attrs<'_>) -> Result<Take> {
        Ok(Take { place: Place::new(attrs)?, dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handles = ctx.input(0)?;
        if handles.rank() != 1 {
            return Err(invalid_argument!(
                "sparse_handles should be a vector but received shape {}",
                handles.shape()
            ));
        }
        let handles = handles.values::<i64>()?;
        if handles.is_empty() {
            return Err(invalid_argument!(
                "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"
            ));
        }
        let map = self.place.map(ctx)?;
        let parts = handles
            .iter()
            .map(|&handle| {
                map.take(handle).ok_or_else(|| {
                    invalid_argument!(
                        "Unable to find SparseTensor: {handle} in map: {}",
                        self.place.name
                    )
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let whole = join(&parts, &[parts.len()], self.dtype)?;
        ctx.set_output(0, whole.indices);
        ctx.set_output(1, whole.values);
        ctx.set_output(2, whole.shape);
        Ok(())
    }
}

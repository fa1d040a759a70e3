//! The nodes that make tables.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, anonymous_handle, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, resource_exhausted};

use super::dense::{Dense, MOST_PLACES};
use super::table::{Cells, Kind, Signature, Table};
use crate::data_flow::named::Named;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AnonymousHashTable",
        outputs: &["table_handle: resource"],
        attrs: &["key_dtype: type", "value_dtype: type"],
        stateful: true,
        kernels: &[cpu::<MakeAnonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousMutableDenseHashTable",
        inputs: &["empty_key: key_dtype", "deleted_key: key_dtype"],
        outputs: &["table_handle: resource"],
        attrs: &[
            "key_dtype: type",
            "value_dtype: type",
            "value_shape: shape = []",
            "initial_num_buckets: int = 131072",
            "max_load_factor: float = 0.8",
        ],
        stateful: true,
        kernels: &[cpu::<MakeAnonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousMutableHashTable",
        outputs: &["table_handle: resource"],
        attrs: &["key_dtype: type", "value_dtype: type"],
        stateful: true,
        kernels: &[cpu::<MakeAnonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousMutableHashTableOfTensors",
        outputs: &["table_handle: resource"],
        attrs: &["key_dtype: type", "value_dtype: type", "value_shape: shape = []"],
        stateful: true,
        kernels: &[cpu::<MakeAnonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "HashTable",
        outputs: &["table_handle: Ref(string)"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "HashTableV2",
        outputs: &["table_handle: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    // The definition lacks the key that the kernel asks for: as in TensorFlow a step with this node fails.
    Op {
        name: "MutableDenseHashTable",
        inputs: &["empty_key: key_dtype"],
        outputs: &["table_handle: Ref(string)"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
            "value_shape: shape = []",
            "initial_num_buckets: int = 131072",
            "max_load_factor: float = 0.8",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutableDenseHashTableV2",
        inputs: &["empty_key: key_dtype", "deleted_key: key_dtype"],
        outputs: &["table_handle: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
            "value_shape: shape = []",
            "initial_num_buckets: int = 131072",
            "max_load_factor: float = 0.8",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutableHashTable",
        outputs: &["table_handle: Ref(string)"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutableHashTableOfTensors",
        outputs: &["table_handle: Ref(string)"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
            "value_shape: shape = []",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutableHashTableOfTensorsV2",
        outputs: &["table_handle: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
            "value_shape: shape = []",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "MutableHashTableV2",
        outputs: &["table_handle: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "use_node_name_sharing: bool = false",
            "key_dtype: type",
            "value_dtype: type",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
];

/// What the attributes say of a table.
#[derive(Debug)]
struct Description {
    immutable: bool,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Shape,
    buckets: Option<i64>,
    max_load: f32,
}

impl Description {
    fn new(attrs: &Attrs<'_>) -> Result<Description> {
        let value_shape = match attrs.get("value_shape") {
            Some(_) => {
                let shape = attrs.shape("value_shape")?;
                shape.to_shape().ok_or_else(|| {
                    invalid_argument!("Default value must be a vector or scalar, got shape {shape}")
                })?
            }
            None => Shape::SCALAR,
        };
        let buckets = match attrs.get("initial_num_buckets") {
            Some(_) => Some(attrs.int("initial_num_buckets")?),
            None => None,
        };
        let max_load = match attrs.get("max_load_factor") {
            Some(_) => attrs.float("max_load_factor")?,
            None => 1.0,
        };
        let immutable = matches!(attrs.op(), "HashTable" | "HashTableV2" | "AnonymousHashTable");
        Ok(Description {
            immutable,
            key_dtype: attrs.dtype("key_dtype")?,
            value_dtype: attrs.dtype("value_dtype")?,
            value_shape,
            buckets,
            max_load,
        })
    }

    fn signature(&self, ctx: &KernelContext<'_>) -> Result<Signature> {
        let mut key_shape = Shape::SCALAR;
        let kind = match self.buckets {
            Some(_) if ctx.num_inputs() < 2 => {
                return Err(invalid_argument!("Unknown input name: deleted_key"));
            }
            Some(buckets) => {
                let (empty, deleted) = (ctx.input(0)?, ctx.input(1)?);
                for (name, shape) in [("value", &self.value_shape), ("key", empty.shape())] {
                    if shape.rank() > 1 {
                        return Err(invalid_argument!(
                            "Empty {name} must be a scalar or a vector, got shape {shape}"
                        ));
                    }
                }
                if empty.shape() != deleted.shape() {
                    return Err(invalid_argument!(
                        "Empty and deleted keys must have same shape, got shapes: {} and {}",
                        empty.shape(),
                        deleted.shape()
                    ));
                }
                key_shape = empty.shape().clone();
                let empty = Cells::new(empty, &key_shape)?.get(0)?;
                let deleted = Cells::new(deleted, &key_shape)?.get(0)?;
                if empty == deleted {
                    return Err(invalid_argument!("Empty and deleted keys cannot be equal"));
                }
                if buckets < 4 || buckets.count_ones() != 1 {
                    return Err(invalid_argument!(
                        "Number of buckets must be at least 4 and a power of 2, got: {buckets}"
                    ));
                }
                if !(self.max_load > 0.0 && self.max_load < 1.0) {
                    return Err(invalid_argument!(
                        "max_load_factor must be between 0 and 1, got: {}",
                        self.max_load
                    ));
                }
                if buckets > MOST_PLACES as i64 {
                    return Err(resource_exhausted!(
                        "a table of {buckets} buckets does not fit into memory"
                    ));
                }
                Kind::Dense(Dense {
                    key_dtype: self.key_dtype,
                    empty,
                    deleted,
                    initial_places: buckets as usize,
                    max_load: self.max_load,
                })
            }
            None if self.immutable => Kind::Immutable,
            None => Kind::Mutable,
        };
        Ok(Signature {
            kind,
            key_dtype: self.key_dtype,
            key_shape,
            value_dtype: self.value_dtype,
            value_shape: self.value_shape.clone(),
        })
    }
}

#[derive(Debug)]
struct Make {
    table: Named<Table>,
    description: Description,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        Ok(Make { table: Named::new(attrs)?, description: Description::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let signature = self.description.signature(ctx)?;
        let want = (signature.key_dtype, signature.value_dtype);
        let found = self.table.output(ctx, |name| Ok(Table::new(name, signature)))?;
        let have = (found.signature.key_dtype, found.signature.value_dtype);
        if have != want {
            return Err(invalid_argument!(
                "Conflicting key/value dtypes {}->{} with {}-{} for table {}",
                want.0,
                want.1,
                have.0,
                have.1,
                found.name
            ));
        }
        Ok(())
    }
}

/// A table that only its handle leads to.
#[derive(Debug)]
struct MakeAnonymous {
    description: Description,
}

impl Kernel for MakeAnonymous {
    fn new(attrs: &Attrs<'_>) -> Result<MakeAnonymous> {
        Ok(MakeAnonymous { description: Description::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let name = ctx.node_name();
        let table = Arc::new(Table::new(name, self.description.signature(ctx)?));
        let handle = anonymous_handle(&ctx.step().device, name, table);
        ctx.set_output(0, Tensor::resource(handle));
        Ok(())
    }
}

//! The nodes that make queues.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, PartialShape, Result, internal, invalid_argument};

use super::named::{Named, reference, shape_list, type_list};
use super::queue::{Kind, Queue, Signature};
use crate::dataset::compatible;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FakeQueue",
        inputs: &["resource: resource"],
        outputs: &["handle: Ref(string)"],
        stateful: true,
        kernels: &[cpu::<ByReference>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FIFOQueue",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FIFOQueueV2",
        outputs: &["handle: resource"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PaddingFIFOQueue",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PaddingFIFOQueueV2",
        outputs: &["handle: resource"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PriorityQueue",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "component_types: list(type) >= 0 = []",
            "shapes: list(shape) >= 0",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "PriorityQueueV2",
        outputs: &["handle: resource"],
        attrs: &[
            "component_types: list(type) >= 0 = []",
            "shapes: list(shape) >= 0",
            "capacity: int = -1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomShuffleQueue",
        outputs: &["handle: Ref(string)"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "min_after_dequeue: int = 0",
            "seed: int = 0",
            "seed2: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomShuffleQueueV2",
        outputs: &["handle: resource"],
        attrs: &[
            "component_types: list(type) >= 1",
            "shapes: list(shape) >= 0 = []",
            "capacity: int = -1",
            "min_after_dequeue: int = 0",
            "seed: int = 0",
            "seed2: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Make {
    op: String,
    queue: Named<Queue>,
    signature: Signature,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        let capacity = attrs.int("capacity")?;
        let capacity = if capacity < 0 {
            i32::MAX
        } else {
            i32::try_from(capacity)
                .map_err(|_| invalid_argument!("capacity {capacity} does not fit in 32 bits"))?
        };
        let mut dtypes = attrs.dtypes("component_types")?.to_vec();
        let mut shapes = attrs.shapes("shapes")?.to_vec();
        if !shapes.is_empty() && shapes.len() != dtypes.len() {
            return Err(invalid_argument!(
                "Different number of component types ({}) vs. shapes ({}).",
                dtypes.len(),
                shapes.len()
            ));
        }
        let kind = match attrs.op().trim_end_matches("V2") {
            "FIFOQueue" => Kind::Fifo,
            "PaddingFIFOQueue" => Kind::Padding,
            "RandomShuffleQueue" => shuffle(attrs, capacity)?,
            "PriorityQueue" => Kind::Priority,
            op => return Err(internal!("no kind of queue: {op}")),
        };
        if kind == Kind::Priority {
            // The priority is a component too, but not one that the attributes name.
            if !shapes.is_empty() || dtypes.is_empty() {
                shapes.insert(0, PartialShape::scalar());
            }
            dtypes.insert(0, DType::Int64);
        }
        if kind == Kind::Padding && shapes.is_empty() {
            return Err(invalid_argument!("PaddingFIFOQueue needs the shapes of its components"));
        }
        if kind != Kind::Padding
            && let Some(shape) = shapes.iter().find(|shape| shape.to_shape().is_none())
        {
            return Err(invalid_argument!("All shapes must be fully defined: {shape}"));
        }
        Ok(Make {
            op: attrs.op().to_owned(),
            queue: Named::new(attrs)?,
            signature: Signature { kind, capacity, dtypes, shapes },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let found = self.queue.output(ctx, |name| Ok(Queue::new(name, self.signature.clone())))?;
        self.check_same(&found)
    }
}

/// The older form of a queue's handle.
#[derive(Debug)]
struct ByReference;

impl Kernel for ByReference {
    fn new(_: &Attrs<'_>) -> Result<ByReference> {
        Ok(ByReference)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let handle = match ctx.input(0)?.resources()? {
            [handle] => handle.clone(),
            _ => return Err(invalid_argument!("a queue has one handle")),
        };
        let reference = reference(ctx.node_name(), handle)?;
        ctx.set_output_ref(0, reference);
        Ok(())
    }
}

fn shuffle(attrs: &Attrs<'_>, capacity: i32) -> Result<Kind> {
    let least = attrs.int("min_after_dequeue")?;
    let Ok(min_after_dequeue) = usize::try_from(least) else {
        return Err(invalid_argument!("min_after_dequeue {least} must be >= 0"));
    };
    if least >= i64::from(capacity) {
        return Err(invalid_argument!("min_after_dequeue {least} must be < capacity {capacity}"));
    }
    Ok(Kind::Shuffle { min_after_dequeue, seeds: (attrs.int("seed")?, attrs.int("seed2")?) })
}

impl Make {
    /// Checks that a queue made elsewhere under the same name is what this node describes.
    fn check_same(&self, found: &Queue) -> Result<()> {
        let (have, want) = (&found.signature, &self.signature);
        if have.kind.name() != want.kind.name() {
            return Err(invalid_argument!("Expected {}, found {}", have.kind.name(), self.op));
        }
        let refuse = |what: &str, have: String, want: String, plural: &str| {
            invalid_argument!(
                "Shared queue '{}' has {what} {have} but requested {what} {plural} {want}",
                found.name
            )
        };
        if have.capacity != want.capacity {
            let (have, want) = (have.capacity.to_string(), want.capacity.to_string());
            return Err(refuse("capacity", have, want, "was"));
        }
        if let (
            Kind::Shuffle { min_after_dequeue: have, .. },
            Kind::Shuffle { min_after_dequeue: want, .. },
        ) = (have.kind, want.kind)
            && have != want
        {
            let (have, want) = (have.to_string(), format!("{want}."));
            return Err(refuse("min_after_dequeue", have, want, "was"));
        }
        if let (Kind::Shuffle { seeds: have, .. }, Kind::Shuffle { seeds: want, .. }) =
            (have.kind, want.kind)
            && have != want
        {
            return Err(invalid_argument!(
                "Shared queue '{}' has random seeds ({}, {}) but requested seeds are ({}, {}).",
                found.name,
                have.0,
                have.1,
                want.0,
                want.1
            ));
        }
        if have.dtypes != want.dtypes {
            let (have, want) = (type_list(&have.dtypes), type_list(&want.dtypes));
            return Err(refuse("component types", have, want, "were"));
        }
        // Shapes that are known in part only have to leave room for one that fits both.
        let same_shapes = match have.kind {
            Kind::Padding => {
                have.shapes.len() == want.shapes.len()
                    && have.shapes.iter().zip(&want.shapes).all(|(a, b)| compatible(a, b))
            }
            _ => have.shapes == want.shapes,
        };
        if !same_shapes {
            let (have, want) = (shape_list(&have.shapes), shape_list(&want.shapes));
            return Err(refuse("component shapes", have, want, "were"));
        }
        Ok(())
    }
}

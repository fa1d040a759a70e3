//! Iterators without a dataset, and giving them one.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, Variant, VariantValue};

use super::resource::IteratorResource;
use crate::data_flow::named::Named;
use crate::dataset::dataset::{Signature, from_tensor};
use crate::dataset::scope::Scope;

const NAMED_ATTRS: &[&str] = &[
    "shared_name: string",
    "container: string",
    "output_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
];
const ATTRS: &[&str] = &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"];
const NAMED: &[KernelDef] = &[cpu::<NamedIterator>()];
const ANONYMOUS: &[KernelDef] = &[cpu::<AnonymousIterator>()];

pub(in crate::dataset) const OPS: &[Op] = &[
    Op {
        name: "AnonymousIterator",
        outputs: &["handle: resource"],
        attrs: ATTRS,
        stateful: true,
        kernels: ANONYMOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousIteratorV2",
        outputs: &["handle: resource", "deleter: variant"],
        attrs: ATTRS,
        stateful: true,
        kernels: ANONYMOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "AnonymousIteratorV3",
        outputs: &["handle: resource"],
        attrs: ATTRS,
        stateful: true,
        kernels: ANONYMOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "DeleteIterator",
        inputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[cpu::<DeleteIterator>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Iterator",
        outputs: &["handle: resource"],
        attrs: NAMED_ATTRS,
        stateful: true,
        kernels: NAMED,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorV2",
        outputs: &["handle: resource"],
        attrs: NAMED_ATTRS,
        stateful: true,
        kernels: NAMED,
        ..Op::DEFAULT
    },
    Op {
        name: "MakeIterator",
        inputs: &["dataset: variant", "iterator: resource"],
        stateful: true,
        kernels: &[cpu::<MakeIterator>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct NamedIterator {
    named: Named<IteratorResource>,
    signature: Signature,
}

impl Kernel for NamedIterator {
    fn new(attrs: &Attrs<'_>) -> Result<NamedIterator> {
        Ok(NamedIterator { named: Named::new(attrs)?, signature: Signature::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let create = |_: &str| Ok(IteratorResource::new(Some(self.signature.clone())));
        // Another node of the same shared name may promise other elements.
        self.named.output(ctx, create)?.check(&self.signature)
    }
}

/// An iterator without a name that others could guess. It lives as long as its handle.
///
/// The first version of the op lets functions pass handles on as strings, so its iterators live
/// until they are deleted.
#[derive(Debug)]
struct AnonymousIterator {
    signature: Signature,
    is_kept: bool,
}

impl Kernel for AnonymousIterator {
    fn new(attrs: &Attrs<'_>) -> Result<AnonymousIterator> {
        let is_kept = attrs.op() == "AnonymousIterator";
        Ok(AnonymousIterator { signature: Signature::new(attrs)?, is_kept })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let iterator = Arc::new(IteratorResource::new(Some(self.signature.clone())));
        let step = ctx.step();
        let mut handle = step.resources.anonymous_handle(
            &step.device,
            "AnonymousIterator",
            Arc::clone(&iterator),
        );
        if self.is_kept {
            step.resources.create("", &handle.name, iterator)?;
            handle = step.resources.handle::<IteratorResource>(
                &step.device,
                "",
                &handle.name,
                Vec::new(),
            );
        }
        ctx.set_output(0, Tensor::resource(handle));
        if ctx.num_outputs() == 2 {
            ctx.set_output(1, deleter());
        }
        Ok(())
    }
}

/// Stands for the duty to delete something. Handles that keep what they name leave it nothing to do.
#[derive(Debug)]
struct Deleter;

impl VariantValue for Deleter {
    fn type_name(&self) -> &str {
        "tensorflow::ResourceDeleter"
    }
}

/// A value for outputs named `deleter`.
pub(in crate::dataset) fn deleter() -> Tensor {
    let deleter: Variant = Arc::new(Deleter);
    Tensor::variant(deleter)
}

#[derive(Debug)]
struct DeleteIterator;

impl Kernel for DeleteIterator {
    fn new(_: &Attrs<'_>) -> Result<DeleteIterator> {
        Ok(DeleteIterator)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        match ctx.input(0)?.resources()? {
            [handle] => ctx.step().resources.delete_handle(handle, None),
            _ => Ok(()),
        }
    }
}

#[derive(Debug)]
struct MakeIterator;

impl Kernel for MakeIterator {
    fn new(_: &Attrs<'_>) -> Result<MakeIterator> {
        Ok(MakeIterator)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let iterator = ctx.resource::<IteratorResource>(1)?;
        iterator.start(dataset, Scope::root(ctx.step()))
    }

    /// Functions of the dataset may have to be compiled.
    fn cost(&self, _: &[tensorfleet_framework::Value]) -> u64 {
        1_000_000
    }
}

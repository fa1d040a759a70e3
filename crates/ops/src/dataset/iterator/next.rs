//! Getting elements.

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, KernelDef, Op, Outcome, Started, cpu_async,
};
use tensorfleet_tensor::{Result, internal, out_of_range};

use super::resource::{Asked, lookup};
use crate::dataset::dataset::{Element, Signature};
use crate::dataset::optional;

const ATTRS: &[&str] = &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"];
const GET_NEXT: &[KernelDef] = &[cpu_async::<GetNext>()];

pub(in crate::dataset) const OPS: &[Op] = &[
    Op {
        name: "IteratorGetNext",
        inputs: &["iterator: resource"],
        outputs: &["components: output_types"],
        attrs: ATTRS,
        stateful: true,
        kernels: GET_NEXT,
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorGetNextAsOptional",
        inputs: &["iterator: resource"],
        outputs: &["optional: variant"],
        attrs: ATTRS,
        stateful: true,
        kernels: &[cpu_async::<GetNextAsOptional>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IteratorGetNextSync",
        inputs: &["iterator: resource"],
        outputs: &["components: output_types"],
        attrs: ATTRS,
        stateful: true,
        kernels: GET_NEXT,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct GetNext {
    components: usize,
}

impl AsyncKernel for GetNext {
    fn new(attrs: &Attrs<'_>) -> Result<GetNext> {
        Ok(GetNext { components: Signature::new(attrs)?.types.len() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let components = self.components;
        Ok(match lookup(&ctx.step, ctx.input(0)?)?.next()? {
            Asked::Now(element) => Started::Done(outputs(element, components)?),
            Asked::Later(element) => {
                Started::Waiting(Box::pin(async move { outputs(element.await?, components) }))
            }
        })
    }
}

fn outputs(element: Option<Element>, components: usize) -> Result<Outcome> {
    let element = element.ok_or_else(|| out_of_range!("End of sequence"))?;
    if element.len() != components {
        return Err(internal!(
            "the iterator returned {} components, expected {components}",
            element.len()
        ));
    }
    Ok(Outcome::from(element))
}

#[derive(Debug)]
struct GetNextAsOptional;

impl AsyncKernel for GetNextAsOptional {
    fn new(_: &Attrs<'_>) -> Result<GetNextAsOptional> {
        Ok(GetNextAsOptional)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let outputs = |element| Outcome::from(vec![optional::into_tensor(element)]);
        Ok(match lookup(&ctx.step, ctx.input(0)?)?.next()? {
            Asked::Now(element) => Started::Done(outputs(element)),
            Asked::Later(element) => {
                Started::Waiting(Box::pin(async move { Ok(outputs(element.await?)) }))
            }
        })
    }
}

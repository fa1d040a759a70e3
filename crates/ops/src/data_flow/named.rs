//! Nodes that stand for a resource: a queue, an accumulator, a table.
//!
//! With a shared name the resource is one for all nodes that say the name. Without, it belongs to
//! the node, whose kernel lives as long as its session, and goes when the kernel does.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tensorfleet_framework::{
    Attrs, KernelContext, Resource, Resources, StepContext, Value, Variable,
};
use tensorfleet_tensor::{
    DType, ResourceHandle, Result, Shape, Tensor, internal, invalid_argument,
};

/// Numbers the resources of a device that belong to a node.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Resource for Counter {
    const TYPE_NAME: &'static str = "tensorfleet::PrivateCounter";
}

/// A container that no client can reset.
const COUNTERS: &str = "_tensorfleet";

/// The resource of a node.
pub(crate) struct Named<R: Resource> {
    container: String,
    shared_name: String,
    node: String,
    /// Whether the handle is a reference to two strings, as in TensorFlow's first versions.
    by_reference: bool,
    /// Where the resource is that belongs to this node alone.
    own: Mutex<Option<(String, Arc<Resources>)>>,
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> fmt::Debug for Named<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.container, self.shared_name)
    }
}

impl<R: Resource> Named<R> {
    pub(crate) fn new(attrs: &Attrs<'_>) -> Result<Named<R>> {
        let mut shared_name = attrs.string("shared_name")?.into_owned();
        if shared_name.is_empty()
            && attrs.get("use_node_name_sharing").is_some()
            && attrs.bool("use_node_name_sharing")?
        {
            shared_name = attrs.node_name().to_owned();
        }
        Ok(Named {
            container: attrs.string("container")?.into_owned(),
            shared_name,
            node: attrs.node_name().to_owned(),
            by_reference: attrs.outputs().first().is_some_and(|output| output.is_ref),
            own: Mutex::new(None),
            resource: PhantomData,
        })
    }

    fn name(&self, step: &StepContext) -> Result<String> {
        if !self.shared_name.is_empty() {
            return Ok(self.shared_name.clone());
        }
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, _)) = &*own {
            return Ok(name.clone());
        }
        let create = || Ok(Counter::default());
        let counter = step.resources.lookup_or_create(COUNTERS, "private", create)?;
        let name = format!("_{}_{}", counter.0.fetch_add(1, Ordering::Relaxed), self.node);
        *own = Some((name.clone(), Arc::clone(&step.resources)));
        Ok(name)
    }

    /// Finds or makes the resource.
    pub(crate) fn find(
        &self,
        step: &StepContext,
        create: impl FnOnce(&str) -> Result<R>,
    ) -> Result<(Arc<R>, ResourceHandle)> {
        let (name, container) = (self.name(step)?, &self.container);
        let resources = &step.resources;
        let found = match self.shared_name.is_empty() {
            true => resources.lookup_or_create_private(container, &name, || create(&name))?,
            false => resources.lookup_or_create(container, &name, || create(&name))?,
        };
        let handle = step.resources.handle::<R>(&step.device, &self.container, &name, Vec::new());
        Ok((found, handle))
    }

    /// Finds or makes the resource and outputs its handle.
    pub(crate) fn output(
        &self,
        ctx: &mut KernelContext<'_>,
        create: impl FnOnce(&str) -> Result<R>,
    ) -> Result<Arc<R>> {
        let (found, handle) = self.find(ctx.step(), create)?;
        if self.by_reference {
            ctx.set_output_ref(0, reference(&self.node, handle)?);
        } else {
            ctx.set_output(0, Tensor::resource(handle));
        }
        Ok(found)
    }
}

impl<R: Resource> Drop for Named<R> {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, resources)) = own.take() {
            // It is gone already when the container was reset.
            let _ = resources.delete::<R>(&self.container, &name);
        }
    }
}

/// A handle as a reference to two strings.
pub(crate) fn reference(node: &str, handle: ResourceHandle) -> Result<Arc<Variable>> {
    let pair = Variable::new(node.to_owned(), DType::String);
    let words = vec![handle.container.into(), handle.name.into()];
    pair.assign(Tensor::from_strings(Shape::vector(2), words)?)?;
    Ok(Arc::new(pair))
}

/// The resource that a handle of either kind names.
pub(crate) fn resource_of<R: Resource>(step: &StepContext, handle: &Value) -> Result<Arc<R>> {
    match handle {
        Value::Tensor(handle) => step.resource(handle),
        Value::Empty => Err(internal!("a resource handle is missing")),
        Value::Ref(variable) => {
            let handle = variable.read()?;
            let [container, name] = handle.strings()? else {
                return Err(invalid_argument!(
                    "Resource handle must have 2 elements, but had shape: {}",
                    handle.shape()
                ));
            };
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            step.resources.lookup(&text(container), &text(name))
        }
    }
}

/// TensorFlow's complaint about an op whose types are not those of its resource.
pub(crate) fn check_signature(
    attrs_have: (&[String], &[DType]),
    expected: (&[String], &[DType]),
) -> Result<()> {
    if attrs_have == expected {
        return Ok(());
    }
    Err(invalid_argument!(
        "Signature mismatch, have: {}->{} expected: {}->{}",
        attrs_have.0.join(", "),
        type_list(attrs_have.1),
        expected.0.join(", "),
        type_list(expected.1)
    ))
}

/// Types as messages list them.
pub(crate) fn type_list(types: &[DType]) -> String {
    types.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

/// Shapes as messages list them.
pub(crate) fn shape_list<S: ToString>(shapes: &[S]) -> String {
    let words: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(", "))
}

/// The words for the types of inputs: the handle, then the given ones.
pub(crate) fn input_words(by_reference: bool, rest: &[DType]) -> Vec<String> {
    let handle = if by_reference { "string_ref" } else { "resource" };
    std::iter::once(handle.to_owned())
        .chain(rest.iter().map(|dtype| dtype.name().to_owned()))
        .collect()
}

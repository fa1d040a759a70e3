//! What a dataset is: a value that says how to make elements, from which iterators are made.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, cpu};
use tensorfleet_graph::AttrMap;
use tensorfleet_tensor::{
    DType, Element as Number, PartialShape, Result, Shape, Tensor, Variant, VariantValue,
    failed_precondition, invalid_argument,
};

use super::index::Indexed;
use super::origin::{Made, Origin};
use super::scope::Scope;
use super::task::Pace;

/// One element of a dataset: a tensor for each component.
pub(crate) type Element = Vec<Tensor>;

/// The future of a call that borrows its iterator.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A description of a sequence of elements. It is immutable: every iteration starts anew.
pub(crate) trait Dataset: fmt::Debug + Send + Sync {
    /// TensorFlow's name of the kind, as `Map`; messages are written with it.
    fn kind(&self) -> &str;

    /// The types and shapes of the components.
    fn signature(&self) -> &Signature;

    /// The datasets of which this one is made.
    fn inputs(&self) -> Vec<&DatasetRef> {
        Vec::new()
    }

    /// How the user wants the dataset to be run, as a serialized message of TensorFlow's `Options`.
    /// Those of the inputs hold too; messages put side by side mean both.
    fn options(&self) -> Vec<u8> {
        self.inputs().into_iter().flat_map(|input| input.options()).collect()
    }

    /// How many elements there are, if that is known without making them.
    fn cardinality(&self) -> Cardinality {
        Cardinality::Unknown
    }

    /// How many rows the tensors of an element have by way of batching, if that can be told. As in
    /// TensorFlow, what calls functions or cuts batches anew does not tell.
    fn batch_size(&self) -> Option<u64> {
        match self.kind() {
            "AssertCardinality" | "FileCacheImpl" | "Filter" | "FiniteRepeat" | "FiniteSkip"
            | "FiniteTake" | "ForeverRepeat" | "MemoryCacheImpl" | "Prefetch" | "Shard"
            | "Shuffle" | "ShuffleAndRepeat" | "Concatenate" | "Zip" => {
                let mut sizes = self.inputs().into_iter().map(|input| input.batch_size());
                let first = sizes.next()??;
                sizes.all(|size| size == Some(first)).then_some(first)
            }
            _ => None,
        }
    }

    /// What messages call the dataset.
    fn title(&self) -> String {
        let (word, version) = split_version(self.kind());
        format!("{word}Dataset{version}Op::Dataset")
    }

    /// The node that made the dataset, if one did.
    fn origin(&self) -> Option<&Origin> {
        None
    }

    /// The way to elements by their numbers, if there is one.
    fn indexed(&self) -> Option<&dyn Indexed> {
        None
    }

    /// Whether all elements may be shuffled by their numbers; if not, why. `op` made the dataset.
    fn check_shuffling(&self, op: &str) -> Result<()> {
        Err(failed_precondition!("{op} does not support random access."))
    }

    /// Finds out whether elements depend on more than a graph can say. Those of the inputs count too.
    fn check_external_state(&self) -> Result<()> {
        self.inputs().into_iter().try_for_each(|input| input.check_external_state())
    }

    /// Starts an iteration. `scope` is already that of this dataset.
    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>>;
}

/// Splits the version off a kind, which in names of ops follows the word `Dataset`: the op of
/// `ParallelMapV2` is `ParallelMapDatasetV2`.
pub(super) fn split_version(kind: &str) -> (&str, &str) {
    let version = kind.rfind('V').filter(|at| {
        kind[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) && at + 1 < kind.len()
    });
    kind.split_at(version.unwrap_or(kind.len()))
}

/// A dataset, shared.
pub(crate) type DatasetRef = Arc<dyn Dataset>;

/// A running iteration. Dropping it ends it, and all work that it does ahead.
pub(crate) trait Elements: Send {
    /// The next element; `None` at the end, and ever after.
    fn next(&mut self) -> Pending<'_, Option<Element>>;

    /// The next element if it takes no time and no waiting to have it.
    fn try_next(&mut self) -> Option<Result<Option<Element>>> {
        None
    }

    /// Passes over up to `count` elements, and returns how many there were.
    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            let pace = Pace::default();
            for passed in 0..count {
                pace.turn().await;
                if self.next().await?.is_none() {
                    return Ok(passed);
                }
            }
            Ok(count)
        })
    }
}

/// The types and shapes of the components of elements.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) types: Vec<DType>,
    pub(crate) shapes: Vec<PartialShape>,
}

impl Signature {
    /// What a node's attributes say of its dataset.
    pub(crate) fn new(attrs: &Attrs<'_>) -> Result<Signature> {
        let types = match attrs.get("output_types") {
            Some(_) => attrs.dtypes("output_types")?,
            None => attrs.dtypes("Toutput_types")?,
        };
        let shapes = attrs.shapes("output_shapes")?.to_vec();
        Ok(Signature { types: types.to_vec(), shapes })
    }

    /// Checks that elements of the signature `have` can stand for elements of this one.
    pub(crate) fn check(&self, have: &Signature) -> Result<()> {
        if self.types.len() != have.types.len() {
            return Err(invalid_argument!(
                "Number of components does not match: expected {} types but got {}.",
                self.types.len(),
                have.types.len()
            ));
        }
        for (i, (want, have)) in self.types.iter().zip(&have.types).enumerate() {
            if want != have {
                return Err(invalid_argument!(
                    "Data type mismatch at component {i}: expected {want} but got {have}."
                ));
            }
        }
        if self.shapes.len() != have.shapes.len() {
            return Err(invalid_argument!(
                "Number of components does not match: expected {} shapes but got {}.",
                self.shapes.len(),
                have.shapes.len()
            ));
        }
        for (i, (want, have)) in self.shapes.iter().zip(&have.shapes).enumerate() {
            if !compatible(want, have) {
                return Err(invalid_argument!(
                    "Incompatible shapes at component {i}: expected {want} but got {have}."
                ));
            }
        }
        Ok(())
    }
}

impl Signature {
    /// Checks that an element that came from elsewhere is as promised.
    pub(crate) fn check_element(&self, element: &[Tensor]) -> Result<()> {
        self.check(&Signature {
            types: element.iter().map(Tensor::dtype).collect(),
            shapes: element.iter().map(|tensor| tensor.shape().into()).collect(),
        })
    }
}

/// Whether some shape fits both.
pub(crate) fn compatible(a: &PartialShape, b: &PartialShape) -> bool {
    match (&a.dims, &b.dims) {
        (Some(a), Some(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_none() || b.is_none() || a == b)
        }
        _ => true,
    }
}

/// How many elements a dataset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cardinality {
    Known(u64),
    Infinite,
    Unknown,
}

impl Cardinality {
    /// The number by which TensorFlow writes it.
    pub(crate) fn number(self) -> i64 {
        match self {
            Cardinality::Known(count) => i64::try_from(count).unwrap_or(i64::MAX),
            Cardinality::Infinite => -1,
            Cardinality::Unknown => -2,
        }
    }

    /// Changes a known number.
    pub(crate) fn map(self, change: impl FnOnce(u64) -> u64) -> Cardinality {
        match self {
            Cardinality::Known(count) => Cardinality::Known(change(count)),
            other => other,
        }
    }
}

/// A dataset as an element of a variant tensor.
#[derive(Debug)]
struct DatasetVariant(DatasetRef);

impl VariantValue for DatasetVariant {
    fn type_name(&self) -> &str {
        "tensorflow::DatasetVariantWrapper"
    }
}

/// Puts a dataset into a scalar tensor.
pub(crate) fn into_tensor(dataset: DatasetRef) -> Tensor {
    Tensor::variant(Arc::new(DatasetVariant(dataset)))
}

/// The dataset in a scalar tensor.
pub(crate) fn from_tensor(tensor: &Tensor) -> Result<DatasetRef> {
    if tensor.dtype() != DType::Variant || !tensor.shape().is_scalar() {
        return Err(invalid_argument!("Dataset tensor must be a scalar of dtype DT_VARIANT."));
    }
    from_variant(&tensor.variants()?[0])
}

fn from_variant(variant: &Variant) -> Result<DatasetRef> {
    dataset_in(variant).ok_or_else(|| invalid_argument!("Tensor must be a Dataset object."))
}

/// The dataset that a variant is, if it is one.
pub(super) fn dataset_in(variant: &Variant) -> Option<DatasetRef> {
    let any: &dyn Any = &**variant;
    any.downcast_ref::<DatasetVariant>().map(|dataset| Arc::clone(&dataset.0))
}

/// How a node makes a dataset of its attributes and inputs.
pub(super) trait MakeDataset: fmt::Debug + Send + Sync + Sized + 'static {
    /// Reads and checks the attributes.
    fn new(attrs: &Attrs<'_>) -> Result<Self>;

    /// What the attributes say of the elements.
    fn signature(attrs: &Attrs<'_>) -> Result<Signature> {
        Signature::new(attrs)
    }

    /// Reads and checks the inputs.
    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef>;
}

/// The kernel of a node that makes a dataset.
pub(super) const fn dataset<M: MakeDataset>() -> KernelDef {
    cpu::<DatasetKernel<M, false>>()
}

/// The kernel of a node that reads files when it makes a dataset.
pub(super) const fn file_dataset<M: MakeDataset>() -> KernelDef {
    cpu::<DatasetKernel<M, true>>()
}

#[derive(Debug)]
struct DatasetKernel<M, const READS_FILES: bool> {
    maker: M,
    signature: Signature,
    op: Arc<str>,
    attrs: Arc<AttrMap>,
}

impl<M: MakeDataset, const READS_FILES: bool> Kernel for DatasetKernel<M, READS_FILES> {
    fn new(attrs: &Attrs<'_>) -> Result<Self> {
        Ok(DatasetKernel {
            maker: M::new(attrs)?,
            signature: M::signature(attrs)?,
            op: attrs.op().into(),
            attrs: Arc::new(attrs.map().clone()),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dataset = self.maker.make(&Inputs(ctx), self.signature.clone())?;
        let origin = Origin {
            op: Arc::clone(&self.op),
            attrs: Arc::clone(&self.attrs),
            inputs: Inputs(ctx).rest(0)?,
            library: ctx.step().functions.library(),
        };
        ctx.set_output(0, into_tensor(Arc::new(Made { dataset, origin })));
        Ok(())
    }

    fn blocks(&self) -> bool {
        READS_FILES
    }

    /// Datasets only point at their inputs.
    fn cost(&self, _: &[tensorfleet_framework::Value]) -> u64 {
        0
    }
}

/// The inputs of a node that makes a dataset.
pub(super) struct Inputs<'a, 'b>(&'a KernelContext<'b>);

impl<'a> Inputs<'a, '_> {
    /// The number of inputs.
    pub(super) fn len(&self) -> usize {
        self.0.num_inputs()
    }

    /// What the kernel sees.
    pub(super) fn context(&self) -> &'a KernelContext<'_> {
        self.0
    }

    /// An input as it is.
    pub(super) fn tensor(&self, index: usize) -> Result<&'a Tensor> {
        self.0.input(index)
    }

    /// An input that is a dataset.
    pub(super) fn dataset(&self, index: usize) -> Result<DatasetRef> {
        from_tensor(self.0.input(index)?)
    }

    /// All inputs from `start` on: what a function captured.
    pub(super) fn rest(&self, start: usize) -> Result<Vec<Tensor>> {
        self.range(start..self.len())
    }

    /// Some of the inputs.
    pub(super) fn range(&self, range: std::ops::Range<usize>) -> Result<Vec<Tensor>> {
        range.map(|index| self.0.input(index).cloned()).collect()
    }

    /// An input that is one number.
    pub(super) fn scalar<T: Number>(&self, index: usize, name: &str) -> Result<T> {
        let tensor = self.0.input(index)?;
        if !tensor.shape().is_scalar() {
            return Err(invalid_argument!("{name} must be a scalar"));
        }
        tensor.scalar_value()
    }

    /// An input that is one string.
    pub(super) fn string(&self, index: usize, name: &str) -> Result<&'a [u8]> {
        let tensor = self.0.input(index)?;
        if !tensor.shape().is_scalar() {
            return Err(invalid_argument!("{name} must be a scalar"));
        }
        Ok(&tensor.strings()?[0])
    }
}

/// The elements of the first dimension of a tensor, one by one.
pub(super) fn slice(tensor: &Tensor, index: usize) -> Result<Tensor> {
    let inner = Shape::new(&tensor.dims()[1..])?;
    tensor.rows(index..index + 1)?.into_shape(inner)
}

//! `CacheDataset`: elements kept after they were made once, in memory or in a file.
//!
//! The first iteration that comes to its end fills the cache; later ones read it. A file is
//! TensorFlow's: a bundle of tensors named by the numbers of element and component.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use tensorfleet_checkpoint::{Claim, bundle};
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Resource, cpu};
use tensorfleet_tensor::{Code, Result, Tensor, already_exists, failed_precondition};

use super::aside::{Aside, FileElements, Source};
use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::index::{Access, Indexed, Kept};
use super::iterator::deleter;
use super::memory::Stored;
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AnonymousMemoryCache",
        outputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[cpu::<Anonymous>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CacheDataset",
        inputs: &["input_dataset: variant", "filename: string"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        kernels: &[dataset::<Cache>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CacheDatasetV2",
        inputs: &["input_dataset: variant", "filename: string", "cache: resource"],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "metadata: string = ''",
        ],
        stateful: true,
        kernels: &[dataset::<Cache>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DeleteMemoryCache",
        inputs: &["handle: resource", "deleter: variant"],
        stateful: true,
        kernels: &[cpu::<Delete>()],
        ..Op::DEFAULT
    },
];

/// Elements that an iteration has made completely.
#[derive(Default)]
pub(super) struct MemoryCache(Mutex<Option<Arc<Vec<Element>>>>);

impl fmt::Debug for MemoryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.lock() {
            Some(elements) => write!(f, "MemoryCache of {} elements", elements.len()),
            None => f.write_str("MemoryCache, empty"),
        }
    }
}

impl Resource for MemoryCache {
    const TYPE_NAME: &'static str = "tensorflow::data::MemoryCacheManager";
}

impl MemoryCache {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<Vec<Element>>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[derive(Debug)]
struct Cache;

impl MakeDataset for Cache {
    fn new(_: &Attrs<'_>) -> Result<Cache> {
        Ok(Cache)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let filename = String::from_utf8_lossy(inputs.string(1, "filename")?).into_owned();
        let place = if !filename.is_empty() {
            inputs.context().step().check_files("CacheDatasetV2")?;
            Place::File(filename)
        } else {
            // A handle that leads nowhere means a cache of the dataset's own.
            let shared = match inputs.len() {
                3 => inputs.context().resource::<MemoryCache>(2).ok(),
                _ => None,
            };
            Place::Memory(shared.unwrap_or_default())
        };
        Ok(Arc::new(CacheDataset { input, place, signature }))
    }
}

#[derive(Debug)]
enum Place {
    Memory(Arc<MemoryCache>),
    File(String),
}

#[derive(Debug)]
struct CacheDataset {
    input: DatasetRef,
    place: Place,
    signature: Signature,
}

impl Dataset for CacheDataset {
    fn kind(&self) -> &str {
        match self.place {
            Place::Memory(_) => "MemoryCacheImpl",
            Place::File(_) => "FileCacheImpl",
        }
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn title(&self) -> String {
        match self.place {
            Place::Memory(_) => "CacheDatasetV2Op::MemoryDatasetV2".to_owned(),
            Place::File(_) => "CacheDatasetOp::FileDataset".to_owned(),
        }
    }

    fn indexed(&self) -> Option<&dyn Indexed> {
        matches!(self.place, Place::Memory(_)).then_some(self)
    }

    fn check_shuffling(&self, op: &str) -> Result<()> {
        match self.place {
            Place::Memory(_) => self.input.check_shuffling(self.input.kind()),
            Place::File(_) => Err(failed_precondition!("{op} does not support random access.")),
        }
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        match &self.place {
            Place::Memory(cache) => {
                let kept = cache.lock().clone();
                Ok(match kept {
                    Some(elements) => Box::new(Stored::new(elements)),
                    None => Box::new(Keeping {
                        input: scope.iterate(&*self.input)?,
                        cache: Arc::clone(cache),
                        elements: Vec::new(),
                        has_ended: false,
                    }),
                })
            }
            Place::File(name) => Ok(Box::new(InFile {
                name: name.clone(),
                input: Arc::clone(&self.input),
                components: self.signature.types.len(),
                scope: scope.clone(),
                elements: None,
            })),
        }
    }
}

impl Indexed for CacheDataset {
    fn access(&self, scope: &Scope) -> Result<Box<dyn Access>> {
        // What has the same order by number is asked for numbers; other inputs are run through.
        if self.input.check_shuffling(self.input.kind()).is_ok() {
            return scope.access(&*self.input);
        }
        Ok(Box::new(Kept { elements: self.iterate(scope)?, kept: Vec::new() }))
    }
}

/// Makes elements and keeps them for others.
struct Keeping {
    input: Box<dyn Elements>,
    cache: Arc<MemoryCache>,
    elements: Vec<Element>,
    has_ended: bool,
}

impl Elements for Keeping {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if self.has_ended {
                return Ok(None);
            }
            let element = self.input.next().await?;
            match &element {
                Some(element) => self.elements.push(element.clone()),
                None => {
                    let elements = Arc::new(std::mem::take(&mut self.elements));
                    // Two iterations may have been under way: the first to end has filled the cache.
                    self.cache.lock().get_or_insert(elements);
                    self.has_ended = true;
                }
            }
            Ok(element)
        })
    }
}

/// The name of a component of an element in a file.
fn key(element: u64, component: usize, components: usize) -> String {
    let width = components.to_string().len();
    format!("{element:>7}_{component:>width$}")
}

/// Reads a file if there is one, and writes it otherwise.
struct InFile {
    name: String,
    input: DatasetRef,
    components: usize,
    scope: Scope,
    /// Absent until somebody asks.
    elements: Option<Box<dyn Elements>>,
}

impl InFile {
    async fn begin(&mut self) -> Result<Box<dyn Elements>> {
        let (name, components) = (self.name.clone(), self.components);
        let files = self.scope.files();
        let open = move || match files.open(&format!("{name}.index")) {
            Ok(_) => bundle::Reader::open(files, &name).map(Some),
            Err(error) if error.code() == Code::PermissionDenied => Err(error),
            Err(_) => Ok(None),
        };
        if let Some(reader) = self.scope.with_files(open).await? {
            let reading = Reading { reader, components, next: 0 };
            return Ok(Box::new(FileElements::new(&self.scope, reading)));
        }
        Ok(Box::new(Writing {
            input: self.scope.iterate(&*self.input)?,
            file: Aside::new(&self.scope, File::New(self.scope.files(), self.name.clone())),
            written: 0,
            components,
        }))
    }
}

impl Elements for InFile {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let elements = match self.elements.take() {
                Some(elements) => elements,
                None => self.begin().await?,
            };
            self.elements.insert(elements).next().await
        })
    }
}

struct Writing {
    input: Box<dyn Elements>,
    file: Aside<File, Option<Element>>,
    written: u64,
    components: usize,
}

enum File {
    /// Nobody has asked for an element yet.
    New(Arc<dyn FileSystem>, String),
    Open {
        writer: bundle::Writer,
        _claim: Option<Claim>,
    },
    Complete,
}

impl File {
    /// Starts a file, which one iteration at a time may write.
    fn open(files: &Arc<dyn FileSystem>, name: &str) -> Result<File> {
        let lock = format!("{name}_0.lockfile");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let writer = bundle::Writer::new(Arc::clone(files), name)?;
        let claim = files.claim(&lock, &format!("Created at: {now}"));
        let claim = claim.map_err(|error| match error.code() {
            Code::AlreadyExists => already_exists!(
                "There appears to be a concurrent caching iterator running - cache lockfile already \
                 exists ('{lock}'). If you are sure no other running TF computations are using this \
                 cache prefix, delete the lockfile and re-initialize the iterator. Lockfile \
                 contents: {}",
                error.message()
            ),
            _ => error,
        })?;
        Ok(File::Open { writer, _claim: claim })
    }
}

impl File {
    /// Writes an element, or that there are no more, and passes it on.
    fn write(
        &mut self,
        number: u64,
        components: usize,
        element: Option<Element>,
    ) -> Result<Option<Element>> {
        if let File::New(files, name) = self {
            *self = File::open(files, name)?;
        }
        match (&mut *self, &element) {
            (File::Open { writer, .. }, Some(element)) => {
                for (component, tensor) in element.iter().enumerate() {
                    writer.add(key(number, component, components), tensor)?;
                }
            }
            (File::Open { .. }, None) => {
                let complete = std::mem::replace(self, File::Complete);
                if let File::Open { writer, _claim } = complete {
                    writer.finish()?;
                }
            }
            _ => return Ok(None),
        }
        Ok(element)
    }
}

impl Elements for Writing {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let mut element = None;
            if !self.file.is_away() {
                element = self.input.next().await?;
                self.written += 1;
            }
            let (number, components) = (self.written.saturating_sub(1), self.components);
            self.file.run(move |file| file.write(number, components, element)).await
        })
    }
}

struct Reading {
    reader: bundle::Reader,
    components: usize,
    next: u64,
}

impl Source for Reading {
    fn read(&mut self) -> Result<Option<Element>> {
        if !self.reader.contains(key(self.next, 0, self.components)) {
            return Ok(None);
        }
        let element = (0..self.components)
            .map(|component| self.reader.read(key(self.next, component, self.components)))
            .collect::<Result<_>>()?;
        self.next += 1;
        Ok(Some(element))
    }
}

/// A cache that lives as long as its handle.
#[derive(Debug)]
struct Anonymous;

impl Kernel for Anonymous {
    fn new(_: &Attrs<'_>) -> Result<Anonymous> {
        Ok(Anonymous)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let cache = Arc::new(MemoryCache::default());
        let step = ctx.step();
        let handle = step.resources.anonymous_handle(&step.device, "AnonymousMemoryCache", cache);
        ctx.set_output(0, Tensor::resource(handle));
        ctx.set_output(1, deleter());
        Ok(())
    }
}

/// The cache goes with its handle.
#[derive(Debug)]
struct Delete;

impl Kernel for Delete {
    fn new(_: &Attrs<'_>) -> Result<Delete> {
        Ok(Delete)
    }

    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }
}

//! `SnapshotDataset`: the first of its kind, which decides with the first element whether to write
//! files, to read those of an earlier run, or to leave all to a run that is under way.

use std::sync::Arc;

use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_kernels::random::{Philox, entropy, shuffle};
use tensorfleet_tensor::{Result, Tensor, internal, invalid_argument, not_found};

use super::super::aside::{Aside, FileElements, Source};
use super::super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::super::origin::DatasetGraph;
use super::super::scope::Scope;
use super::super::to_graph::fingerprint;
use super::elements::{ElementFile, ElementReader};
use super::shards::{read_metadata, write_metadata};
use super::wire::{FIRST_VERSION, Metadata, now_micros};
use crate::record::Compression;
use crate::string::farm_hash::fingerprint64;

pub(in super::super) const OPS: &[Op] = &[Op {
    name: "SnapshotDataset",
    inputs: &["input_dataset: variant", "path: string"],
    outputs: &["handle: variant"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "compression: string = ''",
        "reader_path_prefix: string = ''",
        "writer_path_prefix: string = ''",
        "shard_size_bytes: int = 10737418240",
        "pending_snapshot_expiry_seconds: int = 86400",
        "num_reader_threads: int = 1",
        "reader_buffer_size: int = 1",
        "num_writer_threads: int = 1",
        "writer_buffer_size: int = 1",
        "shuffle_on_read: bool = false",
        "seed: int = 0",
        "seed2: int = 0",
        "mode: string = 'auto'",
        "snapshot_name: string = ''",
    ],
    differs: "Files that are read in a random order come in another one than TensorFlow's.",
    kernels: &[dataset::<Settings>()],
    ..Op::DEFAULT
}];

/// What the attributes say.
#[derive(Clone, Debug)]
struct Settings {
    compression: Compression,
    reader_prefix: String,
    writer_prefix: String,
    /// How large a file may become.
    shard_bytes: u64,
    /// How long a run that does not end is waited for, in microseconds.
    patience: i64,
    /// How many files are written at a time.
    writers: usize,
    /// The seed of the order of files, if it is random.
    shuffle: Option<[u64; 2]>,
    mode: Mode,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Auto,
    Read,
    Write,
    PassThrough,
}

/// More files than this at a time help nobody.
const MOST_WRITERS: i64 = 1024;

impl MakeDataset for Settings {
    fn new(attrs: &Attrs<'_>) -> Result<Settings> {
        let text = |name| Ok(attrs.string(name)?.into_owned());
        let or = |name: &str, default: i64| {
            Ok(match attrs.int(name)? {
                -1 => default,
                value => value,
            })
        };
        let compression = match &attrs.bytes("compression")?[..] {
            b"" => Compression::None,
            b"GZIP" => Compression::Gzip,
            b"SNAPPY" => Compression::Snappy,
            _ => {
                return Err(invalid_argument!(
                    "compression must be either '', 'GZIP' or 'SNAPPY'."
                ));
            }
        };
        let seconds = or("pending_snapshot_expiry_seconds", 86400)?;
        if seconds < 1 {
            return Err(invalid_argument!(
                "pending_snapshot_expiry_seconds must be at least 1 second."
            ));
        }
        let mode = match &*attrs.string("mode")? {
            "auto" => Mode::Auto,
            "read" => Mode::Read,
            "write" => Mode::Write,
            "passthrough" => Mode::PassThrough,
            _ => {
                return Err(invalid_argument!(
                    "mode must be either 'auto', 'read', 'write', or 'passthrough'."
                ));
            }
        };
        let seeds = [attrs.int("seed")? as u64, attrs.int("seed2")? as u64];
        Ok(Settings {
            compression,
            reader_prefix: text("reader_path_prefix")?,
            writer_prefix: text("writer_path_prefix")?,
            shard_bytes: u64::try_from(or("shard_size_bytes", 10 << 30)?).unwrap_or(u64::MAX),
            patience: seconds.saturating_mul(1_000_000),
            writers: or("num_writer_threads", 1)?.clamp(1, MOST_WRITERS) as usize,
            shuffle: attrs.bool("shuffle_on_read")?.then_some(seeds),
            mode,
            name: text("snapshot_name")?,
        })
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let input = inputs.dataset(0)?;
        let path = inputs.string(1, "path")?;
        let graph = fingerprint(&DatasetGraph::new(&input)?);
        let hash = format!("{:016x}", graph.rotate_left(1) ^ fingerprint64(path));
        let path = String::from_utf8_lossy(path);
        let directory = match &*self.name {
            "" => format!("{path}/{hash}"),
            name => format!("{path}/custom-{name}"),
        };
        let files = inputs.context().step().files();
        let place = Place { files, settings: self.clone(), directory, hash, signature };
        Ok(Arc::new(SnapshotDataset { input, place: Arc::new(place) }))
    }
}

#[derive(Debug)]
struct SnapshotDataset {
    input: DatasetRef,
    place: Arc<Place>,
}

impl Dataset for SnapshotDataset {
    fn kind(&self) -> &str {
        "Snapshot"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.place.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let start = Start {
            input: Arc::clone(&self.input),
            place: Arc::clone(&self.place),
            scope: scope.clone(),
        };
        Ok(Box::new(Decided::Not(start)))
    }
}

/// Where a snapshot is, and how it is written and read.
#[derive(Debug)]
struct Place {
    files: Arc<dyn FileSystem>,
    settings: Settings,
    directory: String,
    hash: String,
    signature: Signature,
}

impl Place {
    /// What to do, given what is there; for reading, what that is.
    fn decide(&self) -> Result<(Mode, Option<Metadata>)> {
        let found = read_metadata(&*self.files, &self.directory, FIRST_VERSION)?;
        let mode = match (self.settings.mode, &found) {
            (Mode::Read, None) => return Err(not_found!("Metadata file does not exist.")),
            (Mode::Auto, None) => Mode::Write,
            (Mode::Auto, Some(metadata)) if metadata.finalized => Mode::Read,
            (Mode::Auto, Some(metadata)) => {
                let oldest = now_micros().saturating_sub(self.settings.patience);
                if metadata.creation_timestamp >= oldest { Mode::PassThrough } else { Mode::Write }
            }
            (mode, _) => mode,
        };
        Ok((mode, found))
    }

    /// The name of a run; all runs of a snapshot that has a name share one.
    fn run_id(&self) -> Option<String> {
        (!self.settings.name.is_empty()).then(|| "custom".to_owned())
    }

    fn read(self: &Arc<Place>, metadata: &Metadata) -> Result<Reading> {
        let run_id = self.run_id().unwrap_or_else(|| metadata.run_id.clone());
        if run_id.is_empty() {
            return Err(not_found!("Could not find a valid snapshot to read."));
        }
        let types: Vec<i32> = self.signature.types.iter().map(|&dtype| dtype as i32).collect();
        if metadata.dtype.len() != types.len() {
            return Err(internal!(
                "Expected number of dtypes: {} but number in snapshot: {}",
                types.len(),
                metadata.dtype.len()
            ));
        }
        let mut pairs = metadata.dtype.iter().zip(&types).enumerate();
        if let Some((index, (stored, wanted))) =
            pairs.find(|(_, (stored, wanted))| stored != wanted)
        {
            return Err(internal!(
                "Type: {index} doesn't match. Snapshot: {stored}; dataset: {wanted}"
            ));
        }
        let run = format!("{}/{run_id}", self.directory);
        let mut paths = self.files.glob(&format!("{run}/*"))?;
        if paths.is_empty() {
            return Err(not_found!("Could not find any files in dir: {run}"));
        }
        paths.sort();
        if let Some(seeds) = self.settings.shuffle {
            let [seed, seed2] = if seeds == [0, 0] { [entropy(), entropy()] } else { seeds };
            shuffle(Philox::new(seed, seed2), &mut paths);
        }
        Ok(Reading { place: Arc::clone(self), paths: paths.into_iter(), open: None })
    }

    fn write(self: &Arc<Place>) -> Result<Writer> {
        let run_id = self.run_id().unwrap_or_else(|| format!("{:04x}", entropy()));
        let run = join(&self.settings.writer_prefix, &format!("{}/{run_id}", self.directory));
        self.files.create_dirs(&run)?;
        // A prefix may take the files elsewhere.
        self.files.create_dirs(&self.directory)?;
        let types = &self.signature.types;
        let metadata = Metadata::new(FIRST_VERSION, self.hash.clone(), run_id, types);
        write_metadata(&*self.files, &self.directory, &metadata)?;
        let mut names = Names { files: Arc::clone(&self.files), run, next: 0 };
        let shards = (0..self.settings.writers)
            .map(|_| names.create(self.settings.compression))
            .collect::<Result<_>>()?;
        let place = Arc::clone(self);
        Ok(Writer { place, names, metadata, shards, next_shard: 0, ratio: None })
    }
}

fn join(prefix: &str, path: &str) -> String {
    match prefix {
        "" => path.to_owned(),
        prefix => format!("{}/{}", prefix.trim_end_matches('/'), path.trim_start_matches('/')),
    }
}

/// An iterator before and after it looked at what is there.
enum Decided {
    Not(Start),
    PassThrough(Box<dyn Elements>),
    Reading(FileElements<Reading>),
    Writing(Writing),
}

struct Start {
    input: DatasetRef,
    place: Arc<Place>,
    scope: Scope,
}

impl Start {
    async fn decide(&self) -> Result<Decided> {
        let place = Arc::clone(&self.place);
        let (mode, found) = self.scope.with_files(move || place.decide()).await?;
        let place = Arc::clone(&self.place);
        let input = || self.scope.iterate(&*self.input);
        Ok(match (mode, found) {
            (Mode::Read, Some(metadata)) => {
                let reading = self.scope.with_files(move || place.read(&metadata)).await?;
                Decided::Reading(FileElements::new(&self.scope, reading))
            }
            (Mode::Write, _) => {
                let mut input = input()?;
                let writer = self.scope.with_files(move || place.write()).await?;
                let mut writer = Aside::new(&self.scope, writer);
                let first = input.next().await?;
                let ahead = writer.run(move |writer: &mut Writer| writer.take(first)).await?;
                Decided::Writing(Writing { input, writer, ahead })
            }
            _ => Decided::PassThrough(input()?),
        })
    }
}

impl Elements for Decided {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if let Decided::Not(start) = self {
                *self = start.decide().await?;
            }
            match self {
                Decided::Not(_) => Err(internal!("a snapshot is neither written nor read")),
                Decided::PassThrough(input) => input.next().await,
                Decided::Reading(reading) => reading.next().await,
                Decided::Writing(writing) => writing.next().await,
            }
        })
    }
}

struct Reading {
    place: Arc<Place>,
    paths: std::vec::IntoIter<String>,
    open: Option<ElementReader>,
}

impl Source for Reading {
    fn read(&mut self) -> Result<Option<Element>> {
        loop {
            let Settings { reader_prefix, compression, .. } = &self.place.settings;
            let reader = match &mut self.open {
                Some(reader) => reader,
                None => {
                    let Some(path) = self.paths.next() else { return Ok(None) };
                    let reader = ElementReader::open(
                        &*self.place.files,
                        &join(reader_prefix, &path),
                        *compression,
                    )?;
                    self.open.insert(reader)
                }
            };
            match reader.read(&self.place.signature)? {
                Some(element) => return Ok(Some(element)),
                None => self.open = None,
            }
        }
    }
}

/// Gives elements and writes them. It is one ahead, so that the snapshot is complete when the last
/// element has been given, and not when somebody asks for one more.
struct Writing {
    input: Box<dyn Elements>,
    writer: Aside<Writer, Option<Element>>,
    ahead: Option<Element>,
}

impl Writing {
    async fn next(&mut self) -> Result<Option<Element>> {
        if self.ahead.is_none() {
            return Ok(None);
        }
        let element = if self.writer.is_away() { None } else { self.input.next().await? };
        let ahead = self.writer.run(move |writer| writer.take(element)).await?;
        Ok(std::mem::replace(&mut self.ahead, ahead))
    }
}

struct Writer {
    place: Arc<Place>,
    names: Names,
    metadata: Metadata,
    /// The files that are open, which take elements in turn; none at the end.
    shards: Vec<Shard>,
    next_shard: usize,
    /// How many bytes of tensors a byte of a file holds, once that was found out.
    ratio: Option<f64>,
}

/// Names files by their numbers.
struct Names {
    files: Arc<dyn FileSystem>,
    run: String,
    next: u64,
}

impl Names {
    fn create(&mut self, compression: Compression) -> Result<Shard> {
        let path = format!("{}/{:08}.snapshot", self.run, self.next);
        self.next += 1;
        Ok(Shard { file: ElementFile::create(&*self.files, &path, compression)?, bytes: 0 })
    }
}

struct Shard {
    file: ElementFile,
    bytes: u64,
}

impl Writer {
    /// Writes an element, or completes the snapshot at the end.
    fn take(&mut self, element: Option<Element>) -> Result<Option<Element>> {
        match &element {
            Some(element) => self.write(element)?,
            None => self.finish()?,
        }
        Ok(element)
    }

    fn write(&mut self, element: &[Tensor]) -> Result<()> {
        let at = self.next_shard;
        self.next_shard = (at + 1) % self.shards.len().max(1);
        let Some(shard) = self.shards.get_mut(at) else { return Ok(()) };
        shard.bytes += element.iter().map(|tensor| tensor.byte_len() as u64).sum::<u64>();
        let Settings { compression, shard_bytes, .. } = self.place.settings;
        if is_full(shard, shard_bytes, &mut self.ratio)? {
            let full = std::mem::replace(shard, self.names.create(compression)?);
            full.file.finish()?;
        }
        shard.file.write(element)
    }

    fn finish(&mut self) -> Result<()> {
        if self.shards.is_empty() {
            return Ok(());
        }
        for shard in self.shards.drain(..) {
            shard.file.finish()?;
        }
        // Another run may have begun in the meantime, and counts then.
        let current = read_metadata(&*self.place.files, &self.place.directory, FIRST_VERSION)?;
        if current.is_some_and(|current| current.run_id == self.metadata.run_id) {
            self.metadata.finalized = true;
            write_metadata(&*self.place.files, &self.place.directory, &self.metadata)?;
        }
        Ok(())
    }
}

/// Whether a file has its size. What compression saves is measured once.
fn is_full(shard: &mut Shard, most: u64, ratio: &mut Option<f64>) -> Result<bool> {
    if let Some(ratio) = ratio {
        return Ok(shard.bytes as f64 > *ratio * most as f64);
    }
    if shard.bytes <= most {
        return Ok(false);
    }
    let len = shard.file.len()?;
    *ratio = Some(shard.bytes as f64 / len.max(1) as f64);
    Ok(len >= most)
}

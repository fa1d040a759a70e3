//! `RecordInput`: records of many files, mixed, epoch after epoch.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, not_found, out_of_range};

use crate::record::{Compression, RecordReader, Stream};

pub(super) const OPS: &[Op] = &[Op {
    name: "RecordInput",
    outputs: &["records: string"],
    attrs: &[
        "file_pattern: string",
        "file_random_seed: int = 301",
        "file_shuffle_shift_ratio: float = 0.0",
        "file_buffer_size: int = 10000",
        "file_parallelism: int = 16",
        "batch_size: int = 32",
        "compression_type: string = ''",
    ],
    stateful: true,
    kernels: &[cpu::<RecordInput>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct RecordInput {
    pattern: String,
    compression: Compression,
    /// By how much of all files the order of an epoch is shifted against that of the one before.
    shift: f32,
    buffer: usize,
    batch: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: u64,
    epoch: u64,
    /// The files of the epoch that are not begun, the next one last.
    ahead: Vec<String>,
    current: Option<RecordReader>,
    /// Records of this epoch, of which the next ones are drawn.
    buffer: Vec<Vec<u8>>,
}

impl State {
    /// A number below `bound`, by the generator that is known as splitmix64.
    fn draw(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

impl Kernel for RecordInput {
    fn new(attrs: &Attrs<'_>) -> Result<RecordInput> {
        let parallelism = attrs.int("file_parallelism")?;
        if parallelism < 0 {
            return Err(invalid_argument!("file_parallelism should >= 0, got {parallelism}"));
        }
        let batch = attrs.int("batch_size")?;
        let batch = usize::try_from(batch)
            .map_err(|_| invalid_argument!("batch_size must be non-negative but got {batch}"))?;
        let compression = attrs.bytes("compression_type")?;
        Ok(RecordInput {
            pattern: attrs.string("file_pattern")?.into_owned(),
            compression: Compression::parse(compression).ok_or_else(|| {
                let name = String::from_utf8_lossy(compression);
                invalid_argument!("Unsupported compression_type: {name}")
            })?,
            shift: attrs.float("file_shuffle_shift_ratio")?,
            buffer: usize::try_from(attrs.int("file_buffer_size")?).unwrap_or(0).max(1),
            batch,
            state: Mutex::new(State {
                random: attrs.int("file_random_seed")? as u64,
                epoch: 0,
                ahead: Vec::new(),
                current: None,
                buffer: Vec::new(),
            }),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let files = ctx.step().files();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let records = (0..self.batch).map(|_| self.record(&*files, &mut state).map(Bytes::from));
        let records = records.collect::<Result<Vec<_>>>()?;
        drop(state);
        ctx.set_output(0, Tensor::from_strings(Shape::vector(records.len()), records)?);
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

impl RecordInput {
    /// Draws the next record.
    fn record(&self, files: &dyn FileSystem, state: &mut State) -> Result<Vec<u8>> {
        self.fill(files, state)?;
        if state.buffer.is_empty() {
            // Only when all records of an epoch are gone does the next one begin.
            self.begin_epoch(files, state)?;
            self.fill(files, state)?;
        }
        if state.buffer.is_empty() {
            return Err(out_of_range!("there are no records in files of {}", self.pattern));
        }
        let drawn = state.draw(state.buffer.len());
        Ok(state.buffer.swap_remove(drawn))
    }

    /// Reads until the buffer is full or the epoch has no more records.
    fn fill(&self, files: &dyn FileSystem, state: &mut State) -> Result<()> {
        while state.buffer.len() < self.buffer {
            let record = match &mut state.current {
                Some(reader) => reader.read()?,
                None => None,
            };
            if let Some(record) = record {
                state.buffer.push(record);
                continue;
            }
            let Some(name) = state.ahead.pop() else {
                state.current = None;
                break;
            };
            let stream = Stream::open(files, &name, self.compression, None)?;
            state.current = Some(RecordReader::new(stream));
        }
        Ok(())
    }

    /// Lists the files in a new order.
    fn begin_epoch(&self, files: &dyn FileSystem, state: &mut State) -> Result<()> {
        let mut names = files.glob(&self.pattern)?;
        if names.is_empty() {
            return Err(not_found!("Found no files at {}", self.pattern));
        }
        for last in (1..names.len()).rev() {
            let other = state.draw(last + 1);
            names.swap(last, other);
        }
        let shift = (self.shift * names.len() as f32) as u64;
        let shift = shift.wrapping_mul(state.epoch) % names.len() as u64;
        names.rotate_left(shift as usize);
        state.epoch += 1;
        state.ahead = names;
        Ok(())
    }
}

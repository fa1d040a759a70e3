//! Whole files: `ReadFile`, `WriteFile`, `MatchingFiles`.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, resource_exhausted};

use super::{FILE_COST, text};
use crate::record::files;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MatchingFiles",
        inputs: &["pattern: string"],
        outputs: &["filenames: string"],
        kernels: &[cpu::<MatchingFiles>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ReadFile",
        inputs: &["filename: string"],
        outputs: &["contents: string"],
        kernels: &[cpu::<ReadFile>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WriteFile",
        inputs: &["filename: string", "contents: string"],
        stateful: true,
        kernels: &[cpu::<WriteFile>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ReadFile;

impl Kernel for ReadFile {
    fn new(_: &Attrs<'_>) -> Result<ReadFile> {
        Ok(ReadFile)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let path = text(ctx.input(0)?, "Input filename")?;
        let file = files().open(&path)?;
        let len = usize::try_from(file.len())
            .map_err(|_| resource_exhausted!("{path} does not fit into memory"))?;
        let mut contents = vec![0; len];
        file.read_at(0, &mut contents)?;
        ctx.set_output(0, Tensor::string(contents));
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        FILE_COST
    }
}

/// Writes a file, making the directories on its way.
#[derive(Debug)]
struct WriteFile;

impl Kernel for WriteFile {
    fn new(_: &Attrs<'_>) -> Result<WriteFile> {
        Ok(WriteFile)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let path = text(ctx.input(0)?, "Input filename")?;
        let contents = match ctx.input(1)?.strings()? {
            [contents] => contents.clone(),
            _ => Bytes::new(),
        };
        let files = files();
        for (end, _) in path.match_indices('/').filter(|(end, _)| *end > 0) {
            files.create_dir(&path[..end])?;
        }
        let mut file = files.create(&path)?;
        file.append(&contents)?;
        file.finish()
    }

    fn cost(&self, _: &[Value]) -> u64 {
        FILE_COST
    }
}

#[derive(Debug)]
struct MatchingFiles;

impl Kernel for MatchingFiles {
    fn new(_: &Attrs<'_>) -> Result<MatchingFiles> {
        Ok(MatchingFiles)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let patterns = ctx.input(0)?;
        if patterns.rank() > 1 {
            return Err(invalid_argument!(
                "Input patterns tensor must be scalar or vector, but had shape: {}",
                patterns.shape()
            ));
        }
        let mut found = Vec::new();
        for pattern in patterns.strings()? {
            found.extend(files().glob(&String::from_utf8_lossy(pattern))?);
        }
        found.sort();
        let names: Vec<Bytes> = found.into_iter().map(Bytes::from).collect();
        ctx.set_output(0, Tensor::from_strings(Shape::vector(names.len()), names)?);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        FILE_COST
    }
}

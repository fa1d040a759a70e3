//! Whole files: `ReadFile`, `WriteFile`, `MatchingFiles`, `ImmutableConst`.

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Nature, Op, cpu};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, internal, invalid_argument, resource_exhausted,
    unimplemented_error,
};

use super::text;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ImmutableConst",
        outputs: &["tensor: dtype"],
        attrs: &["dtype: type", "shape: shape", "memory_region_name: string"],
        kernels: &[cpu::<ImmutableConst>()],
        nature: Nature::READS_OUTSIDE,
        ..Op::DEFAULT
    },
    Op {
        name: "MatchingFiles",
        inputs: &["pattern: string"],
        outputs: &["filenames: string"],
        kernels: &[cpu::<MatchingFiles>()],
        nature: Nature::READS_OUTSIDE,
        ..Op::DEFAULT
    },
    Op {
        name: "ReadFile",
        inputs: &["filename: string"],
        outputs: &["contents: string"],
        kernels: &[cpu::<ReadFile>()],
        nature: Nature::READS_OUTSIDE,
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

/// A tensor whose elements are what a file begins with. TensorFlow maps it into memory; here it is
/// read.
#[derive(Debug)]
struct ImmutableConst {
    dtype: DType,
    shape: Shape,
    path: String,
}

impl Kernel for ImmutableConst {
    fn new(attrs: &Attrs<'_>) -> Result<ImmutableConst> {
        let dtype = attrs.dtype("dtype")?;
        if matches!(dtype, DType::Resource | DType::Variant) {
            return Err(invalid_argument!("Resource and variant dtypes are invalid for this op."));
        }
        let shape = attrs.shape("shape")?;
        let shape = shape
            .to_shape()
            .ok_or_else(|| invalid_argument!("Attr shape must be fully defined, but is {shape}"))?;
        Ok(ImmutableConst { dtype, shape, path: attrs.string("memory_region_name")?.into_owned() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let file = ctx.step().files().open(&self.path)?;
        if self.dtype == DType::String {
            return Err(unimplemented_error!(
                "Sorry, DT_STRING is not currently supported for ImmutableConstOp."
            ));
        }
        let len = self.shape.num_elements().saturating_mul(self.dtype.size());
        if len as u64 > file.len() {
            return Err(internal!(
                "Readonly memory region has wrong length ({}) when allocating {len}",
                file.len()
            ));
        }
        let tensor = Tensor::build_raw(self.dtype, self.shape.clone(), |bytes| {
            file.read_at(0, bytes).map(drop)
        })?;
        ctx.set_output(0, tensor);
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct ReadFile;

impl Kernel for ReadFile {
    fn new(_: &Attrs<'_>) -> Result<ReadFile> {
        Ok(ReadFile)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let path = text(ctx.input(0)?, "Input filename")?;
        let file = ctx.step().files().open(&path)?;
        let len = usize::try_from(file.len())
            .map_err(|_| resource_exhausted!("{path} does not fit into memory"))?;
        let mut contents = vec![0; len];
        file.read_at(0, &mut contents)?;
        ctx.set_output(0, Tensor::string(contents));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// Writes a file, making the directories on its way.
pub(crate) fn write_file(files: &dyn FileSystem, path: &str, contents: &[u8]) -> Result<()> {
    files.create_dirs(&path[..path.rfind('/').map_or(0, |end| end + 1)])?;
    let mut file = files.create(path)?;
    file.append(contents)?;
    file.finish()
}

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
        write_file(&*ctx.step().files(), &path, &contents)
    }

    fn blocks(&self) -> bool {
        true
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
        let (files, mut found) = (ctx.step().files(), Vec::new());
        for pattern in patterns.strings()? {
            found.extend(files.glob(&String::from_utf8_lossy(pattern))?);
        }
        found.sort();
        let names: Vec<Bytes> = found.into_iter().map(Bytes::from).collect();
        ctx.set_output(0, Tensor::from_strings(Shape::vector(names.len()), names)?);
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_graph::AttrValue;
    use tensorfleet_tensor::{Code, PartialShape};
    use tensorfleet_testing::OpRun;

    use super::*;

    #[test]
    fn a_constant_is_what_its_file_begins_with() {
        let path = std::env::temp_dir().join(format!("tensorfleet-const-{}", std::process::id()));
        let bytes: Vec<u8> = [1.5f32, -2.0, 7.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&path, bytes).unwrap();
        let run = |dtype, len| {
            OpRun::new("ImmutableConst")
                .attr("dtype", AttrValue::Type(dtype))
                .attr("shape", AttrValue::Shape(PartialShape::known([Some(len)])))
                .attr("memory_region_name", AttrValue::String(path.display().to_string().into()))
                .run(&crate::library())
        };
        assert_eq!(run(DType::Float, 2).unwrap()[0].values::<f32>().unwrap(), [1.5, -2.0]);
        let codes = [run(DType::Float, 4), run(DType::String, 1), run(DType::Variant, 1)];
        std::fs::remove_file(&path).unwrap();
        let codes = codes.map(|outcome| outcome.unwrap_err().code());
        assert_eq!(codes, [Code::Internal, Code::Unimplemented, Code::InvalidArgument]);
        assert_eq!(run(DType::Float, 2).unwrap_err().code(), Code::NotFound);
    }
}

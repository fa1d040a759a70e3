//! Writing checkpoints: `SaveV2`, `MergeV2Checkpoints`, and the older `Save` and `SaveSlices`.

use bytes::Bytes;
use tensorfleet_checkpoint::{ShapeAndSlice, bundle, v1};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::text;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MergeV2Checkpoints",
        inputs: &["checkpoint_prefixes: string", "destination_prefix: string"],
        attrs: &["delete_old_dirs: bool = true", "allow_missing_files: bool = false"],
        stateful: true,
        kernels: &[cpu::<MergeV2Checkpoints>()],
        ..Op::DEFAULT
    },
    Op {
        name: "Save",
        inputs: &["filename: string", "tensor_names: string", "data: T"],
        attrs: &["T: list(type) >= 1"],
        stateful: true,
        kernels: &[cpu::<Save>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SaveSlices",
        inputs: &[
            "filename: string",
            "tensor_names: string",
            "shapes_and_slices: string",
            "data: T",
        ],
        attrs: &["T: list(type) >= 1"],
        stateful: true,
        kernels: &[cpu::<SaveSlices>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SaveV2",
        inputs: &[
            "prefix: string",
            "tensor_names: string",
            "shape_and_slices: string",
            "tensors: dtypes",
        ],
        attrs: &["dtypes: list(type) >= 1"],
        stateful: true,
        kernels: &[cpu::<SaveV2>()],
        ..Op::DEFAULT
    },
];

/// Checks that there is a name, and a slice where slices are given, for each tensor.
pub(super) fn check_names<'a>(
    names: &'a Tensor,
    slices: Option<&'a Tensor>,
    tensors: usize,
) -> Result<(&'a [Bytes], Option<&'a [Bytes]>)> {
    let strings = |tensor: &'a Tensor, what: &str| -> Result<&'a [Bytes]> {
        if tensor.rank() != 1 || tensor.num_elements() != tensors {
            return Err(invalid_argument!(
                "Input {what} should be an 1-D tensor with {tensors} elements, got shape {} instead.",
                tensor.shape()
            ));
        }
        tensor.strings()
    };
    let names = strings(names, "tensor_names")?;
    let slices = slices.map(|slices| strings(slices, "shape_and_slices")).transpose()?;
    Ok((names, slices))
}

#[derive(Debug)]
struct SaveV2;

impl Kernel for SaveV2 {
    fn new(_: &Attrs<'_>) -> Result<SaveV2> {
        Ok(SaveV2)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        const FIRST: usize = 3;
        let prefix = text(ctx.input(0)?, "Input prefix")?;
        let (names, slices) =
            check_names(ctx.input(1)?, Some(ctx.input(2)?), ctx.num_inputs() - FIRST)?;
        let slices = slices.unwrap_or_default();
        let mut writer = bundle::Writer::new(ctx.step().files(), &prefix)?;
        for (i, (name, slice)) in names.iter().zip(slices).enumerate() {
            let tensor = ctx.input(FIRST + i)?;
            if slice.is_empty() {
                writer.add(name, tensor)?;
                continue;
            }
            let part = ShapeAndSlice::parse(&String::from_utf8_lossy(slice))?;
            writer.add_slice(name, &part.shape, &part.slice, tensor)?;
        }
        writer.finish()
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// `Save` has three inputs before the data less one: no slices.
#[derive(Debug)]
struct Save;

impl Kernel for Save {
    fn new(_: &Attrs<'_>) -> Result<Save> {
        Ok(Save)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        const FIRST: usize = 2;
        let path = text(ctx.input(0)?, "Input filename")?;
        let (names, _) = check_names(ctx.input(1)?, None, ctx.num_inputs() - FIRST)?;
        let mut writer = v1::Writer::new(ctx.step().files(), &path);
        for (i, name) in names.iter().enumerate() {
            writer.add(&String::from_utf8_lossy(name), ctx.input(FIRST + i)?)?;
        }
        writer.finish()
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct SaveSlices;

impl Kernel for SaveSlices {
    fn new(_: &Attrs<'_>) -> Result<SaveSlices> {
        Ok(SaveSlices)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        const FIRST: usize = 3;
        let path = text(ctx.input(0)?, "Input filename")?;
        let (names, slices) =
            check_names(ctx.input(1)?, Some(ctx.input(2)?), ctx.num_inputs() - FIRST)?;
        let mut writer = v1::Writer::new(ctx.step().files(), &path);
        for (i, (name, slice)) in names.iter().zip(slices.unwrap_or_default()).enumerate() {
            let (name, tensor) = (String::from_utf8_lossy(name), ctx.input(FIRST + i)?);
            if slice.is_empty() {
                writer.add(&name, tensor)?;
                continue;
            }
            let part = ShapeAndSlice::parse(&String::from_utf8_lossy(slice))?;
            writer.add_slice(&name, &part.shape, &part.slice, tensor)?;
        }
        writer.finish()
    }

    fn blocks(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct MergeV2Checkpoints(bundle::MergeOptions);

impl Kernel for MergeV2Checkpoints {
    fn new(attrs: &Attrs<'_>) -> Result<MergeV2Checkpoints> {
        Ok(MergeV2Checkpoints(bundle::MergeOptions {
            allow_missing_files: attrs.bool("allow_missing_files")?,
            delete_old_dirs: attrs.bool("delete_old_dirs")?,
        }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let prefixes = ctx.input(0)?;
        if prefixes.rank() != 1 {
            return Err(invalid_argument!("Input checkpoint_prefixes should be an 1-D tensor."));
        }
        let destination = text(ctx.input(1)?, "Input destination_prefix")?;
        let prefixes: Vec<_> =
            prefixes.strings()?.iter().map(|prefix| String::from_utf8_lossy(prefix)).collect();
        let prefixes: Vec<&str> = prefixes.iter().map(|prefix| &**prefix).collect();
        bundle::merge(&ctx.step().files(), &prefixes, &destination, self.0)
    }

    fn blocks(&self) -> bool {
        true
    }
}
